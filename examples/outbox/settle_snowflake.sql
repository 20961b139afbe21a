-- settle_snowflake.sql: outbox_settle() of docs/outbox.md for a table whose keys are
-- snowflakes of either kind.
CREATE FUNCTION outbox_settle_snowflake(reader text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    bound   record;
    settled bigint;
BEGIN
    EXECUTE 'CALL seqid.horizon()' INTO bound;
    IF bound.horizon < '2023-01-02 00:00+00' THEN
        RAISE 'no key is settled yet' USING HINT = 'Wait for the transactions in seqid.horizon_holders.';
    END IF;
    -- 9007199254740991 is the greatest snowflake53
    UPDATE outbox_reader SET settled_id = greatest(settled_id, -1 +
        CASE WHEN (SELECT max(id) FROM outbox) > 9007199254740991 THEN bound.snowflake ELSE bound.snowflake53 END)
     WHERE name = reader RETURNING settled_id INTO settled;
    IF NOT FOUND THEN
        RAISE 'reader "%" does not exist', reader;
    END IF;
    RETURN settled;
END
$$;
