# The server crashes, and its clock is set back while it is down: no key is returned twice,
# whatever kind of transaction has raised the mark.
#
# Only a real crash loses shared memory and the WAL that was not flushed.
# (t/torture/keys.pl crashes a server under load.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Only the mark flushes WAL.
my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, conf => "wal_writer_delay = 10s\nmax_prepared_transactions = 2");
my @databases = ('postgres', 'other');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION seqid');

# Each case starts with a clock that is past every mark: the next key needs a new mark.
# If that were lost, nothing would keep the key from coming again.
sub crash_behind
{
	$clock->crash($node, '-5s');
}

# Two databases share a shard; neither repeats its own keys.
for my $round (1 .. 3)
{
	$clock->set_right($node, @databases);
	my %keys = map { $_ => [ new_keys($node, $_) ] } @databases;

	crash_behind();
	keys_ascend($node, $keys{$_}, "crash $round, database $_", $_) for reverse @databases;
}

# Transactions that raise the mark.  Each returns its id, and whether it was as it says.
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
		"SET synchronous_commit = off; SELECT snowflake_nextval(9), current_setting('synchronous_commit') = 'off'" ],
	# PREPARE flushes WAL; the transaction is there again after the crash, and holds up no other.
	[ 'a prepared transaction',
		"BEGIN; SELECT snowflake_nextval(9), true; CREATE TABLE p (); PREPARE TRANSACTION 'p'" ])
{
	my ($what, $sql) = @$case;

	$clock->set_right($node);
	my ($last, $as_it_says) = split /\|/, $node->safe_psql('postgres', $sql);
	is($as_it_says, 't', "$what: generates the id");
	crash_behind();
	cmp_ok(outcome($node, 'SELECT snowflake_nextval(9)'), '>', $last, "$what: ids go on after a crash");
}
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");

$node->stop;
done_testing();
