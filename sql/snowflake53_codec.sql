--
-- Taking snowflake53 ids apart and putting them together
--
-- The functions are those of snowflake_codec.sql with another layout: what is
-- tried here is that layout.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- vectors of an independent implementation
CREATE TABLE snowflake53_vectors (id bigint, created_at timestamptz, shard int, sequence int);
INSERT INTO snowflake53_vectors VALUES
	(0, '2023-01-01 00:00:00.000+00', 0, 0),
	(9007199254740991, '2092-09-06 15:47:35.551+00', 31, 127),
	(150560012288763, '2024-03-01 10:30:15.500+00', 5, 123),
	(4096, '2023-01-01 00:00:00.001+00', 0, 0),
	(128, '2023-01-01 00:00:00.000+00', 1, 0),
	(1, '2023-01-01 00:00:00.000+00', 0, 1),
	(3653862142353847, '2051-04-08 17:23:07.098+00', 3, 55),
	(634090105050723, '2027-11-27 17:59:14.553+00', 12, 99),
	(4095582031247018, '2054-09-07 21:25:56.847+00', 13, 42),
	(5350924467296581, '2064-05-25 02:47:23.773+00', 18, 69),
	(2072746195791685, '2039-01-13 23:05:51.706+00', 30, 69),
	(5644924757710578, '2066-09-02 20:57:38.425+00', 13, 114),
	(4196264940832322, '2055-06-19 09:25:45.320+00', 12, 66),
	(1897757150504707, '2037-09-06 11:53:36.822+00', 14, 3),
	(4433012780726585, '2057-04-18 08:55:10.919+00', 18, 57),
	(5839769927268532, '2068-03-06 10:44:39.899+00', 17, 52),
	(1026922496364707, '2030-12-11 18:38:20.089+00', 1, 35),
	(4301540050218462, '2056-04-11 20:51:16.322+00', 27, 94),
	(5059981411462162, '2062-02-22 23:57:04.282+00', 24, 18),
	(6382101361616721, '2072-05-16 21:56:55.238+00', 14, 81),
	(5334936039047572, '2064-04-09 22:30:18.908+00', 3, 20),
	(571154098637046, '2027-06-02 21:51:58.612+00', 17, 118),
	(5745558188936607, '2067-06-14 05:36:07.220+00', 27, 31),
	(6703936760255903, '2074-11-12 07:48:30.609+00', 11, 31),
	(2611683556110588, '2043-03-16 20:07:35.691+00', 1, 124),
	(7612196492835098, '2081-11-21 19:06:49.383+00', 18, 26),
	(5820546180527076, '2068-01-12 03:03:02.355+00', 7, 100),
	(6404487303774274, '2072-07-19 04:05:33.148+00', 0, 66),
	(5274309616238525, '2063-10-21 15:00:46.151+00', 31, 61),
	(8594630259496538, '2089-06-28 20:40:03.197+00', 12, 90),
	(5231801764421627, '2063-06-23 12:15:52.641+00', 31, 123);
SELECT count(*) AS vectors,
       count(*) FILTER (WHERE snowflake53_make(v.created_at, v.shard, v.sequence) = v.id) AS made,
       count(*) FILTER (WHERE (p.created_at, p.shard, p.sequence) = (v.created_at, v.shard, v.sequence)) AS taken_apart,
       count(*) FILTER (WHERE snowflake53_timestamp(id) = v.created_at AND snowflake53_shard(id) = v.shard
                          AND snowflake53_sequence(id) = v.sequence) AS one_by_one
  FROM snowflake53_vectors v, LATERAL snowflake53_parts(v.id) p;
DROP TABLE snowflake53_vectors;
SELECT id, p.* FROM unnest(ARRAY[150560012288763, 9007199254740991, 0]) id,
       LATERAL snowflake53_parts(id) p;

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
SELECT f || '(' || t || ')' AS call,
       left(error_of(format('SELECT %s(%L%s)', f, t, CASE f WHEN 'snowflake53_make' THEN ', 0, 0' END)), 5)
  FROM unnest(ARRAY['snowflake53_first', 'snowflake53_last', 'snowflake53_make']) f,
       unnest(ARRAY['infinity', '-infinity', '2022-12-31', '2093-01-01']) t;

-- NULL in, NULL out
SELECT snowflake53_timestamp(NULL) IS NULL AS t, snowflake53_shard(NULL) IS NULL AS sh,
       snowflake53_sequence(NULL) IS NULL AS sq, snowflake53_parts(NULL) IS NULL AS p,
       snowflake53_make(NULL, 1, 1) IS NULL AS m1, snowflake53_make('2024-01-01', NULL, 1) IS NULL AS m2,
       snowflake53_make('2024-01-01', 1, NULL) IS NULL AS m3,
       snowflake53_first(NULL) IS NULL AS f, snowflake53_last(NULL) IS NULL AS l;
