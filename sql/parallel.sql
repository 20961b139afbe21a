--
-- Parallel workers draw from the same generators
--
\pset format unaligned
\pset tuples_only on
CREATE TABLE parallel_rows AS SELECT n FROM generate_series(1, 200000) n;
ALTER TABLE parallel_rows SET (parallel_workers = 2);
ANALYZE parallel_rows;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
-- pg_stat_statements makes plans show an identifier.
SET compute_query_id = regress;

-- The workers call the function themselves: it stands below Gather.
EXPLAIN (VERBOSE, COSTS OFF) SELECT snowflake_nextval(7) FROM parallel_rows;
EXPLAIN (VERBOSE, COSTS OFF) SELECT comb_uuid() FROM parallel_rows;
EXPLAIN (VERBOSE, COSTS OFF) SELECT uuid_time_nextval() FROM parallel_rows;
EXPLAIN (VERBOSE, COSTS OFF) SELECT snowflake_nextblock(7, 2) FROM parallel_rows;
EXPLAIN (VERBOSE, COSTS OFF) SELECT snowflake53_nextval(n % 32) FROM parallel_rows;

-- A sequence cannot be advanced by a worker, nor does it know the session's id.
SELECT snowflake_nextval(7) > 0 AS issued;
CREATE SEQUENCE parallel_seq;
EXPLAIN (VERBOSE, COSTS OFF) SELECT uuid_sequence_nextval('parallel_seq') FROM parallel_rows;
EXPLAIN (VERBOSE, COSTS OFF) SELECT snowflake_currval() FROM parallel_rows;
EXPLAIN (VERBOSE, COSTS OFF) SELECT snowflake53_currval() FROM parallel_rows;
SELECT count(DISTINCT uuid_sequence_nextval('parallel_seq')) FROM parallel_rows;

-- No id twice, by leader and workers together.  Materialized, so that the ids
-- are those of one parallel scan.
WITH drawn AS MATERIALIZED (SELECT snowflake_nextval(7) AS id FROM parallel_rows)
SELECT count(*) AS ids, count(DISTINCT id) AS different, bool_and(snowflake_shard(id) = 7) AS own_shard
  FROM drawn;
WITH drawn AS MATERIALIZED (SELECT n % 32 AS shard, snowflake53_nextval(n % 32) AS id FROM parallel_rows)
SELECT count(*) AS ids, count(DISTINCT id) AS different, bool_and(snowflake53_shard(id) = shard) AS own_shard
  FROM drawn;
WITH drawn AS MATERIALIZED (SELECT comb_uuid() AS id FROM parallel_rows)
SELECT count(*) AS ids, count(DISTINCT id) AS different, bool_and(comb_uuid_is_valid(id)) AS valid
  FROM drawn;
WITH drawn AS MATERIALIZED (SELECT uuid_time_nextval() AS id FROM parallel_rows)
SELECT count(*) AS ids, count(DISTINCT id) AS different FROM drawn;

-- Workers only, and the codecs with them; that workers really ran is asserted,
-- for a plan that fell back to the leader would prove nothing.
SET parallel_leader_participation = off;
CREATE FUNCTION workers_launched(query text) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
	RETURN (jsonb_path_query_first(plan::jsonb, 'strict $.**."Workers Launched"'))::int;
END
$$;
SELECT workers_launched('SELECT snowflake_nextval(7) FROM parallel_rows') > 0 AS workers_ran;
WITH drawn AS MATERIALIZED (SELECT snowflake_nextval(7) AS id FROM parallel_rows)
SELECT count(*) AS ids, count(DISTINCT id) AS different FROM drawn;

-- The configured shard reaches the workers.
SET seqid.shards = 1000;
SELECT count(*) AS ids FROM (SELECT snowflake_nextval() AS id FROM parallel_rows) v
 WHERE snowflake_shard(id) = 1000;

DROP FUNCTION workers_launched(text);
DROP TABLE parallel_rows;
DROP SEQUENCE parallel_seq;
