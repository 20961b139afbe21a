# A cluster's list of shards: each timeline has another one, so a new primary and
# an old one that goes on do not meet, whatever WAL was lost, and whatever their
# clocks tell.
#
# A new timeline takes a promotion, or a recovery to a point in time.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
$primary->append_conf('postgresql.conf', "seqid.shards = '16-18'");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION seqid; CREATE TABLE t (id bigint DEFAULT snowflake_nextval())');
$primary->backup('base');

my $in_effect = 'SELECT timeline, shard, shard_source FROM seqid.stat_server';
is(outcome($primary, 'postgres', $in_effect), '1|16|configuration file', 'timeline 1: the first shard');
is(outcome($primary, 'postgres', 'INSERT INTO t DEFAULT VALUES RETURNING snowflake_shard(id)'), '16', 'timeline 1: issues it');

# A node is the same but for its clock: 6 s slow.
sub new_standby
{
	my ($name, $from) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	my $clock = SeqidClock->new;

	$clock->set('-6s');
	$standby->init_from_backup($from, 'base', has_streaming => 1);
	$clock->start($standby);
	$from->wait_for_catchup($standby, 'replay', $from->lsn('insert'));
	return $standby;
}

my $standby = new_standby('standby', $primary);
my $session = SeqidSession->new($standby);
is(outcome($standby, 'postgres', $in_effect), '||configuration file', 'standby: no timeline, no shard');
is(outcome($standby, 'postgres', 'SELECT snowflake_nextval()'), '25006', 'standby: refused');
$session->query('SELECT snowflake_nextval()');
like($session->errors, qr/25006/, 'standby: also to a session that will be there');

# WAL is lost: the old primary has issued ids that the standby knows nothing of,
# and goes on.
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->reload;
$primary->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_replication')
  or die 'the standby goes on streaming';
my $lost = outcome($primary, 'postgres', 'INSERT INTO t SELECT FROM generate_series(1, 1000); SELECT max(id) FROM t');
$standby->promote;
is(outcome($standby, 'postgres', $in_effect), '2|17|configuration file', 'timeline 2: the second shard');
is($session->query('SELECT snowflake_shard(snowflake_nextval())'), '17', 'timeline 2: a session that stayed follows');
is($session->query('SELECT shard FROM seqid.stat_server'), '17', 'timeline 2: and is told so');
outcome($_, 'postgres', 'INSERT INTO t SELECT FROM generate_series(1, 20000)') for $primary, $standby;
my %count;
$count{$_}++ for map { split /\n/, outcome($_, 'postgres', 'SELECT id FROM t') } $primary, $standby;
is(scalar(grep { $count{$_} > 1 } keys %count), 1, 'split brain: only the row that both had has one id');
is(outcome($primary, 'postgres', 'SELECT DISTINCT snowflake_shard(id) FROM t'), '16', 'split brain: the old primary issues its shard');
is(outcome($standby, 'postgres', 'SELECT DISTINCT snowflake_shard(id) FROM t ORDER BY 1'), "16\n17", 'split brain: the new one another');

# A literal shard is what it is, and the setting of a session counts, too.
is($session->query('SELECT snowflake_shard(snowflake_nextval(16))'), '16', 'a shard that is passed is issued');
$session->query("SET seqid.shards = '40, 41'");
is($session->query('SELECT snowflake_shard(snowflake_nextval()), shard, shard_source FROM seqid.stat_server'),
	'41|41|session', 'set by a session: the second of its list');

# The second layout has 32 shards, and shares the list.
is($session->query('SELECT snowflake53_shard(snowflake53_nextval(16))'), '16', 'snowflake53: a shard that is passed is issued');
$session->query("SET seqid.shards = '32, 31'");
is($session->query('SELECT snowflake53_shard(snowflake53_nextval())'), '31', 'snowflake53: the second of the list');
$session->query("SET seqid.shards = '31, 32'");
is($session->full_outcome('SELECT snowflake53_nextval()'), '22023: shard 32 is out of range', 'snowflake53: a shard that it has not is refused');
$session->query('RESET seqid.shards');
is($session->query('SELECT snowflake_shard(snowflake_nextval())'), '17', 'reset: as before');
$session->close;

