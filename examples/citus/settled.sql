-- settled.sql: a bound for readers of tables that Citus distributes.  docs/sharding.md has
-- the reasons.  Load the function into every node, and the procedure into the one that readers
-- use:
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
    noted  text[];
    failed text;
    ended  boolean;
BEGIN
    -- Each node can generate keys.
    SELECT min(result) FILTER (WHERE NOT success), min(CASE WHEN success THEN result::bigint END)
      INTO failed, snowflake FROM run_command_on_all_nodes('SELECT settled_on_this_node()');
    IF failed IS NOT NULL THEN
        RAISE 'a node has no horizon: %', failed;
    END IF;

    -- After all calls have returned: the transactions that are between their two phases.
    SELECT min(result) FILTER (WHERE NOT success), array_agg(gid)
      INTO failed, noted
      FROM run_command_on_all_nodes($command$
               SELECT coalesce(array_agg(gid), '{}')::text FROM pg_prepared_xacts WHERE database = current_database()
           $command$),
           LATERAL unnest(CASE WHEN success THEN result::text[] ELSE ARRAY[''] END) gid;
    LOOP
        IF failed IS NOT NULL THEN
            RAISE 'a node does not show its prepared transactions: %', failed;
        END IF;
        SELECT min(result) FILTER (WHERE NOT success), bool_and(CASE WHEN success THEN result = '0' END)
          INTO failed, ended
          FROM run_command_on_all_nodes(format(
               'SELECT count(*) FROM pg_prepared_xacts WHERE gid = ANY (%L::text[])', coalesce(noted, '{}')));
        EXIT WHEN ended AND failed IS NULL;
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$;
