-- Updates a table in small transactions, so that clients neither wait long nor run into a deadlock:
--
--     CALL in_batches('visits', 'new_customer_id = customer_id', 'new_customer_id IS NULL');
--     CALL in_batches('memos', 'id = m.new_id', 'm.old_id = t.id', 'memos_map m');
--
-- The arguments are the table, which the other arguments call t, SET, WHERE, FROM and the number of
-- pages in a transaction. WHERE must be false for a row that has been changed. Rows that other
-- transactions have locked are skipped at first. If some stay locked, the call ends with an error
-- that has their number. Call it again to change them. If a trigger undoes the change, the call
-- ends with an error that names the trigger.
CREATE PROCEDURE in_batches(changed regclass, change text, condition text, joined text DEFAULT '(SELECT) nothing',
    pages int DEFAULT 50)
LANGUAGE plpgsql AS $$
DECLARE
    part regclass;
    page bigint;
    step int;
    chosen tid[];
    done bigint;
    in_pass bigint;
    tries int := 0;
BEGIN
    LOOP
        in_pass := 0;
        -- Partitions and children, one after the other.
        FOR part IN WITH RECURSIVE tree(part) AS (SELECT changed::oid
                        UNION SELECT inhrelid FROM tree JOIN pg_inherits ON inhparent = tree.part)
                    SELECT tree.part FROM tree LOOP
            page := 0;
            step := pages;
            WHILE page * current_setting('block_size')::int <= pg_relation_size(part) LOOP
                PERFORM set_config('lock_timeout', '200ms', true);
                BEGIN
                    EXECUTE format('SELECT array_agg(place) FROM (SELECT t.ctid AS place FROM ONLY %s t, %s
                            WHERE t.ctid >= %L AND t.ctid < %L AND (%s) FOR UPDATE OF t SKIP LOCKED) r',
                        part, joined, format('(%s,0)', page), format('(%s,0)', page + step), condition) INTO chosen;
                    IF chosen IS NOT NULL THEN
                        EXECUTE format('WITH u AS (UPDATE ONLY %s t SET %s FROM %s
                                WHERE t.ctid = ANY ($1) AND (%s) RETURNING (%4$s) IS TRUE AS undone)
                                SELECT count(*) FROM u WHERE NOT undone',
                            part, change, joined, condition) INTO done USING chosen;
                        IF done = 0 THEN
                            RAISE triggered_action_exception USING
                                MESSAGE = format('rows of %s are the same after their update', part),
                                DETAIL = 'Triggers that can have caused this: ' || coalesce((
                                    SELECT string_agg(tgname, ', ') FROM pg_trigger -- BEFORE UPDATE FOR EACH ROW
                                     WHERE tgrelid = part AND tgtype & 19 = 19 AND tgenabled <> 'D'), 'none') || '.';
                        END IF;
                        in_pass := in_pass + done;
                    END IF;
                    page := page + step;
                    step := least(step * 2, pages);
                EXCEPTION WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
                    -- A row that references one of these is locked.  Fewer rows are written twice
                    -- if the next transaction is smaller.
                    page := page + CASE step WHEN 1 THEN 1 ELSE 0 END;
                    step := greatest(step / 2, 1);
                END;
                COMMIT;
            END LOOP;
        END LOOP;
        IF in_pass = 0 THEN
            EXECUTE format('SELECT count(*) FROM %s t, %s WHERE %s', changed, joined, condition) INTO done;
            EXIT WHEN done = 0;
            tries := tries + 1;
            IF tries = 5 THEN
                RAISE lock_not_available USING
                    MESSAGE = format('%s rows of %s have not been changed', done, changed),
                    DETAIL = 'Other transactions have locked them, or they are in foreign tables.',
                    HINT = 'Wait until these transactions end, then call in_batches() again.';
            END IF;
            PERFORM pg_sleep(0.2);
        END IF;
    END LOOP;
END
$$;
