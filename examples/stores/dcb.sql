-- dcb.sql: for @dcb-es/event-store-postgres.  Run it after ensureInstalled().  Handlers connect as
-- the role reader, which finds this function before the store's own, whose exclusive lock
-- waits for all open appends.  Decision models keep the store's function and its locks.
CREATE SCHEMA settled;
CREATE FUNCTION settled.events_barrier_hwm(p_shared_keys bigint[], p_exclusive_keys bigint[])
RETURNS bigint LANGUAGE sql STABLE AS
$$SELECT greatest(seqid.settled('public.events_sequence_position_seq'), 1) - 1$$;
GRANT USAGE ON SCHEMA settled TO reader;
GRANT SELECT ON SEQUENCE public.events_sequence_position_seq TO reader;
ALTER ROLE reader SET search_path = settled, public;
