--
-- Interning: strings to dense ids, and back
--
\pset format unaligned
\pset tuples_only on
SELECT intern_create('words');
\pset tuples_only off
\d words
\pset tuples_only on
SELECT intern_id('words', 'pear') AS pear, intern_id('words', 'apple') AS apple,
       intern_id('words', 'pear') AS pear_again, intern_find('words', 'apple') AS apple_found,
       intern_find('words', 'plum') AS plum_found;
SELECT intern_term('words', 0), intern_term('words', 1), intern_term('words', 2) IS NULL AS none;

-- A batch keeps its order, duplicates, NULLs and shape.
SELECT id, n
  FROM unnest(intern_ids('words', '{plum,NULL,pear,fig,plum,apple,NULL,date}')) WITH ORDINALITY AS i (id, n) ORDER BY n;
SELECT intern_terms('words', intern_ids('words', '{plum,NULL,pear,fig,plum,apple}')) AS same,
       intern_terms('words', intern_ids('words', '[0:1][3:4]={{fig,NULL},{pear,fig}}')) AS shape,
       intern_terms('words', '{NULL,0,99}') AS unknown;
SELECT intern_ids('words', '{}') AS empty, intern_terms('words', '{}') AS empty_back,
       intern_ids('words', '{NULL,NULL}') AS nothing, intern_terms('words', '{NULL}') AS nothing_back;
SELECT intern_id('words', NULL) IS NULL AND intern_ids('words', NULL) IS NULL
   AND intern_find('words', NULL) IS NULL AND intern_term('words', NULL) IS NULL
   AND intern_terms('words', NULL) IS NULL AND intern_id(NULL, 'pear') IS NULL
   AND intern_create(NULL) IS NULL AS nulls;
SELECT id, term FROM words ORDER BY id;

