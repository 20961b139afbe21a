--
-- Ids as text
--
-- base 62
\pset format unaligned
\pset tuples_only on
SELECT id, base62_encode_bigint(id), base62_decode_bigint(base62_encode_bigint(id)) = id AS back
  FROM unnest(ARRAY[0, 1, 9, 10, 35, 36, 61, 62, 3844, 9223372036854775807, -1, -9223372036854775808]) id;
SELECT count(*) AS tried, count(DISTINCT base62_encode_bigint(id)) AS different,
       count(*) FILTER (WHERE base62_decode_bigint(base62_encode_bigint(id)) = id) AS back,
       count(*) FILTER (WHERE base62_encode_bigint(id) ~ '^[0-9A-Za-z]{1,11}$') AS alphabet
  FROM (SELECT hashint8extended(k, 1) AS id FROM generate_series(1, 20000) k) v;
SELECT base62_decode_bigint('000A') AS leading_zeros, base62_decode_bigint('LygHa16AHYF') AS all_bits;
SELECT error_of(format('SELECT base62_decode_bigint(%L)', t))
  FROM unnest(ARRAY['', ' ', '1 ', '-1', '+', 'é', 'LygHa16AHYG', 'zzzzzzzzzzzz',
                    'zzzzzzzzzzzz!']) t;

-- Crockford's base 32: 26 characters, as ULIDs
SELECT id, crockford32_encode_uuid(id), crockford32_decode_uuid(crockford32_encode_uuid(id)) = id AS back
  FROM unnest(ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
                    '00000000-0000-0000-0000-000000000001', '80000000-0000-0000-0000-000000000000',
                    '017f22e2-79b0-7cc3-98c4-dc0c0c07398f']::uuid[]) id;
SELECT count(*) AS tried,
       count(*) FILTER (WHERE crockford32_decode_uuid(t) = id) AS back,
       count(*) FILTER (WHERE crockford32_decode_uuid(lower(t)) = id) AS lower_case,
       count(*) FILTER (WHERE crockford32_decode_uuid(translate(t, '10', 'lo')) = id) AS l_and_o,
       count(*) FILTER (WHERE crockford32_decode_uuid(translate(t, '10', 'IO')) = id) AS i_and_o,
       count(*) FILTER (WHERE t ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$') AS alphabet
  FROM (SELECT id, crockford32_encode_uuid(id) AS t FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 10000)) v) w;
-- the text sorts as the UUID does
SELECT count(*) AS tried, count(*) FILTER (WHERE by_id = by_text) AS same_place
  FROM (SELECT row_number() OVER (ORDER BY id) AS by_id,
               row_number() OVER (ORDER BY crockford32_encode_uuid(id) COLLATE "C") AS by_text
          FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 10000)) v) w;
