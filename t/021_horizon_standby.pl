# The settled horizons, of keys and of a sequence, and standbys.  A standby that has replayed
# their LSN has all rows below them, and needs no more WAL to replay that LSN.  A promotion
# does not take them back, and a prepared transaction holds one after it.
#
# Only a real standby replays WAL, and is promoted.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Only what is tested writes WAL, or flushes it.
my $primary = new_server('primary', clock => SeqidClock->new, streaming => 1, conf => <<'CONF');
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
wal_writer_delay = 10s
max_prepared_transactions = 5
CONF
$primary->safe_psql('postgres', 'CREATE TABLE t (id bigint); CREATE TABLE events (id bigserial)');
my $insert = 'INSERT INTO events DEFAULT VALUES RETURNING id';
my $call = "CALL seqid.sequence_horizon('events_id_seq')";
my $standby = new_standby($primary, 'standby');

sub horizon_and_lsn
{
	return split /\|/, outcome($primary, 'CALL seqid.horizon()');
}

# The primary is idle, apart from the reader: nothing else flushes the LSN.
sub is_replayed ($lsn, $what)
{
	ok(defined $lsn && ($standby->pg_version < '19devel' ?
		$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") :
		outcome($standby, "WAIT FOR LSN '$lsn' WITH (TIMEOUT '180s', NO_THROW)") eq 'success'),
		"$what: the LSN is replayed");
}

is(outcome($standby, $_), '25006', "a standby does not return it: $_")
  for 'CALL seqid.horizon()', 'BEGIN READ ONLY; CALL seqid.horizon()', $call;
is(outcome($standby, 'SELECT count(*) FROM seqid.horizon_holders'), '0', 'a standby has no holders');

