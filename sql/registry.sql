--
-- The registry of shards: examples/registry/registry.sql
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set file :abs_srcdir '/examples/registry/registry.sql'
\set ECHO none
\i :file
\set ECHO all

-- Claims: the lowest free shards, as a list
SELECT shard_registry.claim('alpha', 16) AS alpha, shard_registry.claim('beta', 8) AS beta, shard_registry.claim('gamma', 1) AS gamma,
       shard_registry.claim('alpha', 16) AS again, shard_registry.claim('alpha', 1) AS fewer;
SELECT shard_registry.release('beta') AS released, shard_registry.release('beta') AS once_more;
SELECT shard_registry.claim('delta', 6) AS delta, shard_registry.claim('epsilon', 4) AS epsilon;
-- an owner that needs more claims more, and all of its shards are one owner's
SELECT shard_registry.claim('alpha', 17) AS alpha;
SELECT shard_registry.check_in('alpha', 'one', shard_registry.claim('alpha', 17), 1, '2026-01-01 10:00+00') AS conflict;
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
DELETE FROM shard_registry.shards;

--
-- Check-ins.  Each case is a registry of its own, and check-ins one after the other:
-- owner, node, shards, timeline, start.  The last column is whether each has a conflict.
--
CREATE TABLE cases (place serial, name text, check_ins text[], expected text);
INSERT INTO cases (name, check_ins, expected) VALUES
('own shards', '{{shop,one,0-3,1,10:00},{shop,two,4-7,2,10:00}}', 'no no'),
('some of the own shards', '{{shop,one,"3, 1",1,10:00}}', 'no'),
('no shards', '{{shop,one,"",1,10:00}}', 'no'),
('a shard of another owner', '{{shop,one,7-8,1,10:00}}', 'yes'),
('a shard that no owner has claimed', '{{shop,one,100,1,10:00}}', 'yes'),
('an owner that has claimed nothing', '{{nobody,one,0,1,10:00}}', 'yes'),
('a standby', '{{shop,one,0,1,10:00},{shop,two,0,NULL,09:00},{shop,one,0,1,10:00}}', 'no no no'),
('a standby with a shard of another owner', '{{shop,two,8,NULL,10:00}}', 'yes'),
('restart', '{{shop,one,0,1,10:00},{shop,one,0,1,11:00},{shop,one,0,1,11:00}}', 'no no no'),
('failover, one shard', '{{shop,one,0,1,10:00},{shop,two,0,2,09:00},{shop,two,0,2,09:00}}', 'no no no'),
('failover and back', '{{shop,one,0,1,10:00},{shop,two,0,2,09:00},{shop,one,0,NULL,12:00},{shop,one,0,3,12:00}}', 'no no no no'),
('the old primary continues, one shard', '{{shop,one,0,1,10:00},{shop,two,0,2,09:00},{shop,one,0,1,10:00},{shop,two,0,2,09:00}}', 'no no yes no'),
('the old primary restarts, one shard', '{{shop,one,0,1,10:00},{shop,two,0,2,09:00},{shop,one,0,1,11:00}}', 'no no yes'),
('the old primary checks in for the first time', '{{shop,two,0,2,09:00},{shop,one,0,1,10:00}}', 'no yes'),
('the old primary continues, list for each node', '{{shop,one,0-3,1,10:00},{shop,two,4-7,2,09:00},{shop,one,0-3,1,10:00}}', 'no no no'),
('the old primary continues, common list', '{{shop,one,0-7,1,10:00},{shop,two,0-7,2,09:00},{shop,one,0-7,1,10:00}}', 'no no yes'),
('two promotions to one timeline, common list', '{{shop,two,0-7,2,09:00},{shop,three,0-7,2,09:30},{shop,two,0-7,2,09:00}}', 'no no yes'),
('two promotions to one timeline, list for each node', '{{shop,two,0-3,2,09:00},{shop,three,4-7,2,09:30},{shop,two,0-3,2,09:00}}', 'no no no'),
('two servers with one shard', '{{shop,one,0,1,10:00},{shop,two,0,1,11:00},{shop,one,0,1,10:00},{shop,two,0,1,11:00}}', 'no no yes no'),
('two servers with one shard and one unclaimed shard', '{{shop,one,"0, 100",1,10:00},{shop,two,"0, 100",1,11:00},{shop,one,0,1,10:00}}', 'yes yes yes'),
('lists that overlap', '{{shop,one,0-4,1,10:00},{shop,two,4-7,1,11:00},{shop,one,0-4,1,10:00}}', 'no no yes'),
('a clone of the machine', '{{shop,one,0,1,10:00},{shop,one,0,1,11:00},{shop,one,0,1,10:00},{shop,one,0,1,11:00}}', 'no no yes no'),
('the original restarts beside its clone', '{{shop,one,0,1,10:00},{shop,one,0,1,11:00},{shop,one,0,1,12:00},{shop,one,0,1,11:00}}', 'no no no yes'),
('a server recovered to a point in time', '{{shop,one,0,1,10:00},{shop,copy,0,2,11:00},{shop,one,0,1,10:00}}', 'no no yes'),
('a clone with its memory, whose start time is the same', '{{shop,one,0,1,10:00},{shop,one,0,1,10:00}}', 'no no'),
('an earlier server that checks in no more', '{{shop,one,0,1,10:00},{shop,two,0,1,11:00},{shop,two,0,1,11:00}}', 'no no no'),
('pg_upgrade, which begins with timeline 1', '{{shop,one,0,2,10:00},{shop,one,0,1,11:00}}', 'no yes'),
('a restart after which the clock was set back', '{{shop,one,0,1,10:00},{shop,one,0,1,09:00}}', 'no yes'),
('a node that has another name', '{{shop,one,0,1,10:00},{shop,first,0,1,10:00}}', 'no no');

