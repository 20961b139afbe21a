--
-- Any number of fields in one bigint
--
\pset format unaligned
\pset tuples_only on
SELECT bits_text('{10,12}', 20603) AS picture;
-- the ends
SELECT bits_pack('{63}', '{9223372036854775807}') AS one_field,
       bits_unpack('{63}', 9223372036854775807) AS back,
       bits_pack('{1}', '{1}') AS one_bit, bits_unpack('{1,62}', 4611686018427387904) AS top_bit,
       bits_text('{1,1}', 2) AS two_bits;
-- 63 fields of one bit
SELECT bits_text(array_fill(1, ARRAY[63]), 9223372036854775807) = repeat('1|', 62) || '1' AS all_set,
       bits_pack(array_fill(1, ARRAY[63]), array_fill(1::bigint, ARRAY[63])) AS packed;
-- unpacking what was packed, for layouts of all kinds
SELECT count(*) AS tried, count(*) FILTER (WHERE bits_unpack(w, id) = f) AS equal,
       count(*) FILTER (WHERE bits_pack(w, bits_unpack(w, id)) = id) AS back,
       count(*) FILTER (WHERE replace(bits_text(w, id), '|', '') = right(id::bit(64)::text, w[1] + w[2] + w[3])) AS pictures
  FROM (SELECT w, f, bits_pack(w, f) AS id
          FROM (SELECT ARRAY[a, b, 63 - a - b] AS w,
                       ARRAY[(random() * ((1::bigint << a) - 1))::bigint,
                             (random() * ((1::bigint << b) - 1))::bigint,
                             ((1::bigint << (63 - a - b)) - 1) & n] AS f
                  FROM (SELECT n, 1 + n % 30 AS a, 1 + n / 7 % 30 AS b FROM generate_series(1, 10000) n) sizes) v) packed;

-- errors
SELECT error_of(call) FROM unnest(ARRAY[
	$$SELECT bits_pack('{}', '{}')$$,
	$$SELECT bits_pack('{0}', '{0}')$$,
	$$SELECT bits_pack('{-1}', '{0}')$$,
	$$SELECT bits_pack('{64}', '{0}')$$,
	$$SELECT bits_pack('{32,32}', '{0,0}')$$,
	$$SELECT bits_pack('{2147483647,2147483647}', '{0,0}')$$,
	$$SELECT bits_pack(array_fill(1, ARRAY[64]), '{0}')$$,
	$$SELECT bits_pack('{{1,2},{3,4}}', '{0,0}')$$,
	$$SELECT bits_pack('{1,2}', '{{0,0},{0,0}}')$$,
	$$SELECT bits_pack('{1,2}', '{0}')$$,
	$$SELECT bits_pack('{1,NULL}', '{0,0}')$$,
	$$SELECT bits_pack('{1,2}', '{0,NULL}')$$,
	$$SELECT bits_pack('{4,4}', '{16,0}')$$,
	$$SELECT bits_pack('{4,4}', '{0,-1}')$$,
	$$SELECT bits_unpack('{4,4}', 256)$$,
	$$SELECT bits_unpack('{63}', -1)$$,
	$$SELECT bits_unpack('{NULL}', 1)$$,
	$$SELECT bits_text('{4,4}', 256)$$,
	$$SELECT bits_text('{}', 0)$$]) call;
SELECT bits_pack(NULL, '{1}') IS NULL AS p1, bits_pack('{1}', NULL) IS NULL AS p2,
       bits_unpack(NULL, 1) IS NULL AS u1, bits_unpack('{1}', NULL) IS NULL AS u2, bits_text('{1}', NULL) IS NULL AS t;
-- arrays whose subscripts do not start at 1
SELECT bits_pack('[5:6]={58,5}', '[0:1]={123,3}') AS subscripts;

--
-- Recipe: moving from a layout of shard 16, type 10 and local id 36 bits to
-- snowflake-like keys of one's own, say shard 13 bits, type 10 and local id 40
--
CREATE TABLE pins (id bigint PRIMARY KEY CHECK (bits_unpack('{16,10,36}', id) IS NOT NULL));
INSERT INTO pins VALUES (241294492511762325), (bits_pack('{16,10,36}', '{17,1,42}'));
CREATE INDEX pins_by_shard ON pins (((bits_unpack('{16,10,36}', id))[1]));
SELECT f[1] AS shard, f[2] AS type, f[3] AS local, bits_pack('{13,10,40}', f) AS new_id
  FROM pins, LATERAL bits_unpack('{16,10,36}', id) f ORDER BY id;
DROP TABLE pins;
