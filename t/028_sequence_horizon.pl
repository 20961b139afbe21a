# The settled horizon of a sequence over crashes, killed sessions, standbys and failovers, and
# beside eight writers: it does not go back, no value up to it comes again, and no row
# appears.
#
# SQL can neither crash a server nor promote one, nor write and read at the same time.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Only what is tested flushes WAL.
my $node = new_server('main', streaming => 1, conf => <<'CONF');
restart_after_crash = on
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
wal_writer_delay = 10s
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE events (id bigserial PRIMARY KEY, writer int);
ALTER TABLE events ALTER id SET DEFAULT settled_nextval('events_id_seq');
CREATE DATABASE other;
SQL

my $insert = 'INSERT INTO events DEFAULT VALUES RETURNING id';
my $get = "SELECT settled_nextval('events_id_seq')";
my $unflushed = 'SET synchronous_commit = off;';

# The value, lsn and timeline, or the SQLSTATE.
sub horizon ($on = $node, $database = 'postgres')
{
	return split /\|/, outcome($on, $database, "CALL seqid.sequence_horizon('events_id_seq')");
}

sub value { return (horizon(@_))[0] }

#
# Crashes.  nextval() logs 32 values ahead without a flush: whatever part of these was used,
# what a reader got is not given again.
#
for my $values (1, 2, 31, 32, 33, 34, 65)
{
	my $what = "$values values, crash";

	outcome($node, "$unflushed SELECT max(settled_nextval('events_id_seq')) FROM generate_series(1, $values)");
	my $value = value();
	$node->kill9;
	start_again($node);
	cmp_ok(value(), '>=', $value, "$what: the horizon does not go back");
	cmp_ok(value(), '<=', $value + 32, "$what: nor far ahead");
	cmp_ok(outcome($node, $insert), '>', $value, "$what: the next value is above it");
}

# A sequence that was restarted by a transaction that is not flushed
outcome($node, "$unflushed ALTER SEQUENCE events_id_seq RESTART WITH 1000");
is(my $value = value(), 999, 'ALTER SEQUENCE, crash: the horizon has passed');
$node->kill9;
start_again($node);
is(value(), $value, 'ALTER SEQUENCE, crash: it stands');

# Rows up to the horizon survive it.
my $id = outcome($node, "$unflushed $insert");
is(value(), $id, 'row, crash: it is settled');
$node->kill9;
start_again($node);
is(outcome($node, "SELECT count(*) FROM events WHERE id = $id"), 1, 'row, crash: it is there');

#
# Sessions that end in an open transaction release it.
#
for my $end ('terminated', 'killed')
{
	my $victim = SeqidSession->new($node);

	$id = $victim->query("BEGIN; $insert");
	is(value(), $id - 1, "$end: it was held");
	is(outcome($node, "SELECT value FROM seqid.horizon_holders WHERE pid = $victim->{pid} AND sequence = 'events_id_seq'::regclass"),
		$id - 1, "$end: by the session that the view shows");
	is(outcome($node, 'other', 'CREATE EXTENSION IF NOT EXISTS seqid; SELECT count(*) FROM seqid.horizon_holders'), 0,
		"$end: which another database does not see");
	if ($end eq 'killed')
	{
		$victim->kill_backend;
		wait_until($node, 'SELECT true') or die 'the server does not restart';
	}
	else
	{
		is(outcome($node, "SELECT pg_terminate_backend($victim->{pid}, 180000)"), 't', $end);
	}
	$victim->abandon;
	cmp_ok(value(), '>=', $id, "$end: it is released");
	cmp_ok(outcome($node, $insert), '>', $id, "$end: the next value is above it");
}

# Processes come and go in the same place, with transactions of the same number.
$value = value();
for my $round (1 .. 20)
{
	my $session = SeqidSession->new($node);
	$session->query($_) for ($get, 'SELECT 1') x ($round % 3), 'BEGIN', 'SELECT 1';
	my $now = value();
	cmp_ok($now, '>=', $value, "round $round: a transaction without a value does not take it back");
	$value = $now;
	$session->query("$get; COMMIT");
	$session->close;
}

#
# A synchronous standby: what a reader got there has been flushed there, whatever level the
# writers have.
#
my $standby = new_standby($node, 'standby');

is((horizon($standby))[0], '25006', 'standby: no horizon');
is(outcome($standby, $get), '25006', 'standby: no value');

for my $level ('on', 'local', 'off')
{
	my $open = SeqidSession->new($node);

	$id = outcome($node, "SET synchronous_commit = $level; $insert");
	$open->query("BEGIN; $insert");
	my ($settled, $lsn, $timeline) = horizon();
	is($settled, $id, "commit $level: the row is settled");
	ok($standby->poll_query_until('postgres', "SELECT seqid.has_replayed('$lsn', $timeline)"), "commit $level: the LSN is replayed");
	is(outcome($standby, "SELECT count(*) FROM events WHERE id = $id"), 1, "commit $level: the standby has the row");
	$open->query('ROLLBACK');
	$open->close;
}

make_synchronous($node);
my $session = SeqidSession->new($node);
my $ask = "CALL seqid.sequence_horizon('events_id_seq')";

