--
-- Prints :count calls of each function of seqid with arguments at random, from the seed
-- :seed; calls.pl executes them.
--
-- fuzz_after(statement, value) and fuzz_undone(statement, value) change what the call
-- needs while its arguments are evaluated, which is before the function runs.  Their
-- transaction is rolled back, and so is one that drops a dictionary, because later calls
-- need it.
SELECT setseed(:seed::double precision / 1000000) \g /dev/null

CREATE FUNCTION pg_temp.pick(choices text[]) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT choices[1 + floor(random() * cardinality(choices))::int] $$;

CREATE FUNCTION pg_temp.integer_of(bits int) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT CASE floor(random() * 4)::int
	WHEN 0 THEN pg_temp.pick(ARRAY['0', '1', '-1', '31', '32', '63', '64', '1023', '1024', '4096', '65536'])
	WHEN 1 THEN pg_temp.pick(ARRAY[(2::numeric ^ (bits - 1) - 1)::numeric(20,0)::text, (-2::numeric ^ (bits - 1))::numeric(20,0)::text])
	ELSE trunc((random()::numeric - 0.5) * 2 ^ floor((random() * (bits - 1))::numeric))::text END $$;

CREATE FUNCTION pg_temp.text_at_random() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT CASE floor(random() * 3)::int
	WHEN 0 THEN pg_temp.pick(ARRAY['', 'a', 'public', '0', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'LygHa16AHYF', '3, 16-31', '-', E'\u00e4'])
	ELSE (SELECT coalesce(string_agg(chr(32 + floor(random() * 95)::int), ''), '')
			FROM generate_series(1, floor(random() * 40 + 0 * length(x.x))::int)) END
	FROM (VALUES ('')) x (x) $$;

-- What an argument can do before the call, and fuzz_undone() does and takes back.
CREATE FUNCTION pg_temp.change() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT pg_temp.pick(ARRAY['DROP EXTENSION seqid CASCADE', 'DROP EXTENSION seqid CASCADE', 'DROP EXTENSION seqid',
	'DROP EXTENSION seqid CASCADE; CREATE EXTENSION seqid', 'DROP EXTENSION seqid CASCADE; CREATE EXTENSION seqid SCHEMA fuzz_schema',
	'ALTER SCHEMA public RENAME TO fuzz_public', 'ALTER SCHEMA public RENAME TO fuzz_public; CREATE SCHEMA public',
	'DROP SCHEMA public CASCADE', 'DROP SCHEMA fuzz_schema CASCADE', 'ALTER SCHEMA fuzz_schema RENAME TO fuzz_renamed',
	'DROP TABLE fuzz_words', 'DROP TABLE fuzz_schema.words', 'ALTER TABLE fuzz_words RENAME TO fuzz_renamed',
	'ALTER TABLE fuzz_words SET SCHEMA fuzz_schema', 'ALTER TABLE fuzz_words DROP term', 'ALTER TABLE fuzz_words ALTER id DROP DEFAULT',
	'ALTER TABLE fuzz_words RENAME TO fuzz_renamed; CREATE TABLE fuzz_words (id bigint, term text)',
	'DROP SEQUENCE fuzz_sequence', 'ALTER SEQUENCE fuzz_sequence RENAME TO fuzz_renamed', 'DROP SEQUENCE fuzz_words_id_seq CASCADE',
	'ALTER SEQUENCE fuzz_words_id_seq OWNED BY NONE', 'ALTER SEQUENCE fuzz_words_id_seq RENAME TO fuzz_renamed',
	'ALTER EXTENSION seqid DROP SEQUENCE seqid.clock_mark; DROP SEQUENCE seqid.clock_mark',
	'ALTER EXTENSION seqid DROP FUNCTION intern_create(text, int); DROP FUNCTION intern_create(text, int)',
	'ALTER SEQUENCE seqid.clock_mark RENAME TO fuzz_renamed', 'ALTER SEQUENCE seqid.clock_mark CACHE 1', 'SET LOCAL search_path = fuzz_schema',
	'TRUNCATE fuzz_words RESTART IDENTITY', 'REINDEX TABLE fuzz_words', 'DISCARD PLANS']) $$;

