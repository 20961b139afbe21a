# All sessions of a server share one state, whether the library is preloaded or not,
# and after a crash; without room for it, an error names the remedy.
#
# SQL can neither start servers nor kill their backends.

use v5.36;
use IPC::Run ();
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

sub check_sharing ($node, $how)
{
	my ($first, $second) = map { SeqidSession->new($node) } 1 .. 2;
	my (@ids, @combs);

	for my $session (($first, $second) x 50)
	{
		push @ids, $session->query('SELECT snowflake_nextval(5)');
		push @combs, $session->query('SELECT comb_uuid()');
	}
	is(scalar(grep { $ids[$_] <= $ids[ $_ - 1 ] } 1 .. $#ids), 0, "$how: snowflakes ascend over sessions");
	is(scalar(grep { $combs[$_] le $combs[ $_ - 1 ] } 1 .. $#combs), 0, "$how: so do COMBs");

	# A session with a state of its own would begin at its clock.
	my %millisecond = (snowflake => 4096, snowflake53 => 128);
	for my $kind (sort keys %millisecond)
	{
		my $ids = $millisecond{$kind};
		my $block = $first->query("SELECT max(${kind}_nextblock(6, $ids)) FROM generate_series(1, 50)");

		cmp_ok($second->query("SELECT ${kind}_nextval(6)"), '>', $block + $ids - 1,
			"$how: a session sees the $kind blocks of another");
		cmp_ok(outcome($node, "SELECT ${kind}_nextval(6)"), '>', $block + $ids - 1, "$how: and a later one does");
	}
	$_->close for $first, $second;

	my @keys = new_keys($node);
	my $victim = SeqidSession->new($node);
	$victim->kill_backend;
	$victim->abandon;
	wait_until($node, 'SELECT true') or die 'the server does not restart';
	keys_ascend($node, \@keys, "$how, after a crash");
}

# Not preloaded: CREATE EXTENSION in a running server is all it takes.
my $plain = new_server('plain', conf => 'restart_after_crash = on');
check_sharing($plain, 'not preloaded');

$plain->safe_psql('postgres', 'ALTER DATABASE postgres SET seqid.shards = 33');
is(outcome($plain, 'SELECT snowflake_shard(snowflake_nextval())'),
	'33', 'a setting of the database reaches a library loaded later');

add_database($plain, 'other');
my $here = outcome($plain, 'SELECT max(snowflake_nextblock(6, 4096)) FROM generate_series(1, 50)');
cmp_ok(outcome($plain, 'other', 'SELECT snowflake_nextval(6)'), '>', $here + 4095, 'two databases share a shard');
$plain->stop;

# Without a postmaster there is no shared memory and no other session.
my $statements = join "\n", 'SELECT snowflake_shard(snowflake_nextval(5)) AS id', 'SELECT comb_uuid_is_valid(comb_uuid()) AS valid',
  'CREATE SEQUENCE s', "SELECT nextval('s')", "CALL seqid.sequence_horizon('s')", "SELECT seqid.settled('s')\n";
IPC::Run::run([ 'postgres', '--single', '-D', $plain->data_dir, 'postgres' ],
	'<', \$statements, '>', \my $single, '2>', \my $errors);
like($single, qr/id = "5".*valid = "t".*horizon = "2".*settled = "2"/s,
	'single user: generates keys, and returns a horizon') or diag($errors);

# Preloaded, behind another library that wants shared memory.
my $preloaded = new_server('preloaded',
	conf => "shared_preload_libraries = 'pg_stat_statements, seqid'\nseqid.shards = 21\nrestart_after_crash = on");
my $dynamic = $preloaded->pg_version >= '17devel';
is( outcome($preloaded, "SELECT sum(size) BETWEEN 33664 AND 34176 FROM pg_shmem_allocations WHERE name LIKE 'seqid%'"),
	't', 'preloaded: 34 kB are reserved when the server starts') unless $dynamic;
is(outcome($preloaded, 'SELECT snowflake_shard(snowflake_nextval())'), '21', 'preloaded: the file sets the shard');
check_sharing($preloaded, 'preloaded');
is(outcome($preloaded, 'CREATE EXTENSION pg_stat_statements; SELECT count(*) > 0 FROM pg_stat_statements'),
	't', 'preloaded: the other library works');

# Sessions inherit the list from the postmaster, which must see that it was removed.
$preloaded->safe_psql('postgres', "ALTER SYSTEM SET seqid.allowed_shards = '21'");
$preloaded->restart;
is(outcome($preloaded, 'SELECT snowflake_nextval(5)'), '55000', 'preloaded: a shard that is not allowed is refused');
$preloaded->safe_psql('postgres', 'ALTER SYSTEM RESET seqid.allowed_shards');
$preloaded->reload;
wait_until($preloaded, "SELECT current_setting('seqid.allowed_shards') <> '21'") or die 'the list is still there';
is(outcome($preloaded, 'SELECT snowflake_shard(snowflake_nextval(5))'), '5', 'preloaded: all shards are allowed again');
$preloaded->stop;

# No room: before 17, lock tables can use up the slack of shared memory.
if (!$dynamic)
{
	my $full = new_server('full', conf => 'max_connections = 10', extension => 0);
	my $use_up = 'SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 10000000) n';

	is(outcome($full, $use_up), '53200', 'no room: locks have used up shared memory');
	my $err = ($full->psql('postgres', "\\set VERBOSITY verbose\nCREATE EXTENSION seqid"))[2];
	like($err, qr/ERROR:  53200: .*HINT:  .*"shared_preload_libraries"/s, 'no room: refused, and the hint names the setting');
	is(outcome($full, 'SELECT 1'), '1', 'no room: the server goes on');

	$full->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'");
	$full->restart;
	outcome($full, "CREATE EXTENSION seqid; $use_up");
	is(outcome($full, 'SELECT snowflake_shard(snowflake_nextval(5))'), '5', 'no room: preloading reserves it');
	$full->stop;
}

done_testing();
