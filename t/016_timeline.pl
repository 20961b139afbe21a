# A cluster's list of shards: each timeline has another one, so that a new primary and an
# old one that goes on do not meet, whatever WAL was lost and whatever their clocks show.
# A reader that has used the old primary must keep its position in the database.
#
# A new timeline takes a promotion, or a recovery to a point in time.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;
use SeqidPage;

my $clock = SeqidClock->new('-6s');
my $primary = new_server('primary', init => [ allows_streaming => 1, has_archiving => 1 ], conf => "seqid.shards = '16-18'");
my ($where) = SeqidPage->new("$FindBin::RealBin/../docs/failover.md")->recipe('where');
my $in_effect = 'SELECT timeline, shard, shard_source FROM seqid.stat_server';

# What the page's query shows: timeline, shard, the list and whether the server's own file contains it.
sub where_is ($node)
{
	my ($list) = split /\n/, outcome($node, $where->{text});
	my $file = $node->data_dir . '/postgresql.conf';

	return $list =~ s/\Q$file\E$/its file/r;
}

$primary->safe_psql('postgres', q{
	CREATE TABLE t (id bigint DEFAULT snowflake_nextval());
	CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(2), note text);
	CREATE TABLE positions (position bigint);
	INSERT INTO events (note) VALUES ('before');
	INSERT INTO positions VALUES (0);});
$primary->backup('base');
is(where_is($primary), '1|16|seqid.shards|16-18|its file', 'timeline 1: the first shard');
is(outcome($primary, 'INSERT INTO t DEFAULT VALUES RETURNING snowflake_shard(id)'), '16', 'timeline 1: issues it');

my $standby = new_standby($primary, 'standby', clock => $clock);
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my $session = SeqidSession->new($standby);
is(where_is($standby), '||seqid.shards|16-18|its file', 'standby: no timeline, no shard');
is($session->outcome('SELECT snowflake_nextval()'), '25006', 'standby: refused');

# WAL is lost: the old primary has issued ids that the standby does not know, and goes on.
reconfigure($standby, primary_conninfo => '');
$primary->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_replication')
  or die 'the standby goes on streaming';
outcome($primary, 'INSERT INTO t SELECT FROM generate_series(1, 1000)');
$standby->promote;
is(outcome($standby, $in_effect), '2|17|configuration file', 'timeline 2: the second shard');
is($session->query('SELECT snowflake_shard(snowflake_nextval()), shard FROM seqid.stat_server'),
	'17|17', 'timeline 2: a session that stayed follows');

outcome($_, 'INSERT INTO t SELECT FROM generate_series(1, 20000)') for $primary, $standby;
my %count;
$count{$_}++ for map { split /\n/, outcome($_, 'SELECT id FROM t') } $primary, $standby;
is(scalar(grep { $count{$_} > 1 } keys %count), 1, 'split brain: only the row that both had has one id');
is(join(' ', map { outcome($_, 'SELECT max(snowflake_shard(id)) FROM t') } $primary, $standby), '16 17',
	'split brain: each issues its shard');

