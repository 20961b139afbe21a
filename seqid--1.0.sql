/* seqid--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION seqid" to load this file. \quit

--
-- The schema that CREATE EXTENSION names contains the functions for keys, and nothing else.
-- All other objects are in the schema seqid: tools for migrations and schema dumps would
-- include tables, views and sequences that they find in a user's schema.
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
-- What the planner uses: it replaces a call of snowflake_in(id, range) by comparisons of the id
-- with the first and the last id of the range, and expects as many rows of a set of keys as its
-- argument count says.
--

CREATE FUNCTION seqid.planner_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'seqid_planner_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.planner_support(internal) IS
'planner support of functions that are called NAME_in, and of sets of keys';

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
'next snowflake id of a shard (0 to 1023), greater than all ids that the shard issued before on this server';

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
'last snowflake id that this session generated, except in parallel workers; an error if there is none';

CREATE FUNCTION snowflake_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_witness(bigint) IS
'make all later snowflake ids of this server''s shard greater than an id, and return it; an error if it is ahead of the clock by more than seqid.max_lead';

-- 31 is the highest shard that both layouts have.
CREATE FUNCTION snowflake_backfill(created_at timestamptz, shard bigint DEFAULT 31,
	after bigint DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_backfill'
LANGUAGE C WINDOW VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake_backfill(timestamptz, bigint, bigint) IS
'window function: snowflake ids for existing rows, from their times and in their order, of a shard that seqid.allowed_shards does not contain; greater than the id after';

CREATE FUNCTION snowflake_timestamp(id bigint)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'snowflake_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_timestamp(bigint) IS
'time of a snowflake id, in milliseconds';

CREATE FUNCTION snowflake_shard(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake_shard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_shard(bigint) IS
'shard of a snowflake id (0 to 1023)';

CREATE FUNCTION snowflake_sequence(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_sequence(bigint) IS
'sequence of a snowflake id: its number within its millisecond and shard (0 to 4095)';

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
'smallest snowflake id of a millisecond, over all shards; a time out of range gives the smallest or the largest of all ids';

CREATE FUNCTION snowflake_last(at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_last(timestamptz) IS
'largest snowflake id of a millisecond, over all shards; a time out of range gives the smallest or the largest of all ids';

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
'next snowflake53 id of a shard (0 to 31), greater than all ids that the shard issued before on this server';

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
'last snowflake53 id that this session generated, except in parallel workers; an error if there is none';

CREATE FUNCTION snowflake53_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_witness(bigint) IS
'make all later snowflake53 ids of this server''s shard greater than an id, and return it; an error if it is ahead of the clock by more than seqid.max_lead';

CREATE FUNCTION snowflake53_backfill(created_at timestamptz, shard bigint DEFAULT 31,
	after bigint DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_backfill'
LANGUAGE C WINDOW VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake53_backfill(timestamptz, bigint, bigint) IS
'window function: snowflake53 ids for existing rows, from their times and in their order, of a shard that seqid.allowed_shards does not contain; greater than the id after';

CREATE FUNCTION snowflake53_timestamp(id bigint)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'snowflake53_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_timestamp(bigint) IS
'time of a snowflake53 id, in milliseconds';

CREATE FUNCTION snowflake53_shard(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake53_shard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_shard(bigint) IS
'shard of a snowflake53 id (0 to 31)';

CREATE FUNCTION snowflake53_sequence(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake53_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_sequence(bigint) IS
'sequence of a snowflake53 id: its number within its millisecond and shard (0 to 127)';

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
'smallest snowflake53 id of a millisecond, over all shards; a time out of range gives the smallest or the largest of all ids';

CREATE FUNCTION snowflake53_last(at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_last(timestamptz) IS
'largest snowflake53 id of a millisecond, over all shards; a time out of range gives the smallest or the largest of all ids';

CREATE FUNCTION snowflake53_in(id bigint, range tstzrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'snowflake53_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
SUPPORT seqid.planner_support;
COMMENT ON FUNCTION snowflake53_in(bigint, tstzrange) IS
'whether the time of a snowflake53 id is in a range; can use an index on the id';

--
-- COMBs: UUIDs of version 7 (RFC 9562) that ascend over all sessions of a database.  See
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
'time of a COMB, in microseconds; an error for any other UUID';

-- This function has another name because an overload would be chosen for literals and for
-- parameters without a type.  In addition, pg_partman looks up functions by name only.
CREATE FUNCTION comb_uuid_timestamp_text(id text)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'comb_uuid_timestamp_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_timestamp_text(text) IS
'time of a COMB in text form, in microseconds; an error for any other text';

CREATE FUNCTION comb_uuid_first(at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_first'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_first(timestamptz) IS
'smallest COMB of a microsecond; a time out of range gives the smallest or the largest of all COMBs';

CREATE FUNCTION comb_uuid_last(at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_last(timestamptz) IS
'largest COMB of a microsecond; a time out of range gives the smallest or the largest of all COMBs';

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
'make all later COMBs of this database greater than a COMB, and return it; an error if it is ahead of the clock by more than seqid.max_lead';

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
'random UUID that begins with a block number from the next value of a sequence; block_size values share a block, and block_count blocks wrap around';

CREATE FUNCTION uuid_time_nextval(
	interval_length int DEFAULT 60, interval_count int DEFAULT 65536)
RETURNS uuid
AS 'MODULE_PATHNAME', 'uuid_time_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuid_time_nextval(int, int) IS
'random UUID that begins with a block number from the clock; a block lasts interval_length seconds, and interval_count blocks wrap around';

--
-- Values of a sequence, for tables whose readers go by seqid.sequence_horizon()
--

-- Unsafe, because a parallel worker cannot advance a sequence.
CREATE FUNCTION settled_nextval(sequence regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'settled_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION settled_nextval(regclass) IS
'next value of a sequence, as nextval() returns it; seqid.sequence_horizon() waits for its transaction';

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
'next value of a sequence, which must be 1 or more, as an id of one of 2^prefix_bits (0 to 32 bits) small sequences';

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
'ids of terms, in the same places; new terms are inserted';

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
'terms of ids, in the same places; NULL for an id that is not in the dictionary';

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
-- Consistent hashing.  Each type has a function of its own name, because drivers send
-- different types for the same parameter.
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
'bucket (0 to buckets - 1) of a key of type text, by its bytes, by consistent hashing (Lamping and Veach)';

CREATE FUNCTION jump_hash_uuid(key uuid, buckets int)
RETURNS int
AS 'MODULE_PATHNAME', 'jump_hash_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jump_hash_uuid(uuid, int) IS
'bucket (0 to buckets - 1) of a key of type uuid, by its bytes, by consistent hashing (Lamping and Veach)';

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
'bigint of its digits 0-9A-Za-z';

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
'UUID of its digits 0-9A-Za-z';

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
'bigint of its 13 characters in Crockford''s base 32';

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
'UUID of its 26 characters in Crockford''s base 32';

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
COMMENT ON COLUMN seqid.stat_database.horizon IS 'last result of seqid.horizon(), NULL if there was none';
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
'shards of which this server, in any database, has issued ids since it started';
COMMENT ON COLUMN seqid.stat_shards.layout IS 'snowflake or snowflake53: the prefix of the function names';
COMMENT ON COLUMN seqid.stat_shards.shard IS 'shard number';
COMMENT ON COLUMN seqid.stat_shards.last_id IS 'last id that was reserved';
COMMENT ON COLUMN seqid.stat_shards.last_time IS 'time of the last id';
COMMENT ON COLUMN seqid.stat_shards.lead_ms IS 'lead of the last id over the clock, in milliseconds, 0 if there is none';
COMMENT ON COLUMN seqid.stat_shards.waits IS 'number of times that a call waited for the next millisecond';
COMMENT ON COLUMN seqid.stat_shards.clock_regressions IS 'number of times that a call found the clock more than 8 ms behind, the longest time that a call waits for';

--
-- The settled horizon, for readers that read rows in the order of their keys
--

CREATE PROCEDURE seqid.horizon(INOUT horizon timestamptz DEFAULT NULL,
	INOUT lsn pg_lsn DEFAULT NULL, INOUT timeline bigint DEFAULT NULL,
	INOUT snowflake bigint DEFAULT NULL, INOUT snowflake53 bigint DEFAULT NULL,
	INOUT comb uuid DEFAULT NULL)
AS 'MODULE_PATHNAME', 'seqid_horizon'
LANGUAGE C;
COMMENT ON PROCEDURE seqid.horizon(timestamptz, pg_lsn, bigint, bigint, bigint, uuid) IS
'time before which no new keys of this database can appear, and the first keys with that time; a standby that has replayed lsn on timeline has all earlier rows';

CREATE PROCEDURE seqid.sequence_horizon(sequence regclass, INOUT value bigint DEFAULT NULL,
	INOUT lsn pg_lsn DEFAULT NULL, INOUT timeline bigint DEFAULT NULL)
AS 'MODULE_PATHNAME', 'seqid_sequence_horizon'
LANGUAGE C;
COMMENT ON PROCEDURE seqid.sequence_horizon(regclass, bigint, pg_lsn, bigint) IS
'value up to which no new values of settled_nextval() for this sequence can appear; a standby that has replayed lsn on timeline has all rows up to it';

CREATE FUNCTION seqid.has_replayed(lsn pg_lsn, timeline bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'seqid_has_replayed'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.has_replayed(pg_lsn, bigint) IS
'whether this server, standby or primary, has all WAL of the timeline up to lsn, so that later statements see the rows below the horizon that was returned with them';

CREATE FUNCTION seqid.horizon_slots(OUT pid int, OUT virtualtransaction text, OUT held timestamptz,
	OUT sequence regclass, OUT value bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'seqid_horizon_slots'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION seqid.horizon_slots() IS
'transactions of the view seqid.horizon_holders';

CREATE VIEW seqid.horizon_holders AS
	SELECT s.pid, p.gid, s.held, coalesce(a.xact_start, p.prepared) AS since, s.sequence,
		   CASE WHEN has_sequence_privilege(s.sequence, 'USAGE, SELECT, UPDATE') THEN s.value END AS value
	  FROM seqid.horizon_slots() s
	  LEFT JOIN pg_stat_activity a ON a.pid = s.pid
	  LEFT JOIN (pg_locks l
				 JOIN pg_prepared_xacts p
				   ON l.locktype = 'transactionid' AND l.pid IS NULL
					  AND p.transaction = l.transactionid)
		ON l.virtualtransaction = s.virtualtransaction;
COMMENT ON VIEW seqid.horizon_holders IS
'open transactions of this database that have generated keys, and the sequences that they have called settled_nextval() for; the horizon cannot pass the earliest of them';
COMMENT ON COLUMN seqid.horizon_holders.pid IS 'process ID of the transaction, NULL if it is prepared';
COMMENT ON COLUMN seqid.horizon_holders.gid IS 'identifier of a prepared transaction, NULL for others';
COMMENT ON COLUMN seqid.horizon_holders.held IS 'time that the horizon cannot pass before the transaction ends, NULL in the row of a sequence';
COMMENT ON COLUMN seqid.horizon_holders.since IS 'time at which the transaction started or was prepared, NULL if the role cannot see it';
COMMENT ON COLUMN seqid.horizon_holders.sequence IS 'sequence that the transaction has called settled_nextval() for, NULL in other rows';
COMMENT ON COLUMN seqid.horizon_holders.value IS 'value that the horizon of the sequence cannot pass before the transaction ends, NULL if the role has no privilege on the sequence';

--
-- A registry of shards, for many servers.  One database contains the registry.  Owners,
-- such as clusters, claim shards in it.  Nodes check in: each reports which shards it is
-- allowed to issue.  Generators never read the registry.
--
-- The functions run with the privileges of the caller, which must have access to the
-- tables.
--

CREATE TABLE seqid.shard_registry (
	shard int PRIMARY KEY CHECK (shard BETWEEN 0 AND 1023),
	owner text NOT NULL CHECK (length(owner) BETWEEN 1 AND 64),
	node text CHECK (length(node) BETWEEN 1 AND 64),
	timeline bigint,
	started_at timestamptz,
	checked_in_at timestamptz
);
COMMENT ON TABLE seqid.shard_registry IS
'which owner has claimed a shard, and which node has checked in for it; see seqid.shard_claim() and seqid.shard_check_in()';
COMMENT ON COLUMN seqid.shard_registry.owner IS 'name of a cluster, or of a stand-alone server';
COMMENT ON COLUMN seqid.shard_registry.node IS 'node of the latest server that has checked in, NULL if there was none';
COMMENT ON COLUMN seqid.shard_registry.timeline IS 'timeline of that server; NULL accepts any server';
COMMENT ON COLUMN seqid.shard_registry.started_at IS 'time at which that server started';
COMMENT ON COLUMN seqid.shard_registry.checked_in_at IS 'time of its last check-in';

CREATE TABLE seqid.shard_conflicts (
	owner text,
	node text,
	conflict text,
	noticed_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (owner, node, conflict)
);
COMMENT ON TABLE seqid.shard_conflicts IS
'conflicts that seqid.shard_check_in() has found';
COMMENT ON COLUMN seqid.shard_conflicts.noticed_at IS 'time of the last check-in that found the conflict';

SELECT pg_extension_config_dump('seqid.shard_registry', '');
SELECT pg_extension_config_dump('seqid.shard_conflicts', '');

CREATE FUNCTION seqid.shard_claim(owner text, count int)
RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	claimed int4multirange;
BEGIN
	IF count NOT BETWEEN 1 AND 1024 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('number of shards %s is out of range', count),
			DETAIL = 'The number of shards must be between 1 and 1024.';
	END IF;

	-- Two concurrent claims must not find the same free shards.
	LOCK TABLE seqid.shard_registry IN SHARE ROW EXCLUSIVE MODE;
	INSERT INTO seqid.shard_registry (shard, owner)
		SELECT s, shard_claim.owner FROM generate_series(0, 1023) s
		 WHERE NOT EXISTS (SELECT FROM seqid.shard_registry r WHERE r.shard = s)
		 ORDER BY s
		 LIMIT greatest(0, shard_claim.count -
			(SELECT count(*) FROM seqid.shard_registry r WHERE r.owner = shard_claim.owner));
	SELECT range_agg(int4range(r.shard, r.shard, '[]')) INTO claimed
	  FROM seqid.shard_registry r WHERE r.owner = shard_claim.owner HAVING count(*) >= shard_claim.count;
	IF claimed IS NULL THEN
		RAISE program_limit_exceeded USING
			MESSAGE = format('could not find %s free shards', count),
			HINT = 'Claim fewer shards, or run SELECT seqid.shard_release(owner) for an owner that no longer issues ids.';
	END IF;
	RETURN (SELECT string_agg(concat_ws('-', lower(r), nullif(upper(r) - 1, lower(r))), ', ' ORDER BY r)
			  FROM unnest(claimed) r);
END
$$;
COMMENT ON FUNCTION seqid.shard_claim(text, int) IS
'claim free shards for an owner until it has count (1 to 1024), and return all its shards as a list for seqid.shards';

CREATE FUNCTION seqid.shard_release(owner text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM seqid.shard_registry r WHERE r.owner = shard_release.owner;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION seqid.shard_release(text) IS
'release the shards of an owner that no longer issues ids; false if it had none';

-- For each shard, only the latest server may go on: the one with the highest timeline,
-- and of those on one timeline, such as a server and its clone, the one that started
-- last.  A standby has no timeline, because it issues no ids.
CREATE FUNCTION seqid.shard_check_in(owner text, node text, shards text, timeline bigint,
	started_at timestamptz)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	allowed int4multirange;
	conflict text;
BEGIN
	-- Without these, a conflict could not be found.
	IF num_nulls(owner, node, shards, started_at) > 0 THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'owner, node, shards and start time must not be NULL';
	END IF;
	-- Refuse the lists that seqid.shards refuses.  A list of all 1,024 shards, with spaces,
	-- has less than 16 kB.
	IF octet_length(shards) > 16384
		OR shards !~ '^\s*(\d{1,4}\s*(-\s*\d{1,4}\s*)?(,\s*\d{1,4}\s*(-\s*\d{1,4}\s*)?)*)?$' THEN
		RAISE invalid_text_representation USING
			MESSAGE = format('"%s" is not a list of shards', left(shards, 64)),
			HINT = 'Write numbers from 0 to 1023 and ascending ranges, separated by commas, for example "3, 16-31".';
	END IF;
	SELECT range_agg(int4range(part[1]::int, coalesce(part[2], part[1])::int, '[]')) INTO allowed
	  FROM regexp_matches(shards, '(\d+)\s*(?:-\s*(\d+))?', 'g') part;

	-- Two concurrent check-ins must not both be the latest.
	LOCK TABLE seqid.shard_registry IN SHARE ROW EXCLUSIVE MODE;
	SELECT CASE WHEN r.owner IS DISTINCT FROM shard_check_in.owner
				THEN format('The node is allowed to issue shard %s, which %s has claimed.', s,
							coalesce('"' || r.owner || '"', 'no owner'))
				ELSE format('A later server, node "%s" on timeline %s, has checked in for shard %s.',
							r.node, r.timeline, s) END INTO conflict
	  FROM unnest(allowed) a CROSS JOIN generate_series(lower(a), upper(a) - 1) s
	  LEFT JOIN seqid.shard_registry r ON r.shard = s
	 WHERE r.owner IS DISTINCT FROM shard_check_in.owner
		OR (r.timeline, r.started_at) > (shard_check_in.timeline, shard_check_in.started_at)
	 ORDER BY r.owner IS DISTINCT FROM shard_check_in.owner, s LIMIT 1;

	IF conflict IS NOT NULL THEN
		INSERT INTO seqid.shard_conflicts VALUES (owner, node, conflict)
			ON CONFLICT ON CONSTRAINT shard_conflicts_pkey DO UPDATE SET noticed_at = now();
	END IF;
	-- A conflict about one shard must not hide one about another.
	IF timeline IS NOT NULL THEN
		UPDATE seqid.shard_registry r
		   SET node = shard_check_in.node, timeline = shard_check_in.timeline,
			   started_at = shard_check_in.started_at, checked_in_at = now()
		 WHERE allowed @> r.shard AND r.owner = shard_check_in.owner
		   AND ((r.timeline, r.started_at) > (shard_check_in.timeline, shard_check_in.started_at)) IS NOT TRUE;
	END IF;
	RETURN conflict;
END
$$;
COMMENT ON FUNCTION seqid.shard_check_in(text, text, text, bigint, timestamptz) IS
'report which shards a node is allowed to issue, its timeline (NULL for a standby) and when it started; return a conflict with another owner or a later server, or NULL if there is none';

--
-- Migration: another generator for the keys of a table that is in use
--

-- Reads the catalogs and the highest key, and changes nothing.  Each row of the two VALUES
-- lists is a refusal.  The first one whose condition holds is raised.
CREATE FUNCTION seqid.adopt_plan(relation regclass, generator text, shard bigint,
	drop_sequence boolean, warn boolean)
RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ids constant text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'seqid');
	counts constant boolean := generator IN ('nextval', 'settled_nextval');
	tab pg_class;
	tree oid[];
	key pg_attribute;
	col text;
	type text;
	types constant text[] := CASE WHEN counts THEN '{bigint,integer,smallint}'
							   WHEN generator LIKE '%uuid' THEN '{uuid}' ELSE '{bigint}' END;
	seq pg_sequence;
	seq_name text;
	is_new boolean;
	drops boolean;
	routine text;
	default_value text;
	has record;
	refusal record;
	top text;
	last numeric;
	step bigint;
	largest bigint;
	next text;
	accepts record;
	mentions text;
	statements text[] := '{}';
BEGIN
	SELECT * INTO tab FROM pg_class WHERE oid = relation;
	tree := ARRAY(WITH RECURSIVE t AS (SELECT relation::oid AS oid
			UNION SELECT i.inhrelid FROM pg_inherits i JOIN t ON i.inhparent = t.oid) TABLE t);

	-- The column of the primary key that has a default value.  A number or a UUID comes
	-- first, because many partitioned tables have a time as the second column.
	SELECT a.* INTO key
	  FROM pg_constraint c
	  JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
	  JOIN pg_type t ON t.oid = a.atttypid
	 WHERE c.conrelid = relation AND c.contype = 'p'
	 ORDER BY a.atthasdef OR a.attidentity <> '' DESC, t.typcategory IN ('N', 'U') DESC,
			  array_position(c.conkey, a.attnum)
	 LIMIT 1;
	col := quote_ident(key.attname);
	type := format_type(key.atttypid, key.atttypmod);

	-- The sequence of the default value, or else the one that the column owns.
	SELECT s.* INTO seq
	  FROM pg_sequence s
	  JOIN (SELECT d.refobjid AS oid, 1 AS rank
			  FROM pg_attrdef f JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
			 WHERE f.adrelid = relation AND f.adnum = key.attnum AND d.refclassid = 'pg_class'::regclass
			UNION ALL
			SELECT objid, 2 FROM pg_depend
			 WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
			   AND refobjid = relation AND refobjsubid = key.attnum AND deptype IN ('a', 'i')) d
		ON d.oid = s.seqrelid
	 ORDER BY d.rank LIMIT 1;
	drops := seq.seqrelid IS NOT NULL AND (drop_sequence OR key.attidentity <> '' AND generator <> 'nextval');
	is_new := counts AND (seq.seqrelid IS NULL OR drops);
	seq_name := coalesce(seq.seqrelid::regclass::text, format('%s.%s', tab.relnamespace::regnamespace,
		quote_ident((left(tab.relname || '_' || key.attname, 59) || '_seq')::name)));

	-- The types of the arguments are exact, so that an overloaded function is not chosen.
	routine := format('%s.%s%s', CASE WHEN generator IN ('nextval', 'gen_random_uuid') THEN 'pg_catalog' ELSE ids END,
					  generator, CASE WHEN generator ^@ 'snowflake' THEN '_nextval' END);
	default_value := format('%s(%s)', routine,
		CASE WHEN counts THEN format('%L::regclass', seq_name) ELSE shard || '::bigint' END);

	SELECT (SELECT format('CALL seqid.adopt(%L, ...)', inhparent::regclass)
			  FROM pg_inherits WHERE inhrelid = relation AND (tab.relispartition OR key.attinhcount > 0) LIMIT 1) AS parent,
		   (SELECT quote_ident(extname) FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
			 WHERE d.classid = 'pg_class'::regclass AND d.objid = relation AND d.deptype = 'e') AS extension,
		   (SELECT quote_ident(a.attname)
			  FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
			  JOIN pg_type t ON t.oid = a.atttypid
			 WHERE c.conrelid = relation AND c.contype = 'p' AND a.attnum <> key.attnum
			   AND (a.atthasdef OR a.attidentity <> '') AND t.typcategory IN ('N', 'U') LIMIT 1) AS other_default,
		   (SELECT typtype = 'd' FROM pg_type WHERE oid = key.atttypid) AS domain_type,
		   -- Foreign keys of the column, and columns of foreign keys to it.
		   (SELECT quote_ident(conname) FROM pg_constraint
			 WHERE conrelid = relation AND contype = 'f' AND key.attnum = ANY (conkey) LIMIT 1) AS foreign_key,
		   (SELECT string_agg(DISTINCT format('ALTER TABLE %s ALTER COLUMN %I TYPE bigint', a.attrelid::regclass, a.attname), '; ')
			  FROM pg_constraint c
			  JOIN pg_attribute k ON k.attrelid = c.confrelid AND k.attname = key.attname
			  JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[array_position(c.confkey, k.attnum)]
			 WHERE c.confrelid = ANY (tree) AND c.contype = 'f' AND c.conparentid = 0 AND types = '{bigint}'
			   AND a.atttypid IN ('int'::regtype, 'smallint'::regtype)) AS narrow,
		   (SELECT a.attrelid::regclass FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			 WHERE a.attrelid = ANY (tree) AND a.attrelid <> relation AND a.attname = key.attname AND a.attidentity <> ''
			   AND NOT (c.relispartition AND key.attidentity <> '') LIMIT 1) AS identity_of,
		   (SELECT c.oid::regclass FROM pg_class c
			 WHERE c.oid = ANY (tree) AND c.relkind <> 'p'
			   AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid AND x.relam = 403
								 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
								WHERE i.indrelid = c.oid AND a.attname = key.attname AND i.indisvalid AND i.indpred IS NULL)
			 LIMIT 1) AS unindexed,
		   (SELECT string_agg(DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid), ', ')
			  FROM pg_depend d LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
			  LEFT JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
			 WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = seq.seqrelid AND d.deptype = 'n'
			   AND NOT coalesce(f.adrelid = ANY (tree) AND a.attname = key.attname, false)) AS users,
		   -- The planner calls functions of indexes and constraints with the privileges of
		   -- the caller, and so does the test of a constraint below.  There, functions of the
		   -- server can run any statement, for example query_to_xml().
		   (SELECT string_agg(object, ', ') FROM (
			SELECT pg_describe_object('pg_proc'::regclass, p.oid, 0) AS object
			  FROM pg_constraint c CROSS JOIN regexp_matches(c.conbin::text, 'funcid (\d+)', 'g') f(oid)
			  JOIN pg_proc p ON p.oid = f.oid[1]::oid AND p.provolatile <> 'i'
			 WHERE c.conrelid = relation AND c.contype = 'c' AND pg_get_userbyid(tab.relowner) <> current_user
			UNION SELECT pg_describe_object(d.refclassid, d.refobjid, 0)
			  FROM pg_depend d
			  LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
			  LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
			  LEFT JOIN pg_type y ON d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid
				AND d.classid = 'pg_constraint'::regclass AND y.typtype <> 'e'
			  JOIN pg_roles r ON r.oid IN (p.proowner, o.oprowner, y.typowner) AND NOT r.rolsuper AND r.rolname <> current_user
			 WHERE EXISTS (SELECT FROM pg_class WHERE oid = ANY (tree) AND pg_get_userbyid(relowner) <> current_user)
			   AND (d.classid, d.objid) IN (
					SELECT 'pg_class'::regclass, unnest(tree)
					UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = ANY (tree)
					UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = ANY (tree)
					UNION ALL SELECT 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext WHERE stxrelid = ANY (tree))) o) AS code,
		   (SELECT relowner FROM pg_class WHERE oid = seq.seqrelid) AS seq_owner,
		   -- Roles that insert, 0 for PUBLIC.
		   (SELECT array_agg(DISTINCT x.grantee)
			  FROM (SELECT relacl AS acl FROM pg_class WHERE oid = ANY (tree)
					UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = ANY (tree)) g, aclexplode(g.acl) x
			 WHERE x.privilege_type = 'INSERT' AND x.grantee <> tab.relowner) AS inserters
	  INTO has;

	SELECT * INTO refusal FROM (VALUES
		(generator NOT IN ('snowflake', 'snowflake53', 'comb_uuid', 'settled_nextval', 'nextval', 'gen_random_uuid'), '22023',
		 format('generator "%s" does not exist', left(generator, 64)),
		 'The generators are snowflake, snowflake53, comb_uuid, settled_nextval, nextval and gen_random_uuid.',
		 'Name one of them, for example CALL seqid.adopt(''orders'', ''snowflake'', shard => 5).'),
		(shard IS NOT NULL AND NOT generator ^@ 'snowflake', '22023', format('generator %s has no shards', generator),
		 format('The argument shard is %s.', shard), 'Leave out the argument shard.'),
		(drop_sequence AND counts, '22023', format('generator %s needs the sequence', generator),
		 'The argument drop_sequence is true.', 'Leave out the argument drop_sequence.'),
		(current_setting('transaction_isolation') IN ('repeatable read', 'serializable'), '25001',
		 'seqid.adopt needs isolation level READ COMMITTED', 'An older snapshot does not see all keys of the table.',
		 'Begin the transaction with BEGIN ISOLATION LEVEL READ COMMITTED.'),
		(coalesce(tab.relkind, '') NOT IN ('r', 'p'), '42809', format('%s is not a table', relation),
		 'Views, foreign tables, sequences and indexes have no keys of their own.', 'Name an ordinary or a partitioned table.'),
		(tab.oid < 16384, '42501', format('%s is a system catalog', relation),
		 'The server manages its columns.', 'Name a table of your own.'),
		(NOT pg_has_role(tab.relowner, 'USAGE'), '42501', format('must be owner of table %s', relation),
		 format('Its owner is %s.', tab.relowner::regrole), format('Run SET ROLE %s, or connect as that role.', tab.relowner::regrole)),
		(has.extension IS NOT NULL, '55000', format('table %s belongs to extension %s', relation, has.extension),
		 'A dump does not contain changes of its columns.', format('Run ALTER EXTENSION %s DROP TABLE %s.', has.extension, relation)),
		(has.parent IS NOT NULL, '42809', format('table %s inherits its key', relation),
		 'All tables that inherit a key need the same default value.', format('Run %s for the parent.', has.parent)),
		(key.attnum IS NULL, '55000', format('table %s has no primary key', relation),
		 'seqid.adopt() changes the default value of the primary key.', format('Run ALTER TABLE %s ADD PRIMARY KEY (...).', relation)),
		(NOT key.atthasdef AND key.attidentity = '', '55000',
		 format('no column of the primary key of table %s has a default value', relation),
		 'The programs that insert rows, or triggers, set the key.',
		 format('Change them to leave out the key, then run ALTER TABLE %s ALTER COLUMN ... SET DEFAULT %s.', relation, default_value)),
		(has.other_default IS NOT NULL, '55000',
		 format('columns %s and %s of table %s have default values', col, has.other_default, relation),
		 'It is not clear which of them is generated.', format('Run ALTER TABLE %s ALTER COLUMN ... DROP DEFAULT for the other.', relation)),
		(key.attgenerated <> '', '55000', format('column %s of table %s is a generated column', col, relation),
		 'It has no default value that can be changed.', format('Run ALTER TABLE %s ALTER COLUMN %s DROP EXPRESSION.', relation, col)),
		(has.domain_type, '42804', format('column %s of table %s has the domain type %s', col, relation, type),
		 'The domain can refuse keys to come.', format('Run ALTER TABLE %s ALTER COLUMN %s TYPE %s.', relation, col, types[1])),
		(type <> ALL (types), '42804', format('column %s of table %s has type %s', col, relation, type),
		 format('Generator %s needs type %s.', generator, array_to_string(types, ' or ')),
		 CASE WHEN types = '{bigint}' AND type IN ('integer', 'smallint')
			  THEN format('Run ALTER TABLE %s ALTER COLUMN %s TYPE bigint, which rewrites the table, or see docs/migration.md.', relation, col)
			  ELSE 'Name another generator, or see docs/migration.md to change the type.' END),
		(has.foreign_key IS NOT NULL, '55000',
		 format('column %s of table %s is part of foreign key %s', col, relation, has.foreign_key),
		 'Its values are keys of another table.', 'Call seqid.adopt() for the referenced table.'),
		(has.narrow IS NOT NULL, '42804', format('columns that reference table %s are too narrow', relation),
		 'They have type integer or smallint.', format('Run %s.', has.narrow)),
		(has.identity_of IS NOT NULL, '55000', format('column %s of table %s is an identity of its own', col, has.identity_of),
		 format('Table %s inherits from %s.', has.identity_of, relation),
		 format('Run ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY.', has.identity_of, col)),
		(has.unindexed IS NOT NULL, '55000',
		 format('column %s of table %s is not the first column of an index', col, has.unindexed),
		 'The highest key must be found without reading the whole table.',
		 format('Run CREATE INDEX CONCURRENTLY ON %s (%s).', has.unindexed, col)),
		(row_security_active(relation), '55000', format('row security of table %s applies to its owner', relation),
		 'The highest key could be hidden.', format('Run ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.', relation)),
		(has.code IS NOT NULL, '42501', format('reading table %s can run functions of other roles', relation),
		 format('Indexes, constraints or statistics of the table use %s.', has.code),
		 format('Connect as %s, or run SET ROLE %1$s if you trust that role.', tab.relowner::regrole)),
		(drops AND has.users IS NOT NULL, '2BP01', format('sequence %s is used elsewhere', seq_name),
		 format('%s uses it, and it would be dropped.', has.users), 'Give them another sequence first.'),
		-- A default value can name any sequence, without a privilege.
		((drops OR counts) AND NOT pg_has_role(tab.relowner, has.seq_owner, 'USAGE')
			AND (drops OR NOT has_sequence_privilege(tab.relowner, seq.seqrelid, 'UPDATE')), '42501',
		 format('owner of table %s cannot change sequence %s', relation, seq_name),
		 format('The owner of the sequence is %s.', has.seq_owner::regrole),
		 CASE WHEN drops THEN 'Leave out the argument drop_sequence.' ELSE format('Run GRANT UPDATE ON SEQUENCE %s TO %s.', seq_name, tab.relowner::regrole) END),
		(counts AND NOT is_new AND (seq.seqincrement < 0 OR seq.seqcycle), '55000', format('sequence %s does not only ascend', seq_name),
		 'It has a negative INCREMENT, or CYCLE.', format('Run ALTER SEQUENCE %s INCREMENT BY 1 NO CYCLE.', seq_name)),
		(seq.seqrelid IS NULL AND is_new AND to_regclass(seq_name) IS NOT NULL, '42P07',
		 format('relation %s already exists', seq_name),
		 format('It is not the sequence of column %s of table %s.', col, relation),
		 format('Run ALTER SEQUENCE %s OWNED BY %s.%s, or rename it.', seq_name, relation, col)),
		((SELECT bool_or(NOT has_function_privilege(g, to_regprocedure(format('%s(%s)', routine,
				CASE WHEN counts THEN 'regclass' WHEN shard IS NOT NULL THEN 'bigint' END)), 'EXECUTE')) FROM unnest(has.inserters) g),
		 '42501', format('roles that insert into table %s cannot execute %s()', relation, routine),
		 'They need the privilege EXECUTE, because a default value is evaluated with the privileges of the role that inserts.',
		 format('Run GRANT EXECUTE ON FUNCTION %s TO PUBLIC.', routine)),
		(counts AND NOT is_new AND key.attidentity = ''
			AND (SELECT bool_or(NOT has_sequence_privilege(g, seq.seqrelid, 'USAGE, UPDATE')) FROM unnest(has.inserters) g), '42501',
		 format('roles that insert into table %s cannot use sequence %s', relation, seq_name),
		 'They need the privilege USAGE, because a default value is evaluated with the privileges of the role that inserts.',
		 (SELECT format('Run GRANT USAGE ON SEQUENCE %s TO %s.', seq_name, string_agg(CASE g WHEN 0 THEN 'PUBLIC' ELSE g::regrole::text END, ', '))
			FROM unnest(has.inserters) g WHERE NOT has_sequence_privilege(g, seq.seqrelid, 'USAGE, UPDATE')))
		) v (applies, code, message, detail, hint)
	 WHERE applies LIMIT 1;

	IF refusal IS NULL THEN
		-- The highest key, and one to come.
		EXECUTE format('SELECT %s FROM %s WHERE %1$s IS NOT NULL ORDER BY %1$s DESC LIMIT 1', col, relation) INTO top;
		IF counts THEN
			IF generator = 'settled_nextval' AND NOT is_new THEN
				EXECUTE format('CALL seqid.sequence_horizon(%s)', seq.seqrelid);
			END IF;
			-- The sequence keeps its steps, in which other servers may have other values, and
			-- does not go back behind a RESTART.
			step := greatest(seq.seqincrement, 1);
			last := pg_sequence_last_value(seq.seqrelid);
			IF last IS NULL AND seq.seqrelid IS NOT NULL THEN
				-- Not called yet.  The call above has locked the sequence, so that its owner
				-- cannot replace it by a view.
				EXECUTE format('SELECT last_value::numeric - %s FROM %s', seq.seqincrement, seq.seqrelid::regclass) INTO last;
			END IF;
			last := coalesce(last, 0);
			next := last + step * (div(greatest(top::numeric - last, 0), step) + 1);
			largest := CASE key.attlen WHEN 2 THEN 32767 WHEN 4 THEN 2147483647 ELSE 9223372036854775807 END;
		ELSE
			EXECUTE 'SELECT ' || default_value INTO next;
		END IF;

		-- Whether check constraints of the column and a partition accept the key to come.
		SELECT (SELECT string_agg(format('WHEN NOT (%s) THEN %L', pg_get_expr(conbin, conrelid), quote_ident(conname)), ' ')
				  FROM pg_constraint WHERE conrelid = relation AND contype = 'c' AND conkey = ARRAY[key.attnum]) AS checks,
			   (SELECT coalesce((SELECT string_agg(coalesce(pg_get_partition_constraintdef(inhrelid), 'true'), ' OR ')
								   FROM pg_inherits WHERE inhparent = p.partrelid), 'false')
				  FROM pg_partitioned_table p
				 WHERE p.partrelid = relation AND p.partstrat <> 'h' AND p.partnatts = 1
				   AND p.partattrs[0] = key.attnum) AS routes INTO accepts;
		EXECUTE format('SELECT CASE %s END AS broken, %s AS fits FROM (SELECT %L::%s AS %s) k',
					   coalesce(accepts.checks, 'WHEN false THEN NULL'), coalesce(accepts.routes, 'true'),
					   CASE WHEN NOT counts OR next::numeric <= largest THEN next END, type, col) INTO accepts;

		SELECT * INTO refusal FROM (VALUES
			(counts AND next::numeric > largest, '22003', format('column %s of table %s is full', col, relation),
			 format('The next key would be %s.', next), format('Run ALTER TABLE %s ALTER COLUMN %s TYPE bigint.', relation, col)),
			(counts AND NOT is_new AND next::numeric > seq.seqmax, '22003',
			 format('sequence %s ends below the keys of table %s', seq_name, relation),
			 format('The next key would be %s, but MAXVALUE is %s.', next, seq.seqmax),
			 format('Run ALTER SEQUENCE %s AS %s MAXVALUE %s.', seq_name, type, largest)),
			(CASE WHEN counts OR generator = 'gen_random_uuid' THEN false
				  WHEN types = '{uuid}' THEN top::uuid >= next::uuid AND substr(top, 15, 1) = '7'
				  ELSE top::bigint >= next::bigint END, '55000', format('table %s has a key above the keys to come', relation),
			 format('The highest key is %s, and a new key is %s.', top, next),
			 format('Wait until new keys are greater, or change these keys: SELECT %s FROM %s WHERE %1$s >= %3$L.', col, relation, next)),
			(accepts.broken IS NOT NULL, '23514',
			 format('check constraint %s of table %s refuses the keys to come', accepts.broken, relation),
			 format('A new key is %s.', next),
			 format('Run ALTER TABLE %s DROP CONSTRAINT %s, or change its condition.', relation, accepts.broken)),
			(NOT accepts.fits, '23514', format('table %s has no partition for the keys to come', relation),
			 format('A new key is %s.', next), format('Run CREATE TABLE ... PARTITION OF %s for these keys.', relation))
			) v (applies, code, message, detail, hint)
		 WHERE applies LIMIT 1;
	END IF;
	IF refusal.code IS NOT NULL THEN
		RAISE EXCEPTION USING
			ERRCODE = refusal.code, MESSAGE = refusal.message, DETAIL = refusal.detail, HINT = refusal.hint;
	END IF;

	IF warn THEN
		SELECT concat_ws(', ', has.users, string_agg(p.oid::regprocedure::text, ', ')) INTO mentions
		  FROM pg_class c JOIN pg_proc p ON strpos(lower(p.prosrc), lower(c.relname)) > 0
		 WHERE c.oid = seq.seqrelid AND p.pronamespace <> 'pg_catalog'::regnamespace;
		IF mentions <> '' AND (drops OR NOT counts) THEN
			RAISE WARNING USING MESSAGE = format('sequence %s is also used by %s', seq_name, mentions),
				DETAIL = format('Its values will not be keys of table %s.', relation),
				HINT = 'Programs read a new key with INSERT ... RETURNING.';
		END IF;
		SELECT string_agg(format('%I of table %s', t.tgname, t.tgrelid::regclass), ', ') INTO mentions
		  FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		 WHERE t.tgrelid = ANY (tree) AND NOT t.tgisinternal AND t.tgtype & 6 = 6
		   AND strpos(lower(translate(p.prosrc, E' \t\r\n":', '')), lower('new.' || key.attname || '=')) > 0;
		IF mentions IS NOT NULL THEN
			RAISE WARNING USING MESSAGE = format('trigger %s can set the key', mentions),
				DETAIL = 'A key that a trigger sets replaces the default value.', HINT = 'Run DROP TRIGGER if it generates keys.';
		END IF;
	END IF;

	-- DROP IDENTITY drops the sequence, so that the new one can have its name.
	IF drops AND key.attidentity <> '' THEN
		statements := statements || format('ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY', relation, col);
	END IF;
	IF is_new THEN
		statements := statements || concat(format('CREATE SEQUENCE %s AS %s START WITH %s', seq_name, type, next),
				CASE WHEN step > 1 THEN ' INCREMENT BY ' || step END, CASE WHEN next::numeric < 1 THEN ' MINVALUE ' || next END)
			|| format('ALTER SEQUENCE %s OWNER TO %s', seq_name, tab.relowner::regrole)
			|| format('ALTER SEQUENCE %s OWNED BY %s.%s', seq_name, relation, col)
			|| ARRAY(SELECT format('GRANT USAGE ON SEQUENCE %s TO %s', seq_name,
							CASE g WHEN 0 THEN 'PUBLIC' ELSE g::regrole::text END)
					   FROM unnest(has.inserters) g);
	ELSIF counts AND next::numeric > last + step THEN
		statements := statements || format('SELECT setval(%L, %s)', seq_name, next::numeric - step);
	END IF;
	IF generator <> 'nextval' OR key.attidentity = '' THEN
		statements := statements || format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s', relation, col, default_value);
	END IF;
	IF drops AND key.attidentity = '' THEN
		statements := statements || format('DROP SEQUENCE %s', seq_name);
	END IF;
	RETURN statements;
END
$$;
COMMENT ON FUNCTION seqid.adopt_plan(regclass, text, bigint, boolean, boolean) IS
'part of seqid.adopt(); do not call it directly';

-- It does not commit: an attempt that cannot lock the table is a subtransaction, which is
-- rolled back.  So it can set a search_path, and several tables can change together.
CREATE PROCEDURE seqid.adopt(relation regclass, generator text, shard bigint DEFAULT NULL,
	drop_sequence boolean DEFAULT false, dry_run boolean DEFAULT false, attempts int DEFAULT 100)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
	place text;
	statement text;
	statements text[];
	warn boolean := true;
	holders text;
BEGIN
	IF num_nulls(relation, generator, drop_sequence, dry_run, attempts) > 0 THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'only the argument shard can be NULL',
			HINT = 'Leave out the arguments that have a default value.';
	END IF;

	-- Attempt 0 only makes a plan, so that a refusal stops no client.
	FOR attempt IN 0..greatest(attempts, 1) LOOP
		BEGIN
			-- It also locks the table, but stops only others that change it: its owner
			-- must not add code between the check and the use.  It waits longer than
			-- deadlock_timeout, after which the server cancels autovacuum.
			PERFORM set_config('lock_timeout', CASE attempt WHEN 0 THEN '5s' ELSE '200ms' END, true);
			SELECT oid::regclass INTO place FROM pg_class
			 WHERE oid = relation AND relkind IN ('r', 'p') AND oid >= 16384 AND pg_has_role(relowner, 'USAGE');
			IF FOUND THEN
				EXECUTE format('LOCK TABLE %s IN %s MODE', place,
							   CASE attempt WHEN 0 THEN 'SHARE UPDATE EXCLUSIVE' ELSE 'ACCESS EXCLUSIVE' END);
				IF to_regclass(place) IS DISTINCT FROM relation THEN
					RAISE undefined_table;	-- The name is that of another table now.
				END IF;
			END IF;
			statements := seqid.adopt_plan(relation, generator, shard, drop_sequence, warn);
			warn := false;
			IF attempt = 0 THEN
				RAISE SQLSTATE 'SEQID';		-- The error releases all locks.
			END IF;
			FOREACH statement IN ARRAY statements LOOP
				EXECUTE statement;
			END LOOP;
			EXIT;
		EXCEPTION
			WHEN SQLSTATE 'SEQID' THEN
				EXIT WHEN dry_run;
				CONTINUE;
			-- A table that is renamed while it is waited for becomes undefined.
			WHEN lock_not_available OR deadlock_detected OR undefined_table THEN
				IF dry_run OR attempt >= attempts THEN
					WITH RECURSIVE t AS (SELECT relation::oid AS oid
							UNION SELECT i.inhrelid FROM pg_inherits i JOIN t ON i.inhparent = t.oid)
					SELECT string_agg(pid, ', ' ORDER BY since) INTO holders
					  FROM (SELECT DISTINCT coalesce(l.pid::text, 'a prepared transaction') AS pid, a.xact_start AS since
							  FROM t JOIN pg_locks l ON l.relation = t.oid LEFT JOIN pg_stat_activity a USING (pid)
							 WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
							   -- A copy of the database has the same OIDs.
							   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) h;
					RAISE lock_not_available USING
						MESSAGE = format('could not lock table %s', relation),
						DETAIL = format('Processes that have locked it, oldest transaction first: %s.', coalesce(holders, 'none now')),
						HINT = 'Wait until their transactions end, or run SELECT pg_terminate_backend() for them, then call seqid.adopt() again.';
				END IF;
		END;
		PERFORM pg_sleep(0.2);
	END LOOP;

	FOREACH statement IN ARRAY statements LOOP
		RAISE INFO '%', statement;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE seqid.adopt(regclass, text, bigint, boolean, boolean, int) IS
'change the generator of a table''s keys: snowflake, snowflake53, comb_uuid or settled_nextval, or back to nextval or gen_random_uuid; dry_run only prints the statements';

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
-- was renamed or moved to another schema gets its name and schema back.
CREATE FUNCTION seqid.repair_mark()
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	extension oid;
	mark oid;
	mark_schema name;
	mark_name name;
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
	SELECT e.oid, c.oid, n.nspname, c.relname INTO extension, mark, mark_schema, mark_name
	  FROM pg_extension e
	  LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace)
		ON c.oid = ANY (e.extconfig) AND c.relkind = 'S'
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
		CREATE SEQUENCE seqid.clock_mark
			AS bigint MINVALUE 0 START WITH 0 NO CYCLE;
		COMMENT ON SEQUENCE seqid.clock_mark IS
			'durable upper bound on the timestamps of keys issued in this database, in milliseconds since 1970; do not modify';
		EXECUTE format('ALTER SEQUENCE seqid.clock_mark OWNER TO %I', pg_get_userbyid(10));
		GRANT SELECT ON SEQUENCE seqid.clock_mark TO PUBLIC;
		GRANT UPDATE ON SEQUENCE seqid.clock_mark TO pg_database_owner;
		ALTER EXTENSION seqid ADD SEQUENCE seqid.clock_mark;
		mark := to_regclass('seqid.clock_mark');
		-- pg_extension_config_dump() can only be called from an extension's script.
		UPDATE pg_extension
		   SET extconfig = array_append(extconfig, mark),
			   extcondition = array_append(extcondition, '')
		 WHERE oid = extension;
	ELSE
		IF mark_schema <> 'seqid' THEN
			EXECUTE format('ALTER SEQUENCE %I.%I SET SCHEMA seqid', mark_schema, mark_name);
		END IF;
		IF mark_name <> 'clock_mark' THEN
			EXECUTE format('ALTER SEQUENCE seqid.%I RENAME TO clock_mark', mark_name);
		END IF;
	END IF;

	RETURN seqid.rewrite_mark(mark);
END
$$;
COMMENT ON FUNCTION seqid.repair_mark() IS
'create a missing clock mark, or rewrite a damaged one, at the highest time that is known, and return its time; superusers only';

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

-- TRIGGER is not granted, because a trigger would run as the role that claims a shard.
GRANT INSERT, UPDATE, DELETE, TRUNCATE ON seqid.shard_registry, seqid.shard_conflicts
	TO pg_database_owner WITH GRANT OPTION;

-- A witness moves keys ahead of the clock, up to the limit that all databases share.
REVOKE EXECUTE ON FUNCTION @extschema@.snowflake_witness(bigint), @extschema@.snowflake53_witness(bigint),
	@extschema@.comb_uuid_witness(uuid), seqid.rewrite_mark(regclass) FROM PUBLIC;

SET LOCAL search_path = @extschema@, pg_temp;

--
-- The first key raises the mark above all keys that this server has issued, including those
-- before the extension was dropped and created again.
--
SELECT comb_uuid();
