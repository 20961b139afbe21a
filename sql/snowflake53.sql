--
-- Issuing snowflake53 ids: the tests of snowflake.sql with 32 shards, and 128 ids of
-- each in a millisecond
--
\set kind snowflake53
\set shards 32
\set millisecond 128
\set ids 10000

-- the last id of the other layout is not this one's
SELECT snowflake_nextval(5) AS other \gset
\getenv directory PG_ABS_SRCDIR
\set file :directory '/sql/snowflake.sql'
-- with headings instead of statements, which the output of that file has
\i :file
\set ECHO all
\pset tuples_only on

SELECT snowflake_currval() = :other AS other_stays;

-- A double precision number holds each id.
SELECT count(*) AS ids, bool_and(id::float8::bigint = id AND id < 9007199254740992) AS exact
  FROM (SELECT snowflake53_nextval(n % 32) AS id FROM generate_series(1, 1000) n) v;

-- The words of the layouts are apart: the keys of one layout, of any shard, change no
-- shard of the other.
CREATE TEMPORARY TABLE words AS SELECT layout, shard, last_id FROM seqid.stat_shards;
SELECT count(snowflake_nextval(n)) FROM generate_series(0, 1023) n;
SELECT layout, count(*) AS shards, count(*) FILTER (WHERE s.last_id <> w.last_id) AS changed
  FROM seqid.stat_shards s JOIN words w USING (layout, shard)
 WHERE layout = 'snowflake53' GROUP BY layout;
TRUNCATE words;
INSERT INTO words SELECT layout, shard, last_id FROM seqid.stat_shards;
SELECT count(snowflake53_nextval(n)) FROM generate_series(0, 31) n;
SELECT layout, count(*) AS shards, count(*) FILTER (WHERE s.last_id <> w.last_id) AS changed
  FROM seqid.stat_shards s JOIN words w USING (layout, shard) GROUP BY layout ORDER BY layout;
DROP TABLE words;

-- The layouts share the list, which can have shards that this one does not have.
SET seqid.shards = '32, 5';
SELECT error_of('SELECT snowflake53_nextval()');
SELECT error_of('SELECT snowflake53_witness(0)');
SELECT snowflake_shard(snowflake_nextval()) AS other_layout;
RESET seqid.shards;

-- a witness raises the shard of its own layout, and of no other
SET seqid.shards = 29;
SELECT snowflake_nextval() AS other, snowflake53_make(clock_timestamp() + interval '3 s', 7, 127) AS seen \gset
SELECT snowflake53_witness(:seen) = :seen AS witnessed;
SELECT snowflake53_nextval() > :seen AS greater,
       snowflake_timestamp(snowflake_nextval()) <= clock_timestamp() AS other_in_time;
SELECT left(error_of('SELECT snowflake53_witness(snowflake53_make(clock_timestamp() + interval ''1 h'', 7, 127))'), 5) AS future;
SELECT error_of('SELECT snowflake53_witness(9007199254740992)');
SELECT error_of('SELECT snowflake53_witness(-1)');
SELECT snowflake53_witness(NULL) IS NULL AS witness;
RESET seqid.shards;
