--
-- What an independent reference of every layout says: examples/clients/vectors.tsv, which
-- the programs beside it decode, too.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The shell reads the file, because \copy replaces no variables.
\set file `cat "$PG_ABS_SRCDIR/examples/clients/vectors.tsv"`
CREATE TABLE vector AS
SELECT line, split_part(fields, E'\t', 1) AS kind,
       split_part(fields, E'\t', 2) AS a, split_part(fields, E'\t', 3) AS b,
       split_part(fields, E'\t', 4) AS c, split_part(fields, E'\t', 5) AS d,
       split_part(fields, E'\t', 6) AS e
  FROM regexp_split_to_table(:'file', '\n') WITH ORDINALITY AS l(fields, line)
 WHERE fields <> '' AND fields !~ '^#';

-- What these two do goes by the value of a sequence, less 1.
CREATE SEQUENCE vector_seq MINVALUE 1;
CREATE FUNCTION scattered(count bigint, prefix_bits int) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM setval('vector_seq', count + 1, false);
	RETURN scatter_nextval('vector_seq', prefix_bits);
END
$$;
CREATE FUNCTION sequential_block(value bigint, block_size int, block_count int, prefix_bits int) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	digits text;
BEGIN
	PERFORM setval('vector_seq', value + 1, false);
	digits := replace(uuid_sequence_nextval('vector_seq', block_size, block_count)::text, '-', '');
	RETURN ('x' || lpad(left(digits, prefix_bits / 4), 16, '0'))::bit(64)::bigint;
END
$$;

-- Whether each function, and its inverse, gives what the file says; NULL for a
-- kind that is not known here.
CREATE FUNCTION agrees(v vector) RETURNS boolean
LANGUAGE sql AS $$
	SELECT CASE v.kind
		WHEN 'snowflake' THEN
			snowflake_parts(v.a::bigint) = ROW(v.b::timestamptz, v.c::int, v.d::int)
			AND snowflake_timestamp(v.a::bigint) = v.b::timestamptz
			AND snowflake_shard(v.a::bigint) = v.c::int
			AND snowflake_make(v.b::timestamptz, v.c::int, v.d::int) = v.a::bigint
			AND v.a::bigint BETWEEN snowflake_first(v.b::timestamptz) AND snowflake_last(v.b::timestamptz)
		WHEN 'snowflake53' THEN
			snowflake53_parts(v.a::bigint) = ROW(v.b::timestamptz, v.c::int, v.d::int)
			AND snowflake53_timestamp(v.a::bigint) = v.b::timestamptz
			AND snowflake53_shard(v.a::bigint) = v.c::int
			AND snowflake53_make(v.b::timestamptz, v.c::int, v.d::int) = v.a::bigint
			AND v.a::bigint BETWEEN snowflake53_first(v.b::timestamptz) AND snowflake53_last(v.b::timestamptz)
		WHEN 'comb' THEN
			comb_uuid_timestamp(v.a::uuid) = v.b::timestamptz
			AND v.a::uuid BETWEEN comb_uuid_first(v.b::timestamptz) AND comb_uuid_last(v.b::timestamptz)
		WHEN 'comb_bounds' THEN
			comb_uuid_first(v.a::timestamptz) = v.b::uuid AND comb_uuid_last(v.a::timestamptz) = v.c::uuid
		WHEN 'comb_mssql' THEN
			comb_uuid_to_mssql(v.a::uuid) = v.b::uuid AND comb_uuid_from_mssql(v.b::uuid) = v.a::uuid
		WHEN 'base62' THEN
			base62_encode_bigint(v.a::bigint) = v.b AND base62_decode_bigint(v.b) = v.a::bigint
		WHEN 'crockford32' THEN
			crockford32_encode_uuid(v.a::uuid) = v.b AND crockford32_decode_uuid(v.b) = v.a::uuid
		WHEN 'tenant_key' THEN
			tenant_key_pack(v.a::bigint, v.b::bigint) = v.c::bigint
			AND tenant_key_tenant(v.c::bigint) = v.a::bigint AND tenant_key_entity(v.c::bigint) = v.b::bigint
		WHEN 'bits' THEN
			bits_pack(v.a::int[], v.b::bigint[]) = v.c::bigint
			AND bits_unpack(v.a::int[], v.c::bigint) = v.b::bigint[]
		WHEN 'scatter' THEN
			scattered(v.a::bigint, v.b::int) = v.c::bigint
			AND scatter_ordinal(v.c::bigint, v.b::int) = v.a::bigint
		WHEN 'jump_hash' THEN
			jump_hash(v.a::bigint, v.b::int) = v.c::int
		WHEN 'sequential_prefix' THEN
			sequential_block(v.a::bigint, v.b::int, v.c::int, v.d::int) = v.e::bigint
	END
$$;
SELECT kind, count(*) AS vectors, count(*) FILTER (WHERE agrees(v)) AS agree
  FROM vector v GROUP BY kind ORDER BY kind COLLATE "C";
SELECT * FROM vector v WHERE agrees(v) IS NOT TRUE ORDER BY line;

DROP FUNCTION agrees(vector), scattered(bigint, int), sequential_block(bigint, int, int, int);
DROP SEQUENCE vector_seq;
DROP TABLE vector;