SELECT crockford32_decode_uuid('01FWHE4Y-DGFK-1SHH6W1G60EECF') AS hyphens;
SELECT error_of(format('SELECT crockford32_decode_uuid(%L)', t))
  FROM unnest(ARRAY['', '-', '01FWHE4YDGFK1SHH6W1G60EEC', '01FWHE4YDGFK1SHH6W1G60EECFF',
                    '01FWHE4YDGFK1SHH6W1G60EECU', '01FWHE4YDGFK1SHH6W1G60EEC ', '01FWHE4YDGFK1SHH6W1G60EECé',
                    '8ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'ZZZZZZZZZZZZZZZZZZZZZZZZZZ']) t;
-- Texts of more than 64 bytes are refused unread, and quoted in part.
SELECT base62_decode_bigint(repeat('0', 63) || '7') AS zeros,
       crockford32_decode_uuid(repeat('-', 38) || '01FWHE4YDGFK1SHH6W1G60EECF') AS hyphens;
CREATE TABLE long_texts AS
SELECT n, text FROM unnest(ARRAY[repeat('0', 65), repeat('-', 39) || '01FWHE4YDGFK1SHH6W1G60EECF', repeat('z', 1000000)])
       WITH ORDINALITY u (text, n);
SELECT error_of(format('SELECT %s(text) FROM long_texts WHERE n = %s', f, n))
  FROM unnest(ARRAY['base62_decode_bigint', 'crockford32_decode_uuid']) f, long_texts ORDER BY f COLLATE "C", n;
-- no character is cut in two
SELECT octet_length(substring(error_of(format('SELECT base62_decode_bigint(%L)', repeat('€', 1000))) FROM '"(.*)\.\.\."'))
       = CASE getdatabaseencoding() WHEN 'UTF8' THEN 63 ELSE 64 END AS whole_characters;
DROP TABLE long_texts;
SELECT base62_encode_bigint(NULL) IS NULL AS b, base62_decode_bigint(NULL) IS NULL AS bd,
       crockford32_encode_uuid(NULL) IS NULL AS c, crockford32_decode_uuid(NULL) IS NULL AS cd;


--
-- The whole table of forms against another implementation, of bits and of numeric
--
CREATE FUNCTION base32_of(bits text, alphabet text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
	(SELECT string_agg(substr(alphabet, lpad(substr(bits, n, 5), 32, '0')::bit(32)::int + 1, 1), '' ORDER BY n)
	   FROM generate_series(1, length(bits), 5) n);
CREATE FUNCTION base62_of(number numeric) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE digits text := '';
BEGIN
	LOOP
		digits := substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (number % 62)::int + 1, 1) || digits;
		number := div(number, 62);
		EXIT WHEN number = 0;
	END LOOP;
	RETURN digits;
END $$;
CREATE TABLE forms AS
SELECT uuid, id, ('x' || replace(uuid::text, '-', ''))::bit(128)::text AS uuid_bits, id::bit(64)::text AS id_bits,
       hi * 18446744073709551616 + lo AS uuid_number, CASE WHEN id < 0 THEN id + 18446744073709551616 ELSE id END AS id_number
  FROM (SELECT uuid, id, ('x' || left(h, 16))::bit(64)::bigint::numeric AS h1, ('x' || right(h, 16))::bit(64)::bigint::numeric AS l1
          FROM (SELECT uuid, replace(uuid::text, '-', '') AS h, hashint8extended(n, 1) >> (n % 64)::int AS id
                  FROM (SELECT n, (lpad(right(md5(n::text), 1 + n % 32), 32, '0'))::uuid AS uuid FROM generate_series(1, 5000) n) a) b) c,
       LATERAL (SELECT CASE WHEN h1 < 0 THEN h1 + 18446744073709551616 ELSE h1 END AS hi,
                       CASE WHEN l1 < 0 THEN l1 + 18446744073709551616 ELSE l1 END AS lo) d;
SELECT count(*) AS tried,
       bool_and(base62_encode_bigint(id) = base62_of(id_number)) AS base62_bigint,
       bool_and(base62_encode_uuid(uuid) = base62_of(uuid_number)) AS base62_uuid,
       bool_and(crockford32_encode_bigint(id) = base32_of('0' || id_bits, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')) AS crockford_bigint,
       bool_and(crockford32_encode_uuid(uuid) = base32_of('00' || uuid_bits, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')) AS crockford_uuid,
       bool_and(typeid_encode('t', uuid) = 't_' || base32_of('00' || uuid_bits, '0123456789abcdefghjkmnpqrstvwxyz')) AS typeid
  FROM forms;
SELECT bool_and(base62_decode_bigint(base62_encode_bigint(id)) = id) AS base62_bigint,
       bool_and(base62_decode_uuid(base62_encode_uuid(uuid)) = uuid) AS base62_uuid,
       bool_and(crockford32_decode_bigint(crockford32_encode_bigint(id)) = id) AS crockford_bigint,
       bool_and(crockford32_decode_uuid(crockford32_encode_uuid(uuid)) = uuid) AS crockford_uuid,
       bool_and(typeid_decode(typeid_encode('t', uuid)) = uuid) AS typeid
  FROM forms;
-- limits: the largest number, and one more
SELECT base62_encode_uuid('ffffffff-ffff-ffff-ffff-ffffffffffff') AS base62_uuid, base62_encode_uuid('00000000-0000-0000-0000-000000000000') AS zero,
       crockford32_encode_bigint(-1) AS crockford_bigint, crockford32_encode_bigint(9223372036854775807) AS largest, crockford32_encode_bigint(0) AS zero;
SELECT error_of(format('SELECT %s(%L)', f, t))
  FROM (VALUES ('base62_decode_uuid', '7n42DGM5Tflk9n8mt7Fhc8'), ('base62_decode_uuid', 'zzzzzzzzzzzzzzzzzzzzzzz'), ('base62_decode_uuid', ''),
               ('crockford32_decode_bigint', 'G000000000000'), ('crockford32_decode_bigint', '000000000000'),
               ('crockford32_decode_bigint', '00000000000000'), ('crockford32_decode_bigint', '000000000000U')) v (f, t);
SELECT crockford32_decode_bigint('fzzzz-zzzz-zzzz') AS lower_case, crockford32_decode_bigint('00000000000iL') AS i_and_l;
DROP TABLE forms;
DROP FUNCTION base32_of, base62_of;

--
-- TypeIDs: the valid and the invalid texts of the specification, version 0.3
--
SELECT typeid, typeid_decode(typeid) = uuid::uuid AS uuid, typeid_prefix(typeid) = prefix AS prefix, typeid_encode(prefix, uuid::uuid) = typeid AS typeid
  FROM (VALUES
	('00000000000000000000000000', '', '00000000-0000-0000-0000-000000000000'),
	('00000000000000000000000001', '', '00000000-0000-0000-0000-000000000001'),
	('0000000000000000000000000a', '', '00000000-0000-0000-0000-00000000000a'),
	('0000000000000000000000000g', '', '00000000-0000-0000-0000-000000000010'),
	('00000000000000000000000010', '', '00000000-0000-0000-0000-000000000020'),
	('7zzzzzzzzzzzzzzzzzzzzzzzzz', '', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('prefix_0123456789abcdefghjkmnpqrs', 'prefix', '0110c853-1d09-52d8-d73e-1194e95b5f19'),
	('prefix_01h455vb4pex5vsknk084sn02q', 'prefix', '01890a5d-ac96-774b-bcce-b302099a8057'),
	('pre_fix_00000000000000000000000000', 'pre_fix', '00000000-0000-0000-0000-000000000000')) v (typeid, prefix, uuid);
SELECT name, error_of(format('SELECT typeid_decode(%L)', typeid)) LIKE '22P02%' AS decode, error_of(format('SELECT typeid_prefix(%L)', typeid)) LIKE '22P02%' AS prefix
  FROM (VALUES
	('prefix-uppercase', 'PREFIX_00000000000000000000000000'),
	('prefix-numeric', '12345_00000000000000000000000000'),
	('prefix-period', 'pre.fix_00000000000000000000000000'),
	('prefix-non-ascii', 'préfix_00000000000000000000000000'),
	('prefix-spaces', '  prefix_00000000000000000000000000'),
	('prefix-64-chars', 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl_00000000000000000000000000'),
	('separator-empty-prefix', '_00000000000000000000000000'),
	('separator-empty', '_'),
	('suffix-short', 'prefix_1234567890123456789012345'),
	('suffix-long', 'prefix_123456789012345678901234567'),
	('suffix-spaces', 'prefix_1234567890123456789012345 '),
	('suffix-uppercase', 'prefix_0123456789ABCDEFGHJKMNPQRS'),
	('suffix-hyphens', 'prefix_123456789-123456789-123456'),
	('suffix-wrong-alphabet', 'prefix_ooooooiiiiiiuuuuuuulllllll'),
	('suffix-ambiguous-crockford', 'prefix_i23456789ol23456789oi23456'),
	('suffix-hyphens-crockford', 'prefix_123456789-0123456789-0123456'),
	('suffix-overflow', 'prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz'),
	('prefix-underscore-start', '_prefix_00000000000000000000000000'),
	('prefix-underscore-end', 'prefix__00000000000000000000000000'),
	('empty', ''),
	('long', repeat('a', 1000000))) v (name, typeid);
-- 63 letters are allowed.
SELECT length(typeid_encode(repeat('a', 63), '01890a5d-ac96-774b-bcce-b302099a8057')) AS longest,
       typeid_prefix(typeid_encode(repeat('a', 63), '01890a5d-ac96-774b-bcce-b302099a8057')) = repeat('a', 63) AS prefix,
       typeid_encode('', '01890a5d-ac96-774b-bcce-b302099a8057') AS no_prefix;
SELECT error_of(format('SELECT typeid_encode(%L, %L)', prefix, '01890a5d-ac96-774b-bcce-b302099a8057'))
  FROM unnest(ARRAY['Order', '_order', 'order_', 'order1', 'or der', repeat('a', 64)]) prefix;
SELECT error_of($$SELECT typeid_decode('order_')$$);
SELECT typeid_encode(NULL, '01890a5d-ac96-774b-bcce-b302099a8057') IS NULL AS e1, typeid_encode('a', NULL) IS NULL AS e2,
       typeid_decode(NULL) IS NULL AS d, typeid_prefix(NULL) IS NULL AS p;

--
-- Recipe: a table of short links, whose key is a snowflake
--
CREATE TABLE links (
	id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	slug text GENERATED ALWAYS AS (base62_encode_bigint(id)) STORED,
	url text NOT NULL
);
INSERT INTO links (id, url) VALUES (154173452582932603, 'https://www.postgresql.org/');
INSERT INTO links (url) VALUES ('https://www.postgresql.org/docs/');
-- The path of the link is decoded, so the look-up is one by the primary key.
SELECT slug, url FROM links WHERE id = base62_decode_bigint('BO7C5bVci3');
EXPLAIN (COSTS OFF) SELECT url FROM links WHERE id = base62_decode_bigint('BO7C5bVci3');
SELECT count(*) AS links, bool_and(base62_decode_bigint(slug) = id) AS decodable, max(length(slug)) <= 11 AS short FROM links;
DROP TABLE links;
