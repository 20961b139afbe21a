/* seqid--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION seqid" to load this file. \quit

--
-- The durable clock mark: a millisecond since 1970 that no key tells a time
-- beyond.  See src/clock/clock_mark.c, which alone writes it.
--

CREATE SEQUENCE seqid_clock_mark
	AS bigint MINVALUE 0 START WITH 0 NO CYCLE;
COMMENT ON SEQUENCE seqid_clock_mark IS
'milliseconds since 1970 that no key issued in this database tells a time beyond; not to be changed';

-- A dump carries it, and whoever may dump the database must be able to read it.
-- Who creates the extension, which restoring a dump does, must be able to set it:
-- otherwise a restore by the owner of a database would fail.  A mark that is set
-- to a wrong time harms his database and no other.
SELECT pg_catalog.pg_extension_config_dump('seqid_clock_mark', '');
GRANT SELECT ON SEQUENCE seqid_clock_mark TO PUBLIC;
GRANT UPDATE ON SEQUENCE seqid_clock_mark TO @extowner@;

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

-- For those who are trusted: it spends what everybody has of
-- seqid.max_clock_regression.
CREATE FUNCTION snowflake_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION snowflake_witness(bigint) FROM PUBLIC;
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

-- For those who are trusted: it spends what everybody has of
-- seqid.max_clock_regression.
CREATE FUNCTION snowflake53_witness(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'snowflake53_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION snowflake53_witness(bigint) FROM PUBLIC;
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

-- For those who are trusted: it spends what everybody has of
-- seqid.max_clock_regression.
CREATE FUNCTION comb_uuid_witness(id uuid)
RETURNS uuid
AS 'MODULE_PATHNAME', 'comb_uuid_witness'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION comb_uuid_witness(uuid) FROM PUBLIC;
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
-- Interning: strings to dense 64-bit ids.  A dictionary is an ordinary table,
-- see src/intern/dictionary.c.
--
-- They cost what a function in a procedural language does, as they run statements.
--
-- The setting is for the planner: a dictionary that has just been filled looks
-- small to it, and reading all of it for each term would be quadratic.
--

CREATE FUNCTION intern_create(name text, prefix_bits int DEFAULT 0)
RETURNS regclass
AS 'MODULE_PATHNAME', 'intern_create'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION intern_create(text, int) IS
'create a dictionary, a table (id bigint, term text), whose ids count 0, 1, 2, ..., or are scattered over 2^prefix_bits (up to 32 bits) small sequences';

CREATE FUNCTION intern_id(dictionary regclass, term text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'intern_id'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100
SET enable_seqscan = off;
COMMENT ON FUNCTION intern_id(regclass, text) IS
'id of a term in a dictionary, assigned if the term is new';

CREATE FUNCTION intern_ids(dictionary regclass, terms text[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'intern_ids'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100
SET enable_seqscan = off;
COMMENT ON FUNCTION intern_ids(regclass, text[]) IS
'ids of terms in a dictionary, in the same places, assigned where terms are new';

CREATE FUNCTION intern_find(dictionary regclass, term text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'intern_find'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100
SET enable_seqscan = off;
COMMENT ON FUNCTION intern_find(regclass, text) IS
'id of a term in a dictionary, or NULL if it has none';

CREATE FUNCTION intern_term(dictionary regclass, id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'intern_term'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100
SET enable_seqscan = off;
COMMENT ON FUNCTION intern_term(regclass, bigint) IS
'term of an id in a dictionary, or NULL if it is no term''s';

CREATE FUNCTION intern_terms(dictionary regclass, ids bigint[])
RETURNS text[]
AS 'MODULE_PATHNAME', 'intern_terms'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100
SET enable_seqscan = off;
COMMENT ON FUNCTION intern_terms(regclass, bigint[]) IS
'terms of ids in a dictionary, in the same places, NULL for an id that is no term''s';

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

--
-- Statistics
--

CREATE FUNCTION seqid_stat_shards(OUT layout text, OUT shard int, OUT last_id bigint,
	OUT last_time timestamptz, OUT ahead_ms bigint, OUT waits bigint,
	OUT clock_regressions bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'seqid_stat_shards'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION seqid_stat_shards() IS
'what the view seqid_stat_shards shows';

CREATE VIEW seqid_stat_shards AS
	SELECT layout, shard, last_id, last_time, ahead_ms, waits, clock_regressions
	  FROM seqid_stat_shards();
COMMENT ON VIEW seqid_stat_shards IS
'shards that have issued ids since the server started';
COMMENT ON COLUMN seqid_stat_shards.layout IS 'snowflake or snowflake53, what the shard''s functions begin with';
COMMENT ON COLUMN seqid_stat_shards.last_id IS 'the last id that was reserved';
COMMENT ON COLUMN seqid_stat_shards.last_time IS 'the time that it tells';
COMMENT ON COLUMN seqid_stat_shards.ahead_ms IS 'how far that is ahead of the clock, in milliseconds';
COMMENT ON COLUMN seqid_stat_shards.waits IS 'how often a call waited for the next millisecond';
COMMENT ON COLUMN seqid_stat_shards.clock_regressions IS 'how often a call found the clock further behind than it may wait for, 8 ms, and went on or was refused';
GRANT SELECT ON seqid_stat_shards TO PUBLIC;

CREATE FUNCTION seqid_stat(OUT preloaded boolean, OUT clock_mark timestamptz,
	OUT clock_floor timestamptz, OUT comb_time timestamptz, OUT marks_written bigint,
	OUT years_left float8, OUT timeline bigint, OUT shard int, OUT shard_source text,
	OUT system_identifier bigint, OUT machine_id text, OUT data_directory text,
	OUT horizon timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'seqid_stat'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid_stat() IS
'whether seqid was preloaded; of this database the durable mark, the floor that keys start above, the time of the last COMB, how often the mark was raised; years left in snowflake ids; timeline, the shard that seqid.shards has for it and who has set that; the server''s identity; the horizon that readers were told last';

-- After an upgrade they differ: until the session has the new library, and until the
-- database has been updated.
CREATE FUNCTION seqid_version(OUT library text, OUT script text)
RETURNS record
AS 'MODULE_PATHNAME', 'seqid_version'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION seqid_version() IS
'version of the library that this session has loaded, and of the script that made the functions of this database';

--
-- The settled horizon, for readers who go by keys
--

CREATE PROCEDURE seqid_horizon(INOUT horizon timestamptz DEFAULT NULL,
	INOUT lsn pg_lsn DEFAULT NULL)
AS 'MODULE_PATHNAME', 'seqid_horizon'
LANGUAGE C;
COMMENT ON PROCEDURE seqid_horizon(timestamptz, pg_lsn) IS
'every transaction of this database that drew a snowflake or COMB telling an earlier time than horizon has ended, and no such key is drawn any more; a standby that has replayed lsn has their rows';

CREATE FUNCTION seqid_horizon_slots(OUT pid int, OUT held timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'seqid_horizon_slots'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION seqid_horizon_slots() IS
'the processes among seqid_horizon_holders';

-- Prepared transactions hold it by an advisory lock of a class of its own, whose
-- tag carries the time in milliseconds since 1970; see transaction_slot.c.
CREATE VIEW seqid_horizon_holders AS
	SELECT s.pid, NULL::text AS gid, s.held, a.xact_start AS since
	  FROM seqid_horizon_slots() s
	  LEFT JOIN pg_stat_activity a ON a.pid = s.pid
	UNION ALL
	SELECT NULL, p.gid,
		   'epoch'::timestamptz +
		   (l.classid::bigint * 4294967296 + l.objid::bigint)::float8 * interval '1 millisecond',
		   p.prepared
	  FROM pg_locks l
	  JOIN pg_locks x ON x.virtualtransaction = l.virtualtransaction
				   AND x.pid IS NULL AND x.locktype = 'transactionid'
	  JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
	 WHERE l.locktype = 'advisory' AND l.objsubid = 53 AND l.pid IS NULL
	   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	   AND (l.classid, l.objid) <> (0::oid, 0::oid);
COMMENT ON VIEW seqid_horizon_holders IS
'open transactions of this database that have drawn keys, the earliest of which holds the horizon';
COMMENT ON COLUMN seqid_horizon_holders.pid IS 'the process that it is in, NULL if it is prepared';
COMMENT ON COLUMN seqid_horizon_holders.gid IS 'the name under which it is prepared';
COMMENT ON COLUMN seqid_horizon_holders.held IS 'the horizon goes no further before the transaction ends';
COMMENT ON COLUMN seqid_horizon_holders.since IS 'when it began, or was prepared; NULL for a transaction that you may not look at';
GRANT SELECT ON seqid_horizon_holders TO PUBLIC;

--
-- A registry of shards, for many servers: in one database, from which each cluster
-- or server that issues ids claims its shards, and to which it tells what it is
-- configured to issue.  It is on no way to an id: it allocates and tells, and
-- nothing waits for it.
--
-- The functions run as their caller, who needs privileges on the tables.  As the
-- extension can be moved, they look for its schema when they are called, and name it:
-- were it in their search_path, who may create objects there could give them a
-- function or an operator that fits better than pg_catalog's, and run as the caller.
--

CREATE TABLE shard_registry (
	owner text PRIMARY KEY CHECK (owner <> ''),
	shards int4range NOT NULL
		CHECK (NOT pg_catalog.isempty(shards)
			AND shards OPERATOR(pg_catalog.<@)
				pg_catalog.int4range(0, snowflake_shard(9223372036854775807), '[]')),
	claimed_at timestamptz NOT NULL DEFAULT now(),
	EXCLUDE USING gist (shards WITH OPERATOR(pg_catalog.&&))
);
COMMENT ON TABLE shard_registry IS
'shards, and the cluster or server that issues their ids; see shard_claim()';
COMMENT ON COLUMN shard_registry.owner IS 'name of a cluster, or of a server that stands alone';
COMMENT ON COLUMN shard_registry.shards IS 'its shards, which nobody else has';

CREATE TABLE shard_members (
	owner text NOT NULL REFERENCES shard_registry ON DELETE CASCADE,
	timeline bigint NOT NULL,
	place text NOT NULL,
	checked_in_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (owner, timeline)
);
COMMENT ON TABLE shard_members IS
'where each timeline of an owner is, as its members told; see shard_check_in()';
COMMENT ON COLUMN shard_members.place IS 'system identifier, machine, host and data directory';

CREATE TABLE shard_conflicts (
	owner text NOT NULL,
	conflict text NOT NULL,
	place text NOT NULL,
	noticed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE shard_conflicts IS
'check-ins that found somebody else on the same shards; see shard_check_in()';

SELECT pg_catalog.pg_extension_config_dump('shard_registry', '');
SELECT pg_catalog.pg_extension_config_dump('shard_members', '');
SELECT pg_catalog.pg_extension_config_dump('shard_conflicts', '');
-- Not TRIGGER: what one does, it does as whoever claims a shard.
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON shard_registry, shard_members, shard_conflicts
	TO @extowner@ WITH GRANT OPTION;

CREATE FUNCTION shard_claim(owner text, count int DEFAULT 16)
RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	schema name;
	last_shard int;
	claimed int4range;
	first int;
BEGIN
	SELECT n.nspname INTO schema
	  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'seqid';
	EXECUTE format('SELECT %I.snowflake_shard(9223372036854775807)', schema) INTO last_shard;
	IF count < 1 OR count > last_shard + 1 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('number of shards %s is out of range', count),
			DETAIL = format('An owner can have between 1 and %s shards.', last_shard + 1);
	END IF;

	-- One at a time: the lowest run that is free must be one owner's.
	EXECUTE format('LOCK TABLE %I.shard_registry IN SHARE ROW EXCLUSIVE MODE', schema);
	EXECUTE format('SELECT shards FROM %I.shard_registry WHERE owner = $1', schema)
	   INTO claimed USING owner;
	IF claimed IS NULL THEN
		EXECUTE format('SELECT min(c.start)
			  FROM (SELECT 0 AS start UNION ALL SELECT upper(shards) FROM %1$I.shard_registry) c
			 WHERE c.start + $1 - 1 <= $2
			   AND NOT EXISTS (SELECT FROM %1$I.shard_registry
								WHERE shards && int4range(c.start, c.start + $1))', schema)
		   INTO first USING count, last_shard;
		IF first IS NULL THEN
			RAISE program_limit_exceeded USING
				MESSAGE = format('no run of %s shards is free', count),
				HINT = 'Claim fewer, or release those that are not used any more.';
		END IF;
		claimed := int4range(first, first + count);
		EXECUTE format('INSERT INTO %I.shard_registry (owner, shards) VALUES ($1, $2)', schema)
			USING owner, claimed;
	ELSIF upper(claimed) - lower(claimed) <> count THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('owner "%s" has %s shards already, not %s', left(owner, 64),
							 upper(claimed) - lower(claimed), count),
			HINT = 'Who needs more claims them as another owner, and lists both.';
	END IF;

	RETURN CASE WHEN count = 1 THEN lower(claimed)::text
				ELSE format('%s-%s', lower(claimed), upper(claimed) - 1) END;
END
$$;
COMMENT ON FUNCTION shard_claim(text, int) IS
'claim count shards that nobody else has for an owner, or tell those that it has, in the form that seqid.shards takes';

CREATE FUNCTION shard_release(owner text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	schema name;
	released bigint;
BEGIN
	SELECT n.nspname INTO schema
	  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'seqid';
	EXECUTE format('DELETE FROM %I.shard_registry WHERE owner = $1', schema) USING owner;
	GET DIAGNOSTICS released = ROW_COUNT;
	RETURN released > 0;
END
$$;
COMMENT ON FUNCTION shard_release(text) IS
'give back the shards of an owner that issues no ids any more; whether it had any';

CREATE FUNCTION shard_conflict(owner text, shards text, timeline bigint, place text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	schema name;
	owned int4range;
	others record;
	elsewhere text;
BEGIN
	SELECT n.nspname INTO schema
	  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'seqid';
	EXECUTE format('SELECT shards FROM %I.shard_registry WHERE owner = $1', schema)
	   INTO owned USING owner;
	IF owned IS NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('owner "%s" has no shards', left(owner, 64)),
			HINT = 'Call shard_claim() first.';
	END IF;

	-- What seqid.shards refuses; all shards, one by one, are 5 kB.
	IF octet_length(shards) > 16384
		OR shards !~ '^\s*(\d{1,4}\s*(-\s*\d{1,4}\s*)?(,\s*\d{1,4}\s*(-\s*\d{1,4}\s*)?)*)?$'
		OR EXISTS (SELECT FROM regexp_matches(shards, '(\d+)\s*(?:-\s*(\d+))?', 'g') part
				WHERE part[1]::int > part[2]::int OR greatest(part[1]::int, part[2]::int) > 1023) THEN
		RAISE invalid_text_representation USING
			MESSAGE = format('"%s" is not a list of shards', left(shards, 64)),
			HINT = 'Give numbers from 0 to 1023 and ascending ranges with commas between them, such as "3, 16-31".';
	END IF;

	EXECUTE format($sql$
		SELECT l.shard, r.owner AS holder
		  FROM (SELECT generate_series(part[1]::int, coalesce(part[2], part[1])::int) AS shard
				  FROM regexp_matches($1, '(\d+)\s*(?:-\s*(\d+))?', 'g') part) l
		  LEFT JOIN %I.shard_registry r ON r.shards @> l.shard
		 WHERE NOT $2 @> l.shard ORDER BY l.shard LIMIT 1$sql$, schema)
	   INTO others USING shards, owned;
	IF others.shard IS NOT NULL THEN
		RETURN format('It is configured to issue shard %s, which %s.', others.shard,
					  coalesce('"' || others.holder || '" holds', 'nobody has claimed'));
	END IF;

	-- On a standby there is no timeline, and nothing is issued.
	IF timeline IS NOT NULL THEN
		EXECUTE format('INSERT INTO %I.shard_members AS m (owner, timeline, place) VALUES ($1, $2, $3)
			ON CONFLICT ON CONSTRAINT shard_members_pkey DO UPDATE SET checked_in_at = now()
			RETURNING m.place', schema)
		   INTO elsewhere USING owner, timeline, place;
		IF elsewhere <> place THEN
			RETURN format('Timeline %s has checked in from another place: %s.', timeline, elsewhere);
		END IF;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION shard_conflict(text, text, bigint, text) IS
'part of shard_check_in(), which is to be called';

-- A procedure, so that a conflict can be a row that stays and an error as well; it
-- can have no setting of its own then.
CREATE PROCEDURE shard_check_in(owner text, shards text, system_identifier bigint,
	timeline bigint, machine_id text, host text, data_directory text)
LANGUAGE plpgsql
AS $$
DECLARE
	schema pg_catalog.name;
	place pg_catalog.text;
	conflict pg_catalog.text;
BEGIN
	-- Without these, two places could look like one, and a list like none.
	IF data_directory IS NULL OR system_identifier IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'system identifier and data directory must not be NULL',
			HINT = 'seqid_stat() tells the directory to members of pg_read_all_settings.';
	END IF;
	IF shards IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'list of shards must not be NULL',
			HINT = 'A member that has none tells an empty list.';
	END IF;
	place := pg_catalog.format('system %s, machine %s, host %s, %s', system_identifier,
							   coalesce(machine_id, 'unknown'), coalesce(host, 'unknown'), data_directory);
	SELECT n.nspname INTO schema
	  FROM pg_catalog.pg_extension e
	  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	 WHERE e.extname OPERATOR(pg_catalog.=) 'seqid';
	EXECUTE pg_catalog.format('SELECT %I.shard_conflict($1, $2, $3, $4)', schema)
	   INTO conflict USING owner, shards, timeline, place;
	IF conflict IS NOT NULL THEN
		EXECUTE pg_catalog.format('INSERT INTO %I.shard_conflicts (owner, conflict, place)'
			' VALUES ($1, $2, $3)', schema) USING owner, conflict, place;
		COMMIT;
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('the shards of "%s" are in conflict', pg_catalog.left(owner, 64)),
			DETAIL = conflict,
			HINT = 'Correct the list, or stop one of the two, before both issue the same ids.';
	END IF;
END
$$;
COMMENT ON PROCEDURE shard_check_in(text, text, bigint, bigint, text, text, text) IS
'tell what a member of an owner is configured to issue, and where it is; an error, and a row in shard_conflicts, if somebody else has these shards';

--
-- Repair
--

CREATE FUNCTION seqid_rewrite_mark(mark regclass)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'seqid_rewrite_mark'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION seqid_rewrite_mark(regclass) IS
'part of seqid_repair_mark(), which is to be called';

-- Nothing is lowered, and what depends on the extension is left as it is.  A
-- sequence that was only renamed or moved is brought back.
CREATE FUNCTION seqid_repair_mark()
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	extension oid;
	schema name;
	owner name;
	found_oid oid;
	found_schema name;
	found_name name;
	repaired timestamptz;
BEGIN
	IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		RAISE insufficient_privilege USING
			MESSAGE = 'must be superuser to repair the clock mark';
	END IF;

	-- One at a time.
	LOCK TABLE pg_extension IN SHARE ROW EXCLUSIVE MODE;
	SELECT e.oid, n.nspname, pg_get_userbyid(e.extowner) INTO extension, schema, owner
	  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
	 WHERE e.extname = 'seqid';
	-- The one that is dumped: others may have been added to the extension.
	SELECT c.oid, n.nspname, c.relname INTO found_oid, found_schema, found_name
	  FROM pg_extension e JOIN pg_class c ON c.oid = ANY (e.extconfig)
	  JOIN pg_namespace n ON n.oid = c.relnamespace
	 WHERE e.oid = extension AND c.relkind = 'S';

	-- What has the name, if anything, must be it.
	IF to_regclass(format('%I.seqid_clock_mark', schema)) <> coalesce(found_oid, 0) THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s.seqid_clock_mark" is not the clock mark', schema),
			HINT = 'Rename it, and try again.';
	END IF;

	IF found_oid IS NULL THEN
		EXECUTE format('CREATE SEQUENCE %I.seqid_clock_mark
			AS bigint MINVALUE 0 START WITH 0 NO CYCLE', schema);
		EXECUTE format('COMMENT ON SEQUENCE %I.seqid_clock_mark IS %L', schema,
			'milliseconds since 1970 that no key issued in this database tells a time beyond; not to be changed');
		EXECUTE format('GRANT SELECT ON SEQUENCE %I.seqid_clock_mark TO PUBLIC', schema);
		EXECUTE format('GRANT UPDATE ON SEQUENCE %I.seqid_clock_mark TO %I', schema, owner);
		EXECUTE format('ALTER EXTENSION seqid ADD SEQUENCE %I.seqid_clock_mark', schema);
		found_oid := format('%I.seqid_clock_mark', schema)::regclass;
		-- pg_extension_config_dump() is for the scripts of extensions only.
		UPDATE pg_extension
		   SET extconfig = array_append(extconfig, found_oid),
		       extcondition = array_append(extcondition, '')
		 WHERE oid = extension;
	ELSE
		IF found_schema <> schema THEN
			EXECUTE format('ALTER SEQUENCE %I.%I SET SCHEMA %I', found_schema, found_name, schema);
		END IF;
		IF found_name <> 'seqid_clock_mark' THEN
			EXECUTE format('ALTER SEQUENCE %I.%I RENAME TO seqid_clock_mark', schema, found_name);
		END IF;
	END IF;

	EXECUTE format('SELECT %I.seqid_rewrite_mark($1)', schema)
	   INTO repaired USING found_oid::regclass;
	RETURN repaired;
END
$$;
COMMENT ON FUNCTION seqid_repair_mark() IS
'make a missing or damaged clock mark anew, at the highest time that is known, and return it; for superusers';

--
-- The first key raises the mark above all that this server issued so far, also
-- before the extension was dropped and created again.
--
SELECT comb_uuid();
