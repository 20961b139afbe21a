--
-- Issuing snowflake ids; snowflake53.sql includes this file for its layout
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
\set ids 50000
\endif
\set nextval :kind _nextval
\set nextvals :kind _nextvals
\set nextblock :kind _nextblock
\set currval :kind _currval
\set parts :kind _parts
\set shard_of :kind _shard
\set time_of :kind _timestamp

-- before the first id
SELECT error_of(format('SELECT %s()', :'currval'));

-- The shard is the one asked for; the lowest and the highest exist.
SELECT s AS shard, :shard_of(:nextval(s)) AS issued_by
  FROM unnest(ARRAY[0, 1, 5, :shards / 8, :shards - 2, :shards - 1]) s;

-- An id has the time at which it was issued, to the millisecond: not before the
-- millisecond in which the call began, and not after it returned.
SELECT count(*) AS ids, bool_and(:time_of(id) BETWEEN before AND clock_timestamp()) AS in_time
  FROM (SELECT before, :nextval(3) AS id
          FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS before
                  FROM generate_series(1, 1000) OFFSET 0) began OFFSET 0) issued;

-- Each is greater than the one before; far more than a millisecond holds.
SELECT count(*) = :ids AS ids, bool_and(id > previous) AS ascending
  FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
          FROM (SELECT n, :nextval(7) AS id FROM generate_series(1, :ids) n) issued) compared;

-- All shards at once: no shard disturbs another.
SELECT count(*) AS ids, count(DISTINCT id) AS different, bool_and(:shard_of(id) = shard) AS own_shard
  FROM (SELECT n % :shards AS shard, :nextval(n % :shards) AS id FROM generate_series(1, 102400) n) issued;

-- as a column's default, and the id that the session got last
CREATE TABLE snowflake_orders (
	id bigint PRIMARY KEY DEFAULT :nextval(5),
	item text NOT NULL
);
INSERT INTO snowflake_orders (item) VALUES ('first'), ('second');
INSERT INTO snowflake_orders (item) VALUES ('third')
	RETURNING id = :currval() AS returning_is_currval;
SELECT item, :shard_of(id) AS shard FROM snowflake_orders ORDER BY id;
DROP TABLE snowflake_orders;

-- A rolled back transaction does not give its ids back.
SELECT :nextval(9) AS kept \gset
BEGIN;
SELECT :nextval(9) AS lost \gset
ROLLBACK;
SELECT :lost > :kept AS later, :nextval(9) > :lost AS not_reused, :currval() > :lost AS currval_stays;

-- a read-only transaction can generate ids
BEGIN READ ONLY;
SELECT :nextval(5) > 0 AS issued;
COMMIT;

--
-- the server's shard: of a list, that of the timeline, which is the first here
--
SHOW seqid.shards;
SELECT error_of(format('SELECT %s()', :'nextval'));
SET seqid.shards = 21;
SELECT :shard_of(:nextval()) AS configured;
SET seqid.shards = ' 7, 16-31,3';
SELECT :shard_of(:nextval()) AS first_of_list, timeline, shard, shard_source FROM seqid.stat_server;
SET seqid.shards = '0-1023';
SELECT :shard_of(:nextval()) AS first_of_all;
SELECT list, error_of(format('SET seqid.shards = %L', list))
  FROM unnest(ARRAY['1024', '-2', '3, ', '3 4', '4-3', '16-31, 20']) list;
SHOW seqid.shards;
RESET seqid.shards;
SELECT shard, shard_source FROM seqid.stat_server;

--
-- many ids in one call
--
SELECT count(*) = :ids AS ids, count(DISTINCT id) = :ids AS different,
       bool_and(id > previous) AS ascending, bool_and(:shard_of(id) = 11) AS own_shard,
       max((:parts(id)).sequence) = :millisecond - 1 AS whole_milliseconds
  FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
          FROM :nextvals(11, :ids) WITH ORDINALITY AS v(id, n)) compared;
SELECT n AS asked, (SELECT count(*) FROM :nextvals(11, n)) AS returned
  FROM unnest(ARRAY[0, 1, :millisecond - 1, :millisecond, :millisecond + 1, 2 * :millisecond + 1]) n;
SELECT count(*) FROM :nextvals(11, (SELECT count(*) FROM generate_series(1, 100)));
-- in the select list it stops with the query, and the session got the last
-- that was returned
SELECT max(id) AS last_returned, count(*) AS returned
  FROM (SELECT :nextvals(11, 2147483647) AS id LIMIT 3) v \gset
