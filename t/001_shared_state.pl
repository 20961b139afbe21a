# All sessions of a server share one state, whether the library is preloaded or not,
# and after a crash; without room for it, an error names the remedy.  A session that loads
# the library within a parallel query has its settings afterwards.
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

	# A session with a state of its own would begin at its clock.
	my %millisecond = (snowflake => 4096, snowflake53 => 128);
	for my $kind (sort keys %millisecond)
	{
		my $ids = $millisecond{$kind};
		my $last = $first->query("SELECT max(${kind}_nextblock(6, $ids)) + $ids - 1 FROM generate_series(1, 50)");

		is($second->query("SELECT ${kind}_nextval(6) > $last"), 't', "$how: a session sees the $kind blocks of another");
		is(outcome($node, "SELECT ${kind}_nextval(6) > $last"), 't', "$how: and a later one does");
	}
	$second->close;

	my @keys = new_keys($node);
	$first->kill_backend;
	$first->abandon;
	wait_until($node, 'SELECT true') or die 'the server does not restart';
	keys_ascend($node, \@keys, "$how, after a crash");
}

# Not preloaded: CREATE EXTENSION in a running server is all it takes.
my $plain = new_server('plain', conf => <<'CONF');
restart_after_crash = on
seqid.allowed_shards = '0-30, 32-1023'
max_prepared_transactions = 5
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
max_parallel_workers_per_gather = 2
max_parallel_maintenance_workers = 2
CONF
check_sharing($plain, 'not preloaded');

add_database($plain, 'other');
my $last = outcome($plain, 'SELECT max(snowflake_nextblock(6, 4096)) + 4095 FROM generate_series(1, 50)');
is(outcome($plain, 'other', "SELECT snowflake_nextval(6) > $last"), 't', 'two databases share a shard');

# A session cannot define settings while it is in parallel mode: calls that need them are
# refused.  The library is loaded there by functions that a plan does not show: within another
# function, or an index's expression.  (019_horizon.pl has workers of a session that has
# loaded it.)
$plain->safe_psql('postgres', <<'SQL');
CREATE TABLE many AS SELECT generate_series(1, 20000)::bigint AS id;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
CREATE FUNCTION draw() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN snowflake_nextval(5); END';
CREATE FUNCTION draw_of_server() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN snowflake_nextval(); END';
CREATE FUNCTION draw_comb() RETURNS uuid LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN comb_uuid(); END';
ALTER DATABASE postgres SET seqid.shards = 33;
ALTER DATABASE postgres SET seqid.max_lead = '1h';
SQL

# Runs a query in a new session, which has its settings afterwards.
sub check_parallel_load ($participation, $sql, $expected, $again)
{
	my $what = "$sql, leader participation $participation";
	my $session = SeqidSession->new($plain);

	$session->query("SET parallel_leader_participation = $participation");
	is($session->outcome($sql), $expected, $what);
	is( $session->outcome("SELECT snowflake_shard(snowflake_nextval(5)), snowflake_shard(snowflake_nextval()),
			current_setting('seqid.max_lead')"), '5|33|1h', "$what: then it generates keys, and has the limit");
	is($session->outcome('SELECT snowflake_nextval(31)'), '55000', "$what: has the list");
	is($session->outcome($sql), $again, "$what: then it works");
	is($session->errors, '', "$what: without a warning");
	$session->close;
}

check_parallel_load('on', 'SELECT count(draw()) FROM many', '55000', 20000);
check_parallel_load('off', 'SELECT count(draw_of_server()) FROM many', '55000', 20000);
check_parallel_load('on', 'CREATE INDEX ON many (snowflake_timestamp(id))', '', '');

# Unless its workers are refused, the leader would not know at PREPARE that they have
# generated COMBs.
check_parallel_load('off', 'SELECT count(draw_comb()) FROM many', '55000', 20000);
$plain->append_conf('postgresql.conf', 'max_prepared_transactions = 0');
$plain->restart;
check_parallel_load('off', 'SELECT count(DISTINCT draw_comb()) FROM many', 20000, 20000);
$plain->stop;

# Without a postmaster there is no shared memory and no other session.
my $statements = <<'SQL';
SELECT snowflake_shard(snowflake_nextval(5)) AS id, comb_uuid_is_valid(comb_uuid()) AS valid
CREATE SEQUENCE s
SELECT nextval('s')
CALL seqid.sequence_horizon('s')
SELECT seqid.settled('s')
SQL
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

	$full->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'");
	$full->restart;
	outcome($full, "CREATE EXTENSION seqid; $use_up");
	is(outcome($full, 'SELECT snowflake_shard(snowflake_nextval(5))'), '5', 'no room: preloading reserves it');
	$full->stop;
}

done_testing();
