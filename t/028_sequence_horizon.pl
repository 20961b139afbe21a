# The settled horizon of a sequence over crashes, killed sessions and prepared transactions, and
# beside writers: it does not go back, no value below it comes again, and no row appears
# there.
#
# SQL can neither crash a server nor write and read at the same time.  (021_horizon_standby.pl
# promotes standbys.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Only what is tested flushes WAL.
my $node = new_server('main', conf => <<'CONF');
restart_after_crash = on
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
wal_writer_delay = 10s
max_connections = 250
log_statement = none
max_prepared_transactions = 10
CONF
$node->safe_psql('postgres', 'CREATE TABLE events (id bigserial PRIMARY KEY, writer int)');
add_database($node, 'other');

my $insert = 'INSERT INTO events DEFAULT VALUES RETURNING id';
my $call = "CALL seqid.sequence_horizon('events_id_seq')";
my $unflushed = 'SET synchronous_commit = off;';
my $unknown = '-9223372036854775808';

# The horizon, or the SQLSTATE.
sub horizon { return outcome($node, $call) =~ s/\|.*//r }

#
# Crashes.  nextval() logs 32 values ahead without a flush: whatever part of these was used,
# what a reader got is not given again.
#
for my $values (1, 2, 31, 32, 33, 34, 65)
{
	my $what = "$values values, crash";

	outcome($node, "$unflushed SELECT max(nextval('events_id_seq')) FROM generate_series(1, $values)");
	# The procedure flushes the LSN that it returns, too; the function has only its bound.
	my $horizon = $values % 2 ? horizon() : outcome($node, "SELECT seqid.settled('events_id_seq')");
	crash($node);
	cmp_ok(horizon(), '>=', $horizon, "$what: the horizon does not go back");
	cmp_ok(horizon(), '<=', $horizon + 32, "$what: nor far ahead");
	cmp_ok(outcome($node, $insert), '>=', $horizon, "$what: the next value is not below it");
}

# A sequence that was restarted by a transaction that is not flushed
outcome($node, "$unflushed ALTER SEQUENCE events_id_seq RESTART WITH 1000");
is(my $horizon = horizon(), 1000, 'ALTER SEQUENCE, crash: the horizon has passed');
crash($node);
is(horizon(), $horizon, 'ALTER SEQUENCE, crash: it stands');

# Rows below the horizon survive it.
my $id = outcome($node, "$unflushed $insert");
is(horizon(), $id + 1, 'row, crash: it is settled');
crash($node);
is(outcome($node, "SELECT count(*) FROM events WHERE id = $id"), 1, 'row, crash: it is there');

#
# Sessions that end in an open transaction release it.
#
for my $end ('terminated', 'killed')
{
	my $victim = SeqidSession->new($node);

	horizon();
	$id = $victim->query("BEGIN; $insert");
	is(horizon(), $id, "$end: it was held");
	is(outcome($node, "SELECT sequence FROM seqid.horizon_holders WHERE pid = $victim->{pid}"),
		'events_id_seq', "$end: by the session that the view shows");
	is(outcome($node, 'other', 'SELECT count(*) FROM seqid.horizon_holders'), 0, "$end: which another database does not see");
	$end eq 'killed' ? $victim->kill_backend : outcome($node, "SELECT pg_terminate_backend($victim->{pid}, 180000)");
	wait_until($node, 'SELECT true') or die 'the server does not restart';
	$victim->abandon;
	cmp_ok(horizon(), '>', $id, "$end: it is released");
	cmp_ok(outcome($node, $insert), '>', $id, "$end: the next value is above it");
}

#
# A prepared transaction holds it.  After a restart it has another virtual id, and the memory of
# looks is gone, so that its values are not known.
#
my $holders = 'SELECT gid, pid, sequence FROM seqid.horizon_holders';
for my $end ('COMMIT', 'ROLLBACK')
{
	for my $mode ('fast', 'kill')
	{
		my $what = "prepared, $mode, $end";

		horizon();
		$id = outcome($node, "BEGIN; $insert; PREPARE TRANSACTION 'held'");
		outcome($node, $insert);
		is(horizon(), $id, "$what: it is held");
		is(outcome($node, $holders), 'held||events_id_seq', "$what: as the view shows");
		$mode eq 'fast' ? $node->restart : crash($node);
		my $later = outcome($node, $insert);
		is(horizon(), $unknown, "$what: after the restart it is not known");
		is(outcome($node, $holders), 'held||events_id_seq', "$what: the view shows it");
		outcome($node, "$end PREPARED 'held'");
		is(horizon(), $later + 1, "$what: it is released");
	}
}

#
# Many sequences of one role, or of another database, do not take the memory of a sequence whose
# holder is known.
#
$horizon = horizon();
my $holder = SeqidSession->new($node);
$id = $holder->query("BEGIN; $insert");
is(horizon(), $horizon, 'many sequences: the holder is known');
my $follow_many = <<'SQL';
DO $$ BEGIN FOR i IN 1..600 LOOP EXECUTE format('CREATE SEQUENCE many.s%s', i); END LOOP; END $$;
DO $$ BEGIN FOR i IN 1..600 LOOP EXECUTE format('CALL seqid.sequence_horizon(''many.s%s'')', i); END LOOP; END $$
SQL
is(outcome($node, 'other', "CREATE SCHEMA many; $follow_many"), '', 'many sequences: in another database');
is(horizon(), $horizon, 'many sequences: it is still known');
is(outcome($node, "CREATE ROLE regress_many; CREATE SCHEMA many AUTHORIZATION regress_many; SET ROLE regress_many; $follow_many"), '',
	'many sequences: of another role');
is(horizon(), $horizon, 'many sequences: it is still known');
$holder->query('COMMIT');
$holder->close;
is(horizon(), $id + 1, 'many sequences: it is released');

#
# Writers, with savepoints, rollbacks, prepared transactions and thought, beside a reader.  One
# that goes up to the greatest key misses rows.
#
$node->safe_psql('postgres', <<'SQL');
DROP TABLE events;
CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, writer int);
CREATE TABLE seen (id bigint);
CREATE TABLE seen_by_max (id bigint PRIMARY KEY);
CREATE TABLE place (horizon bigint, polls int, back int);
INSERT INTO place VALUES (-9223372036854775808, 0, 0);
SQL
# A poll takes as long with many rows as with few, although the tables have no statistics.
my $poll = <<'SQL';
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL jit = off;
SELECT horizon AS last FROM place FOR UPDATE \gset
CALL seqid.sequence_horizon('events_id_seq') \gset
INSERT INTO seen SELECT id FROM events WHERE id >= :last AND id < :horizon;
INSERT INTO seen_by_max SELECT id FROM events WHERE id > (SELECT coalesce(max(id), 0) FROM seen_by_max);
UPDATE place SET horizon = greatest(horizon, :horizon), polls = polls + 1, back = back + (:horizon < horizon)::int;
COMMIT;
SQL
my $transactions = ($ENV{SEQID_MINUTES} || 0) * 20000 || 300;
$node->pgbench("--no-vacuum --client 10 --jobs 2 --transactions $transactions", 0, [qr{processed: ${\(10 * $transactions)}/}],
	[qr/^(?!.*(ERROR|aborted))/s], 'writers and a reader', {
	'028_poll@1' => $poll,
	'028_writers@4' => <<'SQL'
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
\elif :fate = 9
PREPARE TRANSACTION 'p:client_id';
\sleep :thought us
COMMIT PREPARED 'p:client_id';
\else
COMMIT;
\endif
INSERT INTO events (writer) VALUES (:client_id);
SQL
	});
