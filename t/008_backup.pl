# A base backup, a point in time, a dump and a copied database are restored to
# a clock that is behind: no id of theirs comes again.
#
# Only real backups are restored by other servers.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $origin = PostgreSQL::Test::Cluster->new('origin');
$origin->init(allows_streaming => 1, has_archiving => 1);
$origin->start;
$origin->safe_psql('postgres',
	'CREATE EXTENSION seqid; CREATE TABLE t (id bigint, c uuid)');

my $fill = 'INSERT INTO t SELECT snowflake_nextval(5), comb_uuid() FROM generate_series(1, 10000)';

sub check_restored
{
	my ($node, $what, $database) = @_;

	is($node->safe_psql($database, 'SELECT count(*) >= 10000 FROM t'), 't', "$what: rows are there");
	is($node->safe_psql($database, 'SELECT snowflake_nextval(5) > (SELECT max(id) FROM t)'),
		't', "$what: ids go on");
	is($node->safe_psql($database,
			'SELECT bool_and(new > c) FROM t, (SELECT comb_uuid() AS new OFFSET 0) n'),
		't', "$what: combs go on in order");
	return;
}

# A base backup and no WAL after it.
$origin->safe_psql('postgres', $fill);
$origin->backup('base');
{
	my $clock = SeqidClock->new;
	my $node = PostgreSQL::Test::Cluster->new('base_backup');
	$clock->set('-5s');
	$node->init_from_backup($origin, 'base');
	$clock->start($node);
	check_restored($node, 'base backup', 'postgres');
	$node->stop;
}

# A point in time between two lots of rows.
$origin->safe_psql('postgres', $fill);
$origin->safe_psql('postgres', "SELECT pg_create_restore_point('between')");
$origin->safe_psql('postgres', $fill);
$origin->safe_psql('postgres', 'SELECT pg_switch_wal()');
{
	my $clock = SeqidClock->new;
	my $node = PostgreSQL::Test::Cluster->new('point_in_time');
	$clock->set('-5s');
	$node->init_from_backup($origin, 'base', has_restoring => 1);
	$node->append_conf('postgresql.conf',
		"recovery_target_name = 'between'\nrecovery_target_action = 'promote'");
	$clock->start($node);
	SeqidSession::wait_until($node, 'SELECT NOT pg_is_in_recovery()') or die;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '20000', 'point in time: it is the one');
	check_restored($node, 'point in time', 'postgres');
	$node->stop;
}

# A dump, into another server, and by another tool than COPY of files.
$origin->safe_psql('postgres', "SELECT setval('seqid.clock_mark', last_value + 2000) FROM seqid.clock_mark");
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
$origin->command_ok([ 'pg_dump', '--file', $dump, $origin->connstr('postgres') ], 'dump: made');
like(slurp_file($dump), qr/setval\('seqid\.clock_mark', \d{13}, true\)/, 'dump: has the mark');
{
	my $clock = SeqidClock->new;
	my $node = PostgreSQL::Test::Cluster->new('restored_dump');
	$clock->set('-5s');
	$node->init;
	# The marks that are set here add up to more than 10 s where all goes quickly.
	$node->append_conf('postgresql.conf', 'seqid.max_clock_regression = 1min');
	$clock->start($node);
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ],
		'dump: restored');
	check_restored($node, 'dump', 'restored');

	# A mark that is set in a running server is a floor for new sessions.
	my $mark = $node->safe_psql('restored',
		"SELECT setval('seqid.clock_mark', last_value + 3000) FROM seqid.clock_mark");
	is( $node->safe_psql(
			'restored',
			"SELECT extract(epoch FROM snowflake_timestamp(snowflake_nextval(9))) * 1000 > $mark"),
		't', 'dump: a mark that is set is the floor of unused shards');
	$node->stop;
}

# CREATE DATABASE ... TEMPLATE, in one life and then over a crash.
$origin->safe_psql('postgres', "CREATE DATABASE template_db");
$origin->safe_psql('template_db', 'CREATE EXTENSION seqid; CREATE TABLE t (id bigint, c uuid)');
$origin->safe_psql('template_db', $fill);
$origin->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE template_db');
check_restored($origin, 'template', 'copy');
$origin->safe_psql('copy', $fill);
$origin->safe_psql('postgres', 'CREATE DATABASE late_copy TEMPLATE copy');
$origin->kill9;
{
	my $clock = SeqidClock->new;
	$clock->set('-3s');
	$clock->start($origin);
	check_restored($origin, 'template, after a crash', 'late_copy');
	check_restored($origin, 'copy, after a crash', 'copy');
	check_restored($origin, 'original, after a crash', 'template_db');
}

# pg_upgrade: here to the same version, which it allows.
$origin->safe_psql('postgres', $fill);
$origin->stop;
{
	my $clock = SeqidClock->new;
	my $node = PostgreSQL::Test::Cluster->new('upgraded');
	chomp(my $bin = `pg_config --bindir`);

	$clock->set('-5s');
	$node->init;
	chdir PostgreSQL::Test::Utils::tempdir or die $!;
	command_ok(
		[
			'pg_upgrade', '--old-datadir', $origin->data_dir, '--new-datadir', $node->data_dir,
			'--old-bindir', $bin, '--new-bindir', $bin,
			'--old-port', $origin->port, '--new-port', $node->port,
			'--socketdir', $node->host
		],
		'upgrade: done');
	$clock->start($node);
	check_restored($node, 'upgrade', 'postgres');
	check_restored($node, 'upgrade', 'template_db');
	$node->stop;
}

done_testing();