#
# Rows below the horizon, whatever synchronous_commit of their transaction, and beside a
# transaction whose WAL nothing flushes.
#
my $open = SeqidSession->new($primary);
my $rows = 0;
for my $level ('on', 'local', 'off')
{
	$open->query('BEGIN; INSERT INTO t VALUES (0)');
	my $id = outcome($primary, "SET synchronous_commit = $level; $insert;
		INSERT INTO t SELECT snowflake_nextval(5) FROM generate_series(1, 1000)");
	wait_for_clock($primary, outcome($primary, 'SELECT last_time FROM seqid.stat_shards WHERE shard = 5'));
	$open->query('INSERT INTO t SELECT 0 FROM generate_series(1, 100)');
	my ($horizon, $lsn) = horizon_and_lsn();
	my $count = "SELECT count(*) FROM t WHERE id > 0 AND id < snowflake_first('$horizon')";
	$rows += 1000;
	is(outcome($primary, $count), $rows, "commit $level: the rows are below the horizon");
	is(outcome($primary, "SELECT pg_current_wal_flush_lsn() >= '$lsn'"), 't', "commit $level: the LSN is flushed");
	is_replayed($lsn, "commit $level");
	is(outcome($standby, $count), $rows, "commit $level: the standby has them");
	$open->query('ROLLBACK');

	# The open value is known to be above what an earlier look has seen.
	outcome($primary, $call);
	my $open_id = $open->query("BEGIN; $insert");
	(my $settled, $lsn, my $timeline, my $lifetime) = split /\|/, outcome($primary, $call);
	is($settled, $open_id, "commit $level, sequence: the row is settled, and an open one is not");
	is_replayed($lsn, "commit $level, sequence");
	is(outcome($standby, "SELECT count(*), seqid.has_replayed('$lsn', $timeline, $lifetime) FROM events WHERE id = $id"), '1|t',
		"commit $level, sequence: the standby has it");
	$open->query('ROLLBACK');
}

#
# WAL that ends at the end of a page or of a segment
#
# A message fills its page if it is as long as the room there, less the header of the record
# and at most 7 bytes for alignment.  How long a header is is found by trying.
#
$open->query(<<'SQL');
BEGIN;
SELECT txid_current();
CREATE FUNCTION pg_temp.fill_page() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	block int := current_setting('wal_block_size');
	room int;
BEGIN
	FOR try IN 0..299 LOOP
		-- 300 bytes or more, so that the header has one length, or up to the end of the next page
		room := block - (pg_current_wal_insert_lsn() - '0/0') % block;
		IF room < 400 THEN
			room := room + block - 24;
		END IF;
		PERFORM pg_logical_emit_message(true, 't', repeat('x', room - 40 - try % 60));
		-- behind the header of the next page
		IF (pg_current_wal_insert_lsn() - '0/0') % block = 24 THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END
$$
SQL
for my $turn (1 .. 4)
{
	is($open->query('SELECT pg_temp.fill_page()'), 't', "end of a page, $turn: WAL ends there");
	is_replayed((horizon_and_lsn())[1], "end of a page, $turn");
}
$open->query('ROLLBACK');

# A mark that is due, or the server, may write after the switch: then it tries again.  The
# mark is not due just after a horizon.
my ($at, $lsn) = ('', '');
for my $try (1 .. 100)
{
	last if $at eq '0';
	($lsn) = $open->query('CALL seqid.horizon(); SELECT pg_switch_wal(); CALL seqid.horizon()') =~ /^[^|\n]+\|([^|]+)\|[^\n]*\z/m;
	$at = outcome($primary, "SELECT ('$lsn'::pg_lsn - '0/0') % setting::bigint FROM pg_settings WHERE name = 'wal_segment_size'");
}
is($at, '0', 'end of a segment: that is the LSN');
is_replayed($lsn, 'end of a segment');

#
# A synchronous standby whose clock is behind is promoted: the same prepared transactions
# hold back the horizon, which does not go back.  What a reader of a sequence got has been flushed
# there, whatever level the writers have.
#
my $behind = SeqidClock->new('-5s');
$behind->restart($standby, '-5s', 'fast');
make_synchronous($primary);
my @keys;
settled_horizon($primary);
for my $gid ('regress_seqid_a', 'regress_seqid_b')
{
	push @keys, outcome($primary, "BEGIN; INSERT INTO t SELECT snowflake_nextval(5) RETURNING snowflake_timestamp(id); PREPARE TRANSACTION '$gid'");
	settled_horizon($primary);
	outcome($primary, 'INSERT INTO t SELECT snowflake_nextval(5)');
}
$open->query('BEGIN; INSERT INTO t SELECT snowflake_nextval(5)');
my $held = settled_horizon($primary);
is_no_earlier($primary, $keys[0], $held, 'prepared: held, not above its key');
my $holders = "SELECT string_agg(coalesce(gid, 'a process'), ', ' ORDER BY gid) FROM seqid.horizon_holders";
is(outcome($primary, $holders), 'regress_seqid_a, regress_seqid_b, a process', 'prepared: the view shows all');

my $reader = SeqidSession->new($primary);
my $settled;
for my $end ('cancelled', 'the standby comes back', 'the primary is lost')
{
	$standby->stop;
	outcome($primary, "SET synchronous_commit = local; SELECT max(nextval('events_id_seq')) FROM generate_series(1, 40)");
	$reader->send($call);
	ok($reader->waits_for($primary, 'SyncRep'), "standby away, $end: the reader waits");
	if ($end eq 'cancelled')
	{
		outcome($primary, "SELECT pg_cancel_backend($reader->{pid})");
		like($reader->answer . $reader->errors, qr/^ERROR:  57014: /m, 'standby away, cancelled: the reader has no horizon');
	}
	$primary->kill9 if $end eq 'the primary is lost';
	$behind->start($standby);
	($settled) = split /\|/, $reader->answer if $end eq 'the standby comes back';
}
is($reader->so_far, '', 'standby away, the primary is lost: the reader has no horizon');
$_->abandon for $open, $reader;

# The snapshot of a standby lists its open transactions elsewhere.
my $earlier = SeqidSession->new($standby);
$earlier->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
promote_standby($standby);
like($earlier->full_outcome("SELECT seqid.settled('events_id_seq')"), qr/^25006: .* taken during recovery/, 'promoted: a snapshot of the standby has no bound');
$earlier->close;
cmp_ok((split /\|/, outcome($standby, $call))[0], '>=', $settled, 'promoted: the horizon of the sequence does not go back');
cmp_ok(outcome($standby, $insert), '>=', $settled, 'promoted: the next value is not below it');
is(outcome($standby, $holders), 'regress_seqid_a, regress_seqid_b', 'promoted: the view shows those that are prepared');
is(settled_horizon($standby), $held, 'promoted: the horizon stands');
outcome($standby, "ROLLBACK PREPARED 'regress_seqid_a'");
my $next = settled_horizon($standby);
is_no_earlier($standby, $next, $held, 'promoted, one rolled back: it does not go back');
is_no_earlier($standby, $keys[1], $next, 'promoted, one rolled back: the other holds it');
outcome($standby, "COMMIT PREPARED 'regress_seqid_b'");
my $free = settled_horizon($standby);
is(outcome($standby, "SELECT '$free'::timestamptz > '$keys[1]'"), 't', 'promoted, none left: it goes on, the clock behind');
is_no_earlier($standby, outcome($standby, 'SELECT snowflake_timestamp(snowflake_nextval(77))'), $free,
	'promoted: no key below it, of an unused shard');

$standby->stop;
done_testing();
