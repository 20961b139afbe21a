--
-- The registry of shards: examples/registry/registry.sql
--
\pset format unaligned
\pset tuples_only on
\getenv abs_srcdir PG_ABS_SRCDIR
\set file :abs_srcdir '/examples/registry/registry.sql'
-- Neither the file nor its functions call what is earlier in the search path.
CREATE SCHEMA traps;
SELECT format('CREATE FUNCTION traps.%I(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE AS $f$ BEGIN RAISE ''trapped''; END $f$',
              name, arguments, result)
  FROM (VALUES ('length', 'text', 'int'), ('lower', 'int4range', 'int'), ('isempty', 'int4multirange', 'boolean'),
               ('int4range', 'int, int, text', 'int4range'), ('format', 'text, text', 'text'), ('now', '', 'timestamptz'),
               ('minus', 'int4multirange, int4multirange', 'int4multirange')) f (name, arguments, result) \gexec
CREATE OPERATOR traps.- (FUNCTION = traps.minus, LEFTARG = int4multirange, RIGHTARG = int4multirange);
SET search_path = traps, pg_catalog;
SELECT length('a');
\set ECHO none
\i :file
\set ECHO all
SELECT shard_registry.claim('alpha', 2) AS alpha;
SELECT shard_registry.check_in('alpha', 'one', '0-2', pg_catalog.now(), pg_catalog.now()) AS conflict;
SELECT shard_registry.release('alpha') AS released;
RESET search_path;
DELETE FROM shard_registry.conflicts;


-- Claims: the lowest free shards, as a list
SELECT shard_registry.claim('alpha', 16) AS alpha, shard_registry.claim('beta', 8) AS beta, shard_registry.claim('gamma', 1) AS gamma,
       shard_registry.claim('alpha', 16) AS again, shard_registry.claim('alpha', 1) AS fewer;
SELECT shard_registry.release('beta') AS released, shard_registry.release('beta') AS once_more;
SELECT shard_registry.claim('delta', 6) AS delta, shard_registry.claim('epsilon', 4) AS epsilon;
-- an owner that needs more claims more, and all of its shards are one owner's
SELECT shard_registry.claim('alpha', 17) AS alpha;
SELECT shard_registry.check_in('alpha', 'one', shard_registry.claim('alpha', 17), now(), now()) AS conflict;
-- seqid.shards accepts the list
SELECT set_config('seqid.shards', shard_registry.claim('epsilon', 4), false) AS list, snowflake_shard(snowflake_nextval()) AS first;
RESET seqid.shards;

SELECT error_of(format('SELECT shard_registry.claim(''zeta'', %s)', n)) FROM unnest(ARRAY[0, 1025, 997]) n;
SELECT error_of($$SELECT shard_registry.claim('alpha', 1014)$$);
SELECT shard_registry.claim('zeta', 996) AS the_rest;
SELECT left(error_of($$SELECT shard_registry.claim('eta', 1)$$), 5) AS none_free;
SELECT shard_registry.release('zeta') AS released;
SELECT left(error_of($$SELECT shard_registry.claim('', 1)$$), 5) AS no_name,
       shard_registry.claim(NULL, 1) IS NULL AS null_owner, shard_registry.claim('alpha', NULL) IS NULL AS null_count,
       shard_registry.release(NULL) IS NULL AS release_null;
-- claims by hand
SELECT left(error_of(format('INSERT INTO shard_registry.shards (shard, owner) VALUES (%s, ''eta'')', shard)), 5) AS error
  FROM unnest(ARRAY[15, -1, 1024]) shard;
SELECT shard_registry.release('alpha') AS released;
SELECT count(*) AS nodes FROM shard_registry.nodes;
DELETE FROM shard_registry.shards;