CREATE FUNCTION pg_temp.argument(type text) RETURNS text LANGUAGE plpgsql VOLATILE AS
$$
BEGIN
	IF random() < 0.04 THEN
		RETURN 'NULL::' || type;
	ELSIF type LIKE '%[]' THEN
		RETURN format('%L::%s', (SELECT array_agg(trim(BOTH '''' FROM split_part(pg_temp.argument(left(type, -2)), '''', 2)))
			FROM generate_series(1, floor(random() * 8)::int)), type);
	END IF;
	RETURN format('%L::%s', CASE type
		WHEN 'bigint' THEN pg_temp.integer_of(64)
		WHEN 'integer' THEN pg_temp.integer_of(32)
		WHEN 'uuid' THEN CASE WHEN random() < 0.5 THEN gen_random_uuid()::text
			ELSE pg_temp.pick(ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
				'ffffffff-ffff-7fff-bfff-ffffffffffff', '018c8c5e-0000-7000-8000-000000000000']) END
		WHEN 'timestamp with time zone' THEN pg_temp.pick(ARRAY['infinity', '-infinity', 'epoch', '2023-01-01 00:00:00+00', '2092-09-06 15:47:35.551+00',
			'294276-12-31 23:59:59.999999+00', '4714-11-24 00:00:00+00 BC', '10889-08-02 05:31:50.655999+00', '2024-02-29 12:00:00+00'])
		WHEN 'regclass' THEN pg_temp.pick(ARRAY['fuzz_sequence', 'fuzz_words', 'fuzz_words', 'fuzz_words_id_seq', 'fuzz_schema.words', 'pg_class', '0', '4294967295', 'seqid.clock_mark'])
		WHEN 'boolean' THEN pg_temp.pick(ARRAY['t', 'f'])
		ELSE pg_temp.text_at_random() END, type);
END
$$;

-- What no function refuses, so that a call gets to where it needs what was changed.
CREATE FUNCTION pg_temp.valid_argument(type text) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT format('%L::%s', CASE type
	WHEN 'uuid' THEN '018c8c5e-0000-7000-8000-000000000000'
	WHEN 'timestamp with time zone' THEN '2024-02-29 12:00:00+00'
	WHEN 'regclass' THEN pg_temp.pick(ARRAY['fuzz_sequence', 'fuzz_words', 'fuzz_words', 'fuzz_schema.words', 'fuzz_words_id_seq'])
	WHEN 'text' THEN pg_temp.pick(ARRAY['a', 'b', 'fuzz_schema.c'])
	WHEN 'text[]' THEN '{a,b,c}'
	ELSE CASE WHEN type LIKE '%[]' THEN '{1,2}' WHEN type LIKE '%int%' THEN '7' END END, type) $$;

-- A call's arguments: at random, or valid ones of which at least the first acts.
CREATE FUNCTION pg_temp.arguments(types oid[], acts boolean) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT string_agg(CASE
		WHEN NOT acts THEN pg_temp.argument(format_type(t.oid, NULL))
		WHEN t.place > 1 AND random() < 0.7 THEN pg_temp.valid_argument(format_type(t.oid, NULL))
		ELSE format('%s(%L, %s)', pg_temp.pick(ARRAY['fuzz_after', 'fuzz_after', 'fuzz_undone']), pg_temp.change(),
					pg_temp.valid_argument(format_type(t.oid, NULL))) END, ', ' ORDER BY t.place)
	FROM unnest(types) WITH ORDINALITY t (oid, place) $$;

SELECT CASE WHEN call ~ 'fuzz_(after|undone)\(' THEN format('BEGIN; %s; ROLLBACK;', call) ELSE call || ';' END
  FROM (SELECT format('%s %I.%I(%s)%s', CASE p.prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, p.pronamespace::regnamespace, p.proname,
		pg_temp.arguments(p.proargtypes::oid[], random() < 0.3 AND n.n > 0),
		CASE p.prokind WHEN 'w' THEN ' OVER ()' ELSE '' END) AS call
  FROM generate_series(1, :count) n (n)
  CROSS JOIN LATERAL
	   (SELECT q.* FROM pg_depend d JOIN pg_proc q ON q.oid = d.objid
		 WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'seqid')
		 ORDER BY q.proname, q.oid) p) c;
