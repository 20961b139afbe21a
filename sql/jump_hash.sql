--
-- Consistent hashing to shards
--
-- Growing from n to n + 1 buckets moves about 1 / (n + 1) of the keys, and all
-- of them to the new bucket.
\pset format unaligned
\pset tuples_only on
SELECT n, count(*) FILTER (WHERE a <> b AND b <> n) AS moved_elsewhere,
       abs(count(*) FILTER (WHERE a <> b) - 20000.0 / (n + 1)) < 7 * sqrt(20000.0 / (n + 1)) AS fair_share
  FROM (SELECT n, jump_hash(key, n) AS a, jump_hash(key, n + 1) AS b
          FROM unnest(ARRAY[1, 2, 7, 16, 100]) n,
               LATERAL (SELECT hashint8extended(k, n) AS key FROM generate_series(1, 20000) k) keys) v
 GROUP BY n ORDER BY n;
-- every bucket is used, evenly (seven standard deviations)
SELECT kind, count(*) AS buckets, min(c) > 10000 / 10.0 - 7 * sqrt(1000.0) AND max(c) < 10000 / 10.0 + 7 * sqrt(1000.0) AS even
  FROM (SELECT 'text' AS kind, jump_hash_text('user ' || k, 10) AS bucket, count(*) AS c
          FROM generate_series(1, 10000) k GROUP BY 2
         UNION ALL
        SELECT 'uuid', jump_hash_uuid(md5(k::text)::uuid, 10), count(*)
          FROM generate_series(1, 10000) k GROUP BY 2) v
 GROUP BY kind ORDER BY kind;
-- text and uuid are hashed by their bytes
SELECT count(*) AS tried, count(*) FILTER (WHERE jump_hash_text('k' || k, 1000) = jump_hash(hashtextextended('k' || k, 0), 1000)) AS text,
       count(*) FILTER (WHERE jump_hash_uuid(md5(k::text)::uuid, 1000) = jump_hash(uuid_hash_extended(md5(k::text)::uuid, 0), 1000)) AS uuid
  FROM generate_series(1, 10000) k;
SELECT jump_hash_text('', 100) = jump_hash_text(''::text COLLATE "C", 100) AS empty,
       jump_hash_text('é' COLLATE "C", 100) = jump_hash_text('é', 100) AS collation;
-- the largest numbers
SELECT jump_hash(-1, 2147483647) BETWEEN 0 AND 2147483646 AS a,
       jump_hash(-9223372036854775808, 2147483647) BETWEEN 0 AND 2147483646 AS b,
       jump_hash(9223372036854775807, 2147483647) BETWEEN 0 AND 2147483646 AS c;

SELECT error_of('SELECT jump_hash(1, 0)');
SELECT error_of($$SELECT jump_hash_text('a', -1)$$);
SELECT error_of($$SELECT jump_hash_uuid('00000000-0000-0000-0000-000000000000', -2147483648)$$);
SELECT jump_hash(NULL, 1) IS NULL AS b, jump_hash_text(NULL, 1) IS NULL AS t,
       jump_hash_uuid(NULL, 1) IS NULL AS u, jump_hash(1, NULL) IS NULL AS n;
