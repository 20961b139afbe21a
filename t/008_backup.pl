# A base backup, a point in time and an upgraded cluster are started with a clock that is
# behind: no id of theirs comes again.  (013_owner_dump.pl restores dumps, and
# 012_neighbours.pl copies databases.)
#
# SQL can do none of this.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new('-5s');
my $origin = new_server('origin', init => [ allows_streaming => 1, has_archiving => 1 ]);
my $fill = 'INSERT INTO t SELECT snowflake_nextval(5), comb_uuid() FROM generate_series(1, 10000)';

# Starts a server, and returns when it accepts writes.
sub check_restored ($node, $what, $rows)
{
	$clock->start($node);
	wait_until($node, 'SELECT NOT pg_is_in_recovery()') or die 'the server is still in recovery';
	is(outcome($node, 'SELECT count(*) FROM t'), $rows, "$what: rows are there");
	is(outcome($node, 'SELECT snowflake_nextval(5) > (SELECT max(id) FROM t)'), 't', "$what: ids go on");
	is(outcome($node, 'SELECT bool_and(new > c) FROM t, (SELECT comb_uuid() AS new OFFSET 0) n'),
		't', "$what: COMBs go on in order");
	$node->stop;
}

$origin->safe_psql('postgres', "CREATE TABLE t (id bigint, c uuid); $fill");
$origin->backup('base');
my $backup = PostgreSQL::Test::Cluster->new('base_backup');
$backup->init_from_backup($origin, 'base');
check_restored($backup, 'base backup', 10000);

$origin->safe_psql('postgres', $_) for $fill, "SELECT pg_create_restore_point('between')", $fill, 'SELECT pg_switch_wal()';
my $earlier = PostgreSQL::Test::Cluster->new('point_in_time');
$earlier->init_from_backup($origin, 'base', has_restoring => 1);
$earlier->append_conf('postgresql.conf', "recovery_target_name = 'between'\nrecovery_target_action = 'promote'");
check_restored($earlier, 'point in time', 20000);

# pg_upgrade, which allows the same version.
$origin->safe_psql('postgres', $fill);
$origin->stop;
my $upgraded = PostgreSQL::Test::Cluster->new('upgraded');
chomp(my $bin = `pg_config --bindir`);
$upgraded->init;
chdir PostgreSQL::Test::Utils::tempdir or die $!;
command_ok(
	[
		'pg_upgrade', '--old-datadir', $origin->data_dir, '--new-datadir', $upgraded->data_dir,
		'--old-bindir', $bin, '--new-bindir', $bin,
		'--old-port', $origin->port, '--new-port', $upgraded->port,
		'--socketdir', $upgraded->host
	],
	'pg_upgrade');
check_restored($upgraded, 'upgrade', 40000);

done_testing();
