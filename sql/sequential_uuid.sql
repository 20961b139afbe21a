--
-- Sequential UUIDs: a block, and random bits
--
\pset format unaligned
\pset tuples_only on
CREATE SEQUENCE uuid_seq;

-- The first hexadecimal digits of the UUID for a value of the sequence: the
-- sequence is set so that it comes next.
CREATE FUNCTION prefix_at(value bigint, digits int, VARIADIC sizes int[]) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM setval('uuid_seq', value, false);
	RETURN left(replace(uuid_sequence_nextval('uuid_seq', sizes[1], sizes[2])::text, '-', ''), digits);
END
$$;

-- version 4 and RFC 9562's variant, always
SELECT count(*) AS tried,
       count(*) FILTER (WHERE substr(id, 15, 1) = '4' AND substr(id, 20, 1) IN ('8', '9', 'a', 'b')) AS stamped
  FROM (SELECT uuid_sequence_nextval('uuid_seq', 1, n)::text AS id FROM generate_series(1, 10000) n
         UNION ALL
        SELECT uuid_time_nextval(n, 2147483647)::text FROM generate_series(1, 10000) n) v;

-- 10000 values in blocks of 256: 40 blocks, all full but the last
ALTER SEQUENCE uuid_seq RESTART;
SELECT count(*) AS blocks, sum(members) AS ids, sum(different) AS different,
       count(*) FILTER (WHERE members = 256) AS full, min(members) AS smallest, max(prefix) AS last
  FROM (SELECT left(id, 4) AS prefix, count(*) AS members, count(DISTINCT id) AS different
          FROM (SELECT uuid_sequence_nextval('uuid_seq', 256, 65536)::text AS id
                  FROM generate_series(1, 10000)) v
         GROUP BY 1) blocks;
-- the same in order
ALTER SEQUENCE uuid_seq RESTART;
SELECT count(*) AS tried, count(*) FILTER (WHERE block = (n - 1) / 256) AS right_block
  FROM (SELECT n, ('x' || left(uuid_sequence_nextval('uuid_seq', 256)::text, 4))::bit(16)::int AS block
          FROM generate_series(1, 10000) n) v;

-- Defaults: blocks of 65536, and 65536 of them before the first comes again
SELECT value, prefix_at(value, 4, 65536, 65536) AS prefix
  FROM unnest(ARRAY[1, 65536, 65537, 4294967296, 4294967297, 9223372036854775807]) value;
SELECT setval('uuid_seq', 65537, false);
SELECT left(uuid_sequence_nextval('uuid_seq')::text, 4) AS by_default;

-- How many bits the prefix has, and how blocks shrink if it could number more:
-- 100 blocks of 100 have 8 bits, so 256 blocks of 39
SELECT value - 1 AS value_0, prefix_at(value, 2, 100, 100) AS prefix
  FROM unnest(ARRAY[1, 39, 40, 41, 79, 9984, 9985]) value;
-- one block: 8 bits, and 256 blocks of 1/256 the size
SELECT value - 1 AS value_0, prefix_at(value, 2, 65536, 1) AS prefix
  FROM unnest(ARRAY[1, 256, 257, 65536, 65537]) value;
-- a block of less than one value has one
SELECT value - 1 AS value_0, prefix_at(value, 2, 1, 1) AS prefix
  FROM unnest(ARRAY[1, 2, 256, 257]) value;
-- 257 blocks need 9 bits, so 16: 65536 blocks of 256 * 257 / 65536 = 1
SELECT value - 1 AS value_0, prefix_at(value, 4, 256, 257) AS prefix
  FROM unnest(ARRAY[1, 2, 65536, 65537]) value;
-- 24 and 32 bits, beyond which sequential_uuids crashes or never returns
SELECT blocks, value - 1 AS value_0, prefix_at(value, digits, 1, blocks) AS prefix
  FROM (VALUES (65537, 6), (16777216, 6), (16777217, 8), (1073741824, 8),
               (1073741825, 8), (2147483647, 8)) v(blocks, digits),
       unnest(ARRAY[1, 2, 16777217]) value;
SELECT value - 1 AS value_0, prefix_at(value, 8, 2147483647, 2147483647) AS prefix
  FROM unnest(ARRAY[1, 1073741823, 1073741824, 9223372036854775807]) value;

-- values of a sequence below 1, where integer division cuts towards 0
CREATE SEQUENCE uuid_low_seq MINVALUE -9223372036854775808 START -9223372036854775808;
SELECT length(uuid_sequence_nextval('uuid_low_seq')::text) AS at_the_bottom;
SELECT setval('uuid_low_seq', 0, false);
SELECT left(uuid_sequence_nextval('uuid_low_seq', 256, 256)::text, 2) AS minus_1,
       left(uuid_sequence_nextval('uuid_low_seq', 256, 256)::text, 2) AS zero;
