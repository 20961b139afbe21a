# A server in the place of another: a standby that is promoted, a base backup and a point in
# time.  Keys go on above all keys in its tables, or are refused, although its clock is behind.
#
# SQL can do none of this.  (011_sync_level.pl has synchronous standbys, 013_owner_dump.pl
# restores dumps, 005_crash.pl copies databases, and t/pg_upgrade upgrades clusters.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $origin = new_server('origin', clock => SeqidClock->new, init => [ allows_streaming => 1, has_archiving => 1 ]);
my $fill = 'INSERT INTO t SELECT snowflake_nextval(5), comb_uuid() FROM generate_series(1, 10000)';
$origin->safe_psql('postgres', "CREATE TABLE t (id bigint, c uuid); CREATE SEQUENCE seq; $fill");

my $combs_go_on = 'SELECT bool_and(new > c) FROM t, (SELECT comb_uuid() AS new OFFSET 0) n';

sub check_keys ($node, $what, $rows)
{
	is(outcome($node, 'SELECT count(*) FROM t'), $rows, "$what: rows are there");
	is(outcome($node, 'SELECT snowflake_nextval(5) > (SELECT max(id) FROM t)'), 't', "$what: ids go on");
	is(outcome($node, $combs_go_on), 't', "$what: COMBs go on in order");
	$node->stop;
}

# Starts a server whose clock is behind, and waits until it accepts writes.
sub check_restored ($node, $what, $rows)
{
	SeqidClock->new('-5s')->start($node);
	wait_until($node, 'SELECT NOT pg_is_in_recovery()') or die 'the server is still in recovery';
	check_keys($node, $what, $rows);
}

#
# A base backup, and a point in time
#
$origin->backup('base');
my $backup = PostgreSQL::Test::Cluster->new('base_backup');
$backup->init_from_backup($origin, 'base');
check_restored($backup, 'base backup', 10000);

$origin->safe_psql('postgres', $_) for $fill, "SELECT pg_create_restore_point('between')", $fill, 'SELECT pg_switch_wal()';
my $earlier = PostgreSQL::Test::Cluster->new('point_in_time');
$earlier->init_from_backup($origin, 'base', has_restoring => 1);
$earlier->append_conf('postgresql.conf', "recovery_target_name = 'between'\nrecovery_target_action = 'promote'");
check_restored($earlier, 'point in time', 20000);

#
# Standbys, which refuse snowflakes and generate COMBs
#
sub standby_with_rows ($name, $clock)
{
	my $standby = new_standby($origin, $name, clock => $clock, conf => 'seqid.shards = 6');

	$origin->safe_psql('postgres', $fill);
	$origin->wait_for_catchup($standby, 'replay', $origin->lsn('insert'));
	return $standby;
}

{
	my $clock = SeqidClock->new('-6s');
	my $standby = standby_with_rows('six_seconds', $clock);

	my @calls = map { ("SELECT snowflake_$_", "SELECT snowflake53_$_") } 'nextval(5)', 'nextval()', 'nextvals(5, 3)',
	  'nextblock(5, 10)', 'nextblock(10)', 'witness(0)';
	push @calls, map { "SELECT ${_}_backfill('2024-03-01', 31) OVER ()" } qw(snowflake snowflake53);
	for my $call (@calls, 'CALL seqid.horizon()', 'SELECT seqid.repair_mark()', "SELECT intern_create('words')")
	{
		like(($standby->psql('postgres', "\\set VERBOSITY verbose\n$call"))[2],
			qr/ERROR:  25006: .*^HINT:  Connect to the primary\.$/ms, "standby: refused, with a hint: $call");
	}
	is(outcome($standby, "SELECT uuid_sequence_nextval('seq')"), '25006', 'standby: a sequence cannot be advanced');
	is( outcome($standby, 'SELECT count(*) FILTER (WHERE id > previous), count(uuid_time_nextval()) FROM
			(SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM
			 (SELECT n, comb_uuid() AS id FROM generate_series(1, 1001) n) d) c'),
		'1000|1001', 'standby: COMBs are generated, in order, and UUIDs by time');
	is(outcome($standby, 'SELECT clock_mark > (SELECT snowflake_timestamp(max(id)) FROM t) FROM seqid.stat_database'),
		't', 'standby: the view shows the mark that was replayed');

	# The file by which a database is known changes when the database is moved.  The mark
	# does not cover COMBs of a standby, so that the entry must stay.
	my $file = outcome($standby, "SELECT 'base/' || oid || '/PG_VERSION' FROM pg_database WHERE datname = 'postgres'");
	my $comb = outcome($standby, 'SELECT comb_uuid()');
	$clock->set('-9s');
	utime(1, 1, $standby->data_dir . "/$file") == 1 or die "$file: $!";
	cmp_ok(outcome($standby, 'SELECT comb_uuid()'), 'gt', $comb, 'standby: COMBs go on after a change of the file');
	$clock->set('-6s');

	my $session = SeqidSession->new($standby);
	$comb = $session->query('SELECT comb_uuid()');
	$standby->promote;
	is($session->query("SELECT comb_uuid() > '$comb', snowflake_shard(snowflake_nextval())"),
		't|6', '6 s: a session that stays goes on in order, with a shard of its own');
	$session->close;
	check_keys($standby, '6 s', 40000);
}

{
	my $clock = SeqidClock->new('-1h');
	my $standby = standby_with_rows('one_hour', $clock);

	$standby->promote;
	is(outcome($standby, "SELECT snowflake_nextval($_)"), '55000', "1 h: shard $_ is refused") for 5, 6;
	is(outcome($standby, $combs_go_on), 't', '1 h: COMBs go on in order');
	$clock->set('+0s');
	check_keys($standby, '1 h, clock corrected', 50000);
}

$origin->stop;
done_testing();
