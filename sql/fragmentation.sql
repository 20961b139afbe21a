--
-- What each kind of key does to the index of a primary key
--
-- 100000 rows each, in ten statements.  The bounds are wide: they tell an index
-- that is filled in order (90 % is the fill factor of a leaf) from one that
-- splits in the middle.
--
\pset format unaligned
\pset tuples_only on
CREATE SEQUENCE fragmentation_seq;
CREATE TABLE key_bigserial (id bigserial PRIMARY KEY, n int);
CREATE TABLE key_snowflake (id bigint DEFAULT snowflake_nextval(5) PRIMARY KEY, n int);
CREATE TABLE key_comb (id uuid DEFAULT comb_uuid() PRIMARY KEY, n int);
CREATE SEQUENCE fragmentation_wide_seq;
CREATE TABLE key_uuid_sequence (id uuid DEFAULT uuid_sequence_nextval('fragmentation_seq', 20) PRIMARY KEY, n int);
CREATE TABLE key_uuid_wide (id uuid DEFAULT uuid_sequence_nextval('fragmentation_wide_seq') PRIMARY KEY, n int);
CREATE TABLE key_uuid_time (id uuid DEFAULT uuid_time_nextval() PRIMARY KEY, n int);
CREATE TABLE key_random (id uuid DEFAULT gen_random_uuid() PRIMARY KEY, n int);

DO $$
DECLARE
	kind text;
BEGIN
	FOR part IN 1..10 LOOP
		FOREACH kind IN ARRAY ARRAY['bigserial', 'snowflake', 'comb', 'uuid_sequence', 'uuid_wide', 'uuid_time', 'random'] LOOP
			EXECUTE format('INSERT INTO key_%s (n) SELECT generate_series(1, 10000)', kind);
		END LOOP;
	END LOOP;
END
$$;

CREATE VIEW fragmentation AS
SELECT kind, s.*, pg_relation_size(format('key_%s_pkey', kind)) AS size
  FROM unnest(ARRAY['bigserial', 'snowflake', 'comb', 'uuid_sequence', 'uuid_wide', 'uuid_time', 'random']) kind,
       LATERAL pgstatindex(format('key_%s_pkey', kind)) s;

-- in order, as a sequence
SELECT kind, avg_leaf_density > 89 AS dense, leaf_fragmentation < 1 AS unfragmented
  FROM fragmentation WHERE kind IN ('bigserial', 'snowflake', 'comb') ORDER BY kind;
-- a snowflake's index is exactly as large as a sequence's
SELECT a.size = b.size AS same_size
  FROM fragmentation a, fragmentation b WHERE a.kind = 'snowflake' AND b.kind = 'bigserial';
-- Blocks of a fraction of a page are written one after the other, so the index
-- is filled in order too.
SELECT kind, avg_leaf_density > 89 AS dense, leaf_fragmentation < 1 AS unfragmented
  FROM fragmentation WHERE kind = 'uuid_sequence';
-- Within a larger block, or one interval of time, inserts are random; what a
-- block is for is to keep them together, not in order.
SELECT kind, avg_leaf_density < 80 AS sparse, leaf_fragmentation > 40 AS fragmented
  FROM fragmentation WHERE kind IN ('uuid_wide', 'uuid_time', 'random') ORDER BY kind;
