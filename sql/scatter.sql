--
-- Scattered sequences
--
\pset format unaligned
\pset tuples_only on
CREATE SEQUENCE scatter_seq;

-- Two bits: four sequences, neighbours far apart, each counting 0, 1, 2, ...
SELECT n, id, scatter_prefix(id, 2) AS prefix, scatter_value(id, 2) AS value, scatter_ordinal(id, 2) AS ordinal
  FROM (SELECT n, scatter_nextval('scatter_seq', 2) AS id FROM generate_series(0, 8) n) v;
-- none, one bit and 32 bits
ALTER SEQUENCE scatter_seq RESTART;
SELECT id, scatter_prefix(id, 0) AS prefix, scatter_value(id, 0) AS value, scatter_ordinal(id, 0) AS ordinal
  FROM (SELECT scatter_nextval('scatter_seq', 0) AS id FROM generate_series(1, 3)) v;
SELECT scatter_ordinal(9223372036854775807, 0) = 9223372036854775807 AS last;
ALTER SEQUENCE scatter_seq RESTART;
SELECT id, scatter_prefix(id, 1) AS prefix, scatter_value(id, 1) AS value
  FROM (SELECT scatter_nextval('scatter_seq', 1) AS id FROM generate_series(1, 3)) v;
ALTER SEQUENCE scatter_seq RESTART;
SELECT id, scatter_prefix(id, 32) AS prefix, scatter_value(id, 32) AS value
  FROM (SELECT scatter_nextval('scatter_seq', 32) AS id FROM generate_series(1, 3)) v;

-- 14 bits by default.  No id twice, all prefixes filled evenly, and every
-- inverse is one.
ALTER SEQUENCE scatter_seq RESTART;
CREATE TABLE scattered AS SELECT n, scatter_nextval('scatter_seq') AS id FROM generate_series(0, 49999) n;
SELECT count(DISTINCT id) AS different, min(id) >= 0 AS not_negative,
       count(*) FILTER (WHERE scatter_ordinal(id, 14) = n) AS ordinals,
       count(*) FILTER (WHERE scatter_ordinal(id) = n AND scatter_prefix(id) = scatter_prefix(id, 14)
                          AND scatter_value(id) = scatter_value(id, 14)) AS by_default,
       count(*) FILTER (WHERE scatter_value(id, 14) = n / 16384) AS vals
  FROM scattered;
SELECT min(c), max(c), count(*) AS prefixes
  FROM (SELECT count(*) AS c FROM scattered GROUP BY scatter_prefix(id, 14)) v;
DROP TABLE scattered;
-- every number of bits, with values of the whole range
CREATE FUNCTION scatter_at(value bigint, bits int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM setval('scatter_seq', value, false);
	RETURN scatter_nextval('scatter_seq', bits);
END
$$;
SELECT count(*) AS tried, count(*) FILTER (WHERE scatter_ordinal(id, bits) = value - 1) AS inverse,
       count(*) FILTER (WHERE (scatter_prefix(id, bits) << (63 - bits)) + scatter_value(id, bits) = id) AS parts,
       count(*) FILTER (WHERE scatter_value(id, bits) = (value - 1) >> bits) AS vals
  FROM (SELECT bits, value, scatter_at(value, bits) AS id
          FROM (SELECT n % 33 AS bits, 1 + ((random() * 9223372036854774784)::bigint >> (n % 62)) AS value
                  FROM generate_series(1, 12800) n) v) v;
DROP FUNCTION scatter_at(bigint, int);
-- the last value of a sequence
SELECT setval('scatter_seq', 9223372036854775806);
SELECT scatter_ordinal(scatter_nextval('scatter_seq', 14), 14) AS last,
       left(error_of($$SELECT scatter_nextval('scatter_seq')$$), 5) AS exhausted;

-- CACHE is the sequence's: a session takes its values at once
CREATE SEQUENCE scatter_cached_seq CACHE 100;
SELECT scatter_ordinal(scatter_nextval('scatter_cached_seq')) AS ordinal;
SELECT last_value FROM scatter_cached_seq;
-- as a default
CREATE TABLE scatter_rows (id bigint PRIMARY KEY DEFAULT scatter_nextval('scatter_cached_seq', 8), note text);
INSERT INTO scatter_rows (note) VALUES ('a'), ('b') RETURNING scatter_ordinal(id, 8), note;
DROP TABLE scatter_rows;

--
-- errors, NULL
--
CREATE SEQUENCE scatter_down_seq INCREMENT -1;
SELECT error_of($$SELECT scatter_nextval('scatter_down_seq')$$);
CREATE SEQUENCE scatter_low_seq MINVALUE -9223372036854775808 START -9223372036854775808;
SELECT error_of($$SELECT scatter_nextval('scatter_low_seq')$$);
SELECT error_of($$SELECT scatter_nextval('scatter_seq', -1)$$);
SELECT error_of($$SELECT scatter_nextval('scatter_seq', 33)$$);
SELECT error_of('SELECT scatter_prefix(1, 33)');
SELECT error_of('SELECT scatter_value(1, -1)');
SELECT error_of('SELECT scatter_ordinal(-1, 14)');
SELECT left(error_of($$SELECT scatter_nextval('pg_class')$$), 5) AS no_sequence;
-- a bad call takes no value
SELECT setval('scatter_seq', 10);
SELECT left(error_of($$SELECT scatter_nextval('scatter_seq', -1)$$), 5) AS refused;
SELECT scatter_ordinal(scatter_nextval('scatter_seq')) AS next;
-- privileges are the sequence's
CREATE ROLE regress_seqid_user;
SET ROLE regress_seqid_user;
SELECT error_of($$SELECT scatter_nextval('scatter_seq')$$);
RESET ROLE;
DROP ROLE regress_seqid_user;
SELECT scatter_nextval(NULL) IS NULL AS n1, scatter_nextval('scatter_seq', NULL) IS NULL AS n2,
       scatter_prefix(NULL, 1) IS NULL AS p, scatter_value(1, NULL) IS NULL AS v, scatter_ordinal(NULL) IS NULL AS o;
DROP SEQUENCE scatter_seq, scatter_cached_seq, scatter_down_seq, scatter_low_seq;