CREATE FUNCTION conflicts(check_ins text[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	c text[];
	conflicts text[];
BEGIN
	DELETE FROM shard_registry.shards;
	PERFORM shard_registry.claim('shop', 8), shard_registry.claim('warehouse', 8);
	FOREACH c SLICE 1 IN ARRAY check_ins LOOP
		conflicts := conflicts || CASE WHEN shard_registry.check_in(c[1], c[2], c[3], nullif(c[4], 'NULL')::bigint,
			('2026-01-01 ' || c[5] || '+00')::timestamptz) IS NULL THEN 'no' ELSE 'yes' END;
	END LOOP;
	RETURN array_to_string(conflicts, ' ');
END
$$;
SELECT name, conflicts(check_ins), expected FROM cases WHERE conflicts(check_ins) IS DISTINCT FROM expected ORDER BY place;
SELECT name, expected AS conflict FROM cases ORDER BY place;

-- A conflict leaves one row, also if it is found twice, and a server that was accepted none.
DELETE FROM shard_registry.conflicts;
SELECT conflicts('{{shop,two,0,2,09:00},{shop,one,0,1,10:00},{shop,one,0,1,10:00},{shop,one,8,1,10:00},{shop,one,100,1,10:00}}');
SELECT owner, node, conflict, noticed_at = now() AS now FROM shard_registry.conflicts ORDER BY conflict;
SELECT shard, owner, node, timeline, started_at = '2026-01-01 09:00+00' AS started, checked_in_at = now() AS checked_in
  FROM shard_registry.shards WHERE node IS NOT NULL ORDER BY shard;
-- A server that has moved for good, such as after pg_upgrade, is accepted again.
UPDATE shard_registry.shards SET timeline = NULL WHERE owner = 'shop';
SELECT shard_registry.check_in('shop', 'two', '0', 1, '2026-01-01 11:00+00') AS conflict;
SELECT node, timeline FROM shard_registry.shards WHERE shard = 0;
-- A released shard forgets its node.
SELECT shard_registry.release('shop') AS released;
SELECT shard_registry.claim('other', 1) AS other, shard_registry.check_in('other', 'new', '0', 1, '2026-01-01 08:00+00') AS conflict;

-- Arguments
SELECT shard_registry.claim('gamma', 1) AS gamma;
SELECT error_of(format('SELECT shard_registry.check_in(%L, %L, %L, 1, %L)', a[1], a[2], a[3], a[4]::timestamptz)) AS error
  FROM (VALUES (ARRAY[NULL, 'one', '1', '2026-01-01']), (ARRAY['gamma', NULL, '1', '2026-01-01']),
               (ARRAY['gamma', 'one', NULL, '2026-01-01']), (ARRAY['gamma', 'one', '1', NULL])) v (a);
-- It refuses the lists that seqid.shards refuses; 1024 is no owner's.
SELECT list, left(error_of(format('SELECT shard_registry.check_in(''gamma'', ''one'', %L, 1, now())', list)), 5) AS check_in,
       left(error_of(format('SET seqid.shards = %L', list)), 5) AS setting
  FROM unnest(ARRAY['1', '1-1', ' 1 - 1 ', E'1,\t2', '', '1,', '1 1', '1-', '-1', '1-1-1', '2-1', '9999-0', '99999', '1;', 'abc']) list;
SELECT shard_registry.check_in('gamma', 'one', '1, 1023-1024', 1, now()) IS NOT NULL AS beyond;
SELECT error_of(format('SELECT shard_registry.check_in(''gamma'', ''one'', %L, 1, now())', repeat('1, ', 300000) || '1')) AS too_long;
SELECT error_of($$SELECT shard_registry.check_in('gamma', 'one', 'abc', 1, now())$$);
-- Names have at most 64 characters.
SELECT left(error_of(statement), 5) AS error FROM unnest(ARRAY[
	$$SELECT shard_registry.claim(repeat('o', 64), 1)$$, $$SELECT shard_registry.claim(repeat('o', 65), 1)$$,
	$$SELECT shard_registry.check_in('gamma', repeat('n', 64), '1', 1, now())$$,
	$$SELECT shard_registry.check_in('gamma', repeat('n', 65), '1', 1, now())$$]) statement;

-- Privileges are those of the tables, and the caller's search_path does not matter.
CREATE ROLE regress_seqid_member;
GRANT USAGE ON SCHEMA shard_registry TO regress_seqid_member;
GRANT SELECT ON ALL TABLES IN SCHEMA shard_registry TO regress_seqid_member;
SET ROLE regress_seqid_member;
SELECT left(error_of(statement), 5) AS error FROM unnest(ARRAY[
	$$SELECT shard_registry.claim('iota', 1)$$, $$SELECT shard_registry.release('other')$$,
	$$SELECT shard_registry.check_in('other', 'new', '0', 1, now())$$]) statement;
RESET ROLE;
GRANT UPDATE ON shard_registry.shards TO regress_seqid_member;
GRANT INSERT, UPDATE ON shard_registry.conflicts TO regress_seqid_member;
SET ROLE regress_seqid_member;
SET search_path = pg_catalog;
SELECT shard_registry.check_in('other', 'new', '0', 1, now()), shard_registry.check_in('other', 'new', '5', 1, now());
SHOW search_path;
RESET search_path;
RESET ROLE;
REVOKE INSERT, UPDATE ON shard_registry.shards, shard_registry.conflicts FROM regress_seqid_member;
GRANT INSERT, DELETE ON shard_registry.shards TO regress_seqid_member;
SET ROLE regress_seqid_member;
SELECT shard_registry.claim('iota', 1) AS iota, shard_registry.release('iota') AS released;
RESET ROLE;

-- A publication of all tables does not prevent changes: the tables have replica identities.
SET client_min_messages = error;
BEGIN;
CREATE PUBLICATION regress_seqid_all FOR ALL TABLES;
UPDATE shard_registry.shards SET timeline = NULL;
UPDATE shard_registry.conflicts SET noticed_at = now();
DELETE FROM shard_registry.shards;
DELETE FROM shard_registry.conflicts;
ROLLBACK;
RESET client_min_messages;

SET client_min_messages = warning;
DROP SCHEMA shard_registry CASCADE;
RESET client_min_messages;
DROP ROLE regress_seqid_member;
DROP FUNCTION conflicts(text[]);
DROP TABLE cases;
