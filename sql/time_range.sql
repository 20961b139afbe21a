--
-- Ids of a range of times: snowflake_in, snowflake53_in, comb_uuid_in
--
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS
$$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || statement; END $$;

-- Each kind of bound, on, before and after an id's time, gives what the time itself gives.
CREATE TABLE edges AS
SELECT t + d * interval '1 microsecond' AS t
  FROM unnest(ARRAY['2023-01-01 00:00:00+00', '2024-03-01 10:30:15.500+00',
                    '2092-09-06 15:47:35.551+00', '1970-01-01 00:00:00+00',
                    '10889-08-02 05:31:50.655+00']::timestamptz[]) t,
       unnest(ARRAY[-1000, -1, 0, 1, 999, 1000]) d
 UNION ALL SELECT unnest(ARRAY['-infinity', 'infinity', NULL]::timestamptz[]);
CREATE TABLE ranges AS
SELECT tstzrange(a.t, b.t, bounds) AS range
  FROM edges a, edges b, unnest(ARRAY['[]', '[)', '(]', '()']) bounds
 WHERE a.t <= b.t OR a.t IS NULL OR b.t IS NULL
 UNION SELECT 'empty'::tstzrange;
WITH ids AS (SELECT id FROM (SELECT snowflake_first(t) FROM edges WHERE t IS NOT NULL
                             UNION SELECT snowflake_last(t) FROM edges WHERE t IS NOT NULL) v (id))
SELECT count(*) > 10000 AS tried, bool_and(snowflake_in(id, range) = (snowflake_timestamp(id) <@ range)) AS equal,
       count(DISTINCT snowflake_in(id, range)) AS outcomes
  FROM ids, ranges;
WITH ids AS (SELECT id FROM (SELECT snowflake53_first(t) FROM edges WHERE t IS NOT NULL
                             UNION SELECT snowflake53_last(t) FROM edges WHERE t IS NOT NULL) v (id))
SELECT count(*) > 10000 AS tried, bool_and(snowflake53_in(id, range) = (snowflake53_timestamp(id) <@ range)) AS equal,
       count(DISTINCT snowflake53_in(id, range)) AS outcomes
  FROM ids, ranges;
WITH ids AS (SELECT id FROM (SELECT comb_uuid_first(t) FROM edges WHERE t IS NOT NULL
                             UNION SELECT comb_uuid_last(t) FROM edges WHERE t IS NOT NULL) v (id))
SELECT count(*) > 10000 AS tried, bool_and(comb_uuid_in(id, range) = (comb_uuid_timestamp(id) <@ range)) AS equal,
       count(DISTINCT comb_uuid_in(id, range)) AS outcomes
  FROM ids, ranges;
-- also where the planner replaces the call, and with any other id
SELECT count(*) > 0 AS tried,
       bool_and(snowflake_in(id, range) = (id BETWEEN seqid.snowflake_bound(range, false) AND seqid.snowflake_bound(range, true))) AS equal
  FROM ranges, unnest(ARRAY[-9223372036854775808, -1, 0, 1, 9223372036854775807]) id;
SELECT snowflake_in(-1, '(,)') AS negative, snowflake_in(0, '(,)') AS first, snowflake_in(9223372036854775807, '(,)') AS last,
       snowflake53_in(9007199254740992, '(,)') AS too_large, snowflake_in(NULL, '(,)') IS NULL AS no_id, snowflake_in(1, NULL) IS NULL AS no_range;

-- An index and the partitions of a month
CREATE TABLE orders (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
DO $$ DECLARE m timestamptz := '2024-01-01 00:00+00';
BEGIN
	SET LOCAL timezone = 'UTC';
	FOR i IN 1 .. 24 LOOP
		EXECUTE format('CREATE TABLE orders_%s PARTITION OF orders FOR VALUES FROM (%s) TO (%s)', to_char(m, 'YYYY_MM'),
			snowflake_first(m), snowflake_first(m + interval '1 month'));
		m := m + interval '1 month';
	END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) AS partitions FROM plan_of($$SELECT * FROM orders WHERE snowflake_in(id, '[2024-03-10 00:00+00, 2024-04-10 00:00+00)')$$) line
 WHERE line LIKE '%Scan%';
SELECT plan_of($$SELECT * FROM orders WHERE snowflake_in(id, '[2024-03-01 00:00+00, 2024-04-01 00:00+00)')$$);
-- A range that is known when the statement begins prunes then.
SELECT plan_of($$SELECT * FROM orders WHERE snowflake_in(id, tstzrange('2024-01-01 00:00+00', timestamptz '2024-01-01 00:00+00' + interval '1 s' * (1 + extract(hour FROM localtime))))$$) LIMIT 2;
PREPARE month (tstzrange) AS SELECT * FROM orders WHERE snowflake_in(id, $1);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE month('[2024-03-01 00:00+00, 2024-04-01 00:00+00)');
RESET plan_cache_mode;
-- A volatile argument is evaluated once, so the call stays.
SELECT count(*) AS calls FROM plan_of($$SELECT * FROM orders WHERE snowflake_in(id, tstzrange(NULL, clock_timestamp()))$$) line
 WHERE line LIKE '%snowflake_in(%';
CREATE TABLE events (id uuid PRIMARY KEY);
CREATE TABLE tickets (id bigint PRIMARY KEY);
SELECT plan_of($$SELECT * FROM events WHERE comb_uuid_in(id, '[2024-03-01 00:00+00, 2024-04-01 00:00+00)')$$);
SELECT plan_of($$SELECT * FROM tickets WHERE snowflake53_in(id, '[2024-03-01 00:00+00, 2024-04-01 00:00+00)')$$);
-- A range that costs more than ten operators; the body of an SQL function would not be expanded for it.
CREATE FUNCTION last_month() RETURNS tstzrange LANGUAGE plpgsql STABLE COST 10000 AS
$$ BEGIN RETURN tstzrange(now() - interval '1 month', now()); END $$;
SELECT plan_of($$SELECT * FROM tickets WHERE snowflake53_in(id, last_month())$$);
DROP FUNCTION last_month;
-- A user who cannot execute the bounds gets the same rows, from the call.
CREATE ROLE regress_seqid_ranges;
GRANT SELECT ON tickets TO regress_seqid_ranges;
BEGIN;
REVOKE EXECUTE ON FUNCTION seqid.snowflake53_bound(tstzrange, boolean) FROM PUBLIC;
REVOKE USAGE ON SCHEMA seqid FROM PUBLIC;
SET LOCAL ROLE regress_seqid_ranges;
SELECT count(*) FROM tickets WHERE snowflake53_in(id, '[2024-03-01 00:00+00, 2024-04-01 00:00+00)');
ROLLBACK;
-- A function of the same name in another schema called seqid is not the bound.
BEGIN;
ALTER SCHEMA seqid RENAME TO seqid_renamed;
CREATE SCHEMA seqid;
CREATE FUNCTION seqid.comb_uuid_bound(tstzrange, boolean) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 1;
SELECT plan_of($$SELECT * FROM events WHERE comb_uuid_in(id, '[2024-03-01 00:00+00, 2024-04-01 00:00+00)')$$) LIKE '%comb_uuid_in%' AS call
 OFFSET 1;
ROLLBACK;
DROP OWNED BY regress_seqid_ranges;
DROP ROLE regress_seqid_ranges;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE orders, events, tickets, edges, ranges;
DROP FUNCTION plan_of;
