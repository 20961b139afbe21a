-- settled.sql: a bound for readers of tables that Citus distributes.  docs/sharding.md has
-- the reasons.  Load it on the coordinator, and Citus creates both on the workers.  On any
-- node, in READ COMMITTED and before the transaction writes:
--     CALL citus_settled() \gset
--     SELECT * FROM outbox WHERE id > :last AND id < :snowflake ORDER BY id;

CREATE FUNCTION settled_on_this_node() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    bound record;
BEGIN
    EXECUTE 'CALL seqid.horizon()' INTO bound;
    RETURN bound.snowflake;
END
$$;

CREATE PROCEDURE citus_settled(INOUT snowflake bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    writing CONSTANT text := $command$
        SELECT coalesce(array_agg(transactionid::text), '{}')::text
          FROM pg_locks WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted
    $command$;
    noted   jsonb;
    failed  text;
    ended   boolean;
BEGIN
    IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE 'this transaction has written, and would wait for itself';
    END IF;

    -- Each node can generate keys.
    SELECT min(result) FILTER (WHERE NOT success), min(CASE WHEN success THEN result::bigint END)
      INTO failed, snowflake FROM run_command_on_all_nodes('SELECT settled_on_this_node()');
    IF failed IS NOT NULL THEN
        RAISE 'a node has no horizon: %', failed;
    END IF;

    -- After all calls have returned: the transactions that write, prepared ones too.
    SELECT min(result) FILTER (WHERE NOT success), jsonb_object_agg(nodeid, result)
      INTO failed, noted FROM run_command_on_all_nodes(writing);
    LOOP
        IF failed IS NOT NULL THEN
            RAISE 'a node does not show its transactions: %', failed;
        END IF;
        SELECT min(result) FILTER (WHERE NOT success),
               bool_and(CASE WHEN success THEN NOT result::text[] && (noted ->> nodeid::text)::text[] END)
          INTO failed, ended FROM run_command_on_all_nodes(writing);
        EXIT WHEN ended AND failed IS NULL;
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$;
