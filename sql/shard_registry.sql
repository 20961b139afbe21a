--
-- The registry of shards
--
-- the lowest run that is free, and the same again
SELECT seqid.shard_claim('alpha') AS alpha, seqid.shard_claim('beta', 8) AS beta, seqid.shard_claim('gamma', 1) AS gamma,
       seqid.shard_claim('alpha') AS alpha_again;
SELECT seqid.shard_release('beta') AS released, seqid.shard_release('beta') AS once_more;
-- 8 are free between the others: who needs 9 goes behind them
SELECT seqid.shard_claim('delta', 9) AS delta, seqid.shard_claim('epsilon', 8) AS epsilon;
SELECT owner, shards FROM seqid.shard_registry ORDER BY shards;
-- what seqid.shards takes
SELECT set_config('seqid.shards', seqid.shard_claim('alpha'), false) AS list;
SELECT snowflake_shard(snowflake_nextval()) AS first_of_list;
RESET seqid.shards;

-- arguments, and the end
SELECT error_of($$SELECT seqid.shard_claim('alpha', 8)$$);
SELECT error_of($$SELECT seqid.shard_claim('zeta', 0)$$);
SELECT error_of($$SELECT seqid.shard_claim('zeta', 1025)$$);
SELECT left(error_of($$SELECT seqid.shard_claim('')$$), 5) AS no_name;
SELECT error_of($$SELECT seqid.shard_claim('zeta', 991)$$);
SELECT seqid.shard_claim('zeta', 990) AS the_rest;
SELECT error_of($$SELECT seqid.shard_claim('eta', 1)$$);
SELECT seqid.shard_release('zeta') AS released;
SELECT seqid.shard_claim(NULL) IS NULL AS no_owner, seqid.shard_claim('alpha', NULL) IS NULL AS no_count, seqid.shard_release(NULL) IS NULL AS nothing;
-- by hand, too, no shard is two owners'
SELECT left(error_of($$INSERT INTO seqid.shard_registry VALUES ('eta', '[15,16]')$$), 5) AS overlaps;
SELECT left(error_of($$INSERT INTO seqid.shard_registry VALUES ('eta', '[1024,1025)')$$), 5) AS beyond;
SELECT left(error_of($$INSERT INTO seqid.shard_registry VALUES ('eta', 'empty')$$), 5) AS none;

--
-- Checking in
--
-- a cluster and its failover: a standby, the primary, and then the other node
CALL seqid.shard_check_in('alpha', '0-15', 7000000000000000001, NULL, 'm2', 'two', '/data');
CALL seqid.shard_check_in('alpha', '0-15', 7000000000000000001, 1, 'm1', 'one', '/data');
CALL seqid.shard_check_in('alpha', ' 0-3, 15,4', 7000000000000000001, 1, 'm1', 'one', '/data');
CALL seqid.shard_check_in('alpha', '0-15', 7000000000000000001, 2, 'm2', 'two', '/data');
SELECT owner, timeline, place FROM seqid.shard_members ORDER BY timeline;
SELECT count(*) AS conflicts FROM seqid.shard_conflicts;
-- somebody else's shard, one that nobody has claimed, a place that is another
\set SHOW_CONTEXT never
CALL seqid.shard_check_in('alpha', '0-16', 7000000000000000001, 2, 'm2', 'two', '/data');
CALL seqid.shard_check_in('alpha', '0-15, 900', 7000000000000000001, 2, 'm2', 'two', '/data');
CALL seqid.shard_check_in('alpha', '0-15', 7000000000000000001, 2, 'm1', 'one', '/data');
CALL seqid.shard_check_in('alpha', '0-15', 7000000000000000002, 2, 'm2', 'two', '/data');
SELECT owner, conflict, place FROM seqid.shard_conflicts ORDER BY noticed_at;
-- who has no shards, and who is configured to issue none
CALL seqid.shard_check_in('theta', '5', 7000000000000000003, 1, 'm3', 'three', '/data');
CALL seqid.shard_check_in('gamma', '', 7000000000000000003, 1, 'm3', 'three', '/data');
CALL seqid.shard_check_in('gamma', 'abc', 7000000000000000003, 1, 'm3', 'three', '/data');
CALL seqid.shard_check_in('gamma', '24-', 7000000000000000003, 1, 'm3', 'three', '/data');
-- what seqid.shards refuses, too
CALL seqid.shard_check_in('gamma', '24-16', 7000000000000000003, 1, 'm3', 'three', '/data');
CALL seqid.shard_check_in('gamma', '24, 1023-1024', 7000000000000000003, 1, 'm3', 'three', '/data');
CALL seqid.shard_check_in('gamma', '1024', 7000000000000000003, 1, 'm3', 'three', '/data');
SELECT list, left(error_of(format('SELECT seqid.shard_conflict(''gamma'', %L, 1, ''here'')', list)), 5) AS conflict,
       left(error_of(format('SET seqid.shards = %L', list)), 5) AS setting
  FROM unnest(ARRAY['24', '24-24', ' 24 - 24 ', '24,', '24 24', '24-', '-24', '24-24-24', '24-23', '0-1024', '9999', '24;']) list;
