--
-- Who may install the extension, call it, and change its settings
--
\pset format unaligned
\pset tuples_only on
CREATE ROLE regress_seqid_owner;
CREATE ROLE regress_seqid_user;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_seqid_owner', current_database()) \gexec

-- trusted: a role that may create objects in the database may install it
DROP EXTENSION seqid;
SET ROLE regress_seqid_user;
SELECT left(error_of('CREATE EXTENSION seqid'), 5) AS ordinary_role;
SET ROLE regress_seqid_owner;
CREATE EXTENSION seqid;
RESET ROLE;
SELECT extowner::regrole FROM pg_extension WHERE extname = 'seqid';

-- and the script runs nothing that the role made, which fits better than pg_catalog's
DROP EXTENSION seqid;
SET ROLE regress_seqid_owner;
CREATE SCHEMA traps;
SELECT format('CREATE FUNCTION traps.%I(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE AS $f$ BEGIN RAISE ''trapped''; END $f$',
              name, arguments, result)
  FROM (VALUES ('times', 'bigint, interval', 'interval'), ('differs', 'oid, int', 'boolean'),
               ('split_part', 'text, varchar, int', 'text'), ('format', 'text, name', 'text')) f (name, arguments, result) \gexec
CREATE OPERATOR traps.* (FUNCTION = traps.times, LEFTARG = bigint, RIGHTARG = interval);
CREATE OPERATOR traps.<> (FUNCTION = traps.differs, LEFTARG = oid, RIGHTARG = int);
CREATE EXTENSION seqid SCHEMA traps;
RESET ROLE;
-- nor do its views depend on any of it
DROP OPERATOR traps.* (bigint, interval), traps.<> (oid, int);
DROP EXTENSION seqid;
SET client_min_messages = warning;
DROP SCHEMA traps CASCADE;
RESET client_min_messages;
CREATE EXTENSION seqid;

-- anybody may draw keys
SET ROLE regress_seqid_user;
SELECT snowflake_nextval(5) > 0 AS snowflake, snowflake53_nextval(5) > 0 AS snowflake53, comb_uuid_is_valid(comb_uuid()) AS comb,
       length(uuid_time_nextval()::text) AS uuid;
-- but not be a witness
SELECT left(error_of('SELECT ' || call), 5) FROM unnest(ARRAY['snowflake_witness(0)', 'snowflake53_witness(0)', 'comb_uuid_witness(comb_uuid())']) call;
-- nor draw from a sequence that is another's
RESET ROLE;
CREATE SEQUENCE privileges_seq;
SET ROLE regress_seqid_user;
SELECT error_of($$SELECT uuid_sequence_nextval('privileges_seq')$$);
RESET ROLE;
GRANT USAGE ON SEQUENCE privileges_seq TO regress_seqid_user;
SET ROLE regress_seqid_user;
SELECT length(uuid_sequence_nextval('privileges_seq')::text) AS granted;

-- the settings are the superuser's
SELECT error_of('SET seqid.shards = 5');
SELECT error_of($$SET seqid.max_lead = '1h'$$);
SELECT error_of('RESET seqid.shards');
RESET ROLE;
-- A superuser can set them for a database, and for a role in it, which applies to new sessions.
-- The server may ask other roles for a password, so the role is the one that runs the tests.
SELECT format('ALTER DATABASE %I SET seqid.shards = 78', current_database()) \gexec
\c
SELECT snowflake_shard(snowflake_nextval()) AS of_the_database;
SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET seqid.shards = 77', current_database()) \gexec
\c
SELECT snowflake_shard(snowflake_nextval()) AS of_the_role;
SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I RESET seqid.shards', current_database()) \gexec
SELECT format('ALTER DATABASE %I RESET seqid.shards', current_database()) \gexec

DROP EXTENSION seqid;
CREATE EXTENSION seqid;
DROP SEQUENCE privileges_seq;
SELECT format('REVOKE CREATE ON DATABASE %I FROM regress_seqid_owner', current_database()) \gexec
DROP ROLE regress_seqid_owner;
DROP ROLE regress_seqid_user;