outcome($node, $poll);
is(outcome($node, 'SELECT back FROM place'), 0, 'beside writers: the horizon does not go back');
is(outcome($node, 'SELECT count(*) FROM events LEFT JOIN seen USING (id) WHERE seen.id IS NULL'), 0, 'beside writers: no row is missed');
is(outcome($node, 'SELECT count(*) - count(DISTINCT id) FROM seen'), 0, 'beside writers: none comes twice');
note outcome($node, 'SELECT (SELECT count(*) FROM events), (SELECT polls FROM place),
	(SELECT count(*) FROM events LEFT JOIN seen_by_max s USING (id) WHERE s.id IS NULL)') . ': rows, polls, missed by max(id)';
is(outcome($node, 'SELECT count(*) FROM seqid.horizon_holders'), 0, 'beside writers: nothing is held afterwards');

# 200 pollers and writers at once, beside ALTER SEQUENCE: no session gets an error or starves.
$node->pgbench('--no-vacuum --client 200 --jobs 2 --transactions 5', 0, [qr{processed: 1000/1000}], [qr/^(?!.*(ERROR|aborted))/s],
	'200 pollers', {
	'028_alter@1' => 'ALTER SEQUENCE events_id_seq MAXVALUE 1000000000000',
	'028_call@9' => $call,
	'028_settled@2' => "SELECT count(*) FROM events WHERE id >= 100 AND id < seqid.settled('events_id_seq')",
	'028_insert@2' => $insert
	});
$id = outcome($node, $insert);
is(horizon(), $id + 1, '200 pollers: the horizon passes a row');

# The error identifies the sequence whose page is damaged.
{
	my $file = $node->data_dir . '/' . outcome($node, "SELECT pg_relation_filepath('events_id_seq')");
	my $oid = outcome($node, "SELECT 'events_id_seq'::regclass::oid");

	$node->stop;
	my $page = slurp_file($file);
	substr($page, 16, 2) = pack 'S', 8192;	# no special space, so no magic number
	unlink $file;
	append_to_file($file, $page);
	$node->start;
	is(full_outcome($node, $_), "XX001: page of sequence with OID $oid is damaged", "damaged: $_")
	  for "SELECT seqid.settled('events_id_seq')", $call;
}

$node->stop;
done_testing();