# Configuration that will do harm: told before the failover, and when it does.
$standby->append_conf('postgresql.conf', "seqid.allowed_shards = '17'");
$standby->restart;
outcome($standby, 'postgres', 'SELECT snowflake_nextval()');
like(slurp_file($standby->logfile), qr/LOG:  shard 16 in "seqid.shards" is not in "seqid.allowed_shards"/,
	'forbidden: the log tells of a list that is not allowed');
is(outcome($standby, 'postgres', 'SELECT snowflake_shard(snowflake_nextval())'), '17', 'forbidden: but not this timeline');
$standby->append_conf('postgresql.conf', "seqid.allowed_shards = '16'");
$standby->restart;
my ($status, $out, $err) = $standby->psql('postgres', 'SELECT snowflake_nextval()');
like($err, qr/shard 17 is not one that this server may issue\nDETAIL:  It is the shard of timeline 2 in "seqid.shards", which is "16-18" \(configuration file\); "seqid.allowed_shards" is "16"/,
	'forbidden: the error tells where the shard comes from');
($status, $out, $err) = $standby->psql('postgres', 'SELECT snowflake_nextval(18)');
like($err, qr/shard 18 is not one.*\nDETAIL:  .*after a failover, a shard that is written into a default/,
	'forbidden: and of a literal one that it may be the old primary\'s');

# The wrong file is copied along; a database's setting is, too.
$standby->append_conf('postgresql.conf', "seqid.allowed_shards = '0-1023'");
$standby->restart;
$standby->safe_psql('postgres', "ALTER DATABASE postgres SET seqid.shards = '16-18, 90'");
is(outcome($standby, 'postgres', $in_effect), '2|17|database', 'a database\'s setting beats the file, and is seen to');
$standby->safe_psql('postgres', 'ALTER DATABASE postgres RESET seqid.shards');
$standby->stop;

# Preloaded, the postmaster tells of a reload.
my $preloaded = PostgreSQL::Test::Cluster->new('preloaded');
$preloaded->init;
$preloaded->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'\nseqid.shards = '5'");
$preloaded->start;
unlike(slurp_file($preloaded->logfile), qr/is not in "seqid.allowed_shards"/, 'preloaded: nothing to tell');
$preloaded->append_conf('postgresql.conf', "seqid.shards = '5, 6'\nseqid.allowed_shards = '5'");
$preloaded->reload;
$preloaded->poll_query_until('postgres', "SELECT current_setting('seqid.shards') = '5, 6'") or die;
like(slurp_file($preloaded->logfile), qr/LOG:  shard 6 in "seqid.shards" is not in "seqid.allowed_shards"/,
	'preloaded: the log tells of a reload');
$preloaded->stop;

# Recovered to a point in time: another timeline, another shard; and a third.
$primary->safe_psql('postgres', "SELECT pg_create_restore_point('then')");
my $after = outcome($primary, 'postgres', 'SELECT max(id) FROM t');
outcome($primary, 'postgres', 'INSERT INTO t SELECT FROM generate_series(1, 1000)');
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
{
	my $node = PostgreSQL::Test::Cluster->new('point_in_time');
	my $clock = SeqidClock->new;

	$clock->set('-6s');
	$node->init_from_backup($primary, 'base', has_restoring => 1);
	$node->append_conf('postgresql.conf',
		"recovery_target_name = 'then'\nrecovery_target_action = 'promote'\n"
		  . "recovery_target_timeline = 'current'\n");
	$clock->start($node);
	SeqidSession::wait_until($node, 'SELECT NOT pg_is_in_recovery()') or die;
	is(outcome($node, 'postgres', 'SELECT max(id) FROM t'), $after, 'point in time: it is the one');

	# Whoever clones with the archive of the cluster takes the next number, which
	# may be that of the next failover.
	my $timeline = outcome($node, 'postgres', 'SELECT timeline FROM seqid.stat_server');
	cmp_ok($timeline, '>', 2, 'point in time: a timeline that no history file names');
	is(outcome($node, 'postgres', 'SELECT snowflake_shard(snowflake_nextval())'), 16 + ($timeline - 1) % 3,
		'point in time: and its shard');
	$node->stop;
}
$primary->stop;

done_testing();
