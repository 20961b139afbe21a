# The server crashes, restarts with another clock, or copies a database: no database repeats a
# key of its own, whatever kind of transaction has raised the mark, keys stay above those of other
# servers that it has seen, and a mark that is far ahead concerns its database only.
#
# Only a real crash loses shared memory and the WAL that was not flushed, and SQL cannot set the
# clock.  (t/torture/keys.pl crashes a server under load.  t/stops/database_state.pl has more
# databases than the server has room for, and t/torture/databases.pl creates and drops many.)

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
# nothing would keep the id from coming again.
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
	is( outcome($node, "SELECT ${kind}_timestamp($next{$kind}) - clock_timestamp() BETWEEN '1 min' AND '6 min',
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

# Which times are ahead of the clock by ten seconds or more.  A server that was restarted is
# ahead by the rest of the mark's second.  Ten seconds are more than a slow machine can add, and
# less than the day of another database.
sub ahead ($database, @times)
{
	my $values = join ', ', map { "($_)" } @times;

	return outcome($node, $database, "SELECT count(*) FILTER (WHERE at > clock_timestamp() + interval '10 s'),
		count(*) FILTER (WHERE at BETWEEN clock_timestamp() + interval '23 h' AND clock_timestamp() + interval '25 h')
		FROM (VALUES $values OFFSET 0) t (at)");
}

sub check_at_the_clock ($what, @databases)
{
	my @times = ('snowflake_timestamp(snowflake_nextval(5))', 'snowflake_timestamp(snowflake_nextval(7))',
		'comb_uuid_timestamp(comb_uuid())', '(SELECT greatest(clock_floor, clock_mark, comb_uuid_time) FROM seqid.stat_database)');

	is(ahead($_, @times), '0|0', "$what: $_ is at the clock") for @databases;
}

#
# A mark that is a day ahead is so in one database.  "near" is not used while the clock
# is wrong, "late" is used for the first time after it.
#
add_database($node, $_) for 'near', 'far', 'late';
outcome($node, 'late', 'SELECT snowflake_nextval(5)');
$clock->restart($node, '+1d');
my ($far_comb) = split /\|/, outcome($node, 'far', 'SELECT comb_uuid(), snowflake_nextval(7)');
$clock->restart($node, '+0s');

check_at_the_clock('beside a day ahead', 'near');
is(outcome($node, 'far', "SELECT snowflake_nextval($_)"), '55000', "a day ahead: shard $_ is refused") for 5, 7;
cmp_ok(outcome($node, 'far', 'SELECT comb_uuid()'), 'gt', $far_comb, 'a day ahead: COMBs go on');
is(ahead('far', 'comb_uuid_timestamp(comb_uuid())', '(SELECT clock_floor FROM seqid.stat_database)'),
	'2|2', 'a day ahead: from there, and the floor shows it');
check_at_the_clock('beside a day ahead', 'near', 'late');
$node->safe_psql('postgres', 'DROP DATABASE far');
$clock->restart($node, '+0s');
check_at_the_clock('after a day ahead', 'late', 'near');

#
# A copy that is made while the server runs starts above the mark that came with it, and
# knows nothing of the keys that the original generates from then on.
#
add_database($node, 'original');
$node->safe_psql('original', 'CREATE TABLE t (id bigint PRIMARY KEY, c uuid UNIQUE);
	INSERT INTO t SELECT snowflake_nextval(6), comb_uuid() FROM generate_series(1, 10000)');
my $mark = outcome($node, 'original', 'SELECT last_value FROM seqid.clock_mark');
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE original');

# A key that is in the table already is an error.
sub check_fill ($what, @databases)
{
	is(outcome($node, $_, 'WITH before AS MATERIALIZED (SELECT max(id) AS id, max(c::text) AS c FROM t),
			n AS (INSERT INTO t SELECT snowflake_nextval(6), comb_uuid() FROM generate_series(1, 10000), before
				RETURNING id, c)
			SELECT count(*), bool_and(n.id > before.id), bool_and(n.c::text > before.c) FROM n, before'),
		'10000|t|t', "$what: $_ goes on") for @databases;
}

check_fill('copied', 'copy', 'original', 'copy');
is(outcome($node, 'copy', "SELECT round(extract(epoch FROM clock_floor) * 1000) = $mark FROM seqid.stat_database"),
	't', 'copied: the floor is the mark that came with it');
$node->safe_psql('postgres', 'CREATE DATABASE late_copy TEMPLATE copy');
$clock->crash($node, '-2s');
check_fill('copied, and a crash', 'late_copy', 'original', 'copy');

$node->stop;
done_testing();
