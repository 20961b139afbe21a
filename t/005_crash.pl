# The server crashes, and its clock is set back while it is down: no key is returned twice,
# whatever kind of transaction has raised the mark, and keys stay above those of other servers
# that it has seen.
#
# Only a real crash loses shared memory and the WAL that was not flushed.
# (t/torture/keys.pl crashes a server under load.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Only the mark flushes WAL.
my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, conf => <<'CONF');
wal_writer_delay = 10s
max_prepared_transactions = 2
seqid.max_lead = 10min
seqid.shards = 3
CONF

# Transactions that raise the mark.  Each returns its id, and whether it was as it says.  It
# starts with a clock that is past the mark: the id needs a new one, and if that were lost,
# nothing would keep the id from coming again.  (012_neighbours.pl has several databases.)
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
	$clock->crash($node, '-5s');
	cmp_ok(outcome($node, 'SELECT snowflake_nextval(9)'), '>', $last, "$what: ids go on after a crash");
}
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");

# Cause before effect: a witness raises keys above one of another server.  Its shard is higher,
# so that only time can put an id above the other.
my %made = (
	snowflake => 'snowflake_make(%s, 900, 4095)',
	snowflake53 => 'snowflake53_make(%s, 30, 127)',
	comb_uuid => 'comb_uuid_last(%s)');
my %next = (snowflake => 'snowflake_nextval()', snowflake53 => 'snowflake53_nextval()', comb_uuid => 'comb_uuid()');

sub witness ($kind, $minutes)
{
	my $key = sprintf $made{$kind}, "clock_timestamp() + $minutes * interval '1 min'";

	return outcome($node, "SELECT ${kind}_witness($key)");
}

sub is_above ($kind, $key, $what)
{
	is(outcome($node, "SELECT $next{$kind} > '$key'"), 't', "$what, $kind: the next key is greater");
}

$clock->set_right($node);
for my $kind (sort keys %made)
{
	is_above($kind, witness($kind, 5), 'a witness');
	is(witness($kind, 60), '22023', "a witness, $kind: refused if it is an hour ahead");
	witness($kind, -60);
	is( outcome($node, "SELECT ${kind}_timestamp($next{$kind}) - clock_timestamp() BETWEEN interval '1 min' AND interval '6 min',
			snowflake_timestamp(snowflake_nextval(4)) <= clock_timestamp()"),
		't|t', "a witness, $kind: neither that nor an old one changes anything, and another shard is at the clock");
}

# The mark covers it, although no key was generated since.  Each is later than the mark before.
my $minutes = 5;
for my $kind (sort keys %made)
{
	my $key = witness($kind, ++$minutes);

	$clock->crash($node, '-1s');
	is_above($kind, $key, 'a witness and a crash');
}

$node->stop;
done_testing();
