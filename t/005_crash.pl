# The server is killed under load, again and again, and its clock is set back
# while it is down: no key is given twice.
#
# Only a real crash loses shared memory and the WAL that was not flushed.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use FindBin;
use lib $FindBin::RealBin;
use SeqidClock;
use SeqidCollector;
use SeqidSession;

my $clock = SeqidClock->new;
my $collector = SeqidCollector->new;
my $node = PostgreSQL::Test::Cluster->new('main');

# Nothing but the mark flushes WAL.
$node->init;
$node->append_conf('postgresql.conf',
	"wal_writer_delay = 10s\nautovacuum = off\nrestart_after_crash = on\n"
	  . "max_connections = 20\n");
$clock->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

sub value
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', "SELECT $sql");
}

#
# One id, a crash at once, and a clock that is behind: were the mark not
# flushed before the id left, it would be lost.
#
for my $round (1 .. 3)
{
	my $last = value('snowflake_nextval(5)');
	my $comb = value('comb_uuid()');

	$node->kill9;
	$clock->set(-2 * $round . 's');
	$clock->start($node);
	cmp_ok(value('snowflake_nextval(5)'), '>', $last, "crash $round: ids go on");
	cmp_ok(value('comb_uuid()'), 'gt', $comb, "crash $round: so do combs");
}
$clock->set('+0s');

#
# Under load: the clock goes back, and forward again, with each crash.
#
my @calls = (
	'SELECT snowflake_nextval(5) FROM generate_series(1, 50)',
	'SELECT snowflake_nextvals(5, 500)',
	'SELECT comb_uuid() FROM generate_series(1, 50)',
	'SELECT snowflake_nextval(n % 4), comb_uuid() FROM generate_series(1, 50) n');
for my $round (1 .. 6)
{
	my @clients = map { $collector->start($node, 'postgres', $_) } @calls;

	$collector->wait_for(20000, @clients);
	$node->kill9;
	$collector->finish(@clients);
	$clock->set($round % 2 ? '-4s' : '+0s');
	$clock->start($node);
}

#
# A backend that is killed takes shared memory with it, but not the postmaster.
#
for my $round (1 .. 3)
{
	my $victim = SeqidSession->new($node);
	my $pid = $victim->query('SELECT pg_backend_pid()');
	my @clients = map { $collector->start($node, 'postgres', $_) } @calls;

	$collector->wait_for(20000, @clients);
	$clock->set($round % 2 ? '-4s' : '+0s');
	kill 9, $pid;
	$collector->finish(@clients);
	SeqidSession::wait_until($node, 'SELECT true') or die;
}

my ($keys, $twice) = $collector->count;
note("$keys keys");
cmp_ok($keys, '>', 9 * 2000, 'crashes under load: keys were given');
is($twice, 0, 'crashes under load: none of them twice');

#
# Two databases that share a shard, in one life and over a crash: what a
# database was given, it is not given again.
#
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION seqid');
my $here = value('snowflake_nextval(7)');
my $there = $node->safe_psql('other', 'SELECT snowflake_nextval(7)');
cmp_ok($there, '>', $here, 'two databases: one order while the server runs');
$node->kill9;
$clock->set('-5s');
$clock->start($node);
cmp_ok($node->safe_psql('other', 'SELECT snowflake_nextval(7)'),
	'>', $there, 'two databases: neither repeats its ids after a crash');
cmp_ok(value('snowflake_nextval(7)'), '>', $here, 'two databases: nor does the other');

#
# First use in a parallel worker, in a read-only transaction, in a
# subtransaction, in a prepared transaction: the mark is raised in each.
#
$node->safe_psql('postgres',
	'CREATE TABLE t AS SELECT generate_series(1, 10000) AS n;
	 ALTER TABLE t SET (parallel_workers = 2)');
for my $case (
	[ 'parallel workers',
		'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		 SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
		 WITH d AS MATERIALIZED (SELECT snowflake_nextval(9) AS id FROM t) SELECT max(id) FROM d' ],
	[ 'a read-only transaction',
		'BEGIN READ ONLY; SELECT snowflake_nextval(9); COMMIT' ],
	[ 'a subtransaction that is rolled back',
		'BEGIN; SAVEPOINT a; SELECT snowflake_nextval(9); ROLLBACK TO a; COMMIT' ],
	[ 'a transaction that is rolled back', 'BEGIN; SELECT snowflake_nextval(9); ROLLBACK' ],
	[ 'no synchronous commit', 'SET synchronous_commit = off; SELECT snowflake_nextval(9)' ])
{
	my ($what, $sql) = @$case;
	my $last = $node->safe_psql('postgres', $sql);

	$node->kill9;
	# each 1 s further back than the one before
	$clock->set(-6 - ++$there % 3 . 's');
	$clock->start($node);
	cmp_ok(value('snowflake_nextval(9)'), '>', $last, "$what: ids go on after a crash");
}

$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->restart;
my $prepared = $node->safe_psql('postgres',
	"BEGIN; SELECT snowflake_nextval(9); CREATE TABLE p (); PREPARE TRANSACTION 'p'");
cmp_ok(value('snowflake_nextval(9)'), '>', $prepared,
	'a prepared transaction: does not hold others up');
$node->kill9;
$clock->start($node);
cmp_ok(value('snowflake_nextval(9)'), '>', $prepared,
	'a prepared transaction: ids go on after a crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");

$node->stop;
done_testing();
