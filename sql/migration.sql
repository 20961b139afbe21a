--
-- What docs/migration.md says of other systems' ids, beside its examples
--
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- sequential_uuids: its functions in one schema, stood in for, seqid's in another;
-- the block is where it was
CREATE SCHEMA migration_ids;
CREATE FUNCTION migration_ids.uuid_time_nextval(interval_length int DEFAULT 60, interval_count int DEFAULT 65536)
RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT (lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) / interval_length)::bigint % interval_count), 4, '0')
	        || substr(gen_random_uuid()::text, 5))::uuid
$$;
CREATE TABLE migration_measurements (id uuid PRIMARY KEY DEFAULT migration_ids.uuid_time_nextval(3600, 65536), n int);
INSERT INTO migration_measurements (n) VALUES (1);
ALTER TABLE migration_measurements ALTER id SET DEFAULT uuid_time_nextval(3600, 65536);
DROP FUNCTION migration_ids.uuid_time_nextval;
DROP SCHEMA migration_ids;
INSERT INTO migration_measurements (n) VALUES (2);
-- (the hour may have passed in between)
SELECT (new.block - old.block + 65536) % 65536 IN (0, 1) AS block_goes_on
  FROM (SELECT n, ('x' || left(id::text, 4))::bit(16)::int AS block FROM migration_measurements) old
  JOIN (SELECT n, ('x' || left(id::text, 4))::bit(16)::int AS block FROM migration_measurements) new ON old.n = 1 AND new.n = 2;
DROP TABLE migration_measurements;

-- pg_uuidv7: random but for milliseconds, version and variant
CREATE FUNCTION migration_uuidv7(t timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT encode(set_byte(set_byte(
			substr(int8send(floor(extract(epoch FROM t)::numeric * 1000)::bigint), 3) || substr(r, 7),
			6, get_byte(r, 6) & 15 | 112), 8, get_byte(r, 8) & 63 | 128), 'hex')::uuid
	  FROM (SELECT uuid_send(gen_random_uuid()) AS r) v
$$;
CREATE TABLE migration_letters AS
SELECT t AS created_at, migration_uuidv7(t) AS id
  FROM (SELECT timestamptz '2024-03-01 10:30:15.5' + i * interval '0.7 ms' AS t FROM generate_series(1, 10000) i) v;
SELECT count(*) AS ids, bool_and(comb_uuid_is_valid(id)) AS valid,
       bool_and(date_trunc('milliseconds', comb_uuid_timestamp(id)) = date_trunc('milliseconds', created_at)) AS milliseconds,
       bool_and(comb_uuid_timestamp(id) = created_at) AS microseconds,
       bool_and(id > comb_uuid_last(created_at - interval '1 ms') AND id < comb_uuid_first(created_at + interval '1 ms')) AS in_range,
       bool_and(id < comb_uuid()) AS new_are_greater
  FROM migration_letters;
-- bounds at whole milliseconds are exact
SELECT (SELECT count(*) FROM migration_letters WHERE id >= comb_uuid_first('2024-03-01 10:30:18+00') AND id < comb_uuid_first('2024-03-01 10:30:20+00'))
     = (SELECT count(*) FROM migration_letters WHERE created_at >= '2024-03-01 10:30:18+00' AND created_at < '2024-03-01 10:30:20+00') AS exact;
-- from a clock that was ahead: greater, once seen
SELECT migration_uuidv7(clock_timestamp() + interval '2 s') AS ahead \gset
SELECT comb_uuid_witness(:'ahead') = :'ahead' AS seen;
SELECT comb_uuid() > :'ahead' AS greater;
DROP TABLE migration_letters;
DROP FUNCTION migration_uuidv7;

-- random ones beside COMBs: 99 % of them are above, none is in a range of a day
SELECT count(*) FILTER (WHERE id >= comb_uuid_first('2026-01-01 00:00+00')) > 99000 AS above,
       count(*) FILTER (WHERE id >= comb_uuid_first('2026-01-01 00:00+00') AND id < comb_uuid_first('2026-01-02 00:00+00')) < 3 AS in_a_day
  FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 100000)) v;

