--
-- The schemas of the extension: functions for keys in one that the user names, the rest
-- in the schema seqid
--
\pset format unaligned
\pset tuples_only on
SELECT n.nspname AS schema, CASE d.classid WHEN 'pg_proc'::regclass THEN 'functions' ELSE 'relations' END AS what,
       count(*) > 0 AS has
  FROM pg_depend d
  LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
  LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
  JOIN pg_namespace n ON n.oid = coalesce(p.pronamespace, c.relnamespace)
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'seqid')
 GROUP BY 1, 2 ORDER BY 1, 2;
-- What tools do in the user's schema does not meet the extension.
CREATE ROLE regress_seqid_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO regress_seqid_reader;
REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM regress_seqid_reader;
DROP ROLE regress_seqid_reader;

-- Schemas that are refused
DROP EXTENSION seqid;
SELECT error_of('CREATE EXTENSION seqid SCHEMA seqid');
SELECT to_regnamespace('seqid') IS NULL AS nothing_is_left;
CREATE SCHEMA seqid;
CREATE SEQUENCE seqid.mine;
SELECT error_of('CREATE EXTENSION seqid SCHEMA seqid');
SELECT error_of('CREATE EXTENSION seqid');
DROP SEQUENCE seqid.mine;
-- not even an empty one of another role
CREATE ROLE regress_seqid_owner;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_seqid_owner', current_database()) \gexec
SET ROLE regress_seqid_owner;
SELECT error_of('CREATE EXTENSION seqid');
RESET ROLE;
-- An empty one of the role that creates the extension is replaced.
DROP SCHEMA seqid;
CREATE SCHEMA seqid AUTHORIZATION regress_seqid_owner;
SET ROLE regress_seqid_owner;
CREATE EXTENSION seqid;
SELECT error_of('CREATE TABLE seqid.mine ()');
DROP EXTENSION seqid;
RESET ROLE;
SELECT format('REVOKE CREATE ON DATABASE %I FROM regress_seqid_owner', current_database()) \gexec
DROP ROLE regress_seqid_owner;

-- Any other schema, whatever the search path
CREATE SCHEMA "seqid Ids";
CREATE EXTENSION seqid SCHEMA "seqid Ids";
SET search_path = pg_catalog;
CREATE TABLE public.elsewhere (
	id bigint PRIMARY KEY DEFAULT "seqid Ids".snowflake_nextval(5),
	comb uuid DEFAULT "seqid Ids".comb_uuid(),
	block uuid DEFAULT "seqid Ids".uuid_time_nextval()
);
INSERT INTO public.elsewhere DEFAULT VALUES;
SELECT ("seqid Ids".snowflake_parts(id)).shard, "seqid Ids".comb_uuid_is_valid(comb)
  FROM public.elsewhere;
SELECT count("seqid Ids".snowflake_currval()) AS currval;
SELECT count(*) FROM "seqid Ids".snowflake_nextvals(5, 3);
-- It cannot be moved.
ALTER EXTENSION seqid SET SCHEMA public;

-- The state belongs to the server: in an extension that was dropped and created
-- again, a shard goes on after its last id, and the mark is not lower, because another
-- session can still rely on the one before.
SELECT "seqid Ids".snowflake_nextval(5) AS last \gset
SET seqid.shards = 900;
SELECT FROM "seqid Ids".snowflake_witness("seqid Ids".snowflake_first(clock_timestamp() + interval '5 s'));
RESET seqid.shards;
SELECT last_value AS mark FROM seqid.clock_mark \gset
DROP TABLE public.elsewhere;
DROP EXTENSION seqid;
CREATE EXTENSION seqid SCHEMA public;
RESET search_path;
SELECT snowflake_nextval(5) > :last AS later;
SELECT last_value >= :mark AS not_lower FROM seqid.clock_mark;
DROP SCHEMA "seqid Ids";
