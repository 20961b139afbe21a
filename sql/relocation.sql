--
-- The extension works in any schema, whatever the search path
--
DROP EXTENSION seqid;
CREATE SCHEMA seqid_ids;
CREATE SCHEMA "seqid Other";
CREATE EXTENSION seqid SCHEMA seqid_ids;
SET search_path = pg_catalog;
CREATE TABLE public.relocated (
	id bigint PRIMARY KEY DEFAULT seqid_ids.snowflake_nextval(5),
	comb uuid DEFAULT seqid_ids.comb_uuid(),
	block uuid DEFAULT seqid_ids.uuid_time_nextval()
);
CREATE SEQUENCE public.relocated_seq;
INSERT INTO public.relocated DEFAULT VALUES;
SELECT (seqid_ids.snowflake_parts(id)).shard, seqid_ids.comb_uuid_is_valid(comb)
  FROM public.relocated;

-- moved under a table that uses it
ALTER EXTENSION seqid SET SCHEMA "seqid Other";
INSERT INTO public.relocated DEFAULT VALUES;
SELECT count(DISTINCT id) AS ids, count(DISTINCT comb) AS combs, count(DISTINCT block) AS blocks
  FROM public.relocated;
SELECT count("seqid Other".uuid_sequence_nextval('public.relocated_seq')) AS sequence,
       count("seqid Other".snowflake_currval()) AS currval;
SELECT count(*) FROM "seqid Other".snowflake_nextvals(5, 3);
SELECT count(*) FROM "seqid Other".comb_uuids(3);

-- The state is the server's, not the extension's: dropped and created again,
-- a shard goes on after its last id.
SELECT "seqid Other".snowflake_nextval(5) AS last \gset
DROP TABLE public.relocated;
DROP SEQUENCE public.relocated_seq;
DROP EXTENSION seqid;
CREATE EXTENSION seqid SCHEMA public;
RESET search_path;
SELECT snowflake_nextval(5) > :last AS later;
DROP SCHEMA seqid_ids, "seqid Other";
