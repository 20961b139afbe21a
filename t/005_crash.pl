# The server is killed under load, again and again, and its clock is set back while it
# is down: no key is returned twice.
#
# Only a real crash loses shared memory and the WAL that was not flushed.

use v5.36;
use Time::HiRes qw(time);
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $collector = SeqidCollector->new;

# Only the mark flushes WAL.  The clock is set back by the length of a round, and ids
# must not be refused for that on a slow machine.
my $node = new_server('main', clock => $clock, conf => <<'CONF');
wal_writer_delay = 10s
restart_after_crash = on
max_connections = 20
max_prepared_transactions = 2
seqid.max_lead = 1h
CONF

sub value
{
	return $node->safe_psql('postgres', "SELECT $_[0]");
}

# Each case starts with a clock that is past every mark: the next key needs a new mark.
# If that were lost, nothing would keep the key from coming again.
sub crash
{
	$clock->crash($node, '-5s');
}

for my $round (1 .. 3)
{
	$clock->set_right($node);
	my ($last, $last53, $comb) = split /\|/, value('snowflake_nextval(5), snowflake53_nextval(5), comb_uuid()');

	crash();
	cmp_ok(value('snowflake53_nextval(5)'), '>', $last53, "crash $round: snowflake53 ids go on");
	cmp_ok(value('snowflake_nextval(5)'), '>', $last, "crash $round: ids go on");
	cmp_ok(value('comb_uuid()'), 'gt', $comb, "crash $round: so do COMBs");
}
$clock->set('+0s');

#
# Under load.  In odd rounds the clock is set back to when the clients began, so that
# each millisecond comes twice.  First the server is killed, then a backend, which takes
# shared memory with it.
#
my @calls = (
	'SELECT snowflake_nextval(5) FROM generate_series(1, 50)',
	'SELECT snowflake_nextvals(5, 500)',
	'SELECT snowflake53_nextval(n % 4) FROM generate_series(1, 50) n',
	'SELECT comb_uuid() FROM generate_series(1, 50)',
	'SELECT snowflake_nextval(n % 4), comb_uuid() FROM generate_series(1, 50) n');
for my $round (1 .. 10)
{
	$clock->set('+0s') if $round % 2;
	my $began = time;
	my $victim = $round > 6 ? SeqidSession->new($node) : undef;
	my @clients = map { $collector->start($node, 'postgres', $_) } @calls;

	$collector->wait_for(20000, @clients);
	$victim ? $victim->kill_backend : $node->kill9;
	$victim->abandon if $victim;
	$collector->finish(@clients);
	$clock->start($node) unless $victim;
	wait_until($node, 'SELECT true') or die 'the server does not restart';
	$clock->set(sprintf '%.3fs', $began - time) if $round % 2;
}
my ($keys, $twice) = $collector->count;
note("$keys keys");
cmp_ok($keys, '>', 10 * 2000, 'crashes under load: keys were returned');
is($twice, 0, 'crashes under load: none of them twice');

#
# Two databases share a shard; after a crash neither repeats its own ids.
#
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION seqid');
$clock->set_right($node, 'postgres', 'other');
my $here = value('snowflake_nextval(7)');
my $there = $node->safe_psql('other', 'SELECT snowflake_nextval(7)');
crash();
cmp_ok($node->safe_psql('other', 'SELECT snowflake_nextval(7)'), '>', $there, 'two databases: one goes on after a crash');
cmp_ok(value('snowflake_nextval(7)'), '>', $here, 'two databases: so does the other');

#
# Transactions that raise the mark.  Each returns its id, and whether it was as it says.
#
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT generate_series(1, 10000) AS n;
ALTER TABLE t SET (parallel_workers = 2);
CREATE FUNCTION my_pid() RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN pg_backend_pid(); END';
SQL
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
		"SET synchronous_commit = off; SELECT snowflake_nextval(9), current_setting('synchronous_commit') = 'off'" ])
{
	my ($what, $sql) = @$case;

	$clock->set_right($node);
	my ($last, $as_it_says) = split /\|/, $node->safe_psql('postgres', $sql);
	is($as_it_says, 't', "$what: generates the id");
	crash();
	cmp_ok(value('snowflake_nextval(9)'), '>', $last, "$what: ids go on after a crash");
}

# PREPARE flushes WAL; the transaction is there again after the crash.
$clock->set_right($node);
my $prepared = $node->safe_psql('postgres',
	"BEGIN; SELECT snowflake_nextval(9); CREATE TABLE p (); PREPARE TRANSACTION 'p'");
my $next = value('snowflake_nextval(9)');
cmp_ok($next, '>', $prepared, 'a prepared transaction: does not hold up others');
crash();
cmp_ok(value('snowflake_nextval(9)'), '>', $next, 'a prepared transaction: ids go on after a crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");

$node->stop;
done_testing();
