--
-- No call, with any argument, takes down or hangs a backend
--
-- Every function of the extension is called with every combination of the
-- extremes of its arguments' types.  Each call must end with a result or with
-- an error that the reference names.
--
\pset format unaligned
\pset tuples_only on
CREATE SEQUENCE extremes_seq MINVALUE -9223372036854775808;
SELECT intern_create('extremes_dictionary');
CREATE TABLE extremes (type regtype, value text);
INSERT INTO extremes VALUES
	('int', NULL), ('int', '-2147483648'), ('int', '-1'), ('int', '0'), ('int', '1'),
	('int', '31'), ('int', '32'), ('int', '127'), ('int', '128'), ('int', '129'),
	('int', '1023'), ('int', '1024'), ('int', '4096'), ('int', '4097'),
	('int', '16777217'), ('int', '1073741825'), ('int', '2147483647'),
	('bigint', NULL), ('bigint', '-9223372036854775808'), ('bigint', '-1'), ('bigint', '0'),
	('bigint', '31'), ('bigint', '32'), ('bigint', '1023'), ('bigint', '1024'), ('bigint', '4294967327'),
	('bigint', '9007199254740991'), ('bigint', '9007199254740992'), ('bigint', '9223372036854775807'),
	('timestamptz', NULL), ('timestamptz', '-infinity'), ('timestamptz', 'infinity'),
	('timestamptz', '4714-11-24 00:00:00+00 BC'), ('timestamptz', '1969-12-31 23:59:59.999999+00'),
	('timestamptz', '1970-01-01 00:00:00+00'), ('timestamptz', '2023-01-01 00:00:00+00'),
	('timestamptz', '2092-09-06 15:47:35.551999+00'), ('timestamptz', '2092-09-06 15:47:35.552+00'),
	('timestamptz', '10889-08-02 05:31:50.655999+00'), ('timestamptz', '10889-08-02 05:31:50.656+00'),
	('timestamptz', '294276-12-31 23:59:59.999999+00'),
	('uuid', NULL), ('uuid', '00000000-0000-0000-0000-000000000000'),
	('uuid', '00000000-0000-7000-8000-000000000000'), ('uuid', 'ffffffff-ffff-7fff-bfff-ffffffffffff'),
	('uuid', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('text', NULL), ('text', ''), ('text', 'LygHa16AHYG'), ('text', '8ZZZZZZZZZZZZZZZZZZZZZZZZZ'),
	('text', repeat('z', 100000)),
	('tstzrange', NULL), ('tstzrange', 'empty'), ('tstzrange', '(,)'), ('tstzrange', '[-infinity,infinity]'),
	('tstzrange', '(294276-12-31 23:59:59.999999+00,)'), ('tstzrange', '(,4714-11-24 00:00:00+00 BC)'),
	('boolean', NULL), ('boolean', 'false'), ('boolean', 'true'),
	('int[]', NULL), ('int[]', '{}'), ('int[]', '{NULL}'), ('int[]', '{0}'), ('int[]', '{63}'),
	('int[]', '{2147483647,-2147483648}'), ('int[]', '{{1,2},{3,4}}'), ('int[]', '[-1:0]={1,62}'),
	('bigint[]', NULL), ('bigint[]', '{}'), ('bigint[]', '{NULL,NULL}'), ('bigint[]', '{1,-1}'),
	('bigint[]', '{1,9223372036854775807}'), ('bigint[]', '{{1,2},{3,4}}'),
	('text[]', NULL), ('text[]', '{}'), ('text[]', '{NULL}'), ('text[]', '[-1:0][2:2]={{b},{""}}'),
	('text[]', '{a,NULL,b,a}'), ('text[]', ARRAY[repeat('z', 100000)]::text),
	('regclass', NULL), ('regclass', 'extremes_dictionary'),
	('regclass', 'extremes_seq'), ('regclass', 'extremes'), ('regclass', 'pg_class');

CREATE TABLE extreme_calls AS
WITH RECURSIVE functions AS (
	SELECT p.oid::regproc AS name, p.proargtypes::oid[] AS types, p.pronargs, p.prokind
	  FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
	 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	   AND d.classid = 'pg_proc'::regclass
	   AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
	   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'seqid')
), calls AS (
	SELECT name, types, pronargs, prokind, 0 AS n, ''::text AS arguments FROM functions
	 UNION ALL
	SELECT name, types, pronargs, prokind, n + 1,
	       concat_ws(', ', nullif(arguments, ''), format('%L::%s', value, type))
	  FROM calls JOIN extremes ON type = types[n] AND n < pronargs
)
-- LIMIT, as the largest counts would take hours to fetch
SELECT name::text AS function, format('SELECT %s(%s) %s LIMIT 3', name, arguments,
       CASE prokind WHEN 'w' THEN 'OVER ()' END) AS call, NULL::text AS outcome
  FROM calls WHERE n = pronargs;
UPDATE extreme_calls SET outcome = left(error_of(call), 5);

-- internal errors (XX000), crashes and unknown codes would show here; 42809 is
-- the server's for a relation that is no sequence, 42P01, 42P07 and 42602 are its
-- own for relations that are not there, or there already, and names that are none
SELECT function, count(*) AS calls,
       count(*) FILTER (WHERE outcome NOT IN ('no er', '22023', '22003', '22004', '22P02', '2200H', '55000', '54000', '42809', '42P01', '42P07', '42602')) AS unexpected
  FROM extreme_calls GROUP BY function ORDER BY function COLLATE "C";
SELECT call, outcome FROM extreme_calls
 WHERE outcome NOT IN ('no er', '22023', '22003', '22004', '22P02', '2200H', '55000', '54000', '42809', '42P01', '42P07', '42602') ORDER BY call COLLATE "C" LIMIT 10;

SELECT count(*) AS terms, count(DISTINCT id) AS ids FROM extremes_dictionary;
SET client_min_messages = warning;
DROP TABLE extreme_calls, extremes, extremes_dictionary, lygha16ahyg, "8zzzzzzzzzzzzzzzzzzzzzzzzz";
DROP SEQUENCE extremes_seq;
