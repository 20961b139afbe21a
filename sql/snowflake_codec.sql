--
-- Taking snowflake ids apart and putting them together; snowflake53_codec.sql includes
-- this file for its layout
--
\pset format unaligned
\pset footer off
\if :{?kind}
\set ECHO none
\else
\pset tuples_only on
\set kind snowflake
\set shards 1024
\set millisecond 4096
\set sequence_bits 12
\set shard_bits 10
\set largest 9223372036854774784
\endif
\set make :kind _make
\set parts :kind _parts
\set shard_of :kind _shard
\set time_of :kind _timestamp
\set first_of :kind _first
\set last_of :kind _last
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- each bit belongs to one part
SELECT bit, p.*
  FROM unnest(ARRAY[0, :sequence_bits - 1, :sequence_bits, :sequence_bits + :shard_bits - 1,
                    :sequence_bits + :shard_bits, :sequence_bits + :shard_bits + 40]) bit,
       LATERAL :parts(1::bigint << bit) p;

-- the time zone of the session is of no account
SET timezone = 'Asia/Kathmandu';
SELECT :time_of(:make('2024-03-01 10:30:15.500Z', 5, 123)) AS kathmandu;
SET timezone = 'UTC';

-- decode(make(parts)) = parts, and make(decode(id)) = id
SELECT count(*) AS tried,
       count(*) FILTER (WHERE :make(:time_of(id), :shard_of(id), (:parts(id)).sequence) = id) AS equal
  FROM (SELECT (random() * :largest)::bigint AS id FROM generate_series(1, 20000)) ids;
-- ids sort by time, then shard, then sequence
SELECT count(*) AS tried, count(*) FILTER (WHERE (a < b) = (:parts(a) < :parts(b))) AS same_order
  FROM (SELECT (random() * :largest)::bigint AS a, (random() * :largest)::bigint AS b
          FROM generate_series(1, 20000)) ids;

-- a time is cut to its millisecond, not rounded
SELECT t, :time_of(:make(t, 1, 2)) AS cut
  FROM unnest(ARRAY['2024-03-01 10:30:15.500000', '2024-03-01 10:30:15.500999',
                    '2023-01-01 00:00:00.000999']::timestamptz[]) t;

--
-- bounds
--
SELECT p.* FROM :parts(:first_of('2024-03-01 10:30:15.500')) p
 UNION ALL
SELECT p.* FROM :parts(:last_of('2024-03-01 10:30:15.500999')) p;
SELECT :first_of('2023-01-01') AS smallest, :last_of('2092-09-06 15:47:35.551') AS largest;
-- nothing lies between one millisecond and the next
SELECT :last_of('2024-03-01 10:30:15.500') + 1 = :first_of('2024-03-01 10:30:15.501') AS gapless;
-- comparing ids with a bound is comparing times
SELECT count(*) AS tried,
       count(*) FILTER (WHERE (id >= :first_of(t)) = (:time_of(id) >= t)
                          AND (id <= :last_of(t)) = (:time_of(id) <= t)) AS equal
  FROM (SELECT :make('2024-03-01'::timestamptz + n % 5 * interval '1 ms', n % :shards, n % :millisecond) AS id,
               '2024-03-01'::timestamptz + n % 3 * interval '1 ms' AS t
          FROM generate_series(1, 20000) n) ids;

-- as partition bounds, and in an index, a generated column and a CHECK
CREATE TABLE snowflake_events (
	id bigint PRIMARY KEY CHECK (:shard_of(id) < 10),
	day timestamp GENERATED ALWAYS AS (date_trunc('day', :time_of(id) AT TIME ZONE 'UTC')) STORED,
	note text
) PARTITION BY RANGE (id);
CREATE TABLE snowflake_events_2024 PARTITION OF snowflake_events
	FOR VALUES FROM (:first_of('2024-01-01')) TO (:first_of('2025-01-01'));
CREATE TABLE snowflake_events_2025 PARTITION OF snowflake_events
	FOR VALUES FROM (:first_of('2025-01-01')) TO (:first_of('2026-01-01'));
CREATE INDEX ON snowflake_events (:shard_of(id), note);
INSERT INTO snowflake_events (id, note) VALUES
	(:make('2024-12-31 23:59:59.999', 9, :millisecond - 1), 'last of 2024'),
	(:make('2025-01-01 00:00:00.000', 0, 0), 'first of 2025');
SELECT tableoid::regclass AS partition, day, note FROM snowflake_events ORDER BY id;
EXPLAIN (COSTS OFF)
SELECT * FROM snowflake_events
 WHERE id BETWEEN :first_of('2025-03-01') AND :last_of('2025-03-31 23:59:59.999');
SELECT left(error_of(format($$INSERT INTO snowflake_events (id) VALUES (%s('2024-05-05', 10, 0))$$, :'make')), 5) AS not_in_shard;
DROP TABLE snowflake_events;

--
-- errors and limits
--
-- the last three: one microsecond too early, one millisecond too late, and one that fits
SELECT f || '(' || arguments || ')' AS call, error_of(format('SELECT %s(%s)', f, arguments))
  FROM (VALUES (:'time_of', '-1'), (:'shard_of', '-1'), (:'parts', '-1'), (:'parts', '-9223372036854775808'),
			   (:'make', '''2024-03-01'', -1, 0'), (:'make', '''2024-03-01'', ' || :shards || ', 0'),
			   (:'make', '''2024-03-01'', 0, -1'), (:'make', '''2024-03-01'', 0, ' || :millisecond),
			   (:'make', '''2022-12-31 23:59:59.999999'', 0, 0'), (:'make', '''2092-09-06 15:47:35.552'', 0, 0'),
			   (:'make', '''2092-09-06 15:47:35.551999'', 0, 0')) v(f, arguments);
-- a time out of range is an error in an id, and the smallest or largest id as a bound
SELECT t, error_of(format('SELECT %s(%L, 0, 0)', :'make', t)),
       :first_of(t::timestamptz) AS first, :last_of(t::timestamptz) AS last
  FROM unnest(ARRAY['infinity', '-infinity', '2022-12-31', '2093-01-01',
                    '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999']) t;

-- NULL in, NULL out
SELECT :time_of(NULL) IS NULL AS t, :shard_of(NULL) IS NULL AS sh, :parts(NULL) IS NULL AS p,
       :make(NULL, 1, 1) IS NULL AS m1, :make('2024-01-01', NULL, 1) IS NULL AS m2, :make('2024-01-01', 1, NULL) IS NULL AS m3,
       :first_of(NULL) IS NULL AS f, :last_of(NULL) IS NULL AS l;
