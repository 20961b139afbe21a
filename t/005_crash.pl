# The server is killed under load, again and again, and its clock is set back
# while it is down: no key is given twice.
#
# Only a real crash loses shared memory and the WAL that was not flushed.

use Time::HiRes qw(time);

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $collector = SeqidCollector->new;
my $node = PostgreSQL::Test::Cluster->new('main');

# Nothing but the mark flushes WAL.  The clock is set back by as much as a round takes,
# and ids are not to be refused for that where rounds take long.
$node->init;
$node->append_conf('postgresql.conf',
	"wal_writer_delay = 10s\nautovacuum = off\nrestart_after_crash = on\nseqid.max_clock_regression = 1h\n"
	  . "max_connections = 20\nmax_prepared_transactions = 2\n");
$clock->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

sub value
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', "SELECT $sql");
}

# Each case starts with the clock right, and beyond every mark: the next key needs
# a new one, and were that lost, nothing would keep the key from coming again.
sub set_clock_right
{
	$clock->set('+0s');
	for my $database ('postgres', @_)
	{
		$node->poll_query_until($database,
			'SELECT extract(epoch FROM clock_timestamp()) * 1000 > last_value FROM seqid.clock_mark')
		  or die 'the clock does not reach the mark';
	}
	return;
}

# It ends with a crash, and the clock 5 s behind.
sub crash
{
	$clock->crash($node, '-5s');
	return;
}

#
# One id, a crash at once, and a clock that is behind: were the mark not
# flushed before the id left, it would be lost.
#
for my $round (1 .. 3)
{
	set_clock_right();
	my $last = value('snowflake_nextval(5)');
	my $last53 = value('snowflake53_nextval(5)');
	my $comb = value('comb_uuid()');

	crash();
	cmp_ok(value('snowflake53_nextval(5)'), '>', $last53, "crash $round: snowflake53 ids go on");
	cmp_ok(value('snowflake_nextval(5)'), '>', $last, "crash $round: ids go on");
	cmp_ok(value('comb_uuid()'), 'gt', $comb, "crash $round: so do combs");
}
$clock->set('+0s');

#
# Under load: after the first crash the clock shows again what it showed when the
# clients began, so that every millisecond comes twice; after the second it is
# right, and so on.
#
my $began;

sub begin_round
{
	my ($round) = @_;

	$clock->set('+0s') if $round % 2;
	$began = time;
	return;
}

sub end_round
{
	my ($round) = @_;

	$clock->set(sprintf '%.3fs', $began - time) if $round % 2;
	return;
}

my @calls = (
	'SELECT snowflake_nextval(5) FROM generate_series(1, 50)',
	'SELECT snowflake_nextvals(5, 500)',
	'SELECT snowflake53_nextval(n % 4) FROM generate_series(1, 50) n',
	'SELECT comb_uuid() FROM generate_series(1, 50)',
	'SELECT snowflake_nextval(n % 4), comb_uuid() FROM generate_series(1, 50) n');
for my $round (1 .. 6)
{
	begin_round($round);
	my @clients = map { $collector->start($node, 'postgres', $_) } @calls;

	$collector->wait_for(20000, @clients);
	$node->kill9;
	$collector->finish(@clients);
	$clock->start($node);
	end_round($round);
}

#
# A backend that is killed takes shared memory with it, but not the postmaster.
#
for my $round (1 .. 4)
{
	begin_round($round);
	my $victim = SeqidSession->new($node);
	my @clients = map { $collector->start($node, 'postgres', $_) } @calls;

	$collector->wait_for(20000, @clients);
	$victim->kill_backend;
	$victim->abandon;
	$collector->finish(@clients);
	SeqidSession::wait_until($node, 'SELECT true') or die;
	end_round($round);
}

my ($keys, $twice) = $collector->count;
note("$keys keys");
cmp_ok($keys, '>', 10 * 2000, 'crashes under load: keys were given');
is($twice, 0, 'crashes under load: none of them twice');

#
# Two databases that share a shard, in one life and over a crash: what a
# database was given, it is not given again.
#
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION seqid');
set_clock_right('other');
my $here = value('snowflake_nextval(7)');
my $there = $node->safe_psql('other', 'SELECT snowflake_nextval(7)');
cmp_ok($there, '>', $here, 'two databases: one order while the server runs');
crash();
cmp_ok($node->safe_psql('other', 'SELECT snowflake_nextval(7)'),
	'>', $there, 'two databases: neither repeats its ids after a crash');
cmp_ok(value('snowflake_nextval(7)'), '>', $here, 'two databases: nor does the other');

#
# The mark is raised by a parallel worker, in a read-only transaction, in a
# subtransaction, and so on.  Each case tells its id, and whether it was drawn
# as it should be.
#
$node->safe_psql('postgres',
	'CREATE TABLE t AS SELECT generate_series(1, 10000) AS n;
	 ALTER TABLE t SET (parallel_workers = 2);
	 CREATE FUNCTION my_pid() RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE
	 AS $$ BEGIN RETURN pg_backend_pid(); END $$');
for my $case (
	[ 'parallel workers',
		'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		 SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
		 WITH d AS MATERIALIZED (SELECT snowflake_nextval(9) AS id, my_pid() AS pid FROM t)
		 SELECT max(id), bool_and(pid <> pg_backend_pid()) FROM d' ],
	[ 'a read-only transaction',
		"BEGIN READ ONLY; SELECT snowflake_nextval(9), current_setting('transaction_read_only')::boolean; COMMIT" ],
	[ 'a subtransaction that is rolled back',
		'BEGIN; SAVEPOINT a; SELECT snowflake_nextval(9), true; ROLLBACK TO a; COMMIT' ],
	[ 'a transaction that is rolled back', 'BEGIN; SELECT snowflake_nextval(9), true; ROLLBACK' ],
	[ 'no synchronous commit',
		"SET synchronous_commit = off;
		 SELECT snowflake_nextval(9), current_setting('synchronous_commit') = 'off'" ])
{
	my ($what, $sql) = @$case;

	set_clock_right();
	my ($last, $as_it_should) = split /\|/, $node->safe_psql('postgres', $sql);
	is($as_it_should, 't', "$what: draws the id");
	crash();
	cmp_ok(value('snowflake_nextval(9)'), '>', $last, "$what: ids go on after a crash");
}

# PREPARE flushes everything; the transaction is there again after the crash.
set_clock_right();
my $prepared = $node->safe_psql('postgres',
	"BEGIN; SELECT snowflake_nextval(9); CREATE TABLE p (); PREPARE TRANSACTION 'p'");
my $next = value('snowflake_nextval(9)');
cmp_ok($next, '>', $prepared, 'a prepared transaction: does not hold others up');
crash();
cmp_ok(value('snowflake_nextval(9)'), '>', $next,
	'a prepared transaction: ids go on after a crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");

$node->stop;
done_testing();
