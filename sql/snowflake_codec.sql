--
-- Taking snowflake ids apart and putting them together
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- each bit belongs to one part
SELECT bit, p.*
  FROM unnest(ARRAY[0, 11, 12, 21, 22, 62]) bit,
       LATERAL snowflake_parts(1::bigint << bit) p;

-- the time zone of the session is of no account
SET timezone = 'Asia/Kathmandu';
SELECT snowflake_timestamp(154173452582932603) AS kathmandu;
SET timezone = 'UTC';

-- decode(make(parts)) = parts, and make(decode(id)) = id
SELECT count(*) AS tried,
       count(*) FILTER (WHERE snowflake_make(snowflake_timestamp(id), snowflake_shard(id),
                                             snowflake_sequence(id)) = id) AS equal
  FROM (SELECT (random() * 9223372036854774784)::bigint AS id
          FROM generate_series(1, 20000)) ids;
-- ids sort by time, then shard, then sequence
SELECT count(*) AS tried,
       count(*) FILTER (WHERE (a < b) = (snowflake_parts(a) < snowflake_parts(b))) AS same_order
  FROM (SELECT (random() * 9223372036854774784)::bigint AS a,
               (random() * 9223372036854774784)::bigint AS b
          FROM generate_series(1, 20000)) ids;

-- a time is cut to its millisecond, not rounded
SELECT t, snowflake_timestamp(snowflake_make(t, 1, 2)) AS cut
  FROM unnest(ARRAY['2024-03-01 10:30:15.500000', '2024-03-01 10:30:15.500999',
                    '2023-01-01 00:00:00.000999']::timestamptz[]) t;

--
-- bounds
--
SELECT p.* FROM snowflake_parts(snowflake_first('2024-03-01 10:30:15.500')) p
 UNION ALL
SELECT p.* FROM snowflake_parts(snowflake_last('2024-03-01 10:30:15.500')) p;
SELECT snowflake_first('2023-01-01') AS smallest,
       snowflake_last('2092-09-06 15:47:35.551') AS largest;
-- nothing lies between one millisecond and the next
SELECT snowflake_last('2024-03-01 10:30:15.500') + 1 =
       snowflake_first('2024-03-01 10:30:15.501') AS gapless;
-- comparing ids with a bound is comparing times
SELECT count(*) AS tried,
       count(*) FILTER (WHERE (id >= snowflake_first(t)) = (snowflake_timestamp(id) >= t)
                          AND (id <= snowflake_last(t)) = (snowflake_timestamp(id) <= t)) AS equal
  FROM (SELECT snowflake_make('2024-03-01'::timestamptz + n % 5 * interval '1 ms', n % 1024, n % 4096) AS id,
               '2024-03-01'::timestamptz + n % 3 * interval '1 ms' AS t
          FROM generate_series(1, 20000) n) ids;

-- as partition bounds, and in an index, a generated column and a CHECK
CREATE TABLE snowflake_events (
	id bigint PRIMARY KEY CHECK (snowflake_shard(id) < 10),
	day timestamp GENERATED ALWAYS AS (date_trunc('day', snowflake_timestamp(id) AT TIME ZONE 'UTC')) STORED,
	note text
) PARTITION BY RANGE (id);
CREATE TABLE snowflake_events_2024 PARTITION OF snowflake_events
	FOR VALUES FROM (snowflake_first('2024-01-01')) TO (snowflake_first('2025-01-01'));
CREATE TABLE snowflake_events_2025 PARTITION OF snowflake_events
	FOR VALUES FROM (snowflake_first('2025-01-01')) TO (snowflake_first('2026-01-01'));
CREATE INDEX ON snowflake_events (snowflake_shard(id), note);
INSERT INTO snowflake_events (id, note) VALUES
	(snowflake_make('2024-12-31 23:59:59.999', 9, 4095), 'last of 2024'),
	(snowflake_make('2025-01-01 00:00:00.000', 0, 0), 'first of 2025');
SELECT tableoid::regclass AS partition, day, note FROM snowflake_events ORDER BY id;
EXPLAIN (COSTS OFF)
SELECT * FROM snowflake_events
 WHERE id BETWEEN snowflake_first('2025-03-01') AND snowflake_last('2025-03-31 23:59:59.999');
INSERT INTO snowflake_events (id) VALUES (snowflake_make('2024-05-05', 10, 0));
DROP TABLE snowflake_events;

--
-- errors and limits
--
SELECT error_of('SELECT snowflake_timestamp(-1)');
SELECT error_of('SELECT snowflake_shard(-1)');
SELECT error_of('SELECT snowflake_sequence(-9223372036854775808)');
SELECT error_of('SELECT snowflake_parts(-1)');
SELECT error_of($$SELECT snowflake_make('2024-03-01', -1, 0)$$);
SELECT error_of($$SELECT snowflake_make('2024-03-01', 1024, 0)$$);
SELECT error_of($$SELECT snowflake_make('2024-03-01', 0, -1)$$);
SELECT error_of($$SELECT snowflake_make('2024-03-01', 0, 4096)$$);
-- one microsecond too early, one millisecond too late
SELECT error_of($$SELECT snowflake_make('2022-12-31 23:59:59.999999', 0, 0)$$);
SELECT error_of($$SELECT snowflake_make('2092-09-06 15:47:35.552', 0, 0)$$);
SELECT snowflake_make('2092-09-06 15:47:35.551999', 0, 0) AS still_fits;
SELECT t, error_of(format('SELECT snowflake_make(%L, 0, 0)', t)),
       snowflake_first(t::timestamptz) AS first, snowflake_last(t::timestamptz) AS last
  FROM unnest(ARRAY['infinity', '-infinity', '2022-12-31', '2093-01-01',
                    '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999']) t;

-- NULL in, NULL out
SELECT snowflake_timestamp(NULL) IS NULL AS t, snowflake_shard(NULL) IS NULL AS sh,
       snowflake_sequence(NULL) IS NULL AS sq, snowflake_parts(NULL) IS NULL AS p,
       snowflake_make(NULL, 1, 1) IS NULL AS m1, snowflake_make('2024-01-01', NULL, 1) IS NULL AS m2,
       snowflake_make('2024-01-01', 1, NULL) IS NULL AS m3,
       snowflake_first(NULL) IS NULL AS f, snowflake_last(NULL) IS NULL AS l;