-- ULIDs: one in 64 looks like a COMB; order and time are their first 48 bits'
SELECT count(*) FILTER (WHERE comb_uuid_is_valid(id)) BETWEEN 220 AND 400 AS one_in_64,
       bool_and(crockford32_decode_uuid(crockford32_encode_uuid(id)) = id) AS round_trip,
       bool_and(id >= (left(comb_uuid_first('2016-07-30 23:54:10.259+00')::text, 13) || '-0000-0000-000000000000')::uuid) AS above_bound
  FROM (SELECT ('01563e3a-b5d3-' || substr(m, 1, 4) || '-' || substr(m, 5, 4) || '-' || substr(m, 9, 12))::uuid AS id
          FROM (SELECT md5(i::text) AS m FROM generate_series(1, 20000) i OFFSET 0) md5s OFFSET 0) v;

-- pgEdge's snowflake, in one millisecond: where node is above counter, node n is shard
-- n; where the counter is above, counter c is shard c / 4
SELECT count(*) AS tried, count(*) FILTER (WHERE snowflake_shard(bits_pack('{41,10,12}', ARRAY[1, node, counter])) = node) AS node_above,
       count(*) FILTER (WHERE snowflake_shard(bits_pack('{41,12,10}', ARRAY[1, counter, node])) = counter / 4) AS counter_above
  FROM generate_series(1, 1023, 31) node, generate_series(0, 4095) counter;
-- and so the change of a default: greater than all, be they ahead of the clock
CREATE TABLE migration_sales (id bigint PRIMARY KEY);
INSERT INTO migration_sales SELECT bits_pack('{41,12,10}', ARRAY[(snowflake_first(clock_timestamp() + interval '2 s') >> 22), counter, 7])
  FROM generate_series(0, 4095) counter;
SET seqid.shards = 5;
BEGIN;
LOCK TABLE migration_sales IN ACCESS EXCLUSIVE MODE;
ALTER TABLE migration_sales ALTER id SET DEFAULT snowflake_nextval();
SELECT snowflake_witness(max(id)) > 0 AS seen FROM migration_sales;
COMMIT;
SELECT max(id) AS highest FROM migration_sales \gset
INSERT INTO migration_sales SELECT FROM generate_series(1, 10000);
SELECT count(*) FILTER (WHERE id <= :highest) AS old, count(*) FILTER (WHERE id > :highest) AS new FROM migration_sales;
RESET seqid.shards;
DROP TABLE migration_sales;

-- the years whose Twitter's, Discord's and Instagram's ids are those of today
SELECT extract(year FROM timestamptz 'epoch' + (1288834974657 + (snowflake_first('2026-11-21') >> 22)) * interval '1 ms') AS twitter,
       extract(year FROM timestamptz 'epoch' + (1420070400000 + (snowflake_first('2026-11-21') >> 22)) * interval '1 ms') AS discord,
       extract(year FROM timestamptz 'epoch' + (1314220021721 + (snowflake_first('2026-11-21') >> 23)) * interval '1 ms') AS instagram;
-- Twitter's layout moved to seqid's epoch: the same times, parts and order
SELECT count(*) AS tried, count(DISTINCT moved) AS different, bool_and((moved > lag_moved) IS NOT false) AS in_order,
       bool_and(snowflake_timestamp(moved) = made) AS time, bool_and(snowflake_shard(moved) = machine AND (snowflake_parts(moved)).sequence = sequence) AS parts
  FROM (SELECT *, lag(moved) OVER (ORDER BY id) AS lag_moved
          FROM (SELECT id, id - (1672531200000 - 1288834974657 << 22) AS moved, made, machine, sequence
                  FROM (SELECT timestamptz '2023-01-01' + i * interval '34567.891 s' AS t, i % 1024 AS machine, i % 4096 AS sequence
                          FROM generate_series(0, 3000) i) v,
                       LATERAL (SELECT date_trunc('milliseconds', t) AS made) w,
                       LATERAL (SELECT bits_pack('{41,5,5,12}', ARRAY[(extract(epoch FROM made) * 1000)::bigint - 1288834974657,
                                                                      machine / 32, machine % 32, sequence]) AS id) x) y) z;
