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
    rows_of_page constant int := current_setting('block_size')::int / 28;  -- no page has more
    place bigint;   -- page * rows_of_page + row
    step bigint;
    chosen tid[];
    done bigint;
    in_pass bigint;
    tries int := 0;
BEGIN
    pages := greatest(pages, 1);    -- or the loop would not end
    LOOP
        in_pass := 0;
        -- Partitions and children, one after the other.
        FOR part IN WITH RECURSIVE tree(part) AS (SELECT changed::oid
                        UNION SELECT inhrelid FROM tree JOIN pg_inherits ON inhparent = tree.part)
                    SELECT tree.part FROM tree LOOP
            place := 0;
            step := pages * rows_of_page;
            WHILE place / rows_of_page * current_setting('block_size')::int <= pg_relation_size(part) LOOP
                PERFORM set_config('lock_timeout', '200ms', true);
                chosen := NULL;
                BEGIN
                    EXECUTE format('SELECT array_agg(at) FROM (SELECT t.ctid AS at FROM ONLY %s t, %s
                            WHERE t.ctid >= %L AND t.ctid < %L AND (%s) FOR NO KEY UPDATE OF t SKIP LOCKED) r', part, joined,
                        format('(%s,%s)', place / rows_of_page, place % rows_of_page),
                        format('(%s,%s)', (place + step) / rows_of_page, (place + step) % rows_of_page), condition) INTO chosen;
                    IF chosen IS NOT NULL THEN
                        EXECUTE format('WITH u AS (UPDATE ONLY %s t SET %s FROM %s
                                WHERE t.ctid = ANY ($1) AND (%s) RETURNING (%4$s) IS TRUE AS undone)
                                SELECT count(*) FROM u WHERE NOT undone',
                            part, change, joined, condition) INTO done USING chosen;
                        IF done = 0 THEN
                            RAISE triggered_data_change_violation USING
                                MESSAGE = format('rows of %s are the same after their update', part),
                                DETAIL = 'Triggers that can have caused this: ' || coalesce((
                                    SELECT string_agg(tgname, ', ') FROM pg_trigger -- BEFORE UPDATE FOR EACH ROW
                                     WHERE tgrelid = part AND tgtype & 19 = 19 AND tgenabled <> 'D'), 'none') || '.';
                        END IF;
                        in_pass := in_pass + done;
                    END IF;
                    place := place + step;
                    step := least(step * 2, pages * rows_of_page);
                EXCEPTION WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
                    -- A row that references one of these is locked.  Find out which one.
                    IF cardinality(chosen) = 1 THEN
                        place := place + step;
                    ELSE
                        step := greatest(step / 2, 1);
                    END IF;
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
