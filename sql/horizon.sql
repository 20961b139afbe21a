--
-- The settled horizon
--
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';

-- What a reader does, as a function: horizons are compared, never shown.  The last
-- one is kept; none may be earlier.
CREATE TABLE horizon_last (horizon timestamptz);
INSERT INTO horizon_last VALUES ('-infinity');
CREATE FUNCTION horizon() RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
	h record;
BEGIN
	EXECUTE 'CALL seqid.horizon()' INTO h;
	IF h.horizon < (SELECT l.horizon FROM horizon_last l) THEN
		RAISE 'the horizon went back to %', h.horizon;
	END IF;
	UPDATE horizon_last l SET horizon = h.horizon;
	RETURN h.horizon;
END
$$;
-- Waits until the clock has passed a time: from then on it is no reason for the
-- horizon not to.
CREATE FUNCTION clock_passes(t timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
	WHILE clock_timestamp() <= t + interval '1 ms' LOOP
	END LOOP;
	RETURN true;
END
$$;

--
-- The procedure
--
-- Arguments are ignored, and may be left out.
CREATE FUNCTION check_call(call text) RETURNS TABLE (column_name text, column_type text, filled boolean)
LANGUAGE plpgsql AS $$
DECLARE
	result record;
BEGIN
	EXECUTE call INTO result;
	RETURN QUERY
		SELECT 'horizon', pg_typeof(result.horizon)::text, result.horizon BETWEEN '2024-01-01' AND clock_timestamp()
		 UNION ALL
		SELECT 'lsn', pg_typeof(result.lsn)::text, result.lsn <= pg_current_wal_flush_lsn();
END
$$;
SELECT call, c.*
  FROM unnest(ARRAY['CALL seqid.horizon(NULL, NULL)', 'CALL seqid.horizon()',
                    'CALL seqid.horizon(lsn => NULL)',
                    $$CALL seqid.horizon('infinity', 'FFFFFFFF/FFFFFFFF', 0, 0, 0, NULL, -1)$$,
                    $$CALL seqid.horizon('-infinity', '0/0')$$]) call,
       LATERAL check_call(call) c
 ORDER BY 1, 2;
-- in a block that commits
DO $$
DECLARE
	horizon timestamptz;
	earlier timestamptz;
	lsn pg_lsn;
	earlier_lsn pg_lsn;
	timeline bigint;
	snowflake bigint;
	snowflake53 bigint;
	comb uuid;
	lifetime bigint;
	earlier_lifetime bigint;
BEGIN
	FOR i IN 1..20 LOOP
		CALL seqid.horizon(horizon, lsn, timeline, snowflake, snowflake53, comb, lifetime);
		ASSERT horizon IS NOT NULL AND lsn IS NOT NULL;
		ASSERT earlier IS NULL OR horizon >= earlier;
		ASSERT earlier_lsn IS NULL OR lsn >= earlier_lsn;
		ASSERT lifetime > 0 AND coalesce(lifetime = earlier_lifetime, true);
		ASSERT seqid.has_replayed(lsn, timeline, lifetime);
		-- the bounds are the first keys of that time, and the timeline is that of WAL files
		ASSERT snowflake = snowflake_first(horizon) AND snowflake53 = snowflake53_first(horizon);
		ASSERT comb = comb_uuid_first(horizon);
		ASSERT timeline = ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::bigint;
		earlier := horizon;
		earlier_lsn := lsn;
		earlier_lifetime := lifetime;
		IF i % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END
$$;
SELECT seqid.has_replayed(NULL, 1, 1) IS NULL AND seqid.has_replayed('0/0', NULL, 1) IS NULL
   AND seqid.has_replayed('0/0', 1, NULL) IS NULL AS nulls;
SELECT timeline, left(error_of(format('SELECT seqid.has_replayed(''0/0'', %s, 1)', timeline)), 5) FROM unnest(ARRAY[0, -1, 4294967296]) timeline;
SELECT seqid.has_replayed('0/0', 4294967295, 1) AS last_timeline;

-- It is no function, so that it cannot stand in a query.
SELECT error_of('SELECT seqid.horizon(NULL, NULL)');
SELECT error_of('SELECT * FROM seqid.horizon(NULL, NULL)');
-- A function that is STABLE sees what its caller's statement sees, and may not
-- call what is not.
CREATE FUNCTION stable_horizon() RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
	h record;
BEGIN
	EXECUTE 'CALL seqid.horizon()' INTO h;
	RETURN h.horizon;
END
$$;
SELECT error_of('SELECT stable_horizon()');

-- Under an isolation level that keeps its snapshot it is refused, always.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT error_of('CALL seqid.horizon()');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT error_of('CALL seqid.horizon()');
ROLLBACK;
SET default_transaction_isolation = 'repeatable read';
CALL seqid.horizon();
SET default_transaction_isolation = 'serializable';
CALL seqid.horizon();
SET default_transaction_isolation = 'read uncommitted';
SELECT error_of('CALL seqid.horizon()');
RESET default_transaction_isolation;
-- it writes nothing that a read-only transaction may not
BEGIN READ ONLY;
SELECT error_of('CALL seqid.horizon()');
ROLLBACK;

--
-- What it promises
--
-- The statistics tell the last one, and it does not go back.
SELECT horizon() AS told \gset
SELECT horizon = :'told' AS as_told FROM seqid.stat_database;
SELECT count(horizon()) AS told FROM generate_series(1, 2000);
SELECT horizon >= :'told' AS not_back, horizon <= clock_timestamp() AS not_ahead FROM seqid.stat_database;

-- Keys that are drawn later tell that time or a later one: of any shard, and of one
-- that was never used.
SELECT horizon() AS told \gset
SELECT draw, min(t) >= :'told' AS not_before
  FROM (SELECT 'snowflake_nextval' AS draw, snowflake_timestamp(snowflake_nextval(s)) AS t FROM generate_series(0, 1023) s
        UNION ALL
        SELECT 'snowflake_nextvals', snowflake_timestamp(snowflake_nextvals(1000, 10000))
        UNION ALL
        SELECT 'snowflake_nextblock', snowflake_timestamp(snowflake_nextblock(999, 4096))
        UNION ALL
        SELECT 'comb_uuid', comb_uuid_timestamp(comb_uuid())
        UNION ALL
        SELECT 'comb_uuids', comb_uuid_timestamp(comb_uuids(1000))) d
 GROUP BY draw ORDER BY draw COLLATE "C";
DO $$
DECLARE
	told record;
	shard int;
BEGIN
	FOR i IN 1..300 LOOP
		shard := i % 7;
		EXECUTE 'CALL seqid.horizon()' INTO told;
		ASSERT snowflake_nextval(shard) >= told.snowflake;
		EXECUTE 'CALL seqid.horizon()' INTO told;
		ASSERT snowflake_nextblock(shard, 100) >= told.snowflake;
		ASSERT snowflake53_nextval(shard) >= told.snowflake53;
		COMMIT;
		EXECUTE 'CALL seqid.horizon()' INTO told;
		ASSERT comb_uuid() >= told.comb_uuid;
		COMMIT;
	END LOOP;
END
$$;

-- What has drawn no key holds nothing.
BEGIN;
SELECT count(*) FROM seqid.horizon_holders;
SELECT horizon() AS told, clock_timestamp() AS now \gset
SELECT clock_passes(:'now') AND horizon() > :'told' AS goes_on;
SELECT count(*) AS made FROM (VALUES (snowflake_make('2024-03-01', 1, 1))) v;
SELECT count(*) AS made FROM (VALUES (comb_uuid_at('2024-03-01'))) v;
SELECT count(*) FROM seqid.horizon_holders;
COMMIT;

-- A transaction that has drawn holds it at its first key, or earlier, from each
-- function that draws.
CREATE TABLE drawing (call text);
INSERT INTO drawing VALUES
	('snowflake_timestamp(snowflake_nextval(5))'),
	('snowflake_timestamp(snowflake_nextval())'),
	('(SELECT min(snowflake_timestamp(id)) FROM snowflake_nextvals(6, 3) id)'),
	('snowflake_timestamp(snowflake_nextblock(7, 10))'),
	('comb_uuid_timestamp(comb_uuid())'),
	('(SELECT min(comb_uuid_timestamp(id)) FROM comb_uuids(3) id)');
CREATE FUNCTION check_held(drawn timestamptz, OUT stands boolean, OUT below_key boolean, OUT holder boolean)
LANGUAGE plpgsql AS $$
DECLARE
	first timestamptz := horizon();
BEGIN
	PERFORM clock_passes(drawn);
	stands := horizon() = first;
	below_key := first <= drawn;
	SELECT count(*) = 1 AND bool_and(h.pid = pg_backend_pid() AND h.gid IS NULL
									 AND h.held <= first AND h.since = transaction_timestamp())
	  INTO holder FROM seqid.horizon_holders h;
END
$$;
CREATE PROCEDURE check_drawing()
LANGUAGE plpgsql AS $$
DECLARE
	d record;
	drawn timestamptz;
	outcome record;
BEGIN
	FOR d IN SELECT call FROM drawing ORDER BY call COLLATE "C" LOOP
		PERFORM horizon();
		COMMIT;
		PERFORM set_config('seqid.shards', '9', true);
		EXECUTE 'SELECT ' || d.call INTO drawn;
		outcome := check_held(drawn);
		COMMIT;
		RAISE NOTICE '%: % then %', d.call, outcome, horizon() > drawn;
		COMMIT;
	END LOOP;
END
$$;
CALL check_drawing();

-- What one rolls back to holds it as well: who else knows whether all of it was?
BEGIN;
SAVEPOINT a;
SELECT snowflake_timestamp(snowflake_nextval(5)) AS drawn \gset
ROLLBACK TO a;
SELECT * FROM check_held(:'drawn');
ROLLBACK;
SELECT horizon() > :'drawn' AS goes_on, count(*) AS holders FROM seqid.horizon_holders;
-- and so does what was drawn in the block of a handler
DO $$
DECLARE
	drawn timestamptz;
BEGIN
	BEGIN
		drawn := comb_uuid_timestamp(comb_uuid());
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	ASSERT check_held(drawn) = (true, true, true)::record;
END
$$;
-- One that has failed is over.
BEGIN;
SELECT comb_uuid_timestamp(comb_uuid()) AS drawn \gset
SELECT 1/0;
ROLLBACK;
SELECT clock_passes(:'drawn') AND horizon() > :'drawn' AS goes_on;

--
-- Who holds it
--
SELECT attname AS column_name, format_type(atttypid, atttypmod) AS type
  FROM pg_attribute WHERE attrelid = 'seqid.horizon_holders'::regclass AND attnum > 0
 ORDER BY attnum;
-- for everybody
CREATE ROLE regress_seqid_reader;
BEGIN;
SELECT count(snowflake_nextval(5)) AS drawn;
SET LOCAL ROLE regress_seqid_reader;
SELECT count(*) AS holders, bool_and(pid = pg_backend_pid()) AS own,
       bool_and(held IS NULL) AS held_is_hidden, bool_and(since IS NULL) AS since_is_hidden
  FROM seqid.horizon_holders;
SELECT error_of('CALL seqid.horizon()');
RESET ROLE;
GRANT pg_read_all_stats TO regress_seqid_reader;
SET LOCAL ROLE regress_seqid_reader;
SELECT bool_and(held IS NOT NULL) AS held_is_shown, bool_and(since IS NOT NULL) AS since_is_shown
  FROM seqid.horizon_holders;
ROLLBACK;
DROP ROLE regress_seqid_reader;

--
-- A mark that was set back is no lower floor.
--
SELECT coalesce(clock_floor, 'epoch') AS floor FROM seqid.stat_database \gset
SELECT FROM setval('seqid.clock_mark', 1);
SELECT clock_floor >= greatest(:'floor', timestamptz 'epoch' + interval '1 ms') AS not_lower FROM seqid.stat_database;

DROP PROCEDURE check_drawing();
DROP FUNCTION check_held(timestamptz), check_call(text), stable_horizon(), clock_passes(timestamptz), horizon();
DROP TABLE drawing, horizon_last;
RESET timezone;