--
-- Check-ins.  Each case is a registry of its own, and check-ins one after the other:
-- owner, node, shards, start, time at which it was sent.  The last column is how many conflicts each has.
--
CREATE TABLE cases (place serial, name text, check_ins text[], expected text);
INSERT INTO cases (name, check_ins, expected) VALUES
('own shards', '{{shop,one,0-3,10:00,10:01},{shop,two,4-7,10:00,10:01},{warehouse,one,8-15,10:00,10:01}}', '0 0 0'),
('some of the own shards', '{{shop,one,"3, 1",10:00,10:01}}', '0'),
('no shards', '{{shop,one,"",10:00,10:01},{shop,two,"",10:00,10:01}}', '0 0'),
('a shard of another owner', '{{shop,one,7-8,10:00,10:01}}', '1'),
('its node checks in too', '{{shop,one,7-8,10:00,10:01},{warehouse,one,8-9,10:00,10:01},{shop,one,7-8,10:00,10:02}}', '1 1 2'),
('a shard that no owner has claimed', '{{shop,one,100,10:00,10:01}}', '1'),
('an owner that has claimed nothing', '{{nobody,one,0,10:00,10:01}}', '1'),
('a server without a list', '{{shop,one,0-1023,10:00,10:01}}', '1'),
('a standby with a list of its own', '{{shop,one,0-3,10:00,10:01},{shop,two,4-7,09:00,10:01},{shop,one,0-3,10:00,10:02}}', '0 0 0'),
('a standby with the list of its primary', '{{shop,one,0-3,10:00,10:01},{shop,two,0-3,09:00,10:01},{shop,one,0-3,10:00,10:02}}', '0 1 1'),
('lists that overlap', '{{shop,one,0-4,10:00,10:01},{shop,two,4-7,11:00,11:01},{shop,one,0-4,10:00,11:02}}', '0 1 1'),
('three nodes', '{{shop,one,0-7,10:00,10:01},{shop,two,0-3,10:00,10:01},{shop,three,"7, 3",10:00,10:01}}', '0 1 2'),
('a list is corrected', '{{shop,one,0-4,10:00,10:01},{shop,two,4-7,10:00,10:01},{shop,one,0-3,10:00,10:02},{shop,two,4-7,10:00,10:02}}', '0 1 0 0'),
('lists are exchanged', '{{shop,one,0-3,10:00,10:01},{shop,two,4-7,10:00,10:01},{shop,one,4-7,10:00,10:02},{shop,two,0-3,10:00,10:02},{shop,one,4-7,10:00,10:03}}', '0 0 1 0 0'),
('restart', '{{shop,one,0-3,10:00,10:01},{shop,one,0-3,11:00,11:01},{shop,one,0-3,11:00,11:02}}', '0 0 0'),
('a check-in that arrives after a restart', '{{shop,one,0-3,10:00,10:01},{shop,one,0-3,11:00,11:01},{shop,one,0-3,10:00,10:59},{shop,one,0-3,11:00,11:02}}', '0 0 0 0'),
('a check-in of the moment of the restart', '{{shop,one,0-3,11:00,11:01},{shop,one,0-3,10:00,11:00}}', '0 0'),
('a clone of the machine', '{{shop,one,0-3,10:00,10:01},{shop,one,0-3,11:00,11:01},{shop,one,0-3,10:00,11:02},{shop,one,0-3,11:00,11:03}}', '0 0 1 0'),
('the original restarts beside its clone', '{{shop,one,0-3,10:00,10:01},{shop,one,0-3,11:00,11:01},{shop,one,0-3,12:00,12:01},{shop,one,0-3,11:00,12:02}}', '0 0 0 1'),
('a clone with its memory, whose start time is the same', '{{shop,one,0-3,10:00,10:01},{shop,one,0-3,10:00,10:01}}', '0 0'),
('an earlier server that checks in no more', '{{shop,one,0-3,10:00,10:01},{shop,one,0-3,11:00,11:01},{shop,one,0-3,11:00,11:02}}', '0 0 0'),
('a restart after which the clock was set back', '{{shop,one,0-3,10:00,15:00},{shop,one,0-3,14:00,14:01}}', '0 0'),
('the same, to before the last start', '{{shop,one,0-3,10:00,15:00},{shop,one,0-3,09:00,09:01},{shop,one,0-3,09:00,10:01}}', '0 0 1'),
('a node that has another name', '{{shop,one,0-3,10:00,10:01},{shop,first,0-3,10:00,10:02}}', '0 1');

