/* seqid--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION seqid" to load this file. \quit

--
-- Functions for keys are in the schema that CREATE EXTENSION names.  The schema seqid has
-- the rest: tables, views and sequences in a user's schema would end up in the
-- migrations and schema dumps of the user's tools.
--
-- While objects of the schema seqid are created, the search_path has pg_catalog only: in
-- the user's schema there can be functions and operators that fit better.
--

SET LOCAL search_path = pg_catalog, pg_temp;

DO $$
BEGIN
	IF '@extschema@' = 'seqid' THEN
		RAISE invalid_schema_name USING
			MESSAGE = 'extension "seqid" cannot be created in schema "seqid"',
			DETAIL = 'It creates this schema for its administration.',
			HINT = 'Run CREATE EXTENSION seqid, or name another schema.';
	END IF;

	-- Tools that load a dump of schemas create the schema before the extension.  It is
	-- replaced if it is empty, and the role that creates the extension may drop it.
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
			DETAIL = 'The extension creates this schema for its administration.',
			HINT = 'Run ALTER SCHEMA seqid RENAME TO another_name, or drop the schema.';
	END IF;
END
$$;

CREATE SCHEMA seqid;
COMMENT ON SCHEMA seqid IS 'administration of extension "seqid"';

--
-- The durable clock mark.  See src/clock/clock_mark.c, which alone writes it.
--

CREATE SEQUENCE seqid.clock_mark
	AS bigint MINVALUE 0 START WITH 0 NO CYCLE;
COMMENT ON SEQUENCE seqid.clock_mark IS
'durable upper bound on the times of keys issued in this database, in milliseconds since 1970; do not modify';
SELECT pg_extension_config_dump('seqid.clock_mark', '');

SET LOCAL search_path = @extschema@, pg_temp;

--
-- Snowflake ids: milliseconds since 2023 (41 bits) | shard (10) | sequence (12)
--

CREATE FUNCTION snowflake_nextval(shard int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextval(int) IS
'next snowflake id of a shard (0 to 1023), greater than all it issued before on this server';

CREATE FUNCTION snowflake_nextval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_nextval_of_server'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextval() IS
'next snowflake id of this server''s shard, see seqid.shards';

CREATE FUNCTION snowflake_nextvals(shard int, count bigint)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'snowflake_nextvals'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextvals(int, bigint) IS
'next count snowflake ids of a shard, in ascending order';

CREATE FUNCTION snowflake_nextblock(shard int, count int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_nextblock'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_nextblock(int, int) IS
'first of count (1 to 4096) consecutive snowflake ids of a shard, all reserved for the caller';

-- Restricted, as it is the leader that knows what its session got.
CREATE FUNCTION snowflake_currval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_currval'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake_currval() IS
'snowflake id that this session got last, not counting those that parallel workers drew';

CREATE FUNCTION snowflake_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_witness(bigint) IS
'the argument; ids that this database draws of the server''s shard, see seqid.shards, are greater from here on';

-- 31 is the highest shard that all layouts have.
CREATE FUNCTION snowflake_backfill(created_at timestamptz, shard int DEFAULT 31,
	after bigint DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_backfill'
LANGUAGE C WINDOW VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake_backfill(timestamptz, int, bigint) IS
'snowflake id for an old row, from its time and above that of the row before; the shard must not be one of seqid.allowed_shards';

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
'shard of a snowflake id, 0 to 1023';

CREATE FUNCTION snowflake_sequence(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_sequence(bigint) IS
'number of a snowflake id within its millisecond and shard, 0 to 4095';

CREATE FUNCTION snowflake_parts(id bigint,
	OUT created_at timestamptz, OUT shard int, OUT sequence int)
RETURNS record
AS 'MODULE_PATHNAME', 'snowflake_parts'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_parts(bigint) IS
'time, shard and sequence of a snowflake id';

CREATE FUNCTION snowflake_make(created_at timestamptz, shard int, sequence int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_make'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_make(timestamptz, int, int) IS
'snowflake id with the given time (from 2023 to 2092), shard and sequence';

CREATE FUNCTION snowflake_first(created_at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_first'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_first(timestamptz) IS
'smallest snowflake id of a millisecond, over all shards';

CREATE FUNCTION snowflake_last(created_at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_last(timestamptz) IS
'largest snowflake id of a millisecond, over all shards';

--
-- Ids that JavaScript can hold, as they stay below 2^53: milliseconds since 2023
-- (41 bits) | shard (5) | sequence (7)
--

CREATE FUNCTION snowflake53_nextval(shard int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextval(int) IS
'next snowflake53 id of a shard (0 to 31), greater than all it issued before on this server';

CREATE FUNCTION snowflake53_nextval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextval_of_server'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextval() IS
'next snowflake53 id of this server''s shard, see seqid.shards';

CREATE FUNCTION snowflake53_nextvals(shard int, count bigint)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextvals'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextvals(int, bigint) IS
'next count snowflake53 ids of a shard, in ascending order';

CREATE FUNCTION snowflake53_nextblock(shard int, count int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_nextblock'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_nextblock(int, int) IS
'first of count (1 to 128) consecutive snowflake53 ids of a shard, all reserved for the caller';

-- Restricted, as it is the leader that knows what its session got.
CREATE FUNCTION snowflake53_currval()
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_currval'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake53_currval() IS
'snowflake53 id that this session got last, not counting those that parallel workers drew';

CREATE FUNCTION snowflake53_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_witness(bigint) IS
'the argument; snowflake53 ids that this database draws of the server''s shard, see seqid.shards, are greater from here on';

CREATE FUNCTION snowflake53_backfill(created_at timestamptz, shard int DEFAULT 31,
	after bigint DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_backfill'
LANGUAGE C WINDOW VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION snowflake53_backfill(timestamptz, int, bigint) IS
'snowflake53 id for an old row, from its time and above that of the row before; the shard must not be one of seqid.allowed_shards';

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
'shard of a snowflake53 id, 0 to 31';

CREATE FUNCTION snowflake53_sequence(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'snowflake53_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_sequence(bigint) IS
'number of a snowflake53 id within its millisecond and shard, 0 to 127';

CREATE FUNCTION snowflake53_parts(id bigint,
	OUT created_at timestamptz, OUT shard int, OUT sequence int)
RETURNS record
AS 'MODULE_PATHNAME', 'snowflake53_parts'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_parts(bigint) IS
'time, shard and sequence of a snowflake53 id';

CREATE FUNCTION snowflake53_make(created_at timestamptz, shard int, sequence int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_make'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_make(timestamptz, int, int) IS
'snowflake53 id with the given time (from 2023 to 2092), shard and sequence';

CREATE FUNCTION snowflake53_first(created_at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_first'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_first(timestamptz) IS
'smallest snowflake53 id of a millisecond, over all shards';

CREATE FUNCTION snowflake53_last(created_at timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake53_last(timestamptz) IS
'largest snowflake53 id of a millisecond, over all shards';

--
-- COMBs: UUIDs of version 7 that increase over all backends of a database
--

CREATE FUNCTION comb_uuid()
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid() IS
'next COMB, a UUID of version 7 greater than all drawn before in this database';

CREATE FUNCTION comb_uuids(count bigint)
RETURNS SETOF uuid
AS 'MODULE_PATHNAME', 'comb_uuids'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuids(bigint) IS
'next count COMBs, in ascending order';

CREATE FUNCTION comb_uuid_at(created_at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_at'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_at(timestamptz) IS
'COMB with the given time (from 1970 to 10889), random elsewhere';

CREATE FUNCTION comb_uuid_timestamp(id uuid)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'comb_uuid_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_timestamp(uuid) IS
'time of a COMB, to the microsecond';

-- A name of its own: under the same one, a literal or a parameter without a type
-- would be a text, and pg_partman, which looks functions up by name, finds either.
CREATE FUNCTION comb_uuid_timestamp_text(id text)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'comb_uuid_timestamp_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_timestamp_text(text) IS
'time of a COMB that is given as text, to the microsecond';

CREATE FUNCTION comb_uuid_first(created_at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_first'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_first(timestamptz) IS
'smallest COMB of a microsecond';

CREATE FUNCTION comb_uuid_last(created_at timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_last'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_last(timestamptz) IS
'largest COMB of a microsecond';

CREATE FUNCTION comb_uuid_is_valid(id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'comb_uuid_is_valid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_is_valid(uuid) IS
'whether a UUID is of version 7 and variant 10';

-- Volatile, as it compares with the clock.
CREATE FUNCTION comb_uuid_validate(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_validate'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_validate(uuid) IS
'the argument, or an error unless it is a COMB that is not from the future';

CREATE FUNCTION comb_uuid_witness(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_witness(uuid) IS
'the argument; COMBs of this database are greater from here on';

CREATE FUNCTION comb_uuid_to_mssql(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_to_mssql'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_to_mssql(uuid) IS
'UUID that SQL Server sorts as PostgreSQL sorts the argument';

CREATE FUNCTION comb_uuid_from_mssql(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_from_mssql'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION comb_uuid_from_mssql(uuid) IS
'inverse of comb_uuid_to_mssql';

--
-- Sequential UUIDs: a block that wraps around, and random bits of version 4
--

-- Unsafe, as nextval() is: a parallel worker cannot advance a sequence.
CREATE FUNCTION uuid_sequence_nextval(sequence regclass,
	block_size int DEFAULT 65536, block_count int DEFAULT 65536)
RETURNS uuid
AS 'MODULE_PATHNAME', 'uuid_sequence_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10;
COMMENT ON FUNCTION uuid_sequence_nextval(regclass, int, int) IS
'random UUID whose prefix is the block of the sequence''s next value';

CREATE FUNCTION uuid_time_nextval(
	interval_length int DEFAULT 60, interval_count int DEFAULT 65536)
RETURNS uuid
AS 'MODULE_PATHNAME', 'uuid_time_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuid_time_nextval(int, int) IS
'random UUID whose prefix is the block of the current interval, in seconds';

--
-- Scattered sequences: one sequence that behaves as 2^prefix_bits small ones
--

-- Unsafe, as nextval() is.
CREATE FUNCTION scatter_nextval(sequence regclass, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10;
COMMENT ON FUNCTION scatter_nextval(regclass, int) IS
'next value of a sequence (from 1), scattered over 2^prefix_bits (0 to 32 bits) small sequences';

CREATE FUNCTION scatter_prefix(id bigint, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_prefix'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION scatter_prefix(bigint, int) IS
'small sequence of a scattered id, 0 to 2^prefix_bits - 1';

CREATE FUNCTION scatter_value(id bigint, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_value'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION scatter_value(bigint, int) IS
'value of a scattered id within its small sequence, from 0';

CREATE FUNCTION scatter_ordinal(id bigint, prefix_bits int DEFAULT 14)
RETURNS bigint
AS 'MODULE_PATHNAME', 'scatter_ordinal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION scatter_ordinal(bigint, int) IS
'number of ids that came before a scattered id';

--
-- Interning: strings to dense 64-bit ids.  A dictionary is an ordinary table, see
-- src/intern/dictionary_shape.c.
--

CREATE FUNCTION intern_create(name text, prefix_bits int DEFAULT 0)
RETURNS regclass
AS 'MODULE_PATHNAME', 'intern_create'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
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

CREATE FUNCTION intern_drop(dictionary regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'intern_drop'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION intern_drop(regclass) IS
'drop a dictionary and its sequence';

--
-- Packed ids: tenant (22 bits) | entity (40 bits), or any other layout
--

CREATE FUNCTION tenant_key_pack(tenant_id bigint, entity_id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_pack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tenant_key_pack(bigint, bigint) IS
'key of a tenant (below 2^22) and one of his entities (below 2^40)';

CREATE FUNCTION tenant_key_tenant(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_tenant'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tenant_key_tenant(bigint) IS
'tenant of a tenant key';

CREATE FUNCTION tenant_key_entity(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_entity'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tenant_key_entity(bigint) IS
'entity of a tenant key';

-- Unsafe, as nextval() is.
CREATE FUNCTION tenant_key_nextval(tenant_id bigint, entities regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tenant_key_nextval'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10;
COMMENT ON FUNCTION tenant_key_nextval(bigint, regclass) IS
'tenant key of a tenant and the next value of a sequence';

CREATE FUNCTION bits_pack(widths int[], fields bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'bits_pack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bits_pack(int[], bigint[]) IS
'fields of the given widths (1 to 63 bits in all) in one id, the first on top';

CREATE FUNCTION bits_unpack(widths int[], id bigint)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bits_unpack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bits_unpack(int[], bigint) IS
'fields of the given widths of an id';

CREATE FUNCTION bits_text(widths int[], id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'bits_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bits_text(int[], bigint) IS
'binary picture of an id, with a bar between fields';

--
-- Hashing to shards.  One name a type: drivers differ in the types they send.
--

CREATE FUNCTION jump_hash(key bigint, buckets int)
RETURNS int
AS 'MODULE_PATHNAME', 'jump_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jump_hash(bigint, int) IS
'bucket of a key, 0 to buckets - 1, by consistent hashing (Lamping and Veach)';

CREATE FUNCTION jump_hash_text(key text, buckets int)
RETURNS int
AS 'MODULE_PATHNAME', 'jump_hash_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jump_hash_text(text, int) IS
'bucket of a key, 0 to buckets - 1, by consistent hashing (Lamping and Veach)';

CREATE FUNCTION jump_hash_uuid(key uuid, buckets int)
RETURNS int
AS 'MODULE_PATHNAME', 'jump_hash_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jump_hash_uuid(uuid, int) IS
'bucket of a key, 0 to buckets - 1, by consistent hashing (Lamping and Veach)';

--
-- Text forms
--

CREATE FUNCTION base62_encode(id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'base62_encode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION base62_encode(bigint) IS
'bigint in the digits 0-9A-Za-z';

CREATE FUNCTION base62_decode(encoded text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'base62_decode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION base62_decode(text) IS
'bigint that was encoded in the digits 0-9A-Za-z';

CREATE FUNCTION crockford32_encode(id uuid)
RETURNS text
AS 'MODULE_PATHNAME', 'crockford32_encode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crockford32_encode(uuid) IS
'UUID in the 26 characters of Crockford''s base 32, as ULIDs are written';

CREATE FUNCTION crockford32_decode(encoded text)
RETURNS uuid
AS 'MODULE_PATHNAME', 'crockford32_decode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crockford32_decode(text) IS
'UUID that was encoded in Crockford''s base 32';

SET LOCAL search_path = pg_catalog, pg_temp;

--
-- Statistics.  They never raise: what is not there is NULL.
--

CREATE FUNCTION seqid.stat_server(OUT library text, OUT preloaded boolean, OUT timeline bigint,
	OUT shard int, OUT shard_source text, OUT system_identifier bigint,
	OUT machine_id text, OUT data_directory text)
RETURNS record
AS 'MODULE_PATHNAME', 'seqid_stat_server'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.stat_server() IS
'most columns of the view seqid.stat_server';

CREATE VIEW seqid.stat_server AS
	SELECT s.library,
		   (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'seqid') AS script,
		   s.preloaded, s.timeline, s.shard, s.shard_source, s.system_identifier,
		   s.machine_id, s.data_directory
	  FROM seqid.stat_server() s;
COMMENT ON VIEW seqid.stat_server IS
'this server, as it issues keys: one row';
COMMENT ON COLUMN seqid.stat_server.library IS 'version of the library that this session has loaded';
COMMENT ON COLUMN seqid.stat_server.script IS 'version of the script that created the functions of this database';
COMMENT ON COLUMN seqid.stat_server.preloaded IS 'whether shared_preload_libraries contains seqid';
COMMENT ON COLUMN seqid.stat_server.timeline IS 'timeline that the server writes, NULL on a standby';
COMMENT ON COLUMN seqid.stat_server.shard IS 'shard in effect: that of seqid.shards for the timeline, NULL if there is none';
COMMENT ON COLUMN seqid.stat_server.shard_source IS 'where seqid.shards was set, as in pg_settings.source, NULL if it is empty';
COMMENT ON COLUMN seqid.stat_server.system_identifier IS 'system identifier of the data directory';
COMMENT ON COLUMN seqid.stat_server.machine_id IS 'contents of /etc/machine-id, NULL without pg_read_all_settings';
COMMENT ON COLUMN seqid.stat_server.data_directory IS 'data directory, NULL without pg_read_all_settings';

CREATE FUNCTION seqid.version(OUT library text, OUT script text)
RETURNS record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
AS 'SELECT library, script FROM seqid.stat_server';
COMMENT ON FUNCTION seqid.version() IS
'versions of the library that this session has loaded and of the script that created the functions of this database; they differ until an upgrade is complete';

CREATE FUNCTION seqid.stat_database(OUT clock_mark timestamptz, OUT clock_floor timestamptz,
	OUT comb_time timestamptz, OUT marks_written bigint, OUT horizon timestamptz,
	OUT years_left float8)
RETURNS record
AS 'MODULE_PATHNAME', 'seqid_stat_database'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid.stat_database() IS
'the row of the view seqid.stat_database';

CREATE VIEW seqid.stat_database AS
	SELECT clock_mark, clock_floor, comb_time, marks_written, horizon, years_left
	  FROM seqid.stat_database();
COMMENT ON VIEW seqid.stat_database IS
'the keys of this database since the server started: one row';
COMMENT ON COLUMN seqid.stat_database.clock_mark IS 'durable mark: no key has a later time; NULL if it is missing or damaged';
COMMENT ON COLUMN seqid.stat_database.clock_floor IS 'keys start above this time, which an earlier server lifetime left; NULL if there was none';
COMMENT ON COLUMN seqid.stat_database.comb_time IS 'time of the last COMB, NULL if there was none';
COMMENT ON COLUMN seqid.stat_database.marks_written IS 'how many times the mark was raised';
COMMENT ON COLUMN seqid.stat_database.horizon IS 'last result of seqid.horizon(), NULL if there was none';
COMMENT ON COLUMN seqid.stat_database.years_left IS 'years until the time of snowflake ids is used up';

CREATE FUNCTION seqid.stat_shards(OUT layout text, OUT shard int, OUT last_id bigint,
	OUT last_time timestamptz, OUT ahead_ms bigint, OUT waits bigint,
	OUT clock_regressions bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'seqid_stat_shards'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION seqid.stat_shards() IS
'the rows of the view seqid.stat_shards';

CREATE VIEW seqid.stat_shards AS
	SELECT layout, shard, last_id, last_time, ahead_ms, waits, clock_regressions
	  FROM seqid.stat_shards();
COMMENT ON VIEW seqid.stat_shards IS
'shards from which any database of the server has issued ids since the server started';
COMMENT ON COLUMN seqid.stat_shards.layout IS 'snowflake or snowflake53, with which the names of the shard''s functions begin';
COMMENT ON COLUMN seqid.stat_shards.shard IS 'number of the shard';
COMMENT ON COLUMN seqid.stat_shards.last_id IS 'last id that was reserved';
COMMENT ON COLUMN seqid.stat_shards.last_time IS 'time of that id';
COMMENT ON COLUMN seqid.stat_shards.ahead_ms IS 'how far that time is ahead of the clock, in milliseconds';
COMMENT ON COLUMN seqid.stat_shards.waits IS 'how many times a call waited for the next millisecond';
COMMENT ON COLUMN seqid.stat_shards.clock_regressions IS 'how many times a call found the clock behind by more than the 8 ms that it can wait for';

--
-- The settled horizon, for readers that go by keys
--

CREATE PROCEDURE seqid.horizon(INOUT horizon timestamptz DEFAULT NULL,
	INOUT lsn pg_lsn DEFAULT NULL, INOUT timeline bigint DEFAULT NULL,
	INOUT snowflake bigint DEFAULT NULL, INOUT snowflake53 bigint DEFAULT NULL,
	INOUT comb uuid DEFAULT NULL)
AS 'MODULE_PATHNAME', 'seqid_horizon'
LANGUAGE C;
COMMENT ON PROCEDURE seqid.horizon(timestamptz, pg_lsn, bigint, bigint, bigint, uuid) IS
'a time before which no snowflake or COMB of this database can appear any more, and the same bound as a key of each kind; a standby that has replayed lsn on timeline has all earlier rows';

CREATE FUNCTION seqid.horizon_slots(OUT pid int, OUT virtualtransaction text, OUT held timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'seqid_horizon_slots'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION seqid.horizon_slots() IS
'the transactions of the view seqid.horizon_holders';

CREATE VIEW seqid.horizon_holders AS
	SELECT s.pid, p.gid, s.held, coalesce(a.xact_start, p.prepared) AS since
	  FROM seqid.horizon_slots() s
	  LEFT JOIN pg_stat_activity a ON a.pid = s.pid
	  LEFT JOIN (pg_locks l
				 JOIN pg_prepared_xacts p
				   ON l.locktype = 'transactionid' AND l.pid IS NULL
					  AND p.transaction = l.transactionid)
		ON l.virtualtransaction = s.virtualtransaction;
COMMENT ON VIEW seqid.horizon_holders IS
'open transactions of this database that have generated keys; the earliest of them holds the horizon';
COMMENT ON COLUMN seqid.horizon_holders.pid IS 'process of the transaction, NULL if it is prepared';
COMMENT ON COLUMN seqid.horizon_holders.gid IS 'name of a prepared transaction';
COMMENT ON COLUMN seqid.horizon_holders.held IS 'the horizon goes no further before the transaction ends';
COMMENT ON COLUMN seqid.horizon_holders.since IS 'when the transaction began or was prepared; NULL without the right to see it';

--
-- A registry of shards for many servers.  It is in one database.  Each cluster, and each
-- server that stands alone, claims its shards there and reports which ones it is
-- configured to issue.  Generators never read it.
--
-- The functions run as their caller, who needs privileges on the tables.
--

CREATE TABLE seqid.shard_registry (
	owner text PRIMARY KEY CHECK (owner <> ''),
	shards int4range NOT NULL
		CHECK (NOT isempty(shards) AND shards <@ int4range(0, 1024)),
	claimed_at timestamptz NOT NULL DEFAULT now(),
	EXCLUDE USING gist (shards WITH &&)
);
COMMENT ON TABLE seqid.shard_registry IS
'shards, and the cluster or server that issues their ids; see seqid.shard_claim()';
COMMENT ON COLUMN seqid.shard_registry.owner IS 'name of a cluster, or of a server that stands alone';
COMMENT ON COLUMN seqid.shard_registry.shards IS 'shards of this owner only';

CREATE TABLE seqid.shard_members (
	owner text NOT NULL REFERENCES seqid.shard_registry ON DELETE CASCADE,
	timeline bigint NOT NULL,
	place text NOT NULL,
	checked_in_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (owner, timeline)
);
COMMENT ON TABLE seqid.shard_members IS
'where each timeline of an owner is; see seqid.shard_check_in()';
COMMENT ON COLUMN seqid.shard_members.place IS 'system identifier, machine, host and data directory';

CREATE TABLE seqid.shard_conflicts (
	owner text NOT NULL,
	conflict text NOT NULL,
	place text NOT NULL,
	noticed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE seqid.shard_conflicts IS
'check-ins that found another owner or place on the same shards; see seqid.shard_check_in()';

SELECT pg_extension_config_dump('seqid.shard_registry', '');
SELECT pg_extension_config_dump('seqid.shard_members', '');
SELECT pg_extension_config_dump('seqid.shard_conflicts', '');

CREATE FUNCTION seqid.shard_claim(owner text, count int DEFAULT 16)
RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	claimed int4range;
	first int;
BEGIN
	IF count < 1 OR count > 1024 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('number of shards %s is out of range', count),
			DETAIL = 'An owner can have between 1 and 1024 shards.';
	END IF;

	-- One at a time: two owners must not find the same free run.
	LOCK TABLE seqid.shard_registry IN SHARE ROW EXCLUSIVE MODE;
	SELECT r.shards INTO claimed
	  FROM seqid.shard_registry r WHERE r.owner = shard_claim.owner;
	IF claimed IS NULL THEN
		SELECT min(c.start) INTO first
		  FROM (SELECT 0 AS start UNION ALL SELECT upper(r.shards) FROM seqid.shard_registry r) c
		 WHERE c.start + count <= 1024
		   AND NOT EXISTS (SELECT FROM seqid.shard_registry r
							WHERE r.shards && int4range(c.start, c.start + count));
		IF first IS NULL THEN
			RAISE program_limit_exceeded USING
				MESSAGE = format('no run of %s shards is free', count),
				HINT = 'Claim fewer shards, or run seqid.shard_release() for owners that issue no ids any more.';
		END IF;
		claimed := int4range(first, first + count);
		INSERT INTO seqid.shard_registry (owner, shards) VALUES (shard_claim.owner, claimed);
	ELSIF upper(claimed) - lower(claimed) <> count THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('owner "%s" already has %s shards, not %s', left(owner, 64),
							 upper(claimed) - lower(claimed), count),
			HINT = 'To add shards, claim them under another owner, and list the shards of both.';
	END IF;

	RETURN CASE WHEN count = 1 THEN lower(claimed)::text
				ELSE format('%s-%s', lower(claimed), upper(claimed) - 1) END;
END
$$;
COMMENT ON FUNCTION seqid.shard_claim(text, int) IS
'claim count free shards for an owner, and return them, or those that it already has, as a list for seqid.shards';

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
'release the shards of an owner that issues no ids any more; whether it had any';

CREATE FUNCTION seqid.shard_conflict(owner text, shards text, timeline bigint, place text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	owned int4range;
	others record;
	elsewhere text;
BEGIN
	SELECT r.shards INTO owned
	  FROM seqid.shard_registry r WHERE r.owner = shard_conflict.owner;
	IF owned IS NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('owner "%s" has no shards', left(owner, 64)),
			HINT = format('Run SELECT seqid.shard_claim(%L).', left(owner, 64));
	END IF;

	-- What seqid.shards refuses.  A list of all shards, one by one, has 5 kB.
	IF octet_length(shards) > 16384
		OR shards !~ '^\s*(\d{1,4}\s*(-\s*\d{1,4}\s*)?(,\s*\d{1,4}\s*(-\s*\d{1,4}\s*)?)*)?$'
		OR EXISTS (SELECT FROM regexp_matches(shards, '(\d+)\s*(?:-\s*(\d+))?', 'g') part
				WHERE part[1]::int > part[2]::int OR greatest(part[1]::int, part[2]::int) > 1023) THEN
		RAISE invalid_text_representation USING
			MESSAGE = format('"%s" is not a list of shards', left(shards, 64)),
			HINT = 'Give numbers from 0 to 1023 and ascending ranges with commas between them, such as "3, 16-31".';
	END IF;

	SELECT l.shard, r.owner AS holder INTO others
	  FROM (SELECT generate_series(part[1]::int, coalesce(part[2], part[1])::int) AS shard
			  FROM regexp_matches(shard_conflict.shards, '(\d+)\s*(?:-\s*(\d+))?', 'g') part) l
	  LEFT JOIN seqid.shard_registry r ON r.shards @> l.shard
	 WHERE NOT owned @> l.shard
	 ORDER BY l.shard LIMIT 1;
	IF others.shard IS NOT NULL THEN
		RETURN format('It is configured to issue shard %s, which %s.', others.shard,
					  coalesce('"' || others.holder || '" has claimed', 'no owner has claimed'));
	END IF;

	-- A standby has no timeline, and issues nothing.
	IF timeline IS NOT NULL THEN
		INSERT INTO seqid.shard_members AS m (owner, timeline, place)
			VALUES (shard_conflict.owner, shard_conflict.timeline, shard_conflict.place)
			ON CONFLICT ON CONSTRAINT shard_members_pkey DO UPDATE SET checked_in_at = now()
			RETURNING m.place INTO elsewhere;
		IF elsewhere <> place THEN
			RETURN format('Timeline %s has checked in from another place: %s.', timeline, elsewhere);
		END IF;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION seqid.shard_conflict(text, text, bigint, text) IS
'part of seqid.shard_check_in(): not to be called by itself';

-- A procedure, because it commits the row of a conflict before it raises an error.
-- Such a procedure cannot have a search_path of its own.
CREATE PROCEDURE seqid.shard_check_in(owner text, shards text, system_identifier bigint,
	timeline bigint, machine_id text, host text, data_directory text)
LANGUAGE plpgsql
AS $$
DECLARE
	place pg_catalog.text;
	conflict pg_catalog.text;
BEGIN
	-- Without these, two places could look like one, and a list like none.
	IF data_directory IS NULL OR system_identifier IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'system identifier and data directory must not be NULL',
			HINT = 'Read them from seqid.stat_server as a member of pg_read_all_settings.';
	END IF;
	IF shards IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'list of shards must not be NULL',
			HINT = 'Pass an empty list for a member that has no shards.';
	END IF;
	place := pg_catalog.format('system %s, machine %s, host %s, %s', system_identifier,
							   coalesce(machine_id, 'unknown'), coalesce(host, 'unknown'), data_directory);
	conflict := seqid.shard_conflict(owner, shards, timeline, place);
	IF conflict IS NOT NULL THEN
		INSERT INTO seqid.shard_conflicts (owner, conflict, place)
			VALUES (owner, conflict, place);
		COMMIT;
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('the shards of "%s" are in conflict', pg_catalog.left(owner, 64)),
			DETAIL = conflict,
			HINT = 'Correct the list, or stop one of the two, before both issue the same ids.';
	END IF;
END
$$;
COMMENT ON PROCEDURE seqid.shard_check_in(text, text, bigint, bigint, text, text, text) IS
'report which shards a member of an owner is configured to issue, and where it is; if that is in conflict with another owner or place, add a row to seqid.shard_conflicts and raise an error';

--
-- Repair
--

CREATE FUNCTION seqid.rewrite_mark(mark regclass)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'seqid_rewrite_mark'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION seqid.rewrite_mark(regclass) IS
'part of seqid.repair_mark(): not to be called by itself';

-- It lowers nothing, and leaves all that depends on the extension.  A sequence that
-- was only renamed or moved is brought back.
CREATE FUNCTION seqid.repair_mark()
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
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
			MESSAGE = 'must be superuser to repair the clock mark';
	END IF;

	-- One at a time.
	LOCK TABLE pg_extension IN SHARE ROW EXCLUSIVE MODE;
	-- The sequence that is dumped: others can have been added to the extension.
	SELECT e.oid, c.oid, n.nspname, c.relname INTO extension, mark, mark_schema, mark_name
	  FROM pg_extension e
	  LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace)
		ON c.oid = ANY (e.extconfig) AND c.relkind = 'S'
	 WHERE e.extname = 'seqid';

	-- Another role could have created objects in a schema that took the name.
	IF NOT EXISTS (SELECT FROM pg_depend
					WHERE classid = 'pg_namespace'::regclass AND objid = to_regnamespace('seqid')
					  AND refclassid = 'pg_extension'::regclass AND refobjid = extension) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'schema "seqid" is not that of the extension',
			HINT = 'Run ALTER SCHEMA ... RENAME TO seqid for the schema of the extension.';
	END IF;
	IF to_regclass('seqid.clock_mark') <> coalesce(mark, 0) THEN
		RAISE wrong_object_type USING
			MESSAGE = '"seqid.clock_mark" is not the clock mark',
			HINT = 'Rename it, and run SELECT seqid.repair_mark() again.';
	END IF;

	IF mark IS NULL THEN
		CREATE SEQUENCE seqid.clock_mark
			AS bigint MINVALUE 0 START WITH 0 NO CYCLE;
		COMMENT ON SEQUENCE seqid.clock_mark IS
			'durable upper bound on the times of keys issued in this database, in milliseconds since 1970; do not modify';
		EXECUTE format('ALTER SEQUENCE seqid.clock_mark OWNER TO %I', pg_get_userbyid(10));
		GRANT SELECT ON SEQUENCE seqid.clock_mark TO PUBLIC;
		GRANT UPDATE ON SEQUENCE seqid.clock_mark TO pg_database_owner;
		ALTER EXTENSION seqid ADD SEQUENCE seqid.clock_mark;
		mark := to_regclass('seqid.clock_mark');
		-- pg_extension_config_dump() works in the scripts of extensions only.
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
'create a missing mark, or rewrite a damaged one, at the highest time that is known, and return it; for superusers';

--
-- Privileges
--

-- The bootstrap superuser owns the objects, whoever creates the extension, as if an
-- ordinary role did so.  Up to 16, a dump names the owner of that time in its privileges,
-- which cannot be restored when that role was dropped.
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

-- The owner of the database restores a dump, whoever created the extension.  A mark that
-- is set ahead moves shards that other databases use by at most
-- seqid.max_clock_regression, as keys do that are generated ahead of a clock set back.
GRANT UPDATE ON SEQUENCE seqid.clock_mark TO pg_database_owner;

-- Not TRIGGER: a trigger would run as the role that claims a shard.
GRANT INSERT, UPDATE, DELETE, TRUNCATE ON seqid.shard_registry, seqid.shard_members, seqid.shard_conflicts
	TO pg_database_owner WITH GRANT OPTION;

-- A witness spends what all have of seqid.max_clock_regression.
REVOKE EXECUTE ON FUNCTION @extschema@.snowflake_witness(bigint), @extschema@.snowflake53_witness(bigint),
	@extschema@.comb_uuid_witness(uuid), seqid.rewrite_mark(regclass) FROM PUBLIC;

SET LOCAL search_path = @extschema@, pg_temp;

--
-- The first key raises the mark above all that this server issued so far, also
-- before the extension was dropped and created again.
--
SELECT comb_uuid();