# read_events($node, $position): the notes from there up to the horizon.
sub read_events ($node, $position)
{
	return $node->safe_psql('postgres', "CALL seqid.horizon() \\gset
		SELECT note FROM events WHERE id >= $position AND id < :snowflake ORDER BY id");
}

# Waits until the horizon has passed an id, and returns it.
sub horizon_above ($node, $id)
{
	my $horizon;

	poll_until { ($horizon = $node->safe_psql('postgres', "CALL seqid.horizon() \\gset\nSELECT :snowflake")) > $id }
	  or die 'the horizon stands still';
	return $horizon;
}

# The reader of the old primary has a position that is ahead of a row of the new one.
my $added = $standby->safe_psql('postgres', "INSERT INTO events (note) VALUES ('after') RETURNING id");
my $outside = horizon_above($primary, $added);
$primary->safe_psql('postgres', "UPDATE positions SET position = $outside");
my ($inside) = $standby->safe_psql('postgres', 'SELECT position FROM positions');
horizon_above($standby, $added);
is(read_events($standby, $inside), "before\nafter", 'a position in the database: a row comes again, and none is missing');
is(read_events($standby, $outside), '', 'a position outside: a row is missing after reads on the old primary');

is($session->query("SET seqid.shards = '40, 41';
		SELECT snowflake_shard(snowflake_nextval()), shard, shard_source FROM seqid.stat_server"),
	'41|41|session', 'timeline 2: the second shard of a list that the session sets, which the view shows');
is($session->query('RESET seqid.shards; SELECT snowflake_shard(snowflake_nextval())'), '17', 'reset: as before');
$session->close;

# Configuration that will do harm: the log shows it before the failover, and an error when
# it does.
sub logs_harm ($node, $shard, $what)
{
	like(slurp_file($node->logfile), qr/LOG:  [^\n]*\b$shard\b[^\n]*seqid\.allowed_shards/, "$what: the log shows that shard $shard is not allowed");
}

sub allow ($list)
{
	$standby->append_conf('postgresql.conf', "seqid.allowed_shards = '$list'");
	$standby->restart;
}

allow('17');
is(outcome($standby, 'SELECT snowflake_shard(snowflake_nextval())'), '17', 'one is not allowed: this timeline has another');
logs_harm($standby, 16, 'one is not allowed');
allow('16');
is(outcome($standby, 'SELECT snowflake_nextval(18)'), '55000', 'not allowed: a shard that is passed is refused');
like(($standby->psql('postgres', "\\set VERBOSITY verbose\nSELECT snowflake_nextval()"))[2],
	qr/ERROR:  55000: .*DETAIL:  .*timeline 2.*"16-18" \(configuration file\)/s,
	'not allowed: the detail shows where the shard comes from');
allow('0-1023');
$standby->safe_psql('postgres', "ALTER DATABASE postgres SET seqid.shards = '16-18, 90'");
is(outcome($standby, $in_effect), '2|17|database', 'a database\'s setting beats the file, and the view shows it');
$standby->stop;

# Preloaded, the postmaster logs it at a reload.
my $preloaded = new_server('preloaded', conf => "shared_preload_libraries = 'seqid'\nseqid.shards = '5'", extension => 0);
unlike(slurp_file($preloaded->logfile), qr/seqid\.allowed_shards/, 'preloaded: nothing to log');
reconfigure($preloaded, 'seqid.shards' => '5, 6', 'seqid.allowed_shards' => '5');
logs_harm($preloaded, 6, 'preloaded, reloaded');
$preloaded->stop;

# Recovered to a point in time, with the cluster's archive: the next number, which can be
# that of the next failover.
$primary->safe_psql('postgres', "SELECT pg_create_restore_point('then')");
my $rows = outcome($primary, 'SELECT count(*) FROM t');
outcome($primary, 'INSERT INTO t SELECT FROM generate_series(1, 1000)');
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $node = PostgreSQL::Test::Cluster->new('point_in_time');
$node->init_from_backup($primary, 'base', has_restoring => 1);
$node->append_conf('postgresql.conf', <<'CONF');
recovery_target_name = 'then'
recovery_target_action = 'promote'
recovery_target_timeline = 'current'
CONF
$clock->start($node);
wait_until($node, 'SELECT NOT pg_is_in_recovery()') or die 'the server is still in recovery';
is(outcome($node, 'SELECT count(*) FROM t'), $rows, 'point in time: it is the one');
my $timeline = outcome($node, 'SELECT timeline FROM seqid.stat_server');
cmp_ok($timeline, '>', 2, 'point in time: a timeline that no history file names');
is(outcome($node, 'SELECT snowflake_shard(snowflake_nextval())'), 16 + ($timeline - 1) % 3, 'point in time: and its shard');

$_->stop for $node, $primary;
done_testing();