SELECT :returned AS returned, :currval() = :last_returned AS got_last;
-- can be cancelled, wherever it stands
-- (SET LOCAL: on a machine that stands still, another statement would be, too)
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT left(error_of(format('SELECT count(*) FROM %s(11, 10000000)', :'nextvals')), 5) AS from_clause;
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT left(error_of(format('SELECT sum(id) FROM (SELECT %s(11, 9223372036854775807) AS id) v', :'nextvals')), 5) AS select_list;
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT left(error_of(format('SELECT count(%s(11)) FROM generate_series(1, 100000000)', :'nextval')), 5) AS single_ids;
ROLLBACK;
BEGIN; SET LOCAL statement_timeout = '50ms';
SELECT left(error_of(format('SELECT count(%s(11, %s)) FROM generate_series(1, 100000000)', :'nextblock', :millisecond)), 5) AS blocks;
ROLLBACK;

--
-- blocks: consecutive ids of one millisecond that no other call returns
--
SELECT count(*) AS blocks,
       bool_and(:time_of(first) = :time_of(first + size - 1)) AS one_millisecond,
       bool_and((:parts(first + size - 1)).sequence = (:parts(first)).sequence + size - 1) AS consecutive,
       bool_and(:shard_of(first) = 13 AND :shard_of(first + size - 1) = 13) AS one_shard,
       bool_and(first > previous_last) AS apart
  FROM (SELECT first, size, lag(first + size - 1, 1, 0::bigint) OVER (ORDER BY n) AS previous_last
          FROM (SELECT n, 1 + n % :millisecond AS size, :nextblock(13, 1 + n % :millisecond) AS first
                  FROM generate_series(1, 1000) n) issued) compared;
-- a whole millisecond
SELECT (:parts(:nextblock(13, :millisecond))).sequence AS starts_at
  FROM generate_series(1, 3);
-- the session got the last one of the block
SELECT :nextblock(13, 50) + 49 = :currval() AS got_last;
-- single ids and blocks of one shard do not overlap
SELECT :nextblock(13, 10) AS first \gset
SELECT :nextval(13) > :first + 9 AS after_the_block;
-- of this server's shard, which all calls share
SET seqid.shards = 13;
SELECT :nextblock(10) AS next \gset
SELECT :next > :first + 9 AS after_the_block, :shard_of(:next) AS shard, :next + 9 = :currval() AS got_last,
       :nextval(13) > :next + 9 AS apart, error_of(format('SELECT %s(0)', :'nextblock')) AS size;
RESET seqid.shards;
SELECT left(error_of(format('SELECT %s(1)', :'nextblock')), 5) AS no_shard;

--
-- bad shards and numbers, and NULL
--
SELECT f || '(' || arguments || ')' AS call, error_of(format('SELECT %s(%s)', f, arguments))
  FROM (VALUES (:'nextval', '-1'), (:'nextval', :'shards'), (:'nextval', '2147483647'), (:'nextval', '-2147483648'), (:'nextval', '4294967297'),
			   (:'nextvals', '11, -1'), (:'nextvals', '-1, 1'), (:'nextvals', :'shards' || ', 0'),
			   (:'nextblock', '13, 0'), (:'nextblock', '13, -1'), (:'nextblock', '13, ' || :millisecond + 1),
			   (:'nextblock', '13, 2147483647'), (:'nextblock', '13, 4294967297'), (:'nextblock', '-1, 1'), (:'nextblock', :'shards' || ', 1')) v(f, arguments);
SELECT :nextval(NULL) IS NULL AS shard, :nextblock(NULL, 1) IS NULL AS block_shard, :nextblock(1, NULL) IS NULL AS block_count,
       :nextblock(NULL) IS NULL AS block_of_server;
SELECT count(*) FROM :nextvals(NULL, 1);
SELECT count(*) FROM :nextvals(1, NULL);
-- The planner knows how many.
SELECT count, expected_rows(format('SELECT * FROM %s(5, %s)', :'nextvals', count)) AS as_a_table,
       expected_rows(format('SELECT %s(5, %s)', :'nextvals', count)) AS as_a_column
  FROM unnest(ARRAY['0', '1', '100000', '9223372036854775807', '-1', 'NULL', 'extract(second FROM clock_timestamp())::bigint']) count;

--
-- the limit on ids ahead of the clock
--
SHOW seqid.max_lead;
SELECT left(error_of('SET seqid.max_lead = -1'), 5);
SET seqid.max_lead = '1min';
SHOW seqid.max_lead;
-- With 0, a shard that runs into the next millisecond waits as ever: a clock that was
-- not set back must not be mistaken for one that was.
SET seqid.max_lead = 0;
SELECT count(DISTINCT id) = :ids AS ids FROM (SELECT :nextval(17) AS id FROM generate_series(1, :ids)) v;
SELECT count(DISTINCT id) AS blocks FROM (SELECT :nextblock(17, 3 * :millisecond / 4) AS id FROM generate_series(1, 20)) v;
RESET seqid.max_lead;
