--
-- The extension installs, and every object says what it is.
--
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION seqid;
CREATE EXTENSION pgstattuple;

-- Names, results and labels are the interface; a codec must be immutable.
SELECT p.oid::regprocedure AS function,
       pg_get_function_result(p.oid) AS returns,
       p.provolatile AS volatile, p.proisstrict AS strict, p.proparallel AS parallel
  FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND d.classid = 'pg_proc'::regclass
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'seqid')
 ORDER BY p.oid::regprocedure::text COLLATE "C";

-- no object without a comment (but the type of a view's rows)
SELECT pg_describe_object(d.classid, d.objid, 0)
  FROM pg_depend d
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND d.classid <> 'pg_type'::regclass
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'seqid')
   AND obj_description(d.objid, d.classid::regclass::name) IS NULL;

-- which release; the library's has one digit more than the script's
SELECT library ~ '^\d+\.\d+\.\d+$' AS library, script = extversion AS script,
       library ^@ (script || '.') AS of_one_release
  FROM seqid.stat_server, pg_extension WHERE extname = 'seqid';

-- dynamic_library_path says where the library is
SELECT DISTINCT probin FROM pg_proc WHERE probin LIKE '%seqid%';

-- the settings
SELECT name, setting, unit, min_val, max_val, context, boot_val
  FROM pg_settings WHERE name LIKE 'seqid.%' ORDER BY name COLLATE "C";

-- What the tests that follow use to show an error: its code and all its parts.
CREATE FUNCTION error_of(statement text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN query_canceled OR OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', SQLSTATE || ': ' || message,
					 nullif(detail, ''), nullif(hint, ''));
END
$$;

-- The rows that the planner expects.
CREATE FUNCTION expected_rows(statement text) RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
	RETURN plan #>> '{0,Plan,Plan Rows}';
END
$$;
SELECT error_of('SELECT 1');
SELECT error_of('SELECT 1/0');