for my $end ('cancelled', 'the standby comes back', 'the primary is lost')
{
	$standby->stop;
	outcome($node, "SET synchronous_commit = local; SELECT max(settled_nextval('events_id_seq')) FROM generate_series(1, 40)");
	$session->send($ask);
	ok($session->waits_for($node, 'SyncRep'), "standby away, $end: the reader waits");
	if ($end eq 'the primary is lost')
	{
		$node->kill9;
		is($session->so_far, '', "$end: the reader has no value");
		$session->abandon;
		start_again($standby);
		last;
	}
	outcome($node, "SELECT pg_cancel_backend($session->{pid})") if $end eq 'cancelled';
	start_again($standby) if $end ne 'cancelled';
	my $answer = $session->answer;
	like($session->errors, $end eq 'cancelled' ? qr/^ERROR:  57014: /m : qr/^$/, "$end: the outcome");
	start_again($standby) if $end eq 'cancelled';
	($value) = split /\|/, $answer || $session->query($ask);
}
promote_standby($standby);
cmp_ok(value($standby), '>=', $value, 'synchronous failover: the horizon does not go back');
cmp_ok(outcome($standby, $insert), '>', $value, 'synchronous failover: the next value is above it');

#
# Eight writers, with savepoints, rollbacks and thought, beside a reader.
#
$node = $standby;
$node->safe_psql('postgres', <<'SQL');
TRUNCATE events RESTART IDENTITY;
CREATE TABLE seen (id bigint);
CREATE TABLE seen_by_max (id bigint);
CREATE TABLE rounds (polls int, back int);
CREATE PROCEDURE read_until_done() LANGUAGE plpgsql AS $$
DECLARE
	last bigint := 0;
	last_max bigint := 0;
	bound record;
	polls int := 0;
	back int := 0;
	done bool;
BEGIN
	LOOP
		SELECT pg_try_advisory_lock_shared(1) INTO done;
		EXECUTE $call$CALL seqid.sequence_horizon('events_id_seq')$call$ INTO bound;
		back := back + (bound.value < last)::int;
		INSERT INTO seen SELECT id FROM events WHERE id > last AND id <= bound.value;
		WITH n AS (INSERT INTO seen_by_max SELECT id FROM events WHERE id > last_max RETURNING id)
		SELECT coalesce(max(id), last_max) INTO last_max FROM n;
		last := bound.value;
		polls := polls + 1;
		COMMIT;
		EXIT WHEN done;
	END LOOP;
	INSERT INTO rounds VALUES (polls, back);
END
$$;
SQL
my ($control, $reader) = map { SeqidSession->new($node) } 1 .. 2;
$control->query('SELECT pg_advisory_lock(1)');
$reader->query('SET enable_seqscan = off');
$reader->send('CALL read_until_done()');
my $transactions = ($ENV{SEQID_MINUTES} // 0) * 20000 || 300;
$node->pgbench("--no-vacuum --client 8 --jobs 2 --transactions $transactions", 0, [qr{processed: ${\(8 * $transactions)}/}], [],
	'eight writers', {
	'028_writers' => <<'SQL'
\set fate random(1, 10)
\set thought random(0, 2000)
BEGIN;
INSERT INTO events (writer) VALUES (:client_id);
\sleep :thought us
SAVEPOINT a;
INSERT INTO events (writer) VALUES (:client_id);
\if :fate < 3
ROLLBACK TO a;
INSERT INTO events (writer) SELECT :client_id FROM generate_series(1, 3);
\endif
\sleep :thought us
\if :fate = 10
ROLLBACK;
\else
COMMIT;
\endif
INSERT INTO events (writer) VALUES (:client_id);
SQL
	});
$control->query('SELECT pg_advisory_unlock(1)');
$reader->answer;
is($reader->errors, '', 'beside writers: the reader has no error');
is(outcome($node, 'SELECT back FROM rounds'), 0, 'beside writers: the horizon does not go back');
is(outcome($node, 'SELECT count(*) FROM events LEFT JOIN seen USING (id) WHERE seen.id IS NULL'), 0, 'beside writers: no row is missed');
is(outcome($node, 'SELECT count(*) - count(DISTINCT id) FROM seen'), 0, 'beside writers: none comes twice');
note outcome($node, 'SELECT (SELECT count(*) FROM events), (SELECT polls FROM rounds),
	(SELECT count(*) FROM events LEFT JOIN seen_by_max s USING (id) WHERE s.id IS NULL)') . ': rows, polls, missed by max(id)';
is(outcome($node, 'SELECT count(*) FROM seqid.horizon_holders'), 0, 'beside writers: nothing is held afterwards');
$_->close for $control, $reader;

# PostgreSQL generates values again after a crash, if a sequence was restarted and called in
# one transaction under this level.
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\narchive_mode = off\n");
$node->restart;
outcome($node, "BEGIN; ALTER SEQUENCE events_id_seq RESTART WITH 5000000; $get; COMMIT");
outcome($node, "$get; $get; $get");
$value = value();
$node->kill9;
start_again($node);
is(value(), $value, 'wal_level = minimal, crash: the horizon does not go back');

# The horizon must not make nextval() believe that values ahead of it are logged.
$value = outcome($node, $insert);
$node->kill9;
start_again($node);
cmp_ok(outcome($node, $insert), '>', $value, 'wal_level = minimal, crash: a value after the horizon does not come again');

$node->stop;
done_testing();
