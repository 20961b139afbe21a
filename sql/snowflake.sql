--
-- Issuing snowflake ids
--

-- before the first id
SELECT error_of('SELECT snowflake_currval()');

-- The shard is the one asked for; the lowest and the highest exist.
SELECT s AS shard, snowflake_shard(snowflake_nextval(s)) AS issued_by
  FROM unnest(ARRAY[0, 1, 5, 127, 128, 1022, 1023]) s;

-- An id tells the time at which it was issued, to the millisecond: not before
-- the millisecond in which we began to wait for it, and not after it came.
DO $$
DECLARE
	before timestamptz;
	id bigint;
BEGIN
	FOR i IN 1..1000 LOOP
		before := date_trunc('milliseconds', clock_timestamp());
		id := snowflake_nextval(3);
		ASSERT snowflake_timestamp(id) BETWEEN before AND clock_timestamp(), id;
	END LOOP;
END
$$;

-- Each is greater than the one before; far more than a millisecond holds.
SELECT count(*) AS ids, bool_and(id > previous) AS ascending
  FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
          FROM (SELECT n, snowflake_nextval(7) AS id
                  FROM generate_series(1, 100000) n) drawn) compared;

-- All shards at once: no shard disturbs another.
SELECT count(*) AS ids, count(DISTINCT id) AS different,
       bool_and(snowflake_shard(id) = shard) AS own_shard
  FROM (SELECT n & 1023 AS shard, snowflake_nextval(n & 1023) AS id
          FROM generate_series(1, 102400) n) drawn;

-- as a column's default, and the id that the session got last
CREATE TABLE snowflake_orders (
	id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	item text NOT NULL
);
INSERT INTO snowflake_orders (item) VALUES ('first'), ('second');
INSERT INTO snowflake_orders (item) VALUES ('third')
	RETURNING id = snowflake_currval() AS returning_is_currval;
SELECT item, snowflake_shard(id) AS shard FROM snowflake_orders ORDER BY id;
DROP TABLE snowflake_orders;

-- A rolled back transaction does not give its ids back.
SELECT snowflake_nextval(9) AS kept \gset
BEGIN;
SELECT snowflake_nextval(9) AS lost \gset
ROLLBACK;
SELECT :lost > :kept AS later, snowflake_nextval(9) > :lost AS not_reused,
       snowflake_currval() > :lost AS currval_stays;

-- a read-only transaction may draw ids
BEGIN READ ONLY;
SELECT snowflake_nextval(5) > 0 AS issued;
COMMIT;

--
-- the server's shard: of a list, that of the timeline, which is the first here
--
SHOW seqid.shards;
SELECT error_of('SELECT snowflake_nextval()');
SET seqid.shards = 42;
SELECT snowflake_shard(snowflake_nextval()) AS configured;
SET seqid.shards = ' 7, 16-31,3';
SELECT snowflake_shard(snowflake_nextval()) AS first_of_list,
       timeline, shard, shard_source FROM seqid.stat_server;
SET seqid.shards = '0-1023';
SELECT snowflake_shard(snowflake_nextval()) AS first_of_all;
SET seqid.shards = 1024;
SET seqid.shards = -2;
SET seqid.shards = '3, ';
SET seqid.shards = '3 4';
SET seqid.shards = '4-3';
SET seqid.shards = '16-31, 20';
SHOW seqid.shards;
RESET seqid.shards;
SELECT shard, shard_source FROM seqid.stat_server;
SELECT error_of('SELECT snowflake_nextval()');

--
-- many ids in one call
--
SELECT count(*) AS ids, count(DISTINCT id) AS different,
       bool_and(id > previous) AS ascending,
       bool_and(snowflake_shard(id) = 11) AS own_shard
  FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
          FROM snowflake_nextvals(11, 50000) WITH ORDINALITY AS v(id, n)) compared;
SELECT count(*) FROM snowflake_nextvals(11, 0);
SELECT count(*) FROM snowflake_nextvals(11, 1);
SELECT count(*) FROM snowflake_nextvals(11, 4096);
SELECT count(*) FROM snowflake_nextvals(11, 4097);
SELECT count(*) FROM snowflake_nextvals(11, (SELECT count(*) FROM generate_series(1, 100)));
-- in the select list it stops with the query, and the session got the last
-- that was returned
SELECT max(id) AS last_returned, count(*) AS returned
  FROM (SELECT snowflake_nextvals(11, 2147483647) AS id LIMIT 3) v \gset
