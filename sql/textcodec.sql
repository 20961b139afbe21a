--
-- Ids as text
--
-- base 62
SELECT id, base62_encode(id), base62_decode(base62_encode(id)) = id AS back
  FROM unnest(ARRAY[0, 1, 9, 10, 35, 36, 61, 62, 3844, 9223372036854775807, -1, -9223372036854775808]) id;
SELECT count(*) AS tried, count(DISTINCT base62_encode(id)) AS different,
       count(*) FILTER (WHERE base62_decode(base62_encode(id)) = id) AS back,
       count(*) FILTER (WHERE base62_encode(id) ~ '^[0-9A-Za-z]{1,11}$') AS alphabet
  FROM (SELECT hashint8extended(k, 1) AS id FROM generate_series(1, 20000) k) v;
SELECT base62_decode('000A') AS leading_zeros, base62_decode('LygHa16AHYF') AS all_bits;
SELECT error_of(format('SELECT base62_decode(%L)', t))
  FROM unnest(ARRAY['', ' ', '1 ', '-1', '+', 'é', 'LygHa16AHYG', 'zzzzzzzzzzzz',
                    'zzzzzzzzzzzz!']) t;

-- Crockford's base 32: 26 characters, as ULIDs
SELECT id, crockford32_encode(id), crockford32_decode(crockford32_encode(id)) = id AS back
  FROM unnest(ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
                    '00000000-0000-0000-0000-000000000001', '80000000-0000-0000-0000-000000000000',
                    '017f22e2-79b0-7cc3-98c4-dc0c0c07398f']::uuid[]) id;
SELECT count(*) AS tried,
       count(*) FILTER (WHERE crockford32_decode(t) = id) AS back,
       count(*) FILTER (WHERE crockford32_decode(lower(t)) = id) AS lower_case,
       count(*) FILTER (WHERE crockford32_decode(translate(t, '10', 'lo')) = id) AS l_and_o,
       count(*) FILTER (WHERE crockford32_decode(translate(t, '10', 'IO')) = id) AS i_and_o,
       count(*) FILTER (WHERE t ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$') AS alphabet
  FROM (SELECT id, crockford32_encode(id) AS t FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 10000)) v) w;
-- the text sorts as the UUID does
SELECT count(*) AS tried, count(*) FILTER (WHERE by_id = by_text) AS same_place
  FROM (SELECT row_number() OVER (ORDER BY id) AS by_id,
               row_number() OVER (ORDER BY crockford32_encode(id) COLLATE "C") AS by_text
          FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 10000)) v) w;
SELECT crockford32_decode('01FWHE4Y-DGFK-1SHH6W1G60EECF') AS hyphens;
SELECT error_of(format('SELECT crockford32_decode(%L)', t))
  FROM unnest(ARRAY['', '-', '01FWHE4YDGFK1SHH6W1G60EEC', '01FWHE4YDGFK1SHH6W1G60EECFF',
                    '01FWHE4YDGFK1SHH6W1G60EECU', '01FWHE4YDGFK1SHH6W1G60EEC ', '01FWHE4YDGFK1SHH6W1G60EECé',
                    '8ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'ZZZZZZZZZZZZZZZZZZZZZZZZZZ']) t;
-- Texts of more than 64 bytes are refused unread, and quoted in part.
SELECT base62_decode(repeat('0', 63) || '7') AS zeros,
       crockford32_decode(repeat('-', 38) || '01FWHE4YDGFK1SHH6W1G60EECF') AS hyphens;
CREATE TABLE long_texts AS
SELECT n, text FROM unnest(ARRAY[repeat('0', 65), repeat('-', 39) || '01FWHE4YDGFK1SHH6W1G60EECF', repeat('z', 1000000)])
       WITH ORDINALITY u (text, n);
SELECT error_of(format('SELECT %s(text) FROM long_texts WHERE n = %s', f, n))
  FROM unnest(ARRAY['base62_decode', 'crockford32_decode']) f, long_texts ORDER BY f COLLATE "C", n;
-- no character is cut in two
SELECT octet_length(substring(error_of(format('SELECT base62_decode(%L)', repeat('€', 1000))) FROM '"(.*)\.\.\."'))
       = CASE getdatabaseencoding() WHEN 'UTF8' THEN 63 ELSE 64 END AS whole_characters;
DROP TABLE long_texts;
SELECT base62_encode(NULL) IS NULL AS b, base62_decode(NULL) IS NULL AS bd,
       crockford32_encode(NULL) IS NULL AS c, crockford32_decode(NULL) IS NULL AS cd;

--
-- Recipe: a table of short links, whose key is a snowflake
--
CREATE TABLE links (
	id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	slug text GENERATED ALWAYS AS (base62_encode(id)) STORED,
	url text NOT NULL
);
INSERT INTO links (id, url) VALUES (154173452582932603, 'https://www.postgresql.org/');
INSERT INTO links (url) VALUES ('https://www.postgresql.org/docs/');
-- The path of the link is decoded, so the look-up is one by the primary key.
SELECT slug, url FROM links WHERE id = base62_decode('BO7C5bVci3');
EXPLAIN (COSTS OFF) SELECT url FROM links WHERE id = base62_decode('BO7C5bVci3');
SELECT count(*) AS links, bool_and(base62_decode(slug) = id) AS decodable, max(length(slug)) <= 11 AS short FROM links;
DROP TABLE links;