-- Terms are bytes: case, spaces and composition count, and so does nothing.
SELECT count(DISTINCT intern_id('words', term)) AS different, count(*) AS terms
  FROM unnest(ARRAY['', ' ', 'a', 'A', 'a ', ' a', E'\xc3\xa4', E'a\xcc\x88', 'a' || chr(1), 'aa', '''"\']) AS term;
SELECT count(*) AS found FROM words WHERE intern_find('words', term) = id AND intern_term('words', id) = term;

-- No value of the sequence is used up for terms that exist.
SELECT last_value AS before FROM words_id_seq \gset
SELECT count(intern_id('words', term)) AS known FROM words;
SELECT cardinality(intern_ids('words', array_agg(term))) AS known FROM words;
SELECT intern_find('words', 'quince') IS NULL AS not_assigned;
SELECT last_value = :before AS unchanged FROM words_id_seq;

-- What is rolled back is gone, and its id with it.
BEGIN;
SELECT intern_id('words', 'quince') AS lost \gset
ROLLBACK;
SELECT intern_find('words', 'quince') IS NULL AS gone,
       intern_id('words', 'quince') - :lost AS later;
-- A statement that looks things up sees what was there when it began.
SELECT intern_find('words', 'medlar') AS before, intern_id('words', 'medlar') > 0 AS assigned,
       intern_find('words', 'medlar') AS after;

--
-- Many terms, more than one statement takes, shuffled and with duplicates
--
SELECT intern_create('many', 8);
CREATE TABLE batch AS SELECT n, md5((n % 25000)::text) || CASE WHEN n % 3 = 0 THEN repeat('-', n % 40) ELSE '' END AS term
  FROM generate_series(1, 30000) n ORDER BY md5(n::text || 'shuffled');
CREATE TABLE interned AS
SELECT unnest(terms) AS term, unnest(intern_ids('many', terms)) AS id FROM (SELECT array_agg(term) AS terms FROM batch) b;
SELECT count(*) AS places, count(DISTINCT term) AS terms, count(DISTINCT id) AS ids,
       count(DISTINCT (term, id)) AS pairs FROM interned;
SELECT count(*) AS rows, max(scatter_ordinal(id, 8)) + 1 AS drawn FROM many;
SELECT count(*) AS right FROM interned i JOIN many m USING (id, term);
-- half new, half known
SELECT count(DISTINCT id) AS ids, count(*) FILTER (WHERE id IN (SELECT id FROM interned)) AS known
  FROM unnest(intern_ids('many', (SELECT array_agg(term || CASE WHEN n % 2 = 0 THEN '' ELSE '!' END)
                                    FROM (SELECT DISTINCT ON (term) n, term FROM batch) b))) AS id;
-- and back
SELECT intern_terms('many', ids) = terms AS same, cardinality(terms) AS terms
  FROM (SELECT array_agg(id ORDER BY md5(term)) AS ids, array_agg(term ORDER BY md5(term)) AS terms FROM many) m;
-- One by one: the planner takes a table that it last saw with one row for small,
-- and must not read all of it for each term.  Nor if a setting forbade the index once.
SELECT intern_create('growing');
SELECT intern_id('growing', 'first');
ANALYZE growing;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT intern_find('growing', 'first') AS first, intern_term('growing', 0);
RESET enable_indexscan;
RESET enable_bitmapscan;
BEGIN;
SELECT seq_scan AS before, idx_scan AS idx_before FROM pg_stat_xact_user_tables WHERE relname = 'growing' \gset
SELECT count(intern_id('growing', term)) FROM batch WHERE n <= 1000;
SELECT intern_ids('growing', array_agg(term)) AS ids FROM batch WHERE n <= 2000 \gset
SELECT cardinality(intern_terms('growing', :'ids')) AS terms;
SELECT count(intern_find('growing', term)) AS found FROM batch WHERE n <= 1000;
SELECT seq_scan - :before AS seq_scans, idx_scan - :idx_before >= 4000 AS idx_scans
  FROM pg_stat_xact_user_tables WHERE relname = 'growing';
COMMIT;
DROP TABLE batch, interned;

--
-- Terms of any length
--
CREATE FUNCTION noise(bytes int) RETURNS text LANGUAGE sql AS
$$ SELECT left(string_agg(md5(n::text), ''), bytes) FROM generate_series(0, bytes / 32) n $$;
SELECT bytes, intern_find('words', noise(bytes)) IS NULL AS new,
       intern_id('words', noise(bytes)) = intern_id('words', noise(bytes)) AS same
  FROM unnest('{2685,9000,1000000}'::int[]) AS bytes;
SELECT bytes, intern_term('words', intern_find('words', noise(bytes))) = noise(bytes) AS back,
       intern_find('words', noise(bytes) || '!') IS NULL AS other
  FROM unnest('{2685,9000,1000000}'::int[]) AS bytes;
SELECT intern_ids('words', ARRAY[repeat('y', 5000), noise(1000000), '', repeat('y', 5000)]) AS ids \gset
SELECT intern_terms('words', :'ids') = ARRAY[repeat('y', 5000), noise(1000000), '', repeat('y', 5000)] AS batch;

--
-- A dictionary whose term has a unique B-tree, one that has a check constraint, and one
-- with policies, which is filled by statements: all answer as the plain one does
--
CREATE TABLE answer (dictionary text, step int, terms text[], ids bigint[]);
CREATE FUNCTION fill(dictionary text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO answer SELECT dictionary, step, terms, intern_ids(dictionary::regclass, terms)
	  FROM (SELECT step, array_agg(md5((n * 7 % (step * 150))::text) || repeat('-', n % 3)) AS terms
	          FROM generate_series(1, 5) step, generate_series(1, 300) n GROUP BY step ORDER BY step) batch;
END
$$;
CREATE ROLE regress_intern_policed;
GRANT USAGE ON SCHEMA public TO regress_intern_policed;
GRANT ALL ON answer TO regress_intern_policed;
SELECT intern_create('plain'), intern_create('sorted'), intern_create('checked'), intern_create('policed');
ALTER TABLE sorted DROP CONSTRAINT sorted_term_excl, ADD UNIQUE (term) INCLUDE (id);
ALTER TABLE checked ADD CHECK (id >= 0);
ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
CREATE POLICY everything ON policed TO regress_intern_policed USING (true);
GRANT SELECT, INSERT ON policed TO regress_intern_policed;
SELECT fill('plain'), fill('sorted'), fill('checked');
SET ROLE regress_intern_policed;
SELECT fill('policed');
SELECT count(*) AS found, bool_and(intern_find('policed', term) = id AND intern_term('policed', id) = term) AS right FROM policed;
SELECT intern_terms('policed', ids) = terms AS back, intern_terms('policed', '{NULL,12345}') AS none, intern_find('policed', '?') AS unknown
  FROM answer WHERE dictionary = 'policed' AND step = 5;
RESET ROLE;
-- Statements search by the indexes, although the planner knows that the table is small.
SELECT intern_create('small');
ALTER TABLE small ENABLE ROW LEVEL SECURITY;
CREATE POLICY everything ON small TO regress_intern_policed USING (true);
GRANT SELECT, INSERT ON small TO regress_intern_policed;
SELECT intern_ids('small', '{a,b}');
ANALYZE small;
BEGIN;
SELECT seq_scan AS before FROM pg_stat_xact_user_tables WHERE relname = 'small' \gset
SET LOCAL ROLE regress_intern_policed;
SELECT intern_ids('small', '{a,c,d}');
SELECT seq_scan - :before AS scans FROM pg_stat_xact_user_tables WHERE relname = 'small';
ROLLBACK;
DROP TABLE small;
SELECT count(*) AS terms, min(id), max(id) FROM plain;
SELECT (SELECT count(*) FROM (TABLE plain EXCEPT TABLE checked) d) AS checked,
       (SELECT count(*) FROM (TABLE plain EXCEPT TABLE policed) d) AS policed,
       (SELECT count(*) FROM (SELECT term FROM plain EXCEPT SELECT term FROM sorted) d) AS sorted;
SELECT dictionary, sum(cardinality(ids)) AS answers, bool_and(ids = (SELECT ids FROM answer p WHERE p.dictionary = 'plain' AND p.step = a.step)) AS like_plain,
       bool_and(intern_terms(dictionary::regclass, ids) = terms AND intern_ids(dictionary::regclass, terms) = ids) AS right
  FROM answer a GROUP BY dictionary ORDER BY dictionary COLLATE "C";
-- the first batch of the sorted one came in byte order
SELECT bool_and(id = n - 1) AS in_order FROM (SELECT id, row_number() OVER (ORDER BY term) AS n FROM sorted WHERE id < (SELECT count(DISTINCT t) FROM answer, unnest(terms) t WHERE step = 1)) d;
-- its index has a limit; the error comes from there
SELECT left(error_of($$SELECT intern_ids('sorted', ARRAY['new', noise(3000)])$$), 5) AS too_long;
SELECT intern_find('sorted', 'new') IS NULL AS nothing_kept;
-- with both indexes
ALTER TABLE sorted ADD EXCLUDE USING hash (term WITH =);
SELECT intern_id('sorted', 'both') = intern_id('sorted', 'both') AS both, intern_ids('sorted', terms) = ids AS known FROM answer WHERE dictionary = 'sorted' AND step = 1;
-- Settings of the session spoil no plan, and triggers see them.
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'enable_seqscan %, enable_indexscan %', current_setting('enable_seqscan'), current_setting('enable_indexscan');
	RETURN NULL;
END
$$;
CREATE TRIGGER see AFTER INSERT ON checked FOR EACH ROW EXECUTE FUNCTION see();
SET enable_indexscan = off;
SELECT intern_id('checked', 'seen') = intern_id('checked', 'seen') AS seen;
SET ROLE regress_intern_policed;
BEGIN;
SELECT seq_scan AS before FROM pg_stat_xact_user_tables WHERE relname = 'policed' \gset
SELECT count(intern_find('policed', term)) > 100 AS found FROM unnest((SELECT terms FROM answer WHERE dictionary = 'policed' AND step = 5)) AS term;
SELECT seq_scan - :before AS seq_scans FROM pg_stat_xact_user_tables WHERE relname = 'policed';
COMMIT;
RESET ROLE;
RESET enable_indexscan;
DROP TRIGGER see ON checked;
-- Of many that have one hash each is found.
CREATE TABLE collision (term text);
INSERT INTO collision SELECT 'c' || min(n) FROM generate_series(1, 400000) n GROUP BY hashtext('c' || n) HAVING count(*) > 1;
INSERT INTO collision SELECT 'c' || max(n) FROM generate_series(1, 400000) n GROUP BY hashtext('c' || n) HAVING count(*) > 1;
SELECT cardinality(intern_ids('plain', array_agg(term))) > 20 AS interned FROM collision;
SELECT count(DISTINCT hashtext(p.term)) * 2 = count(*) AS collide, bool_and(intern_find('plain', p.term) = id AND intern_term('plain', id) = p.term) AS right
  FROM plain p JOIN collision USING (term);
-- A plan that the session keeps serves nobody whom the policies have ceased to serve.
CREATE ROLE regress_intern_group;
DROP POLICY everything ON policed;
CREATE POLICY everything ON policed TO regress_intern_group USING (term <> 'hidden');
SELECT intern_id('policed', 'hidden') >= 0 AS bypassed;
GRANT regress_intern_group TO regress_intern_policed;
SET ROLE regress_intern_policed;
SELECT intern_find('policed', 'kept') IS NULL AS new, intern_id('policed', 'kept') = intern_id('policed', 'kept') AS kept, intern_find('policed', 'hidden') AS hidden;
RESET ROLE;
REVOKE regress_intern_group FROM regress_intern_policed;
SET ROLE regress_intern_policed;
SELECT intern_find('policed', 'kept') AS revoked, left(error_of($$SELECT intern_id('policed', 'more')$$), 5) AS refused;
RESET ROLE;
GRANT regress_intern_group TO regress_intern_policed;
SET ROLE regress_intern_policed;
SELECT intern_id('policed', 'more') = intern_id('policed', 'more') AS granted, left(error_of($$SELECT intern_id('policed', 'hidden')$$), 5) AS hidden;
RESET ROLE;
ALTER ROLE regress_intern_policed BYPASSRLS;
SET ROLE regress_intern_policed;
SELECT intern_find('policed', 'hidden') = intern_id('policed', 'hidden') AS bypassed, intern_id('policed', 'most') >= 0 AS inserted;
RESET ROLE;
ALTER ROLE regress_intern_policed NOBYPASSRLS;
DROP POLICY everything ON policed;
SET ROLE regress_intern_policed;
SELECT intern_find('policed', 'kept') AS no_policy, left(error_of($$SELECT intern_id('policed', 'last')$$), 5) AS refused;
RESET ROLE;
CREATE POLICY everything ON policed TO regress_intern_policed USING (true);
REVOKE regress_intern_group FROM regress_intern_policed;
DROP ROLE regress_intern_group;
-- Nor does it serve another table that has taken the name.
CREATE SCHEMA intern_before;
SELECT intern_create('intern_before.words');
CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE TRIGGER see AFTER INSERT ON intern_before.words FOR EACH STATEMENT EXECUTE FUNCTION see();
SELECT intern_ids('intern_before.words', '{a}');
ALTER SCHEMA intern_before RENAME TO intern_after;
CREATE SCHEMA intern_before;
SELECT intern_create('intern_before.words');
CREATE TRIGGER trap BEFORE INSERT ON intern_before.words EXECUTE FUNCTION trap();
SELECT intern_ids('intern_after.words', '{a,b}');
SELECT error_of($$SELECT intern_id('intern_before.words', 'b')$$) AS other;
-- The session keeps some plans, also of calls that fail.
SELECT count(error_of(format($$SELECT intern_id('intern_before.words', %L)$$, n))) AS failed FROM generate_series(1, 100) n;
SELECT count(DISTINCT ident) BETWEEN 1 AND 32 AND count(*) <= 32 AS few
  FROM pg_backend_memory_contexts WHERE name = 'CachedPlan' AND ident ~ '^(INSERT INTO|SELECT (id|term) FROM ONLY) .*( ON CONFLICT |OPERATOR)';
SET client_min_messages = warning;
DROP SCHEMA intern_before, intern_after CASCADE;
RESET client_min_messages;
DROP FUNCTION trap;
-- Another constraint that refuses a term says so itself.
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE UNIQUE INDEX policed_nocase ON policed (term COLLATE nocase);
CREATE UNIQUE INDEX checked_nocase ON checked (term COLLATE nocase);
CREATE UNIQUE INDEX plain_nocase ON plain (term COLLATE nocase);
SELECT name, split_part(error_of(format($$SELECT intern_ids(%L, '{Apple}'), intern_id(%L, 'aPPLE')$$, name, name)), E'\n', 1) AS refused FROM unnest('{plain,checked,policed}'::text[]) AS name;
DROP TABLE answer, collision, plain, sorted, checked, policed;
DROP COLLATION nocase;
DROP FUNCTION fill, see;
REVOKE ALL ON SCHEMA public FROM regress_intern_policed;
DROP ROLE regress_intern_policed;

--
-- Names, search_path, and dictionaries that change
--
CREATE SCHEMA "intern S";
SELECT error_of($$SELECT intern_create('words')$$) AS there_already;
SELECT error_of($$SELECT intern_create('')$$) AS empty;
SELECT error_of($$SELECT intern_create('""')$$) AS empty;
SELECT error_of($$SELECT intern_create('pg_temp.""')$$) AS empty;
SELECT error_of($$SELECT intern_create('My Urls')$$) AS two_words;
SELECT intern_create('"My Urls"');
DROP TABLE "My Urls";
SELECT error_of($$SELECT intern_create('intern_nowhere.words')$$) AS no_schema;
SELECT error_of($$SELECT intern_create('x', -1)$$) AS no_bits;
SELECT error_of($$SELECT intern_create('x', 33)$$) AS many_bits;
SELECT to_regclass('x') IS NULL AS nothing_made;
SELECT intern_create('"intern S"."It''s ""quoted"""', 1), intern_create('"intern S".WORDS'), intern_create('pg_temp.passing')::oid > 0 AS temporary;
SELECT intern_ids('"intern S"."It''s ""quoted"""', '{a,b,c}'), intern_ids('passing', '{b,a}') AS temporary;
SET search_path = "intern S", public;
SELECT intern_create('here');
SELECT count(*) AS in_first FROM pg_class WHERE relname IN ('here', 'here_id_seq') AND relnamespace = '"intern S"'::regnamespace;
SELECT intern_find('public.words', 'pear') AS public, intern_find('words', 'pear') AS other;
RESET search_path;

-- renamed, moved and made again under the same name, with plans kept
SELECT intern_id('"intern S".here', 'a') AS id \gset
ALTER TABLE "intern S".here RENAME TO there;
SELECT intern_find('"intern S".there', 'a') = :id AS renamed;
ALTER SCHEMA "intern S" RENAME TO intern_s;
SELECT intern_id('intern_s.there', 'a') = :id AS schema_renamed, intern_terms('intern_s.there', ARRAY[:id]) AS back;
ALTER TABLE intern_s.there SET SCHEMA public;
SELECT intern_id('there', 'a') = :id AS moved;
DROP TABLE there;
SELECT to_regclass('there') IS NULL AND to_regclass('intern_s.here_id_seq') IS NULL AS dropped;
SELECT intern_create('there', 3);
SELECT intern_find('there', 'a') AS empty, intern_ids('there', '{b,a}') AS made_again;
-- the default says where ids come from
CREATE SEQUENCE there_seq START 1001 CACHE 20;
ALTER TABLE there ALTER COLUMN id SET DEFAULT scatter_nextval('there_seq');
SELECT scatter_ordinal(intern_id('there', 'c')) AS other_sequence;
ALTER TABLE there ALTER COLUMN id SET DEFAULT scatter_nextval(prefix_bits => 4, sequence => 'there_seq');
SELECT scatter_ordinal(intern_id('there', 'd'), 4) AS other_bits;
INSERT INTO there (term) VALUES ('by hand');
SELECT scatter_ordinal(intern_id('there', 'by hand'), 4) AS by_hand;
-- more columns do no harm
ALTER TABLE there ADD COLUMN seen timestamptz DEFAULT now();
ALTER TABLE there DROP COLUMN seen;
SELECT scatter_ordinal(intern_id('there', 'e'), 4) AS altered;
-- but what they demand is theirs to say, not a matter of the sequence
ALTER TABLE there ADD COLUMN kind int UNIQUE;
ALTER TABLE there ALTER COLUMN kind SET DEFAULT 1;
SELECT error_of($$SELECT intern_ids('there', '{f,g}')$$) AS of_that_column;
ALTER TABLE there DROP COLUMN kind;
-- a sequence that was set back is no reason to give an id twice
SELECT setval('there_seq', 1001);
SELECT split_part(error_of($$SELECT intern_ids('there', ARRAY(SELECT 'new ' || n FROM generate_series(1, 50) n))$$), E'\n', 1) AS set_back;
DROP TABLE there;

--
-- A dictionary that was copied, and one whose ids are to be scattered otherwise
-- (t/docs/interning.pl tries the recipes themselves)
--
SELECT intern_create('copied', 3);
INSERT INTO copied SELECT id, term FROM many WHERE scatter_ordinal(id, 8) < 8;
SELECT error_of($$SELECT intern_ids('copied', '{a,b,c}')$$) AS without_its_sequence;
TRUNCATE copied;
INSERT INTO copied SELECT id, term FROM intern_s."It's ""quoted""";
ALTER TABLE copied ALTER id SET DEFAULT scatter_nextval('copied_id_seq', 1);
SELECT setval(pg_get_serial_sequence('copied', 'id'), max(scatter_ordinal(id, 1)) + 1) FROM copied;
SELECT scatter_ordinal(unnest(intern_ids('copied', '{b,a,e,d}')), 1) AS going_on;
-- More bits: an id of the old ones would come again.
ALTER TABLE copied ALTER id SET DEFAULT scatter_nextval('copied_id_seq', 3);
SELECT count(*) AS old_ids_to_come FROM copied, copied_id_seq WHERE scatter_ordinal(id, 3) >= last_value;
SELECT left(error_of($$SELECT intern_ids('copied', ARRAY(SELECT 'old ' || n FROM generate_series(1, 10) n))$$), 5) AS collides;
DROP TABLE copied;
-- The recipe: for all pairs of bits and some lengths, no id is left to come again,
-- and new terms get ids.
CREATE FUNCTION scattered_again(old_bits int, new_bits int, terms int) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	none_left bool;
BEGIN
	PERFORM intern_create('again', old_bits);
	PERFORM intern_ids('again', ARRAY(SELECT 'old ' || n FROM generate_series(1, terms) n));
	EXECUTE format('ALTER TABLE again ALTER id SET DEFAULT scatter_nextval(''again_id_seq'', %s)', new_bits);
	PERFORM setval('again_id_seq', ((last_value - 1 >> old_bits) + 1) * (1::bigint << new_bits) + 1, false) FROM again_id_seq;
	SELECT bool_and(scatter_ordinal(id, new_bits) < last_value - 1) INTO none_left FROM again, again_id_seq;
	PERFORM intern_ids('again', ARRAY(SELECT 'new ' || n FROM generate_series(1, 300) n));
	DROP TABLE again;
	RETURN none_left;
END
$$;
SELECT count(*) AS tried, bool_and(scattered_again(old_bits, new_bits, terms)) AS none_left
  FROM generate_series(1, 5) old_bits, generate_series(1, 6) new_bits, unnest(ARRAY[1, 2, 31, 32, 33, 100]) terms
 WHERE old_bits < new_bits;
DROP FUNCTION scattered_again;
-- Fewer bits need nothing.
SELECT intern_create('again', 6);
SELECT intern_ids('again', ARRAY(SELECT 'old ' || n FROM generate_series(1, 100) n)) IS NOT NULL AS old;
ALTER TABLE again ALTER id SET DEFAULT scatter_nextval('again_id_seq', 2);
SELECT intern_ids('again', ARRAY(SELECT 'new ' || n FROM generate_series(1, 10000) n)) IS NOT NULL AS new;
DROP TABLE again;

--
-- Tables that are no dictionary
--
CREATE TABLE no_dictionary (id bigint PRIMARY KEY, term text COLLATE "C" NOT NULL UNIQUE);
CREATE SEQUENCE no_seq;
CREATE VIEW no_view AS SELECT * FROM words;
SELECT error_of($$SELECT intern_id('no_dictionary', 'a')$$) AS no_default;
SELECT name, left(error_of(format('SELECT %s', name)), 5) AS refused
  FROM unnest(ARRAY[$$intern_id('no_seq', 'a')$$, $$intern_ids('no_view', '{a}')$$, $$intern_find('words_pkey', 'a')$$,
                    $$intern_term('pg_class', 1)$$, $$intern_terms('pg_am', '{1}')$$, $$intern_id(0, 'a')$$, $$intern_id(4294967295, 'a')$$]) AS name;
-- each part that is missing
CREATE FUNCTION without(change text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT intern_id(''many'', ''before'')';
	EXECUTE 'ALTER TABLE many ' || change;
	EXECUTE 'SELECT intern_id(''many'', ''after'')';
	RETURN 'taken';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SELECT change, without(change)
  FROM unnest(ARRAY['ALTER id DROP DEFAULT', 'ALTER id SET DEFAULT nextval(''many_id_seq'')',
                    'ALTER id SET DEFAULT scatter_nextval(''many_id_seq'') + 1',
                    'ALTER id SET DEFAULT scatter_nextval(''many_id_seq'', extract(day from now())::int)',
                    'ALTER id SET DEFAULT scatter_nextval(''many_id_seq'', 99)',
                    'ALTER id SET DEFAULT scatter_nextval(NULL, 5)',
                    'RENAME term TO word', 'RENAME id TO number', 'ALTER term TYPE text COLLATE "POSIX"',
                    'ALTER term TYPE varchar', 'DROP term', 'ALTER term DROP NOT NULL',
                    'DROP CONSTRAINT many_term_excl', 'DROP CONSTRAINT many_pkey',
                    'DROP CONSTRAINT many_term_excl, ADD UNIQUE (term) DEFERRABLE',
                    'DROP CONSTRAINT many_term_excl, ADD UNIQUE (term, id)',
                    'DROP CONSTRAINT many_term_excl, ADD CONSTRAINT many_term_key UNIQUE (term)',
                    'ALTER id SET DEFAULT scatter_nextval(''many_id_seq'')']) AS change;
SELECT intern_find('many', 'before') AS before, intern_find('many', 'after') AS after;
-- an index that means something else by equal, or cannot find a term
SELECT change, without(change)
  FROM unnest(ARRAY['DROP CONSTRAINT many_term_key, ADD EXCLUDE USING btree (term WITH =)',
                    'DROP CONSTRAINT many_term_key']) AS change;
CREATE TABLE by_pattern (id bigint PRIMARY KEY DEFAULT scatter_nextval('no_seq'), term text COLLATE "C" NOT NULL);
CREATE UNIQUE INDEX ON by_pattern (term text_pattern_ops);
CREATE UNIQUE INDEX ON by_pattern (term COLLATE "POSIX");
CREATE UNIQUE INDEX ON by_pattern (term) WHERE term <> '';
CREATE UNIQUE INDEX ON by_pattern ((term || ''));
SELECT left(error_of($$SELECT intern_id('by_pattern', 'a')$$), 5) AS index_of_another_kind;
DROP TABLE by_pattern;
-- a default that would run what somebody has defined, or has only the name
CREATE FUNCTION guard() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE FUNCTION "intern_s".scatter_nextval(int) RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
ALTER EXTENSION seqid ADD FUNCTION intern_s.scatter_nextval(int);
SELECT change, without(change)
  FROM unnest(ARRAY['ALTER id SET DEFAULT scatter_nextval(''many_id_seq'', guard())',
                    'ALTER id SET DEFAULT intern_s.scatter_nextval(5)']) AS change;
ALTER EXTENSION seqid DROP FUNCTION intern_s.scatter_nextval(int);
DROP FUNCTION guard, intern_s.scatter_nextval;
DROP TABLE no_dictionary;
DROP VIEW no_view;
DROP SEQUENCE no_seq;

--
-- Privileges are those of the table
--
CREATE ROLE regress_intern_user;
GRANT USAGE ON SCHEMA intern_s TO regress_intern_user;
CREATE FUNCTION as_user(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	SET LOCAL ROLE regress_intern_user;
	EXECUTE 'SELECT ' || call INTO answer;
	RESET ROLE;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END
$$;
SELECT last_value AS before FROM words_id_seq \gset
SELECT as_user($$intern_find('words', 'pear')$$) AS find, as_user($$intern_id('words', 'pear')$$) AS id;
SELECT as_user($$intern_ids('words', '{NULL}')$$) AS nothing, as_user($$intern_terms('words', '{}')$$) AS nothing_back;
GRANT SELECT (id), INSERT ON words TO regress_intern_user;
SELECT as_user($$intern_find('words', 'pear')$$) AS one_column;
GRANT SELECT (term) ON words TO regress_intern_user;
SELECT as_user($$intern_find('words', 'pear')$$) AS find, as_user($$intern_ids('words', '{NULL}')$$) AS nothing;
REVOKE SELECT (id, term), INSERT ON words FROM regress_intern_user;
GRANT SELECT ON words TO regress_intern_user;
SELECT as_user($$intern_find('words', 'pear')$$) AS find, as_user($$intern_ids('words', '{pear,NULL}')$$) AS known,
       as_user($$intern_id('words', 'sorb')$$) AS new;
SELECT last_value = :before AS nothing_used_up FROM words_id_seq;
GRANT INSERT (term) ON words TO regress_intern_user;
SELECT as_user($$intern_id('words', 'sorb')$$) AS one_column;
GRANT INSERT (id) ON words TO regress_intern_user;
SELECT as_user($$intern_id('words', 'sorb')$$)::bigint - :before AS both_columns;
REVOKE INSERT (id, term) ON words FROM regress_intern_user;
GRANT INSERT ON words TO regress_intern_user;
SELECT as_user($$intern_id('words', 'rowan')$$)::bigint - :before AS whole_table;
SELECT as_user($$scatter_nextval('words_id_seq')$$) AS the_sequence;
SELECT as_user($$intern_create('intern_s.mine')$$) AS creator;
GRANT CREATE ON SCHEMA intern_s TO regress_intern_user;
SELECT as_user($$intern_create('intern_s.mine')$$) AS creator;
SELECT as_user($$intern_ids('intern_s.mine', '{a,b}')$$) AS use;
-- an owner that has revoked its own privileges
REVOKE ALL ON intern_s.mine FROM regress_intern_user;
SELECT as_user($$intern_find('intern_s.mine', 'a')$$) AS find;
DROP TABLE intern_s.mine;
-- a sequence that is another's can be named in a default, but not drawn from
CREATE SEQUENCE secret_seq;
SELECT 'secret_seq'::regclass::oid AS secret, 'seqid.clock_mark'::regclass::oid AS mark \gset
SET ROLE regress_intern_user;
CREATE TEMP TABLE thief (id bigint PRIMARY KEY DEFAULT scatter_nextval(:'secret'::regclass),
                         term text COLLATE "C" NOT NULL UNIQUE);
ALTER TABLE thief ALTER id SET DEFAULT scatter_nextval('secret_seq');
SELECT intern_id('thief', 'a');
ALTER TABLE thief ALTER id SET DEFAULT scatter_nextval(:'mark'::regclass);
SELECT intern_ids('thief', '{a,b}');
SELECT intern_create('pg_temp.honest')::oid > 0 AS own;
SELECT intern_id('honest', 'a');
RESET ROLE;
SELECT is_called AS drawn FROM secret_seq;
GRANT USAGE ON SEQUENCE secret_seq TO regress_intern_user;
SET ROLE regress_intern_user;
ALTER TABLE thief ALTER id SET DEFAULT scatter_nextval('secret_seq');
SELECT intern_id('thief', 'a') AS granted;
DROP TABLE thief, honest;
RESET ROLE;
DROP SEQUENCE secret_seq;
-- a dictionary's sequence that it no longer owns
ALTER SEQUENCE words_id_seq OWNED BY NONE;
SELECT as_user($$intern_id('words', 'medick')$$) AS not_owned;
ALTER SEQUENCE words_id_seq OWNED BY words.id;
SELECT as_user($$intern_id('words', 'medick')$$) IS NOT NULL AS owned;
-- row security: what is hidden is neither found nor given a second id
ALTER TABLE words ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON words FOR SELECT TO regress_intern_user USING (term <> 'pear');
CREATE POLICY addable ON words FOR INSERT TO regress_intern_user WITH CHECK (term <> 'mango');
SELECT as_user($$intern_find('words', 'pear')$$) AS hidden, as_user($$intern_find('words', 'rowan')$$) IS NOT NULL AS visible;
SELECT as_user($$intern_id('words', 'pear')$$) AS hidden;
SELECT as_user($$intern_id('words', 'mango')$$) AS forbidden;
SELECT count(*) FROM words WHERE term = 'pear';
ALTER TABLE words DISABLE ROW LEVEL SECURITY;
DROP POLICY visible ON words;
DROP POLICY addable ON words;
REVOKE ALL ON words FROM regress_intern_user;
REVOKE ALL ON SCHEMA intern_s FROM regress_intern_user;
DROP ROLE regress_intern_user;

--
-- Read-only transactions know what is known.
--
SELECT last_value AS before FROM words_id_seq \gset
BEGIN READ ONLY;
SELECT intern_id('words', 'pear') AS known, intern_ids('words', '{pear,NULL}') AS batch;
SAVEPOINT a;
SELECT intern_id('words', 'loquat');
ROLLBACK TO a;
COMMIT;
SELECT last_value = :before AS nothing_used_up FROM words_id_seq;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT intern_id('words', 'loquat') = intern_find('words', 'loquat') AS new_to_statement,
       intern_id('words', 'loquat') = intern_id('words', 'loquat') AS same;
SELECT intern_id('words', 'loquat') = intern_find('words', 'loquat') AS own;
COMMIT;

--
-- A trigger may come back to the dictionary that is being filled, and may alter it.
--
CREATE TABLE heads (id bigint, head_id bigint);
CREATE FUNCTION intern_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF length(new.term) > 1 THEN
		INSERT INTO heads VALUES (new.id, intern_id('words', left(new.term, 1)));
	END IF;
	REVOKE SELECT ON words FROM PUBLIC;
	GRANT SELECT ON words TO PUBLIC;
	RETURN new;
END
$$;
CREATE TRIGGER head AFTER INSERT ON words FOR EACH ROW EXECUTE FUNCTION intern_head();
SELECT intern_ids('words', '{guava,lime,gooseberry}') AS ids \gset
SELECT intern_terms('words', :'ids');
SELECT intern_term('words', id) AS term, intern_term('words', head_id) AS head FROM heads ORDER BY 1;
DROP TRIGGER head ON words;
-- One that changes the id is believed, one that changes the term is found out.
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	new.id := new.id + 1000000;
	new.term := lower(new.term);
	RETURN new;
END
$$;
CREATE TRIGGER change BEFORE INSERT ON words FOR EACH ROW EXECUTE FUNCTION change();
SELECT intern_id('words', 'yew') AS id \gset
SELECT intern_find('words', 'yew') = :id AS changed_id, intern_id('words', 'yew') = :id AS once;
SELECT left(error_of($$SELECT intern_id('words', 'YEW')$$), 5) AS changed_term;
DROP TRIGGER change ON words;
-- One that puts another dictionary in the place of the one that is being filled.
SELECT intern_create('swapped');
CREATE FUNCTION swap() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('swapped_old') IS NULL THEN
		ALTER TABLE swapped RENAME TO swapped_old;
		PERFORM intern_create('swapped');
		PERFORM intern_ids('swapped_old', '{during}');
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER swap AFTER INSERT ON swapped EXECUTE FUNCTION swap();
SELECT cardinality(intern_ids('swapped', array_agg(n::text))) AS interned FROM generate_series(1, 10010) n;
SELECT (SELECT count(*) FROM swapped_old) AS in_the_old, (SELECT count(*) FROM swapped) AS in_the_new;
DROP TABLE swapped_old, swapped;
-- One that goes through more dictionaries than a session remembers, and back to
-- the first.
SELECT count(intern_create('other_' || n)) AS others FROM generate_series(1, 80) n;
CREATE FUNCTION go_round() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM intern_id(('other_' || n)::regclass, new.term) FROM generate_series(1, 80) n;
	IF length(new.term) > 1 THEN
		PERFORM intern_id('words', substr(new.term, 2));
	END IF;
	RETURN new;
END
$$;
CREATE TRIGGER go_round AFTER INSERT ON words FOR EACH ROW EXECUTE FUNCTION go_round();
SELECT intern_ids('words', '{xylocarp,jujube}') AS ids \gset
SELECT intern_terms('words', :'ids') AS went_round;
SELECT intern_find('words', 'carp') = intern_id('words', 'carp') AS known,
       intern_terms('other_1', intern_ids('other_1', '{jujube,carp,e}')) AS first,
       intern_terms('other_80', intern_ids('other_80', '{jujube,carp,e}')) AS last;
DROP TRIGGER go_round ON words;
DO $$ BEGIN FOR n IN 1..80 LOOP EXECUTE 'DROP TABLE other_' || n; END LOOP; END $$;
-- A rule has no say: PostgreSQL refuses ON CONFLICT then.
CREATE RULE aside AS ON INSERT TO words DO ALSO INSERT INTO heads VALUES (new.id);
SELECT left(error_of($$SELECT intern_id('words', 'papaya')$$), 5) AS with_a_rule, intern_find('words', 'lime') IS NOT NULL AS known;
DROP RULE aside ON words;
-- One that keeps rows out is found out.
CREATE FUNCTION keep_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER keep_out BEFORE INSERT ON words FOR EACH ROW EXECUTE FUNCTION keep_out();
SELECT error_of($$SELECT intern_ids('words', '{lime,kumquat}')$$) AS kept_out;
DROP TRIGGER keep_out ON words;
-- An event trigger that takes away the table, or its column.
CREATE FUNCTION take_away() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('taken') IS NOT NULL THEN
		ALTER TABLE taken RENAME TO taken_away;
	ELSE
		ALTER TABLE other RENAME id TO number;
	END IF;
END
$$;
CREATE EVENT TRIGGER take_away ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION take_away();
SELECT error_of($$SELECT intern_create('taken')$$) AS taken_away;
SELECT error_of($$SELECT intern_create('other')$$) AS taken_away;
DROP EVENT TRIGGER take_away;
DROP TABLE heads;

--
-- Who liked both? (the recipe in the README)
--
SELECT intern_create('uris');
CREATE TABLE likes (subject bigint, actor bigint, PRIMARY KEY (subject, actor));
INSERT INTO likes (actor, subject)
SELECT * FROM unnest(
    intern_ids('uris', '{did:plc:ann, did:plc:bob, did:plc:ann, did:plc:cem}'),
    intern_ids('uris', '{at://did:plc:dot/app.bsky.feed.post/1, at://did:plc:dot/app.bsky.feed.post/1,
                         at://did:plc:dot/app.bsky.feed.post/2, at://did:plc:dot/app.bsky.feed.post/2}'))
ON CONFLICT DO NOTHING;
SELECT intern_term('uris', actor) AS liked_both
  FROM likes a JOIN likes b USING (actor)
 WHERE a.subject = intern_find('uris', 'at://did:plc:dot/app.bsky.feed.post/1')
   AND b.subject = intern_find('uris', 'at://did:plc:dot/app.bsky.feed.post/2');

DROP TABLE likes;
--
-- Arguments can drop and move what the call needs, and are evaluated before it.
--
CREATE FUNCTION after(statement text, value anyelement) RETURNS anyelement LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN value; END $$;
CREATE SCHEMA doomed;
SELECT intern_create('doomed.words');
SET client_min_messages = warning;
SELECT error_of($$SELECT intern_create(after('DROP EXTENSION seqid CASCADE', 'late'::text))$$);
SELECT statement, call, left(error_of(format('SELECT ' || call, statement)), 5) AS refused
  FROM unnest(ARRAY['DROP EXTENSION seqid CASCADE', 'DROP SCHEMA doomed CASCADE', 'DROP TABLE doomed.words',
                    'DROP SEQUENCE doomed.words_id_seq CASCADE', 'ALTER TABLE doomed.words DROP term']) statement,
       unnest(ARRAY[$$intern_id('doomed.words', after(%L, 'a'::text))$$, $$intern_ids('doomed.words', after(%L, '{a}'::text[]))$$,
                    $$intern_find('doomed.words', after(%L, 'a'::text))$$, $$intern_term('doomed.words', after(%L, 0::bigint))$$,
                    $$intern_terms('doomed.words', after(%L, '{0}'::bigint[]))$$]) call
 ORDER BY statement COLLATE "C", call COLLATE "C";
SELECT error_of($$SELECT intern_create(after('DROP SCHEMA doomed CASCADE', 'doomed.late'::text))$$) AS no_schema;
BEGIN;
SELECT intern_create(after('ALTER SCHEMA public RENAME TO moved; CREATE SCHEMA public', 'late'::text));
SELECT moved.intern_id('late', 'a') AS moved, moved.intern_id(moved.after('ALTER SCHEMA doomed RENAME TO saved', 'doomed.words'::regclass), 'a') AS renamed;
ROLLBACK;
RESET client_min_messages;
ALTER FUNCTION scatter_nextval(regclass, int) SET work_mem = '1MB';
SELECT error_of($$SELECT intern_create('late')$$);
ALTER FUNCTION scatter_nextval(regclass, int) RESET ALL;
-- A name that is too long to be one is refused unread.
SELECT error_of(format('SELECT intern_create(%L)', repeat('"', 3000000))) AS too_long;
SELECT intern_create(repeat('x', 1024)) AS cut_off;
DROP TABLE xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, doomed.words;
DROP SCHEMA doomed;
DROP FUNCTION after;

-- The check of a domain after COMMIT, when no statement has a snapshot.
CREATE DOMAIN unknown_id AS bigint CHECK (intern_term('uris', VALUE - 1) IS NULL AND intern_find('uris', 'no such term') IS NULL);
DO $$ DECLARE n unknown_id; BEGIN COMMIT; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'domain: %', n; END $$;
DROP DOMAIN unknown_id;

DROP TABLE uris, words, many, growing, passing;
DROP FUNCTION noise, without, as_user, intern_head, change, swap(), go_round, keep_out, take_away;
SET client_min_messages = warning;
DROP SCHEMA intern_s CASCADE;
