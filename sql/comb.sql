--
-- Issuing COMBs
--
\pset format unaligned
\pset tuples_only on

-- a valid UUID of version 7 that tells the time it was drawn
DO $$
DECLARE
	before timestamptz;
	id uuid;
BEGIN
	FOR i IN 1..1000 LOOP
		before := clock_timestamp();
		id := comb_uuid();
		ASSERT comb_uuid_is_valid(id), id;
		-- a tick is 61 ns, so its microsecond may begin just after it was drawn
		ASSERT comb_uuid_timestamp(id) BETWEEN before AND clock_timestamp() + interval '1 us', id;
	END LOOP;
END
$$;
SELECT substr(id::text, 15, 1) AS version, substr(id::text, 20, 1) IN ('8', '9', 'a', 'b') AS rfc_variant
  FROM comb_uuid() id;

-- each is greater than the one before
SELECT count(*) AS ids, count(DISTINCT id) AS different, bool_and(id > previous) AS ascending
  FROM (SELECT id, lag(id, 1, '00000000-0000-0000-0000-000000000000') OVER (ORDER BY n) AS previous
          FROM (SELECT n, comb_uuid() AS id FROM generate_series(1, 100000) n) drawn) compared;

-- The last 60 bits are random: over 100000 COMBs, each bit is set about half
-- the time (seven standard deviations).
SELECT count(*) AS bits, count(*) FILTER (WHERE abs(ones - 50000) < 1107) AS fair
  FROM (SELECT bit, sum(get_bit(uuid_send(id), bit)) AS ones
          FROM (SELECT comb_uuid() AS id FROM generate_series(1, 100000)) drawn,
               generate_series(64, 127) bit
         WHERE bit / 8 <> 8 OR bit % 8 < 4
         GROUP BY bit) counted;
-- and no two are alike
SELECT count(DISTINCT right(id::text, 15)) FROM comb_uuids(100000) id;

-- many in one call
SELECT count(*) AS ids, count(DISTINCT id) AS different, bool_and(id > previous) AS ascending
  FROM (SELECT id, lag(id, 1, '00000000-0000-0000-0000-000000000000') OVER (ORDER BY n) AS previous
          FROM comb_uuids(50000) WITH ORDINALITY AS v(id, n)) compared;
SELECT count(*) FROM comb_uuids(0);
SELECT count(*) FROM comb_uuids(257);
SELECT count(*) FROM comb_uuids((SELECT count(*) FROM generate_series(1, 100)));
SELECT count(*) FROM (SELECT comb_uuids(2147483647) LIMIT 3) v;
SELECT error_of('SELECT comb_uuids(-1)');
\set VERBOSITY sqlstate
-- (for that statement alone: on a machine that stands still another would be, too)
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT count(*) FROM comb_uuids(100000000);
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT count(id) FROM (SELECT comb_uuids(9223372036854775807) AS id) v;
ROLLBACK;
\set VERBOSITY default
-- later calls continue after earlier ones
SELECT max(id::text)::uuid AS last FROM comb_uuids(1000) id \gset
SELECT comb_uuid() > :'last' AS later;

-- with a given time
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT comb_uuid_timestamp(comb_uuid_at('2022-02-22 19:22:22.123456')) AS given,
       comb_uuid_is_valid(comb_uuid_at('2022-02-22 19:22:22.123456')) AS valid;
SELECT count(DISTINCT comb_uuid_at('2022-02-22 19:22:22')) FROM generate_series(1, 1000);
-- does not move the clock of those that are issued
SELECT comb_uuid_at('9999-12-31') > comb_uuid() AS far_future,
       comb_uuid_timestamp(comb_uuid()) < clock_timestamp() + interval '1 minute' AS unmoved;
-- a time without time zone, in the zone that the statement names
SELECT comb_uuid_timestamp(comb_uuid_at(timestamp '2024-03-01' AT TIME ZONE 'Asia/Tokyo')) = '2024-02-29 15:00Z' AS named;
SELECT error_of(format('SELECT comb_uuid_at(%L)', t))
  FROM unnest(ARRAY['infinity', '-infinity', '1969-12-31 23:59:59.999999',
                    '10889-08-02 05:31:50.656']) t;
SELECT comb_uuid_timestamp(comb_uuid_at('1970-01-01')) AS first,
       comb_uuid_timestamp(comb_uuid_at('10889-08-02 05:31:50.655999')) AS last;

-- NULL
SELECT comb_uuid_at(NULL) IS NULL AS at;
SELECT count(*) FROM comb_uuids(NULL);
-- the planner knows how many
SELECT expected_rows('SELECT * FROM comb_uuids(12345)') AS rows,
       expected_rows('SELECT * FROM snowflake_nextvals(count => 77, shard => 5)') AS by_name;
-- an operator: the default
CREATE OPERATOR *# (FUNCTION = snowflake_nextvals, LEFTARG = bigint, RIGHTARG = bigint);
SELECT expected_rows('SELECT 5::bigint *# 77::bigint') AS rows;
DROP OPERATOR *# (bigint, bigint);