SELECT :returned AS returned, snowflake_currval() = :last_returned AS got_last;
SELECT error_of('SELECT snowflake_nextvals(11, -1)');
SELECT error_of('SELECT snowflake_nextvals(-1, 1)');
SELECT error_of('SELECT snowflake_nextvals(1024, 1)');
-- can be cancelled, wherever it stands
\set VERBOSITY sqlstate
-- (for that statement alone: on a machine that stands still another would be, too)
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT count(*) FROM snowflake_nextvals(11, 10000000);
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT sum(id) FROM (SELECT snowflake_nextvals(11, 9223372036854775807) AS id) v;
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT count(snowflake_nextval(11)) FROM generate_series(1, 100000000);
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT count(snowflake_nextblock(11, 4096)) FROM generate_series(1, 100000000);
ROLLBACK;
\set VERBOSITY default

--
-- blocks: consecutive ids of one millisecond that nobody else gets
--
SELECT count(*) AS blocks,
       bool_and(snowflake_timestamp(first) = snowflake_timestamp(first + size - 1)) AS one_millisecond,
       bool_and(snowflake_sequence(first + size - 1) = snowflake_sequence(first) + size - 1) AS consecutive,
       bool_and(snowflake_shard(first) = 13 AND snowflake_shard(first + size - 1) = 13) AS one_shard,
       bool_and(first > previous_last) AS apart
  FROM (SELECT first, size, lag(first + size - 1, 1, 0::bigint) OVER (ORDER BY n) AS previous_last
          FROM (SELECT n, 1 + n % 1000 AS size, snowflake_nextblock(13, 1 + n % 1000) AS first
                  FROM generate_series(1, 3000) n) drawn) compared;
-- a whole millisecond
SELECT snowflake_sequence(snowflake_nextblock(13, 4096)) AS starts_at
  FROM generate_series(1, 3);
-- the session got the last one of the block
SELECT snowflake_nextblock(13, 50) + 49 = snowflake_currval() AS got_last;
-- single ids and blocks of one shard do not overlap
SELECT snowflake_nextblock(13, 10) AS first \gset
SELECT snowflake_nextval(13) > :first + 9 AS after_the_block;
SELECT error_of('SELECT snowflake_nextblock(13, 0)');
SELECT error_of('SELECT snowflake_nextblock(13, -1)');
SELECT error_of('SELECT snowflake_nextblock(13, 4097)');
SELECT error_of('SELECT snowflake_nextblock(13, 2147483647)');
SELECT error_of('SELECT snowflake_nextblock(-1, 1)');
SELECT error_of('SELECT snowflake_nextblock(1024, 1)');

--
-- bad shards, and NULL
--
SELECT error_of('SELECT snowflake_nextval(-1)');
SELECT error_of('SELECT snowflake_nextval(1024)');
-- a bigint is checked whole, not its lower half
SELECT error_of('SELECT snowflake_nextval(4294967297)');
SELECT error_of('SELECT snowflake_nextval(-2147483648)');
SELECT snowflake_nextval(NULL) IS NULL AS shard,
       snowflake_nextblock(NULL, 1) IS NULL AS block_shard,
       snowflake_nextblock(1, NULL) IS NULL AS block_count;
SELECT count(*) FROM snowflake_nextvals(NULL, 1);
SELECT count(*) FROM snowflake_nextvals(1, NULL);

--
-- the limit on ids ahead of the clock
--
SHOW seqid.max_clock_regression;
SELECT left(error_of('SET seqid.max_clock_regression = -1'), 5);
SET seqid.max_clock_regression = '1min';
SHOW seqid.max_clock_regression;
-- With 0, a shard that runs into the next millisecond waits as ever: that the
-- clock was not set back must not be mistaken for a clock that was.
SET seqid.max_clock_regression = 0;
SELECT count(DISTINCT id) FROM (SELECT snowflake_nextval(17) AS id
                                  FROM generate_series(1, 50000)) v;
SELECT count(DISTINCT id) FROM (SELECT snowflake_nextblock(17, 3000) AS id
                                  FROM generate_series(1, 20)) v;
RESET seqid.max_clock_regression;
