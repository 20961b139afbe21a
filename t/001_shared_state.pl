# The shared state: without preload, with it, after a crash, and without room.
#
# SQL alone cannot start servers, nor kill their backends.

use IPC::Run ();

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

sub crash_backend
{
	my ($node) = @_;
	my $session = SeqidSession->new($node);

	is($session->kill_backend, 1, 'a backend is killed');
	$session->abandon;
	SeqidSession::wait_until($node, 'SELECT true')
	  or die 'the server did not come back';
	return;
}

# Whether two sessions draw from one state, which survives neither of them.
sub test_sharing
{
	my ($node, $what) = @_;
	my $first = SeqidSession->new($node);
	my $second = SeqidSession->new($node);
	my ($ids, @combs) = (0);

	my $last = 0;
	for my $round (1 .. 50)
	{
		for my $session ($first, $second)
		{
			my $id = $session->query('SELECT snowflake_nextval(5)');
			$ids++ if $id > $last;
			$last = $id;
			push @combs, $session->query('SELECT comb_uuid()');
		}
	}
	is($ids, 100, "$what: each snowflake is greater than the last one's");
	is_deeply([ sort @combs ], \@combs, "$what: so is each comb");

	# A session that did not see the same word would begin at its clock.
	my %millisecond = (snowflake => 4096, snowflake53 => 128);
	for my $kind (sort keys %millisecond)
	{
		my $ids = $millisecond{$kind};
		my $block = $first->query(
			"SELECT max(${kind}_nextblock(6, $ids)) FROM generate_series(1, 50)");

		cmp_ok($second->query("SELECT ${kind}_nextval(6)"), '>', $block + $ids - 1,
			"$what: a session sees the $kind blocks of another");
		cmp_ok($node->safe_psql('postgres', "SELECT ${kind}_nextval(6)"),
			'>', $block + $ids - 1, "$what: and a later one does");
	}
	$_->close for $first, $second;
	return;
}

sub test_crash
{
	my ($node, $what) = @_;
	my $before = $node->safe_psql('postgres', 'SELECT snowflake_nextval(5)');

	crash_backend($node);
	cmp_ok($node->safe_psql('postgres', 'SELECT snowflake_nextval(5)'),
		'>', $before, "$what: ids go on after a crash restart");
	is($node->safe_psql('postgres', 'SELECT comb_uuid_is_valid(comb_uuid())'),
		't', "$what: combs too");
	return;
}

# Not preloaded: CREATE EXTENSION in a running server is all it takes.
my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init;
$plain->append_conf('postgresql.conf', 'restart_after_crash = on');
$plain->start;
$plain->safe_psql('postgres', 'CREATE EXTENSION seqid');
test_sharing($plain, 'not preloaded');
test_crash($plain, 'not preloaded');

# A setting of a role that is set before the library is loaded.
$plain->safe_psql('postgres', 'ALTER DATABASE postgres SET seqid.shards = 33');
is($plain->safe_psql('postgres', 'SELECT snowflake_shard(snowflake_nextval())'),
	'33', 'a setting of the database reaches a library loaded later');
$plain->safe_psql('postgres', 'ALTER DATABASE postgres RESET seqid.shards');

# Another database of the server draws from the same state.
$plain->safe_psql('postgres', 'CREATE DATABASE other');
$plain->safe_psql('other', 'CREATE EXTENSION seqid');
my $here = $plain->safe_psql('postgres',
	'SELECT max(snowflake_nextblock(6, 4096)) FROM generate_series(1, 50)');
cmp_ok($plain->safe_psql('other', 'SELECT snowflake_nextval(6)'),
	'>', $here + 4095, 'two databases share a shard');
$plain->stop;

# Without a postmaster, where there are no others, and no memory to share.
my $statements = "SELECT snowflake_shard(snowflake_nextval(5)) AS drawn\n"
  . "SELECT comb_uuid_is_valid(comb_uuid()) AS valid\n";
IPC::Run::run([ 'postgres', '--single', '-D', $plain->data_dir, 'postgres' ],
	'<', \$statements, '>', \my $single, '2>', \my $errors);