SELECT setval('uuid_low_seq', -256, false);
SELECT left(uuid_sequence_nextval('uuid_low_seq', 256, 256)::text, 2) AS minus_257;

-- the rest is random
ALTER SEQUENCE uuid_seq RESTART;
SELECT count(DISTINCT right(id::text, 17)) FROM (SELECT uuid_sequence_nextval('uuid_seq') AS id
                                                   FROM generate_series(1, 100000)) v;

--
-- by time
--
-- The block is that of the current second; it may change between two readings
-- of the clock, so it must lie between the two.
DO $$
DECLARE
	before bigint;
	after bigint;
	block bigint;
	length int;
	count int;
	bits int;
	size bigint;
BEGIN
	FOR i IN 1..2000 LOOP
		length := 1 + i % 50;
		count := (ARRAY[1, 2, 100, 256, 257, 65536, 65537, 16777217, 2147483647])[1 + i % 9];
		bits := CASE WHEN count <= 256 THEN 8 WHEN count <= 65536 THEN 16
					 WHEN count <= 16777216 THEN 24 ELSE 32 END;
		size := greatest(1, length::bigint * count / (1::bigint << bits));
		before := floor(extract(epoch FROM clock_timestamp()));
		block := ('x' || lpad(left(replace(uuid_time_nextval(length, count)::text, '-', ''), bits / 4), 16, '0'))::bit(64)::bigint;
		after := floor(extract(epoch FROM clock_timestamp()));
		ASSERT (block - before / size) & ((1::bigint << bits) - 1) <= after / size - before / size,
			format('length %s count %s block %s between %s and %s', length, count, block, before, after);
	END LOOP;
END
$$;
SELECT count(DISTINCT id) AS different, count(DISTINCT left(id::text, 4)) BETWEEN 1 AND 2 AS one_or_two_blocks
  FROM (SELECT uuid_time_nextval() AS id FROM generate_series(1, 10000)) v;

--
-- errors, limits, NULL
--
SELECT error_of($$SELECT uuid_sequence_nextval('uuid_seq', 0, 1)$$);
SELECT error_of($$SELECT uuid_sequence_nextval('uuid_seq', -1, 1)$$);
SELECT error_of($$SELECT uuid_sequence_nextval('uuid_seq', 1, 0)$$);
SELECT error_of($$SELECT uuid_sequence_nextval('uuid_seq', 1, -2147483648)$$);
SELECT error_of('SELECT uuid_time_nextval(0, 1)');
SELECT error_of('SELECT uuid_time_nextval(-1, 1)');
SELECT error_of('SELECT uuid_time_nextval(1, 0)');
SELECT error_of('SELECT uuid_time_nextval(1, -1)');
-- a bad call takes no value from the sequence
SELECT setval('uuid_seq', 1000);
SELECT error_of($$SELECT uuid_sequence_nextval('uuid_seq', 0, 1)$$);
SELECT last_value FROM uuid_seq;
-- not a sequence, no such sequence, a sequence at its end, a read-only transaction
CREATE TABLE uuid_table ();
SELECT left(error_of($$SELECT uuid_sequence_nextval('uuid_table')$$), 5);
SELECT error_of($$SELECT uuid_sequence_nextval('uuid_nowhere')$$);
SELECT error_of('SELECT uuid_sequence_nextval(0)');
CREATE SEQUENCE uuid_short_seq MAXVALUE 2 START 2;
SELECT length(uuid_sequence_nextval('uuid_short_seq')::text);
SELECT left(error_of($$SELECT uuid_sequence_nextval('uuid_short_seq')$$), 5);
BEGIN READ ONLY;
SELECT left(error_of($$SELECT uuid_sequence_nextval('uuid_seq')$$), 5);
SELECT length(uuid_time_nextval()::text);
COMMIT;
SELECT uuid_sequence_nextval(NULL) IS NULL AS s1, uuid_sequence_nextval('uuid_seq', NULL) IS NULL AS s2,
       uuid_sequence_nextval('uuid_seq', 1, NULL) IS NULL AS s3,
       uuid_time_nextval(NULL) IS NULL AS t1, uuid_time_nextval(1, NULL) IS NULL AS t2;

DROP FUNCTION prefix_at(bigint, int, int[]);
DROP SEQUENCE uuid_seq, uuid_low_seq, uuid_short_seq;
DROP TABLE uuid_table;
