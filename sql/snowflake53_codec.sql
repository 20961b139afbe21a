--
-- The codecs of snowflake53: the tests of snowflake_codec.sql with another layout
--
\set kind snowflake53
\set shards 32
\set millisecond 128
\set sequence_bits 7
\set shard_bits 5
\set largest 9007199254740991
\getenv directory PG_ABS_SRCDIR
\set file :directory '/sql/snowflake_codec.sql'
-- with headings instead of statements, which the output of that file has
\i :file
\set ECHO all
\pset tuples_only on

-- the last of all is the largest integer that a double precision number and all
-- smaller ones hold exactly
SELECT snowflake53_last('2092-09-06 15:47:35.551') = 2::bigint ^ 53 - 1 AS max_safe_integer;
SELECT count(*) AS tried, count(*) FILTER (WHERE id::float8::bigint = id) AS exact
  FROM (SELECT 9007199254740991 - n * 450359962737 AS id
          FROM generate_series(0, 20000::bigint) n) ids;
-- both layouts have the same times
SELECT count(*) AS tried,
       count(*) FILTER (WHERE snowflake53_timestamp(snowflake53_first(t)) = snowflake_timestamp(snowflake_first(t))) AS equal
  FROM (SELECT '2023-01-01'::timestamptz + n * interval '2 days 3 hours 4 minutes 5.678912 seconds' AS t
          FROM generate_series(0, 10000) n) times;
-- a number above the largest is refused, as is an id of the other layout, unless it is of
-- the first 25 days of 2023
SELECT f || '(' || id || ')' AS call, error_of(format('SELECT %s(%s)', f, id))
  FROM unnest(ARRAY['snowflake53_timestamp', 'snowflake53_shard', 'snowflake53_parts']) f,
       unnest(ARRAY[-1, 9007199254740992, 9223372036854775807, 154173452582932603]) id;
SELECT snowflake_timestamp(9007199254740991) AS mistaken_until;