like($single, qr/drawn = "5".*valid = "t"/s, 'single user: draws keys')
  or diag($errors);

# Preloaded.
my $preloaded = PostgreSQL::Test::Cluster->new('preloaded');
$preloaded->init;
$preloaded->append_conf('postgresql.conf',
	"shared_preload_libraries = 'seqid'\nseqid.shards = 21\nrestart_after_crash = on");
$preloaded->start;
my $version = $preloaded->safe_psql('postgres', 'SHOW server_version_num');
is($preloaded->safe_psql('postgres', 'SHOW seqid.shards'),
	'21', 'preloaded: the configuration file sets the shard');
if ($version < 170000)
{
	is( $preloaded->safe_psql(
			'postgres',
			"SELECT sum(size) BETWEEN 25216 AND 25728 FROM pg_shmem_allocations WHERE name LIKE 'seqid%'"),
		't',
		'preloaded: 25 kB are reserved when the server starts');
}
$preloaded->safe_psql('postgres', 'CREATE EXTENSION seqid');
is($preloaded->safe_psql('postgres', 'SELECT snowflake_shard(snowflake_nextval())'),
	'21', 'preloaded: which issues its ids');
test_sharing($preloaded, 'preloaded');
test_crash($preloaded, 'preloaded');

# No session comes before the library, so what is taken out of the file was all that
# stood in the way.
$preloaded->safe_psql('postgres', "ALTER SYSTEM SET seqid.allowed_shards = '21'");
$preloaded->restart;
like(($preloaded->psql('postgres', 'SELECT snowflake_nextval(5)'))[2],
	qr/shard 5/, 'preloaded: a shard that is not allowed is refused');
$preloaded->safe_psql('postgres', 'ALTER SYSTEM RESET seqid.allowed_shards');
$preloaded->reload;
ok(SeqidSession::wait_until($preloaded, "SELECT current_setting('seqid.allowed_shards') <> '21'"),
	'preloaded: its list is taken out of the file');
is($preloaded->safe_psql('postgres', 'SELECT snowflake_shard(snowflake_nextval(5))'),
	'5', 'preloaded: which allows all shards again');

# Behind another library that wants shared memory.
SKIP:
{
	my $available = $preloaded->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'");

	skip 'no pg_stat_statements', 2 unless $available;
	$preloaded->append_conf('postgresql.conf',
		"shared_preload_libraries = 'pg_stat_statements, seqid'");
	$preloaded->restart;
	$preloaded->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
	is($preloaded->safe_psql('postgres', 'SELECT count(*) > 0 FROM pg_stat_statements'),
		't', 'preloaded behind another library: that one works');
	is($preloaded->safe_psql('postgres', 'SELECT snowflake_shard(snowflake_nextval())'),
		'21', 'preloaded behind another library: so does seqid');
}
$preloaded->stop;

# No room: before 17 the slack of shared memory can be used up by lock tables.
if ($version < 170000)
{
	my $full = PostgreSQL::Test::Cluster->new('full');
	$full->init;
	$full->append_conf('postgresql.conf', 'max_connections = 10');
	$full->start;

	my ($status, $out, $err) = $full->psql('postgres',
		'SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 10000000) n');
	like($err, qr/out of shared memory/, 'locks have used up shared memory');

	($status, $out, $err) = $full->psql('postgres',
		"\\set VERBOSITY verbose\nCREATE EXTENSION seqid");
	like($err, qr/53200: not enough shared memory/,
		'no room: the error is out_of_memory');
	like($err, qr/HINT:  Add seqid to "shared_preload_libraries"/,
		'no room: the hint names the setting');
	is($full->safe_psql('postgres', 'SELECT 1'), '1',
		'no room: the server goes on');

	# and following the hint helps
	$full->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'");
	$full->restart;
	$full->safe_psql('postgres', 'CREATE EXTENSION seqid');
	$full->psql('postgres',
		'SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 10000000) n');
	is($full->safe_psql('postgres', 'SELECT snowflake_shard(snowflake_nextval(5))'),
		'5', 'no room: preloading reserves it');
	$full->stop;
}

done_testing();
