-- settled.sql: the bound of docs/outbox.md in SQL, for a server without the extension.
-- Before each read, run SELECT settled_look('outbox_id_seq') in a transaction of its own under
-- READ COMMITTED, never in a WHERE clause. It stores the bound, and a later transaction reads rows
--     WHERE id < (SELECT bound FROM settled_look WHERE sequence = 'outbox_id_seq'::regclass)
-- After CREATE DATABASE ... TEMPLATE, ALTER SEQUENCE or SET LOGGED has copied a sequence, run
-- CHECKPOINT before clients write. Otherwise, nextval() can repeat values after a crash.
CREATE TABLE settled_look (
    sequence regclass PRIMARY KEY,
    file     oid NOT NULL DEFAULT 0,
    next     bigint NOT NULL DEFAULT -9223372036854775808,  -- nextval() returned less before
    bound    bigint NOT NULL DEFAULT -9223372036854775808,
    holders  jsonb NOT NULL DEFAULT '{}'                    -- the least value of each
);

CREATE FUNCTION settled_look(seq regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before  settled_look;
    now     settled_look;
    ascends boolean;
BEGIN
    INSERT INTO settled_look (sequence) VALUES (seq) ON CONFLICT DO NOTHING;
    SELECT * INTO before FROM settled_look WHERE sequence = seq FOR UPDATE;

    -- The value first: a transaction with a smaller one had locked the sequence by then.
    SELECT coalesce(pg_sequence_last_value(seq) + 1, seqmin),
           relpersistence = 'p' AND seqcache = 1 AND seqincrement > 0 AND NOT seqcycle
      INTO now.next, ascends
      FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE seqrelid = seq;
    IF ascends IS NOT TRUE THEN
        RAISE 'a sequence that is not permanent, or has CACHE above 1, CYCLE or a negative INCREMENT, has no bound: %', seq;
    END IF;

    -- The sequence was set back, as far as the value and the file show.
    now.file := pg_relation_filenode(seq);
    IF now.next < before.next OR now.file <> before.file THEN
        before.next := -9223372036854775808;
        before.bound := before.next;
        before.holders := '{}';
    END IF;

    -- The holders second. One that the last look did not find got its values after it. A
    -- prepared transaction has another name after a restart.
    SELECT coalesce(jsonb_object_agg(virtualtransaction, greatest(before.bound, coalesce(
               (before.holders ->> virtualtransaction)::bigint,
               CASE WHEN pid IS NULL THEN before.bound ELSE before.next END))), '{}')
      INTO now.holders
      FROM pg_locks
     WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND relation = seq AND granted AND pid IS DISTINCT FROM pg_backend_pid()
       AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'ShareLock');

    SELECT least(now.next, min(value::bigint)) INTO now.bound FROM jsonb_each_text(now.holders);
    UPDATE settled_look SET (file, next, bound, holders) = (now.file, now.next, now.bound, now.holders)
     WHERE sequence = seq;
    RETURN now.bound;
END
$$;
