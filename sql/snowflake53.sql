--
-- Issuing snowflake53 ids
--
-- The functions are those of snowflake.sql with another layout: 32 shards, and 128
-- ids of each a millisecond.
--

-- before the first id; the other layout's is not this one's
SELECT snowflake_nextval(5) > 0 AS other_layout;
SELECT error_of('SELECT snowflake53_currval()');

-- The shard is the one asked for; the lowest and the highest exist.
SELECT s AS shard, snowflake53_shard(snowflake53_nextval(s)) AS issued_by
  FROM unnest(ARRAY[0, 1, 4, 5, 30, 31]) s;

-- Ids tell the time at which they were issued, and a double precision number holds
-- them.
DO $$
DECLARE
	before timestamptz;
	id bigint;
BEGIN
	FOR i IN 1..1000 LOOP
		before := date_trunc('milliseconds', clock_timestamp());
		id := snowflake53_nextval(3);
		ASSERT snowflake53_timestamp(id) BETWEEN before AND clock_timestamp(), id;
		ASSERT id::float8::bigint = id AND id < 9007199254740992, id;
	END LOOP;
END
$$;

-- Each is greater than the one before; far more than a millisecond holds.
SELECT count(*) AS ids, bool_and(id > previous) AS ascending
  FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
          FROM (SELECT n, snowflake53_nextval(7) AS id
                  FROM generate_series(1, 10000) n) drawn) compared;

-- All shards at once: no shard disturbs another.
SELECT count(*) AS ids, count(DISTINCT id) AS different,
       bool_and(snowflake53_shard(id) = shard) AS own_shard
  FROM (SELECT n & 31 AS shard, snowflake53_nextval(n & 31) AS id
          FROM generate_series(1, 102400) n) drawn;

-- The words of the layouts are apart: what one layout draws, whichever the shards,
-- shows in no shard of the other.
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

-- as a column's default, and the id that the session got last, of each layout
CREATE TABLE snowflake53_orders (
	id bigint PRIMARY KEY DEFAULT snowflake53_nextval(5),
	item text NOT NULL
);
INSERT INTO snowflake53_orders (item) VALUES ('first'), ('second');
SELECT snowflake_nextval(5) AS other \gset
INSERT INTO snowflake53_orders (item) VALUES ('third')
	RETURNING id = snowflake53_currval() AS returning_is_currval, snowflake_currval() = :other AS other_stays;
SELECT item, snowflake53_shard(id) AS shard FROM snowflake53_orders ORDER BY id;
DROP TABLE snowflake53_orders;

-- a read-only transaction may draw ids
BEGIN READ ONLY;
SELECT snowflake53_nextval(5) > 0 AS issued;
COMMIT;

--
-- the server's shard: the list is shared, and may name shards that are not ours
--
SELECT error_of('SELECT snowflake53_nextval()');
SET seqid.shards = 31;
SELECT snowflake53_shard(snowflake53_nextval()) AS configured;
SET seqid.shards = ' 7, 16-31,3';
SELECT snowflake53_shard(snowflake53_nextval()) AS first_of_list;
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
RESET seqid.shards;

--
-- many ids in one call
--
SELECT count(*) AS ids, count(DISTINCT id) AS different,
       bool_and(id > previous) AS ascending,
       bool_and(snowflake53_shard(id) = 11) AS own_shard
  FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
          FROM snowflake53_nextvals(11, 10000) WITH ORDINALITY AS v(id, n)) compared;
SELECT n AS asked, (SELECT count(*) FROM snowflake53_nextvals(11, n)) AS given
  FROM unnest(ARRAY[0, 1, 127, 128, 129, 257]) n;
SELECT max(id) AS last_returned, count(*) AS returned
  FROM (SELECT snowflake53_nextvals(11, 2147483647) AS id LIMIT 3) v \gset
SELECT :returned AS returned, snowflake53_currval() = :last_returned AS got_last;
SELECT error_of('SELECT snowflake53_nextvals(11, -1)');
SELECT error_of('SELECT snowflake53_nextvals(-1, 1)');
SELECT error_of('SELECT snowflake53_nextvals(32, 0)');
-- can be cancelled, wherever it stands
\set VERBOSITY sqlstate
-- (for that statement alone: on a machine that stands still another would be, too)
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT sum(id) FROM (SELECT snowflake53_nextvals(11, 9223372036854775807) AS id) v;
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT count(snowflake53_nextval(11)) FROM generate_series(1, 100000000);
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT count(snowflake53_nextblock(11, 128)) FROM generate_series(1, 100000000);
ROLLBACK;
\set VERBOSITY default

--
-- blocks: consecutive ids of one millisecond that nobody else gets
--
SELECT count(*) AS blocks,
       bool_and(snowflake53_timestamp(first) = snowflake53_timestamp(first + size - 1)) AS one_millisecond,
       bool_and(snowflake53_sequence(first + size - 1) = snowflake53_sequence(first) + size - 1) AS consecutive,
       bool_and(snowflake53_shard(first) = 13 AND snowflake53_shard(first + size - 1) = 13) AS one_shard,
       bool_and(first > previous_last) AS apart
  FROM (SELECT first, size, lag(first + size - 1, 1, 0::bigint) OVER (ORDER BY n) AS previous_last
          FROM (SELECT n, 1 + n % 128 AS size, snowflake53_nextblock(13, 1 + n % 128) AS first
                  FROM generate_series(1, 500) n) drawn) compared;
-- a whole millisecond
SELECT snowflake53_sequence(snowflake53_nextblock(13, 128)) AS starts_at
  FROM generate_series(1, 3);
-- the session got the last one of the block
SELECT snowflake53_nextblock(13, 50) + 49 = snowflake53_currval() AS got_last;
SELECT error_of('SELECT snowflake53_nextblock(13, 0)');
SELECT error_of('SELECT snowflake53_nextblock(13, 129)');
SELECT error_of('SELECT snowflake53_nextblock(32, 1)');

--
-- bad shards, and NULL
--
SELECT error_of('SELECT snowflake53_nextval(-1)');
SELECT error_of('SELECT snowflake53_nextval(32)');
SELECT error_of('SELECT snowflake53_nextval(1023)');
-- a bigint is checked whole, not its lower half
SELECT error_of('SELECT snowflake53_nextval(4294967297)');
SELECT snowflake53_nextval(NULL) IS NULL AS shard,
       snowflake53_nextblock(NULL, 1) IS NULL AS block_shard,
       snowflake53_nextblock(1, NULL) IS NULL AS block_count,
       snowflake53_witness(NULL) IS NULL AS witness;
SELECT count(*) FROM snowflake53_nextvals(NULL, 1);
SELECT count(*) FROM snowflake53_nextvals(1, NULL);

-- With a limit of 0, a shard that runs into the next millisecond waits as ever.
SET seqid.max_clock_regression = 0;
SELECT count(DISTINCT id) FROM (SELECT snowflake53_nextval(17) AS id
                                  FROM generate_series(1, 10000)) v;
SELECT count(DISTINCT id) FROM (SELECT snowflake53_nextblock(17, 90) AS id
                                  FROM generate_series(1, 100)) v;
RESET seqid.max_clock_regression;
