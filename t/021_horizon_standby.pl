# The settled horizon and standbys: who has replayed its LSN has all rows below it,
# and that LSN comes without more WAL; a promotion does not take it back, and a
# prepared transaction holds it after one.
#
# Only a real standby replays WAL, and is promoted.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);

# Nothing but what is tested writes WAL, or flushes it.
$primary->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
wal_writer_delay = 10s
max_prepared_transactions = 5
CONF
$clock->start($primary);
$primary->safe_psql('postgres', 'CREATE EXTENSION seqid; CREATE TABLE t (id bigint)');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

sub horizon
{
	my ($node) = @_;

	return split /\|/, outcome($node // $primary, 'postgres', 'CALL seqid.horizon()');
}

sub is_no_earlier
{
	my ($node, $later, $earlier, $what) = @_;

	is(outcome($node, 'postgres', "SELECT '$later'::timestamptz >= '$earlier'"), 't', $what) or diag("$later, $earlier");
	return;
}

# The primary is idle, apart from who asks: the LSN is one that he flushed.
sub wait_for_replay
{
	my ($lsn, $what) = @_;

	ok(defined $lsn && ($standby->pg_version < '19devel' ?
		$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") :
		outcome($standby, 'postgres', "WAIT FOR LSN '$lsn' WITH (TIMEOUT '180s', NO_THROW)") eq 'success'),
		"$what: the LSN is replayed");
	return;
}

is(outcome($standby, 'postgres', 'CALL seqid.horizon()'), '25006', 'a standby does not tell it');
is(outcome($standby, 'postgres', 'BEGIN READ ONLY; CALL seqid.horizon()'), '25006', 'nor in a transaction');
is(outcome($standby, 'postgres', 'SELECT count(*) FROM seqid.horizon_holders'), '0', 'a standby has no holders');

#
# Rows below the horizon, on the standby; whatever the level of their commit, and
# beside a transaction that has written WAL which nobody flushes.
#
my $open = SeqidSession->new($primary);
my $checks = 0;

for my $level ('on', 'local', 'off')
{
	$open->query('BEGIN');
	$open->query('INSERT INTO t VALUES (0)');
	outcome($primary, 'postgres', "SET synchronous_commit = $level; INSERT INTO t SELECT snowflake_nextval(5) FROM generate_series(1, 1000)");
	$primary->poll_query_until('postgres', 'SELECT clock_timestamp() > (SELECT last_time FROM seqid.stat_shards WHERE shard = 5) + interval \'1 ms\'')
	  or die 'the clock stands still';
	$open->query('INSERT INTO t SELECT 0 FROM generate_series(1, 100)');
	my ($told, $lsn) = horizon();
	my $count = outcome($primary, 'postgres', "SELECT count(*) FROM t WHERE id > 0 AND id < snowflake_first('$told')");
	is($count, 1000 * ++$checks, "commit $level: the rows are below the horizon");
	is(outcome($primary, 'postgres', "SELECT pg_current_wal_flush_lsn() >= '$lsn'"), 't', "commit $level: the LSN is flushed");
	wait_for_replay($lsn, "commit $level");
	is(outcome($standby, 'postgres', "SELECT count(*) FROM t WHERE id > 0 AND id < snowflake_first('$told')"), $count,
		"commit $level: the standby has them");
	$open->query('ROLLBACK');
}

#
# WAL that ends anywhere, at the end of a page and of a segment too: records of an
# open transaction, and of no transaction, of sizes that cover a page step by step.
#
my ($page_ends, $reached) = (0, 1);
$open->query('BEGIN');
$open->query('SELECT txid_current()');

# A record of this kind is so many bytes longer than its message, and all are
# aligned to 8: messages that end where a page does are found by trying.
$open->query(<<'SQL');
CREATE FUNCTION pg_temp.fill_page() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	room bigint;
	size int;
	block int := current_setting('wal_block_size')::int;
	before pg_lsn;
	grown bigint;
BEGIN
	-- The header alone: without WAL of other processes, a page's image that a
	-- hint bit caused, or the header of the next page of WAL.
	LOOP
		before := pg_current_wal_insert_lsn();
		PERFORM pg_logical_emit_message(true, 't', repeat('x', 400));
		grown := pg_current_wal_insert_lsn() - before - 400;
		EXIT WHEN grown < 100 AND (before - '0/0') % block + 400 + grown < block;
	END LOOP;
	LOOP
		room := block - (pg_current_wal_insert_lsn() - '0/0') % block;
		size := room - grown;
		EXIT WHEN size >= 300;
		PERFORM pg_logical_emit_message(true, 't', repeat('x', 400));
	END LOOP;
	-- 300 bytes or more, so that the header of the record is the same
	PERFORM pg_logical_emit_message(true, 't', repeat('x', size));
	RETURN (pg_current_wal_insert_lsn() - '0/0') % block;
END
$$
SQL

for my $turn (1 .. 4)
{
	my $at = $open->query('SELECT pg_temp.fill_page()');
	my ($told, $lsn) = horizon();

	is($open->errors, '', "end of a page, $turn: no error");
	$page_ends++ if $at <= 40;
	like($lsn, qr{^[0-9A-F]+/[0-9A-F]+$}, "end of a page, $turn: the horizon is told");
	wait_for_replay($lsn, "end of a page, $turn");
}
cmp_ok($page_ends, '>', 0, 'WAL did end with a page');
$open->query('ROLLBACK');

# A mark that is due, or the server, may write after the switch: again then.  It is not
# due just after a horizon was told, so there is nothing else in between.
{
	my ($at, $lsn);

	for my $try (1 .. 100)
	{
		($lsn) = $open->query('CALL seqid.horizon(); SELECT pg_switch_wal(); CALL seqid.horizon()') =~ /^[^|\n]+\|([^|]+)\|[^\n]*\z/m;
		$at = outcome($primary, 'postgres', "SELECT ('$lsn'::pg_lsn - '0/0') % setting::bigint FROM pg_settings WHERE name = 'wal_segment_size'");
		last if $at eq '0';
	}
	is($at, '0', 'end of a segment: that is the LSN');
	wait_for_replay($lsn, 'end of a segment');
}

for my $size (map { 100 + 8 * $_ } 0 .. 40)
{
	$open->query("BEGIN; SELECT pg_logical_emit_message(true, 't', repeat('x', $size + 8000))");
	my ($told, $lsn) = horizon();
	$reached = 0 unless $standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'");
	$open->query('ROLLBACK');
}
is($reached, 1, 'records of many sizes: each LSN is replayed');

#
# A prepared transaction, and a promotion of a synchronous standby whose clock is
# behind: held by the same, and not told earlier.
#
my $behind = SeqidClock->new;
$behind->set('-5s');
$behind->restart($standby, '-5s', 'fast');
$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$primary->reload;
SeqidSession::wait_until_synchronous($primary);

# Two, so that one is there to be committed and one to be rolled back.
horizon();
my @drawn;
for my $name ('regress_seqid_a', 'regress_seqid_b')
{
	push @drawn, outcome($primary, 'postgres', "BEGIN; INSERT INTO t SELECT snowflake_nextval(5) RETURNING snowflake_timestamp(id); PREPARE TRANSACTION '$name'");
	horizon();
	outcome($primary, 'postgres', 'INSERT INTO t SELECT snowflake_nextval(5)');
}
$open->query('BEGIN');
$open->query('INSERT INTO t SELECT snowflake_nextval(5)');
my ($held) = horizon();
is_no_earlier($primary, $drawn[0], $held, 'prepared: held below its key');
my $holders = "SELECT string_agg(coalesce(gid, 'a process'), ', ' ORDER BY gid) FROM seqid.horizon_holders";
is(outcome($primary, 'postgres', $holders), 'regress_seqid_a, regress_seqid_b, a process', 'prepared: all are shown');

$primary->kill9;
$open->abandon;
$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$standby->reload;
$standby->promote;
is(outcome($standby, 'postgres', $holders), 'regress_seqid_a, regress_seqid_b', 'promoted: those that are prepared are shown');
is((horizon($standby))[0], $held, 'promoted: the horizon stands');
is(outcome($standby, 'postgres', "ROLLBACK PREPARED 'regress_seqid_a'; SELECT 1"), '1', 'promoted: rolled back');
my ($next) = horizon($standby);
is_no_earlier($standby, $next, $held, 'promoted, one rolled back: it does not go back');
is_no_earlier($standby, $drawn[1], $next, 'promoted, one rolled back: held by the other');
is(outcome($standby, 'postgres', "COMMIT PREPARED 'regress_seqid_b'; SELECT 1"), '1', 'promoted: committed');
my ($free) = horizon($standby);
is(outcome($standby, 'postgres', "SELECT '$free'::timestamptz > '$drawn[1]'"), 't', 'promoted: it goes on, the clock behind');
is_no_earlier($standby, outcome($standby, 'postgres', 'SELECT snowflake_timestamp(snowflake_nextval(77))'), $free,
	'promoted: no key below it, of a shard that was not used');

#
# Told by a primary that nothing else than the horizon has made write the mark; the
# clock of its standby is behind.
#
$behind->set('+0s');
$standby->backup('second');
my $successor = PostgreSQL::Test::Cluster->new('successor');
my $late = SeqidClock->new;
$late->set('-5s');
$successor->init_from_backup($standby, 'second', has_streaming => 1);
$late->start($successor);
$standby->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$standby->reload;
SeqidSession::wait_until_synchronous($standby);
$standby->poll_query_until('postgres', 'SELECT extract(epoch FROM clock_timestamp()) * 1000 > last_value FROM seqid.clock_mark')
  or die 'the clock does not reach the mark';
my ($told) = horizon($standby);
$standby->kill9;
$successor->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$successor->reload;
$successor->promote;
is_no_earlier($successor, outcome($successor, 'postgres', 'SELECT snowflake_timestamp(snowflake_nextval(78))'), $told,
	'second promotion: no key below the horizon');
is_no_earlier($successor, (horizon($successor))[0], $told, 'second promotion: it does not go back');

$successor->stop;
done_testing();