SELECT error_of(format('SELECT seqid.shard_conflict(''gamma'', %L, 1, ''here'')', repeat('24, ', 300000) || '24')) AS too_long;
SELECT error_of(format('SELECT seqid.shard_conflict(%L, ''24'', 1, ''here'')', repeat('gamma ', 300000))) AS long_name;
CALL seqid.shard_check_in('gamma', '24', 7000000000000000003, 1, 'm3', 'three', NULL);
CALL seqid.shard_check_in('gamma', NULL, 7000000000000000003, 1, 'm3', 'three', '/data');
CALL seqid.shard_check_in('gamma', '99999999999', 7000000000000000003, 1, 'm3', 'three', '/data');
CALL seqid.shard_check_in('gamma', E'24,\t24', 7000000000000000003, 2, NULL, NULL, '/data');
SELECT place FROM seqid.shard_members WHERE owner = 'gamma' AND timeline = 2;
DELETE FROM seqid.shard_members WHERE owner = 'gamma';
-- what a member sends, read off itself
SELECT format('CALL seqid.shard_check_in(%L, %L, %s, %s, %L, %L, %L)', 'gamma', '24', system_identifier, timeline,
              coalesce(machine_id, '-'), 'here', data_directory) AS call FROM seqid.stat_server \gset
:call;
SELECT count(*) AS members FROM seqid.shard_members WHERE owner = 'gamma';
-- released, it is forgotten with its places
SELECT seqid.shard_release('alpha') AS released, (SELECT count(*) FROM seqid.shard_members WHERE owner = 'alpha') AS before_the_end_of_this;
SELECT count(*) AS members FROM seqid.shard_members WHERE owner = 'alpha';

-- privileges are the tables'; nobody's search_path matters
CREATE ROLE regress_seqid_member;
SET ROLE regress_seqid_member;
SELECT error_of($$SELECT seqid.shard_claim('iota')$$);
SELECT error_of($$SELECT seqid.shard_release('gamma')$$);
CALL seqid.shard_check_in('gamma', '24', 1, 1, 'm', 'h', 'd');
RESET ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON seqid.shard_registry, seqid.shard_members, seqid.shard_conflicts TO regress_seqid_member;
SET ROLE regress_seqid_member;
SET search_path = pg_catalog;
SELECT seqid.shard_claim('iota');
CALL seqid.shard_check_in('iota', '0-15', 1, 1, 'm', 'h', 'd');
SHOW search_path;
RESET search_path;
RESET ROLE;
DELETE FROM seqid.shard_registry;
DELETE FROM seqid.shard_conflicts;
REVOKE ALL ON seqid.shard_registry, seqid.shard_members, seqid.shard_conflicts FROM regress_seqid_member;
DROP ROLE regress_seqid_member;
