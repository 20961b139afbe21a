--
-- Taking snowflake53 ids apart and putting them together
--
-- The functions are those of snowflake_codec.sql with another layout: what is
-- tried here is that layout.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- each bit belongs to one part
SELECT bit, p.*
  FROM unnest(ARRAY[0, 6, 7, 11, 12, 52]) bit,
       LATERAL snowflake53_parts(1::bigint << bit) p;

-- the last of all is the largest integer that a double precision number and all
-- smaller ones hold exactly
SELECT snowflake53_last('2092-09-06 15:47:35.551') AS largest,
       snowflake53_last('2092-09-06 15:47:35.551') = 2::bigint ^ 53 - 1 AS max_safe_integer;
SELECT count(*) AS tried, count(*) FILTER (WHERE id::float8::bigint = id) AS exact
  FROM (SELECT 9007199254740991 - n * 450359962737 AS id
          FROM generate_series(0, 20000::bigint) n) ids;

-- decode(make(parts)) = parts, and make(decode(id)) = id
SELECT count(*) AS tried,
       count(*) FILTER (WHERE snowflake53_make(snowflake53_timestamp(id), snowflake53_shard(id),
                                               snowflake53_sequence(id)) = id) AS equal
  FROM (SELECT 9007199254740991 - n * 450359962737 AS id
          FROM generate_series(0, 20000::bigint) n) ids;
-- ids sort by time, then shard, then sequence
SELECT count(*) AS tried,
       count(*) FILTER (WHERE (a < b) = (snowflake53_parts(a) < snowflake53_parts(b))) AS same_order
  FROM (SELECT (random() * 9007199254740991)::bigint AS a,
               (random() * 9007199254740991)::bigint AS b
          FROM generate_series(1, 20000)) ids;
-- both layouts tell the same times
SELECT count(*) AS tried,
       count(*) FILTER (WHERE snowflake_timestamp(snowflake_first(t)) = snowflake53_timestamp(snowflake53_first(t))) AS equal
  FROM (SELECT '2023-01-01'::timestamptz + n * interval '2 days 3 hours 4 minutes 5.678912 seconds' AS t
          FROM generate_series(0, 10000) n) times;

--
-- bounds
--
SELECT p.* FROM snowflake53_parts(snowflake53_first('2024-03-01 10:30:15.500')) p
 UNION ALL
SELECT p.* FROM snowflake53_parts(snowflake53_last('2024-03-01 10:30:15.500999')) p;
-- nothing lies between one millisecond and the next
SELECT snowflake53_last('2024-03-01 10:30:15.500') + 1 =
       snowflake53_first('2024-03-01 10:30:15.501') AS gapless;
-- comparing ids with a bound is comparing times
SELECT count(*) AS tried,
       count(*) FILTER (WHERE (id >= snowflake53_first(t)) = (snowflake53_timestamp(id) >= t)
                          AND (id <= snowflake53_last(t)) = (snowflake53_timestamp(id) <= t)) AS equal
  FROM (SELECT snowflake53_make('2024-03-01'::timestamptz + n % 5 * interval '1 ms', n % 32, n % 128) AS id,
               '2024-03-01'::timestamptz + n % 3 * interval '1 ms' AS t
          FROM generate_series(1, 20000) n) ids;

-- as partition bounds, and in an index, a generated column and a CHECK
CREATE TABLE snowflake53_events (
	id bigint PRIMARY KEY CHECK (snowflake53_shard(id) < 10),
	day timestamp GENERATED ALWAYS AS (date_trunc('day', snowflake53_timestamp(id) AT TIME ZONE 'UTC')) STORED,
	note text
) PARTITION BY RANGE (id);
CREATE TABLE snowflake53_events_2024 PARTITION OF snowflake53_events
	FOR VALUES FROM (snowflake53_first('2024-01-01')) TO (snowflake53_first('2025-01-01'));
CREATE TABLE snowflake53_events_2025 PARTITION OF snowflake53_events
	FOR VALUES FROM (snowflake53_first('2025-01-01')) TO (snowflake53_first('2026-01-01'));
CREATE INDEX ON snowflake53_events (snowflake53_shard(id), note);
INSERT INTO snowflake53_events (id, note) VALUES
	(snowflake53_make('2024-12-31 23:59:59.999', 9, 127), 'last of 2024'),
	(snowflake53_make('2025-01-01 00:00:00.000', 0, 0), 'first of 2025');
SELECT tableoid::regclass AS partition, day, note FROM snowflake53_events ORDER BY id;
SELECT left(error_of($$INSERT INTO snowflake53_events (id) VALUES (snowflake53_make('2024-05-05', 10, 0))$$), 5) AS not_in_shard;
DROP TABLE snowflake53_events;

--
-- errors and limits
--
SELECT f || '(' || id || ')' AS call, error_of(format('SELECT %s(%s)', f, id))
  FROM unnest(ARRAY['snowflake53_timestamp', 'snowflake53_shard', 'snowflake53_sequence', 'snowflake53_parts']) f,
       unnest(ARRAY[-1, 9007199254740992, 9223372036854775807]) id;
-- as is an id of the other layout, unless it is of the first 25 days of 2023
SELECT error_of('SELECT snowflake53_shard(154173452582932603)');
SELECT snowflake_timestamp(9007199254740991) AS mistaken_until;
SELECT error_of($$SELECT snowflake53_make('2024-03-01', -1, 0)$$);
SELECT error_of($$SELECT snowflake53_make('2024-03-01', 32, 0)$$);
SELECT error_of($$SELECT snowflake53_make('2024-03-01', 0, -1)$$);
SELECT error_of($$SELECT snowflake53_make('2024-03-01', 0, 128)$$);
-- one microsecond too early, one millisecond too late
SELECT error_of($$SELECT snowflake53_make('2022-12-31 23:59:59.999999', 0, 0)$$);
SELECT error_of($$SELECT snowflake53_make('2092-09-06 15:47:35.552', 0, 0)$$);
SELECT snowflake53_make('2092-09-06 15:47:35.551999', 0, 0) AS still_fits;
SELECT t, left(error_of(format('SELECT snowflake53_make(%L, 0, 0)', t)), 5),
       snowflake53_first(t::timestamptz) AS first, snowflake53_last(t::timestamptz) AS last
  FROM unnest(ARRAY['infinity', '-infinity', '2022-12-31', '2093-01-01']) t;

-- NULL in, NULL out
SELECT snowflake53_timestamp(NULL) IS NULL AS t, snowflake53_shard(NULL) IS NULL AS sh,
       snowflake53_sequence(NULL) IS NULL AS sq, snowflake53_parts(NULL) IS NULL AS p,
       snowflake53_make(NULL, 1, 1) IS NULL AS m1, snowflake53_make('2024-01-01', NULL, 1) IS NULL AS m2,
       snowflake53_make('2024-01-01', 1, NULL) IS NULL AS m3,
       snowflake53_first(NULL) IS NULL AS f, snowflake53_last(NULL) IS NULL AS l;
