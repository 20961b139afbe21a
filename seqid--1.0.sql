/* seqid--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION seqid" to load this file. \quit

--
-- The schema that CREATE EXTENSION names contains the functions for keys, and nothing else.
-- All other objects are in the schema seqid, because tools for migrations and schema dumps
-- would include tables, views and sequences that they find in a user's schema.
--
-- While the objects in seqid are created, the search_path contains only pg_catalog.
-- Otherwise a function or operator in the user's schema could be chosen instead.
--

SET LOCAL search_path = pg_catalog, pg_temp;

DO $$
BEGIN
	IF '@extschema@' = 'seqid' THEN
		RAISE invalid_schema_name USING
			MESSAGE = 'extension "seqid" cannot be created in schema "seqid"',
			DETAIL = 'The extension creates the schema "seqid" for its administrative objects.',
			HINT = 'Run CREATE EXTENSION seqid, or name a schema other than "seqid".';
	END IF;

	-- The owner of the schema could rename it during this script, and create another schema of
	-- that name with functions that the script would call.  The row lock prevents renaming.
	PERFORM FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
	  WHERE e.extname = 'seqid' AND quote_ident(n.nspname) = '@extschema@'
	    FOR SHARE OF n;
	IF NOT FOUND THEN
		RAISE serialization_failure USING
			MESSAGE = 'could not serialize access to the objects of extension "seqid"',
			DETAIL = 'A schema was renamed while the extension was created.',
			HINT = 'Try again.';
	END IF;

	-- Some tools create the schema before the extension when they restore a dump.  An
	-- empty schema is replaced, if the role that creates the extension can drop it.
	BEGIN
		IF pg_has_role((SELECT extowner FROM pg_extension WHERE extname = 'seqid'),
					   (SELECT nspowner FROM pg_namespace WHERE nspname = 'seqid'), 'USAGE') THEN
			DROP SCHEMA seqid;
		END IF;
	EXCEPTION
		WHEN dependent_objects_still_exist THEN NULL;
	END;
	IF to_regnamespace('seqid') IS NOT NULL THEN
		RAISE duplicate_schema USING
			MESSAGE = 'schema "seqid" already exists',
			DETAIL = 'The extension creates the schema "seqid" for its administrative objects.',
			HINT = 'Run ALTER SCHEMA seqid RENAME TO another_name, or DROP SCHEMA seqid, then try again.';
	END IF;
END
$$;

CREATE SCHEMA seqid;
COMMENT ON SCHEMA seqid IS 'administrative objects of extension "seqid"';

--
-- The clock mark: a durable upper bound on the times of issued keys.  Only
-- src/clock/clock_mark.c and src/mark_repair.c write it.
--

CREATE SEQUENCE seqid.clock_mark
	AS bigint MINVALUE 0 START WITH 0 NO CYCLE;
COMMENT ON SEQUENCE seqid.clock_mark IS
'durable upper bound on the timestamps of keys issued in this database, in milliseconds since 1970; do not modify';
SELECT pg_extension_config_dump('seqid.clock_mark', '');

--
-- Functions for the planner.  It replaces a call of snowflake_in(id, range) with comparisons of
-- the id with the first and the last id of the range, and expects as many rows in a set of keys
-- as the argument "count".
--

CREATE FUNCTION seqid.planner_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'seqid_planner_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.planner_support(internal) IS
'planner support of snowflake_in, snowflake53_in and comb_uuid_in, and of functions that return sets of keys';

CREATE FUNCTION seqid.snowflake_bound(range tstzrange, upper boolean)
RETURNS bigint
AS 'MODULE_PATHNAME', 'seqid_snowflake_bound'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.snowflake_bound(tstzrange, boolean) IS
'largest (upper) or smallest snowflake id whose time is in the range';

CREATE FUNCTION seqid.snowflake53_bound(range tstzrange, upper boolean)
RETURNS bigint
AS 'MODULE_PATHNAME', 'seqid_snowflake53_bound'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.snowflake53_bound(tstzrange, boolean) IS
'largest (upper) or smallest snowflake53 id whose time is in the range';

CREATE FUNCTION seqid.comb_uuid_bound(range tstzrange, upper boolean)
RETURNS uuid
AS 'MODULE_PATHNAME', 'seqid_comb_uuid_bound'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.comb_uuid_bound(tstzrange, boolean) IS
'largest (upper) or smallest COMB whose time is in the range';

SET LOCAL search_path = @extschema@, pg_temp;

--
-- Snowflake ids, in 64 bits.  From the top: 0 | milliseconds since 2023-01-01 UTC (41 bits)
-- | shard (10 bits) | sequence (12 bits).  See src/bits/snowflake_layout.h.
--

CREATE FUNCTION snowflake_nextval(shard bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextval(bigint) IS
'next snowflake id of a shard (0 to 1023), greater than all ids that the shard issued before in this database';

CREATE FUNCTION snowflake_nextval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_nextval_of_server'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextval() IS
'next snowflake id of this server''s shard, which seqid.shards determines';

CREATE FUNCTION snowflake_nextvals(shard bigint, count bigint)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'snowflake_nextvals'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT seqid.planner_support;
COMMENT ON FUNCTION snowflake_nextvals(bigint, bigint) IS
'next count snowflake ids of a shard (0 to 1023), in ascending order';

CREATE FUNCTION snowflake_nextblock(shard bigint, count bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_nextblock'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextblock(bigint, bigint) IS
'first of count (1 to 4096) consecutive snowflake ids of a shard (0 to 1023), all of which are reserved for the caller';

CREATE FUNCTION snowflake_nextblock(count bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_nextblock_of_server'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextblock(bigint) IS
'first of count (1 to 4096) consecutive snowflake ids of this server''s shard, all of which are reserved for the caller';

-- Restricted, because only the leader has the state of the session.
CREATE FUNCTION snowflake_currval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_currval'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake_currval() IS
'last snowflake id that this session generated, not counting parallel workers; raises an error if there is none';

CREATE FUNCTION snowflake_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_witness(bigint) IS
'make all later snowflake ids of this server''s shard greater than an id, and return the id; raises an error if the id is ahead of the clock by more than seqid.max_lead';

CREATE FUNCTION snowflake_backfill(created_at timestamptz, shard bigint,
	after bigint DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_backfill'
LANGUAGE C WINDOW VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake_backfill(timestamptz, bigint, bigint) IS
'window function that generates snowflake ids for existing rows in the order of their times; the shard must not be in seqid.allowed_shards, and the ids are greater than the argument after';

CREATE FUNCTION snowflake_timestamp(id bigint)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'snowflake_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_timestamp(bigint) IS
'time of a snowflake id, to the millisecond';

CREATE FUNCTION snowflake_shard(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake_shard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_shard(bigint) IS
'shard of a snowflake id (0 to 1023)';

CREATE FUNCTION snowflake_parts(id bigint,
	OUT created_at timestamptz, OUT shard int, OUT sequence int)
RETURNS record
AS 'MODULE_PATHNAME', 'snowflake_parts'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_parts(bigint) IS
'time, shard and sequence of a snowflake id';

CREATE FUNCTION snowflake_make(at timestamptz, shard bigint, sequence int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_make'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_make(timestamptz, bigint, int) IS
'snowflake id with a time (2023-01-01 to 2092-09-06), shard (0 to 1023) and sequence (0 to 4095)';

CREATE FUNCTION snowflake_first(at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_first'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_first(timestamptz) IS
'smallest snowflake id of a millisecond, across all shards; if the time is out of range, the smallest or the largest possible id';

CREATE FUNCTION snowflake_last(at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_last(timestamptz) IS
'largest snowflake id of a millisecond, across all shards; if the time is out of range, the smallest or the largest possible id';

CREATE FUNCTION snowflake_in(id bigint, range tstzrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'snowflake_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
SUPPORT seqid.planner_support;
COMMENT ON FUNCTION snowflake_in(bigint, tstzrange) IS
'whether the time of a snowflake id is in a range; can use an index on the id';

--
-- Snowflake53 ids, which are less than 2^53, so that JavaScript numbers represent them
-- exactly.  From the top: milliseconds since 2023-01-01 UTC (41 bits) | shard (5 bits) |
-- sequence (7 bits).
--

CREATE FUNCTION snowflake53_nextval(shard bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextval(bigint) IS
'next snowflake53 id of a shard (0 to 31), greater than all ids that the shard issued before in this database';

CREATE FUNCTION snowflake53_nextval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextval_of_server'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextval() IS
'next snowflake53 id of this server''s shard, which seqid.shards determines';

CREATE FUNCTION snowflake53_nextvals(shard bigint, count bigint)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextvals'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT seqid.planner_support;
COMMENT ON FUNCTION snowflake53_nextvals(bigint, bigint) IS
'next count snowflake53 ids of a shard (0 to 31), in ascending order';

CREATE FUNCTION snowflake53_nextblock(shard bigint, count bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextblock'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextblock(bigint, bigint) IS
'first of count (1 to 128) consecutive snowflake53 ids of a shard (0 to 31), all of which are reserved for the caller';

CREATE FUNCTION snowflake53_nextblock(count bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextblock_of_server'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextblock(bigint) IS
'first of count (1 to 128) consecutive snowflake53 ids of this server''s shard, all of which are reserved for the caller';

-- Restricted, because only the leader has the state of the session.
CREATE FUNCTION snowflake53_currval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_currval'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake53_currval() IS
'last snowflake53 id that this session generated, not counting parallel workers; raises an error if there is none';

CREATE FUNCTION snowflake53_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_witness(bigint) IS
'make all later snowflake53 ids of this server''s shard greater than an id, and return the id; raises an error if the id is ahead of the clock by more than seqid.max_lead';

CREATE FUNCTION snowflake53_backfill(created_at timestamptz, shard bigint,
	after bigint DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_backfill'
LANGUAGE C WINDOW VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake53_backfill(timestamptz, bigint, bigint) IS
'window function that generates snowflake53 ids for existing rows in the order of their times; the shard must not be in seqid.allowed_shards, and the ids are greater than the argument after';

CREATE FUNCTION snowflake53_timestamp(id bigint)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'snowflake53_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_timestamp(bigint) IS
'time of a snowflake53 id, to the millisecond';

CREATE FUNCTION snowflake53_shard(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake53_shard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_shard(bigint) IS
'shard of a snowflake53 id (0 to 31)';

CREATE FUNCTION snowflake53_parts(id bigint,
	OUT created_at timestamptz, OUT shard int, OUT sequence int)
RETURNS record
AS 'MODULE_PATHNAME', 'snowflake53_parts'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_parts(bigint) IS
'time, shard and sequence of a snowflake53 id';

CREATE FUNCTION snowflake53_make(at timestamptz, shard bigint, sequence int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_make'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_make(timestamptz, bigint, int) IS
'snowflake53 id with a time (2023-01-01 to 2092-09-06), shard (0 to 31) and sequence (0 to 127)';

CREATE FUNCTION snowflake53_first(at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_first'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_first(timestamptz) IS
'smallest snowflake53 id of a millisecond, across all shards; if the time is out of range, the smallest or the largest possible id';

CREATE FUNCTION snowflake53_last(at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_last(timestamptz) IS
'largest snowflake53 id of a millisecond, across all shards; if the time is out of range, the smallest or the largest possible id';

CREATE FUNCTION snowflake53_in(id bigint, range tstzrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'snowflake53_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
SUPPORT seqid.planner_support;
COMMENT ON FUNCTION snowflake53_in(bigint, tstzrange) IS
'whether the time of a snowflake53 id is in a range; can use an index on the id';

--
-- COMBs: UUIDs of version 7 (RFC 9562) that ascend across all sessions of a database.  See
-- src/bits/comb_layout.h.
--

CREATE FUNCTION comb_uuid()
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid() IS
'next COMB: a UUID of version 7, greater than all that this database generated before';

CREATE FUNCTION comb_uuids(count bigint)
RETURNS SETOF uuid
AS 'MODULE_PATHNAME', 'comb_uuids'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT seqid.planner_support;
COMMENT ON FUNCTION comb_uuids(bigint) IS
'next count COMBs, in ascending order';

CREATE FUNCTION comb_uuid_at(at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_at'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_at(timestamptz) IS
'COMB with a given time (1970-01-01 to 10889-08-02, to the microsecond) and random bits';

CREATE FUNCTION comb_uuid_timestamp(id uuid)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'comb_uuid_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_timestamp(uuid) IS
'time of a COMB, to the microsecond; raises an error for any other UUID';

-- This function has another name because an overload would be chosen for literals and for
-- parameters without a type.  In addition, pg_partman looks up functions by name only.
CREATE FUNCTION comb_uuid_timestamp_text(id text)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'comb_uuid_timestamp_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_timestamp_text(text) IS
'time of a COMB in text form, to the microsecond; raises an error for any other text';

CREATE FUNCTION comb_uuid_first(at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_first'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_first(timestamptz) IS
'smallest COMB of a microsecond; if the time is out of range, the smallest or the largest possible COMB';

CREATE FUNCTION comb_uuid_last(at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_last(timestamptz) IS
'largest COMB of a microsecond; if the time is out of range, the smallest or the largest possible COMB';

CREATE FUNCTION comb_uuid_in(id uuid, range tstzrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'comb_uuid_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
SUPPORT seqid.planner_support;
COMMENT ON FUNCTION comb_uuid_in(uuid, tstzrange) IS
'whether the time of a COMB is in a range; can use an index on the id';

CREATE FUNCTION comb_uuid_is_valid(id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'comb_uuid_is_valid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_is_valid(uuid) IS
'whether a UUID is a COMB: of version 7 and variant 10';

CREATE FUNCTION comb_uuid_witness(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_witness(uuid) IS
'make all later COMBs of this database greater than a COMB, and return the COMB; raises an error if the COMB is ahead of the clock by more than seqid.max_lead';

CREATE FUNCTION comb_uuid_to_mssql(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_to_mssql'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_to_mssql(uuid) IS
'UUID with reordered bytes, which SQL Server sorts as PostgreSQL sorts the argument';

CREATE FUNCTION comb_uuid_from_mssql(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_from_mssql'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_from_mssql(uuid) IS
'inverse of comb_uuid_to_mssql()';

--
-- Sequential UUIDs: UUIDs of version 4 whose first 8 to 32 bits are a block number that
-- wraps around, as in the extension sequential_uuids 1.0.3.  See
-- src/keys/sequential_uuid.c.
--

-- Unsafe, because a parallel worker cannot advance a sequence.
CREATE FUNCTION uuid_sequence_nextval(sequence regclass,
	block_size int DEFAULT 65536, block_count int DEFAULT 65536)
RETURNS uuid
AS 'MODULE_PATHNAME', 'uuid_sequence_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION uuid_sequence_nextval(regclass, int, int) IS
'random UUID that begins with a block number from the next value of a sequence; block_size values share a block, and the number wraps around after block_count blocks';

CREATE FUNCTION uuid_time_nextval(
	interval_length int DEFAULT 60, interval_count int DEFAULT 65536)
RETURNS uuid
AS 'MODULE_PATHNAME', 'uuid_time_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuid_time_nextval(int, int) IS
'random UUID that begins with a block number from the clock; a block lasts interval_length seconds, and the number wraps around after interval_count blocks';

--
-- Scattered ids: the values of one sequence, spread over 2^prefix_bits small sequences.  See
-- src/bits/scatter_permutation.h.
--

-- Unsafe, because it calls nextval().
CREATE FUNCTION scatter_nextval(sequence regclass, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION scatter_nextval(regclass, int) IS
'next value of a sequence, which must be 1 or more, as a scattered id in one of 2^prefix_bits (0 to 32 bits) small sequences';

CREATE FUNCTION scatter_prefix(id bigint, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_prefix'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION scatter_prefix(bigint, int) IS
'number of the small sequence of a scattered id (0 to 2^prefix_bits - 1)';

CREATE FUNCTION scatter_value(id bigint, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_value'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION scatter_value(bigint, int) IS
'value of a scattered id within its small sequence, counted from 0';

CREATE FUNCTION scatter_ordinal(id bigint, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_ordinal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION scatter_ordinal(bigint, int) IS
'position of a scattered id among all ids of the sequence, counted from 0';

--
-- Interning: strings to dense 64-bit ids.  A dictionary is an ordinary table, see
-- src/intern/dictionary_shape.c.
--

CREATE FUNCTION intern_create(name text, prefix_bits int DEFAULT 0)
RETURNS regclass
AS 'MODULE_PATHNAME', 'intern_create'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION intern_create(text, int) IS
'create a dictionary: a table (id bigint, term text) whose ids count from 0, or are scattered over 2^prefix_bits small sequences';

CREATE FUNCTION intern_id(dictionary regclass, term text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'intern_id'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION intern_id(regclass, text) IS
'id of a term, which is inserted if it is new';

CREATE FUNCTION intern_ids(dictionary regclass, terms text[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'intern_ids'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION intern_ids(regclass, text[]) IS
'ids of terms, in the same positions; new terms are inserted';

CREATE FUNCTION intern_find(dictionary regclass, term text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'intern_find'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION intern_find(regclass, text) IS
'id of a term, or NULL if the term is not in the dictionary';

CREATE FUNCTION intern_term(dictionary regclass, id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'intern_term'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION intern_term(regclass, bigint) IS
'term of an id, or NULL if the id is not in the dictionary';

CREATE FUNCTION intern_terms(dictionary regclass, ids bigint[])
RETURNS text[]
AS 'MODULE_PATHNAME', 'intern_terms'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION intern_terms(regclass, bigint[]) IS
'terms of ids, in the same positions; NULL for an id that is not in the dictionary';

--
-- Packed ids: tenant (22 bits) | entity (40 bits), or fields of any widths
--

CREATE FUNCTION tenant_key_pack(tenant_id bigint, entity_id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_pack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tenant_key_pack(bigint, bigint) IS
'key of a tenant (0 to 2^22 - 1) and one of its entities (0 to 2^40 - 1)';

CREATE FUNCTION tenant_key_tenant(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_tenant'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tenant_key_tenant(bigint) IS
'tenant of a tenant key (0 to 2^22 - 1)';

CREATE FUNCTION tenant_key_entity(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_entity'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tenant_key_entity(bigint) IS
'entity of a tenant key (0 to 2^40 - 1)';

-- Unsafe, because it calls nextval().
CREATE FUNCTION tenant_key_nextval(tenant_id bigint, sequence regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION tenant_key_nextval(bigint, regclass) IS
'key of a tenant (0 to 2^22 - 1) and the next value of a sequence, which must be below 2^40';

CREATE FUNCTION bits_pack(widths int[], fields bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'bits_pack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bits_pack(int[], bigint[]) IS
'id that contains fields of the given widths (together 1 to 63 bits), the first field in the highest bits';

CREATE FUNCTION bits_unpack(widths int[], id bigint)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bits_unpack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bits_unpack(int[], bigint) IS
'fields of the given widths (together 1 to 63 bits) that an id contains';

CREATE FUNCTION bits_text(widths int[], id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'bits_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bits_text(int[], bigint) IS
'binary digits of an id, with a vertical bar between fields of the given widths';

--
-- Consistent hashing.  The functions for different types have different names, because
-- drivers send different types for the same parameter.
--

CREATE FUNCTION jump_hash(key bigint, buckets int)
RETURNS int
AS 'MODULE_PATHNAME', 'jump_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jump_hash(bigint, int) IS
'bucket (0 to buckets - 1) of a key of type bigint, by consistent hashing (Lamping and Veach)';

CREATE FUNCTION jump_hash_text(key text, buckets int)
RETURNS int
AS 'MODULE_PATHNAME', 'jump_hash_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jump_hash_text(text, int) IS
'bucket (0 to buckets - 1) of a key of type text, by consistent hashing (Lamping and Veach) of its bytes';

CREATE FUNCTION jump_hash_uuid(key uuid, buckets int)
RETURNS int
AS 'MODULE_PATHNAME', 'jump_hash_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jump_hash_uuid(uuid, int) IS
'bucket (0 to buckets - 1) of a key of type uuid, by consistent hashing (Lamping and Veach) of its bytes';

--
-- Text forms.  The type is part of the name, because an overloaded function would make
-- parameters without a type ambiguous.
--

CREATE FUNCTION base62_encode_bigint(id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'base62_encode_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION base62_encode_bigint(bigint) IS
'digits 0-9A-Za-z of a bigint, at most 11';

CREATE FUNCTION base62_decode_bigint(encoded text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'base62_decode_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION base62_decode_bigint(text) IS
'bigint with the digits 0-9A-Za-z';

CREATE FUNCTION base62_encode_uuid(id uuid)
RETURNS text
AS 'MODULE_PATHNAME', 'base62_encode_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION base62_encode_uuid(uuid) IS
'digits 0-9A-Za-z of a UUID, at most 22';

CREATE FUNCTION base62_decode_uuid(encoded text)
RETURNS uuid
AS 'MODULE_PATHNAME', 'base62_decode_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION base62_decode_uuid(text) IS
'UUID with the digits 0-9A-Za-z';

CREATE FUNCTION crockford32_encode_bigint(id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'crockford32_encode_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crockford32_encode_bigint(bigint) IS
'13 characters of a bigint in Crockford''s base 32, as TSIDs are written';

CREATE FUNCTION crockford32_decode_bigint(encoded text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'crockford32_decode_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crockford32_decode_bigint(text) IS
'bigint with the 13 characters in Crockford''s base 32';

CREATE FUNCTION crockford32_encode_uuid(id uuid)
RETURNS text
AS 'MODULE_PATHNAME', 'crockford32_encode_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crockford32_encode_uuid(uuid) IS
'26 characters of a UUID in Crockford''s base 32, as ULIDs are written';

CREATE FUNCTION crockford32_decode_uuid(encoded text)
RETURNS uuid
AS 'MODULE_PATHNAME', 'crockford32_decode_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crockford32_decode_uuid(text) IS
'UUID with the 26 characters in Crockford''s base 32';

CREATE FUNCTION typeid_encode(prefix text, id uuid)
RETURNS text
AS 'MODULE_PATHNAME', 'typeid_encode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION typeid_encode(text, uuid) IS
'TypeID of a prefix and a UUID (specification 0.3)';

CREATE FUNCTION typeid_decode(typeid text)
RETURNS uuid
AS 'MODULE_PATHNAME', 'typeid_decode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION typeid_decode(text) IS
'UUID of a TypeID';

CREATE FUNCTION typeid_prefix(typeid text)
RETURNS text
AS 'MODULE_PATHNAME', 'typeid_prefix'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION typeid_prefix(text) IS
'prefix of a TypeID';

SET LOCAL search_path = pg_catalog, pg_temp;

--
-- Statistics.  They do not raise errors: a value that is not available is NULL.
--

CREATE FUNCTION seqid.stat_server(OUT library text, OUT preloaded boolean, OUT timeline bigint,
	OUT shard int, OUT shard_source text, OUT system_identifier bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'seqid_stat_server'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION seqid.stat_server() IS
'values of the view seqid.stat_server';

CREATE VIEW seqid.stat_server AS
	SELECT s.library,
		   (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'seqid') AS script,
		   s.preloaded, s.timeline, s.shard, s.shard_source, s.system_identifier
	  FROM seqid.stat_server() s;
COMMENT ON VIEW seqid.stat_server IS
'how this server issues keys; one row';
COMMENT ON COLUMN seqid.stat_server.library IS 'version of the library that this session has loaded';
COMMENT ON COLUMN seqid.stat_server.script IS 'version of the script that created the functions of this database';
COMMENT ON COLUMN seqid.stat_server.preloaded IS 'whether shared_preload_libraries contains seqid';
COMMENT ON COLUMN seqid.stat_server.timeline IS 'timeline that this server writes, NULL on a standby';
COMMENT ON COLUMN seqid.stat_server.shard IS 'shard of this server: the entry of seqid.shards for its timeline, NULL if there is none';
COMMENT ON COLUMN seqid.stat_server.shard_source IS 'source of seqid.shards, as in pg_settings.source, NULL if the setting is empty';
COMMENT ON COLUMN seqid.stat_server.system_identifier IS 'system identifier of the data directory';

CREATE FUNCTION seqid.stat_database(OUT clock_mark timestamptz, OUT clock_floor timestamptz,
	OUT comb_uuid_time timestamptz, OUT marks_written bigint, OUT horizon timestamptz,
	OUT years_left float8)
RETURNS record
AS 'MODULE_PATHNAME', 'seqid_stat_database'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION seqid.stat_database() IS
'values of the view seqid.stat_database';

CREATE VIEW seqid.stat_database AS
	SELECT clock_mark, clock_floor, comb_uuid_time, marks_written, horizon, years_left
	  FROM seqid.stat_database();
COMMENT ON VIEW seqid.stat_database IS
'keys of this database since the server started; one row';
COMMENT ON COLUMN seqid.stat_database.clock_mark IS 'durable upper bound on the times of keys, NULL if the mark is missing or damaged';
COMMENT ON COLUMN seqid.stat_database.clock_floor IS 'keys start above this time because an earlier server lifetime issued keys up to it, NULL if there was none';
COMMENT ON COLUMN seqid.stat_database.comb_uuid_time IS 'time of the last COMB, NULL if there was none';
COMMENT ON COLUMN seqid.stat_database.marks_written IS 'number of times that the mark was raised';
COMMENT ON COLUMN seqid.stat_database.horizon IS 'newest horizon that a reader of this database has found, NULL if there was none';
COMMENT ON COLUMN seqid.stat_database.years_left IS 'years until the time of snowflake ids is used up';

CREATE FUNCTION seqid.stat_shards(OUT layout text, OUT shard int, OUT last_id bigint,
	OUT last_time timestamptz, OUT lead_ms bigint, OUT waits bigint,
	OUT clock_regressions bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'seqid_stat_shards'
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION seqid.stat_shards() IS
'rows of the view seqid.stat_shards';

CREATE VIEW seqid.stat_shards AS
	SELECT layout, shard, last_id, last_time, lead_ms, waits, clock_regressions
	  FROM seqid.stat_shards();
COMMENT ON VIEW seqid.stat_shards IS
'shards whose ids this server has issued, in any database, since it started';
COMMENT ON COLUMN seqid.stat_shards.layout IS 'snowflake or snowflake53: the prefix of the function names';
COMMENT ON COLUMN seqid.stat_shards.shard IS 'shard number';
COMMENT ON COLUMN seqid.stat_shards.last_id IS 'last id that was reserved';
COMMENT ON COLUMN seqid.stat_shards.last_time IS 'time of the last id';
COMMENT ON COLUMN seqid.stat_shards.lead_ms IS 'lead of the last id over the clock, in milliseconds, 0 if the id is not ahead';
COMMENT ON COLUMN seqid.stat_shards.waits IS 'number of times that a call waited for the next millisecond';
COMMENT ON COLUMN seqid.stat_shards.clock_regressions IS 'number of times that a call found the clock more than 8 ms behind the next id of the shard';

--
-- The settled horizon, for readers that read rows in the order of their keys
--

CREATE FUNCTION seqid.settled_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'seqid_settled_support'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION seqid.settled_support(internal) IS
'planner support of seqid.settled, settled_snowflake, settled_snowflake53 and settled_comb_uuid';

-- Restricted, because only the leader has the bounds of the session.
CREATE FUNCTION seqid.settled(sequence regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'seqid_settled'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
SUPPORT seqid.settled_support;
COMMENT ON FUNCTION seqid.settled(regclass) IS
'bound for the calling statement: each row with a smaller value of the sequence is visible to the statement, or will never appear';

CREATE FUNCTION seqid.settled_snowflake()
RETURNS bigint
AS 'MODULE_PATHNAME', 'seqid_settled_snowflake'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
SUPPORT seqid.settled_support;
COMMENT ON FUNCTION seqid.settled_snowflake() IS
'bound for the calling statement: each row with a smaller snowflake id of this database is visible to the statement, or will never appear';

CREATE FUNCTION seqid.settled_snowflake53()
RETURNS bigint
AS 'MODULE_PATHNAME', 'seqid_settled_snowflake53'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
SUPPORT seqid.settled_support;
COMMENT ON FUNCTION seqid.settled_snowflake53() IS
'bound for the calling statement: each row with a smaller snowflake53 id of this database is visible to the statement, or will never appear';

CREATE FUNCTION seqid.settled_comb_uuid()
RETURNS uuid
AS 'MODULE_PATHNAME', 'seqid_settled_comb_uuid'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
SUPPORT seqid.settled_support;
COMMENT ON FUNCTION seqid.settled_comb_uuid() IS
'bound for the calling statement: each row with a smaller COMB of this database is visible to the statement, or will never appear';

CREATE PROCEDURE seqid.horizon(INOUT horizon timestamptz DEFAULT NULL,
	INOUT lsn pg_lsn DEFAULT NULL, INOUT timeline bigint DEFAULT NULL,
	INOUT snowflake bigint DEFAULT NULL, INOUT snowflake53 bigint DEFAULT NULL,
	INOUT comb_uuid uuid DEFAULT NULL, INOUT lifetime bigint DEFAULT NULL)
AS 'MODULE_PATHNAME', 'seqid_horizon'
LANGUAGE C;
COMMENT ON PROCEDURE seqid.horizon(timestamptz, pg_lsn, bigint, bigint, bigint, uuid, bigint) IS
'time before which no new keys of this database can appear, and the first keys with that time; a standby for which seqid.has_replayed(lsn, timeline, lifetime) is true has all earlier rows';

CREATE PROCEDURE seqid.sequence_horizon(sequence regclass, INOUT horizon bigint DEFAULT NULL,
	INOUT lsn pg_lsn DEFAULT NULL, INOUT timeline bigint DEFAULT NULL,
	INOUT lifetime bigint DEFAULT NULL)
AS 'MODULE_PATHNAME', 'seqid_sequence_horizon'
LANGUAGE C;
COMMENT ON PROCEDURE seqid.sequence_horizon(regclass, bigint, pg_lsn, bigint, bigint) IS
'value below which no new rows with values of the sequence can appear; a standby for which seqid.has_replayed(lsn, timeline, lifetime) is true has all rows below it';

CREATE FUNCTION seqid.has_replayed(lsn pg_lsn, timeline bigint, lifetime bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'seqid_has_replayed'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.has_replayed(pg_lsn, bigint, bigint) IS
'true if this server has replayed (on a primary: flushed) the WAL up to lsn of the server lifetime that returned the arguments with a horizon, so that later statements see all rows below the horizon; false if the primary has a newer server lifetime';

CREATE FUNCTION seqid.horizon_slots(OUT pid int, OUT held timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'seqid_horizon_slots'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION seqid.horizon_slots() IS
'sessions of the view seqid.horizon_holders that have generated keys';

-- A prepared transaction that has generated keys has a lock that contains its time; see
-- src/clock/transaction_slot.c.  A transaction holds a sequence by a lock that conflicts
-- with ShareLock; see src/clock/sequence_look.c.
CREATE VIEW seqid.horizon_holders AS
	SELECT h.pid, p.gid, h.held, coalesce(a.xact_start, p.prepared) AS since, h.sequence
	  FROM (SELECT s.pid, NULL AS virtualtransaction, s.held, NULL::regclass AS sequence
			  FROM seqid.horizon_slots() s
			 UNION ALL
			SELECT NULL, l.virtualtransaction,
				   to_timestamp((l.classid::bigint << 32 | l.objid::bigint) / 1000.0), NULL
			  FROM pg_locks l
			 WHERE l.locktype = 'advisory' AND l.objsubid = 53 AND l.pid IS NULL AND (l.classid <> 0 OR l.objid <> 0)
			   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
			 UNION ALL
			SELECT DISTINCT l.pid, CASE WHEN l.pid IS NULL THEN l.virtualtransaction END,
				   NULL::timestamptz, l.relation::regclass
			  FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			 WHERE c.relkind = 'S' AND c.oid IS DISTINCT FROM to_regclass('seqid.clock_mark')
			   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
			   AND l.granted AND l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'ShareLock')) h
	  LEFT JOIN pg_stat_activity a ON a.pid = h.pid
	  LEFT JOIN (pg_locks l
				 JOIN pg_prepared_xacts p
				   ON l.locktype = 'transactionid' AND l.pid IS NULL
					  AND p.transaction = l.transactionid)
		ON l.virtualtransaction = h.virtualtransaction;
COMMENT ON VIEW seqid.horizon_holders IS
'open transactions of this database that have generated keys or hold a sequence; settled bounds cannot pass the earliest of them';
COMMENT ON COLUMN seqid.horizon_holders.pid IS 'process ID of the transaction, NULL if it is prepared';
COMMENT ON COLUMN seqid.horizon_holders.gid IS 'identifier of a prepared transaction, NULL for others';
COMMENT ON COLUMN seqid.horizon_holders.held IS 'time that the horizon cannot pass before the transaction ends; NULL in the row of a sequence, or if the role cannot see it';
COMMENT ON COLUMN seqid.horizon_holders.since IS 'time at which the transaction started or was prepared, NULL if the role cannot see it';
COMMENT ON COLUMN seqid.horizon_holders.sequence IS 'sequence that the transaction holds, for example because it has called nextval(); NULL in other rows';

--
-- Repair
--

CREATE FUNCTION seqid.rewrite_mark(mark regclass)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'seqid_rewrite_mark'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION seqid.rewrite_mark(regclass) IS
'part of seqid.repair_mark(); do not call it directly';

-- Never lowers the mark, and keeps all objects that depend on the extension.  A sequence that
-- was renamed or moved to another schema gets its name and schema back, by its OID, because
-- another sequence could get its name meanwhile.
CREATE FUNCTION seqid.repair_mark()
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	extension oid;
	mark oid;
BEGIN
	IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		RAISE insufficient_privilege USING
			MESSAGE = 'must be superuser to repair the clock mark',
			HINT = 'Connect as a superuser.';
	END IF;
	IF pg_is_in_recovery() THEN
		RAISE read_only_sql_transaction USING
			MESSAGE = 'cannot execute seqid.repair_mark() during recovery',
			HINT = 'Connect to the primary.';
	END IF;

	-- Two concurrent repairs must not create two sequences.
	LOCK TABLE pg_extension IN SHARE ROW EXCLUSIVE MODE;
	-- Only the mark is in extconfig; users can have added other sequences to the extension.
	SELECT e.oid, c.oid INTO extension, mark
	  FROM pg_extension e
	  LEFT JOIN pg_class c ON c.oid = ANY (e.extconfig) AND c.relkind = 'S'
	 WHERE e.extname = 'seqid';

	-- Do not use another schema of that name: its owner could have created objects in it.
	IF NOT EXISTS (SELECT FROM pg_depend
					WHERE classid = 'pg_namespace'::regclass AND objid = to_regnamespace('seqid')
					  AND refclassid = 'pg_extension'::regclass AND refobjid = extension) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'schema "seqid" does not belong to extension "seqid"',
			HINT = 'Rename that schema, then run ALTER SCHEMA ... RENAME TO seqid for the schema of the extension.';
	END IF;
	IF to_regclass('seqid.clock_mark') <> coalesce(mark, 0) THEN
		RAISE wrong_object_type USING
			MESSAGE = '"seqid.clock_mark" is not the clock mark',
			HINT = 'Run ALTER TABLE seqid.clock_mark RENAME TO another_name, then SELECT seqid.repair_mark() again.';
	END IF;

	IF mark IS NULL THEN
		CREATE SEQUENCE seqid.clock_mark AS bigint MINVALUE 0 START WITH 0 NO CYCLE;
		COMMENT ON SEQUENCE seqid.clock_mark IS
			'durable upper bound on the timestamps of keys issued in this database, in milliseconds since 1970; do not modify';
		GRANT SELECT ON SEQUENCE seqid.clock_mark TO PUBLIC;
		GRANT UPDATE ON SEQUENCE seqid.clock_mark TO pg_database_owner;
		ALTER EXTENSION seqid ADD SEQUENCE seqid.clock_mark;
		mark := to_regclass('seqid.clock_mark');
		-- pg_extension_config_dump() can only be called from an extension's script.
		UPDATE pg_extension
		   SET extconfig = array_append(extconfig, mark), extcondition = array_append(extcondition, '') WHERE oid = extension;
	ELSIF to_regclass('seqid.clock_mark') IS NULL THEN
		UPDATE pg_class SET relname = 'clock_mark', relnamespace = 'seqid'::regnamespace
		 WHERE oid = mark;
		-- There is no such row if the sequence was in pg_catalog.
		DELETE FROM pg_depend
		 WHERE classid = 'pg_class'::regclass AND objid = mark AND refclassid = 'pg_namespace'::regclass;
		INSERT INTO pg_depend (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
		VALUES ('pg_class'::regclass, mark, 0, 'pg_namespace'::regclass, 'seqid'::regnamespace, 0, 'n');
	END IF;

	RETURN seqid.rewrite_mark(mark);
END
$$;
COMMENT ON FUNCTION seqid.repair_mark() IS
'create a missing clock mark, or rewrite a damaged one, with the highest known time, and return this time; superusers only';

--
-- Privileges
--

-- The objects belong to the bootstrap superuser, regardless of which superuser creates the
-- extension; for an ordinary role, "trusted" has the same effect.  Up to PostgreSQL 16, the
-- privileges in a dump contain the owner's name, so that a dump could not be restored after
-- that role was dropped.
DO $$
DECLARE
	bootstrap name := pg_get_userbyid(10);
	object record;
BEGIN
	IF current_user = bootstrap THEN
		RETURN;
	END IF;
	FOR object IN
		SELECT CASE d.classid WHEN 'pg_namespace'::regclass THEN 'SCHEMA seqid'
							  WHEN 'pg_class'::regclass THEN 'TABLE ' || d.objid::regclass
							  WHEN 'pg_proc'::regclass THEN 'ROUTINE ' || d.objid::regprocedure
			   END AS name
		  FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
		 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'seqid'
	LOOP
		IF object.name IS NOT NULL THEN
			EXECUTE format('ALTER %s OWNER TO %I', object.name, bootstrap);
		END IF;
	END LOOP;
END
$$;

GRANT USAGE ON SCHEMA seqid TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA seqid TO PUBLIC;
GRANT SELECT ON SEQUENCE seqid.clock_mark TO PUBLIC;

-- The owner of the database must be able to restore a dump, even if another role created
-- the extension.  The privilege does little harm to other databases: a mark in the future
-- moves the shards that they use by at most seqid.max_lead.
GRANT UPDATE ON SEQUENCE seqid.clock_mark TO pg_database_owner;

-- A witness moves keys ahead of the clock, up to the limit that all databases share.
REVOKE EXECUTE ON FUNCTION @extschema@.snowflake_witness(bigint), @extschema@.snowflake53_witness(bigint),
	@extschema@.comb_uuid_witness(uuid), seqid.rewrite_mark(regclass) FROM PUBLIC;

SET LOCAL search_path = @extschema@, pg_temp;

-- The first key raises the mark above all keys that this server has issued, including those
-- before the extension was dropped and created again.
SELECT comb_uuid();