CREATE FUNCTION conflicts(check_ins text[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	c text[];
	conflicts text[];
BEGIN
	DELETE FROM shard_registry.shards;
	DELETE FROM shard_registry.nodes;
	PERFORM shard_registry.claim('shop', 8), shard_registry.claim('warehouse', 8);
	FOREACH c SLICE 1 IN ARRAY check_ins LOOP
		conflicts := conflicts || (SELECT count(*)::text
			FROM shard_registry.check_in(c[1], c[2], c[3], ('2026-01-01 ' || c[4] || '+00')::timestamptz, ('2026-01-01 ' || c[5] || '+00')::timestamptz));
	END LOOP;
	RETURN array_to_string(conflicts, ' ');
END
$$;
SELECT name, conflicts(check_ins), expected FROM cases WHERE conflicts(check_ins) IS DISTINCT FROM expected ORDER BY place;

-- A conflict leaves one row, even if it is found twice.
DELETE FROM shard_registry.conflicts;
SELECT conflicts('{{shop,two,0-3,11:00,11:01},{shop,two,0-3,10:00,11:02},{shop,one,"3, 8-9, 100",10:00,11:02},{shop,one,"3, 8-9, 100",10:00,11:02}}');
SELECT owner, node, conflict FROM shard_registry.conflicts ORDER BY node, conflict;
SELECT node, shards, started_at = '2026-01-01 11:00+00' AS started FROM shard_registry.nodes WHERE owner = 'shop' ORDER BY node;
-- After a conflict, the server that goes on is accepted, although another one started later.
DELETE FROM shard_registry.nodes WHERE owner = 'shop';
SELECT shard_registry.check_in('shop', 'two', '0-3', '2026-01-01 10:00+00', '2026-01-01 11:03+00') AS conflict;
-- A released shard is forgotten with its node.
SELECT shard_registry.release('shop') AS released;
SELECT shard_registry.claim('other', 1) AS other;
SELECT shard_registry.check_in('other', 'new', '0', '2026-01-01 08:00+00', '2026-01-01 08:01+00') AS conflict;

-- Arguments
SELECT shard_registry.claim('gamma', 1) AS gamma;
SELECT DISTINCT error_of(format('SELECT shard_registry.check_in(%s)', arguments)) AS error FROM unnest(ARRAY[
	$$NULL, 'one', '1', now(), now()$$, $$'gamma', NULL, '1', now(), now()$$, $$'gamma', 'one', NULL, now(), now()$$,
	$$'gamma', 'one', '1', NULL, now()$$, $$'gamma', 'one', '1', now(), NULL$$]) arguments;
-- It refuses the lists that seqid.shards refuses; 1024 is no owner's.
SELECT list, left(error_of(format('SELECT shard_registry.check_in(''gamma'', ''one'', %L, now(), now())', list)), 5) AS check_in,
       left(error_of(format('SET seqid.shards = %L', list)), 5) AS setting
  FROM unnest(ARRAY['1', '1-1', ' 1 - 1 ', E'1,\t2', '', '1,', '1 1', '1-', '-1', '1-1-1', '2-1', '9999-0', '99999', '1;', 'abc']) list;
SELECT shard_registry.check_in('gamma', 'one', '1, 1023-1024', now(), now()) AS beyond;
SELECT error_of(format('SELECT shard_registry.check_in(''gamma'', ''one'', %L, now(), now())', repeat('1, ', 300000) || '1')) AS too_long;
SELECT error_of($$SELECT shard_registry.check_in('gamma', 'one', 'abc', now(), now())$$);
-- Names have at most 64 characters, of any kind.
SELECT left(error_of(statement), 5) AS error FROM unnest(ARRAY[
	$$SELECT shard_registry.claim(repeat('o', 64), 1)$$, $$SELECT shard_registry.claim(repeat('o', 65), 1)$$,
	$$SELECT shard_registry.check_in('gamma', repeat('n', 64), '1', now(), now())$$,
	$$SELECT shard_registry.check_in('gamma', repeat('n', 65), '1', now(), now())$$]) statement;
SELECT shard_registry.claim('"; \''%L', 1) AS quotes;
SELECT shard_registry.check_in('"; \''%L', 'a" of "b', '3', now(), now()), shard_registry.check_in('"; \''%L', '%s', '3', now(), now());
-- Two nodes whose names make one text
SELECT shard_registry.claim(owner, 1) FROM unnest(ARRAY['c', 'b" of "c']) owner;
SELECT conflict FROM (VALUES ('c', 'a" of "b'), ('b" of "c', 'a'), ('c', 'd')) n (owner, node),
       LATERAL shard_registry.check_in(owner, node, '4-5', now(), now()) conflict ORDER BY owner, node, conflict;
-- A long list is cut, so that the conflict fits into its index.
SELECT bool_and(length(conflict) < 300) AS cut FROM (SELECT string_agg(shard::text, ',') AS list FROM generate_series(1, 1023, 2) shard) l,
       LATERAL shard_registry.check_in('c', repeat('n', 64), list, now(), now()) conflict;

-- Privileges are those of the tables.
CREATE ROLE regress_seqid_member;
CREATE FUNCTION errors() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT left(error_of(statement), 5) FROM unnest(ARRAY['SELECT shard_registry.claim(''iota'', 1)', 'SELECT shard_registry.release(''iota'')',
		'SELECT shard_registry.check_in(''other'', ''new'', ''0, 9'', now(), now())']) statement $$;
SET ROLE regress_seqid_member;
SELECT errors() AS no_schema;
RESET ROLE;
GRANT USAGE ON SCHEMA shard_registry TO regress_seqid_member;
GRANT SELECT ON ALL TABLES IN SCHEMA shard_registry TO regress_seqid_member;
SET ROLE regress_seqid_member;
SELECT errors() AS reads;
RESET ROLE;
GRANT INSERT, UPDATE ON shard_registry.nodes, shard_registry.conflicts TO regress_seqid_member;
SET ROLE regress_seqid_member;
SELECT errors() AS checks_in;
RESET ROLE;
GRANT INSERT, DELETE ON shard_registry.shards TO regress_seqid_member;
GRANT DELETE ON shard_registry.nodes TO regress_seqid_member;
SET ROLE regress_seqid_member;
SELECT errors() AS claims;
RESET ROLE;

-- A publication of all tables does not prevent changes: the tables have replica identities.
SET client_min_messages = error;
BEGIN;
CREATE PUBLICATION regress_seqid_all FOR ALL TABLES;
UPDATE shard_registry.shards SET owner = 'new';
UPDATE shard_registry.conflicts SET noticed_at = now();
DELETE FROM shard_registry.shards;
DELETE FROM shard_registry.nodes;
DELETE FROM shard_registry.conflicts;
ROLLBACK;

DROP SCHEMA shard_registry, traps CASCADE;
RESET client_min_messages;
DROP ROLE regress_seqid_member;
DROP FUNCTION conflicts(text[]), errors();
DROP TABLE cases;
