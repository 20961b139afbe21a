# The settled horizon over crashes, clocks that are set back, prepared transactions,
# databases, parallel workers and the slots of processes: it does not go back, and only
# transactions that generated keys hold it.
#
# SQL can neither crash a server nor set its clock, nor look at one session from another, nor
# choose a process's slot.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, conf => <<'CONF');
restart_after_crash = on
max_prepared_transactions = 5
max_worker_processes = 8
seqid.max_lead = 45min
CONF
add_database($node, 'other');
$node->safe_psql($_, 'CREATE TABLE t (id bigint, c uuid)') for 'postgres', 'other';

sub value ($sql, $database = 'postgres')
{
	return outcome($node, $database, "SELECT $sql");
}

sub not_before
{
	is_no_earlier($node, @_);
}

sub is_later ($later, $earlier, $what)
{
	is(value("'$later'::timestamptz > '$earlier'"), 't', $what) or diag("$later, $earlier");
}

sub goes_on_after ($time, $what, $database = undef)
{
	wait_for_clock($node, $time);
	is_later(settled_horizon($node, $database), $time, "$what: the horizon goes on");
}

sub stands_at ($time, $what)
{
	wait_for_clock($node, value('clock_timestamp()'));
	is(settled_horizon($node), $time, "$what: the horizon stands");
}

sub held_by ($holders, $what, $database = undef)
{
	is(value("string_agg(coalesce(pid::text, gid), ',' ORDER BY pid, gid) FROM seqid.horizon_holders", $database),
		$holders, "$what: " . ($holders eq '' ? 'nothing holds it' : 'the view shows the holder'));
}

my $snowflake = 'snowflake_timestamp(snowflake_nextval(5))';
my $comb = 'comb_uuid_timestamp(comb_uuid())';

#
# The first reader of a database, while a transaction is open that was listed before: its
# horizon is a time of which bounds can be made.
#
{
	my $session = SeqidSession->new($node);
	my $key = $session->query("BEGIN; SELECT $snowflake");

	is(value("snowflake_first('" . settled_horizon($node) . "') BETWEEN 0 AND 4194304"),
		't', 'first reader: held at the beginning of snowflakes');
	$session->query('COMMIT');
	goes_on_after($key, 'first reader, released');
	$session->close;
}

#
# A crash, of a backend and of the whole server, and the clock 5 s behind: the mark covers
# the horizon, although no key was generated since.
#
for my $kind ('backend', 'postmaster')
{
	for my $writer_first (0, 1)
	{
		my $what = "crash of a $kind" . ($writer_first ? ', a writer before the reader' : '');

		$clock->set_right($node);
		my $victim = SeqidSession->new($node);
		$victim->query('BEGIN; INSERT INTO t SELECT snowflake_nextval(5)');
		my $horizon = settled_horizon($node);
		held_by($victim->{pid}, $what);

		if ($kind eq 'backend')
		{
			$clock->set('-5s');
			$victim->kill_backend;
			wait_until($node, 'SELECT horizon IS NULL FROM seqid.stat_database') or die 'the server does not restart';
		}
		else
		{
			$clock->crash($node, '-5s');
		}
		$victim->abandon;

		my $session = SeqidSession->new($node);
		not_before($session->query("BEGIN; SELECT $snowflake"), $horizon, "$what: the first key is not below the horizon") if $writer_first;
		not_before(settled_horizon($node), $horizon, "$what: the horizon does not go back");
		held_by($writer_first ? $session->{pid} : '', $what);
		not_before(value('snowflake_timestamp(snowflake_nextval(800))'), $horizon, "$what: no key below it, of an unused shard");
		not_before(value($comb), $horizon, "$what: no COMB below it");
		$session->close;
	}
}

# Only the horizon has needed the mark.
$clock->set_right($node);
my $horizon = settled_horizon($node);
is_later($horizon, value("to_timestamp(last_value / 1000.0) - interval '1 min' FROM seqid.clock_mark"), 'no keys: it follows the clock');
$clock->crash($node, '-5s');
not_before(value('snowflake_timestamp(snowflake_nextval(801))'), $horizon, 'no keys, crash: no key below it');
not_before(settled_horizon($node), $horizon, 'no keys, crash: it does not go back');

# The first key of a server lifetime has a mark that is rolled back.
$clock->set_right($node);
$horizon = settled_horizon($node);
$clock->crash($node, '-5s');
value('1; BEGIN; DROP EXTENSION seqid; CREATE EXTENSION seqid; SELECT snowflake_nextval(5); ROLLBACK');
{
	my $writer = SeqidSession->new($node);

	$writer->query('BEGIN; INSERT INTO t VALUES (snowflake_nextval(5))');
	not_before(settled_horizon($node), $horizon, 'a mark that was rolled back: the horizon does not go back');
	$writer->close;
}

#
# The clock is set back in a server that goes on.  In a database of an earlier server
# lifetime, the mark would be the floor.
#
$clock->set_right($node);
add_database($node, 'of_this_lifetime');
$horizon = settled_horizon($node);
value('snowflake_nextval(5)');
$clock->set('-30m');
is(settled_horizon($node), $horizon, 'back 30 min: it stands');
not_before(value($_), $horizon, "back 30 min: no key below it, $_")
  for 'snowflake_timestamp(snowflake_nextval(802))', 'snowflake_timestamp(snowflake_nextblock(803, 100))', $comb,
  'min(snowflake_timestamp(id)) FROM snowflake_nextvals(804, 5000) id', 'min(comb_uuid_timestamp(id)) FROM comb_uuids(5000) id';

$clock->set('-1h');
is(value("snowflake_nextval($_)"), '55000', "back 1 h: shard $_ is refused") for 5, 805, 1023;
not_before(value($comb), $horizon, 'back 1 h: COMBs go on above it');
is(settled_horizon($node), $horizon, 'back 1 h: it stands');
is(value('snowflake_nextval(806) > 0', 'of_this_lifetime'), 't', 'back 1 h: a database without readers goes on');
is_later($horizon, value('snowflake_timestamp(snowflake_nextval(807))', 'of_this_lifetime'), 'back 1 h: with its own time');
$clock->set('+0s');
goes_on_after($horizon, 'the clock is right');

# An open transaction holds back the horizon, as the view shows, and beside another database.
sub check_held ($holder, $key, $what, $held = settled_horizon($node))
{
	not_before($key, $held, "$what: it is not above the key");
	stands_at($held, $what);
	held_by($holder, $what);
	goes_on_after($key, "$what, in another database", 'other');
	held_by('', "$what, in another database", 'other');
	return $held;
}

sub check_ended ($key, $what)
{
	held_by('', "$what, ended");
	goes_on_after($key, "$what, ended");
}

# specs/horizon_held.spec has more.
sub check_sessions ($how)
{
	my $lock = SeqidSession->new($node);

	$lock->query('SELECT pg_advisory_lock(19)');
	for my $end ('COMMIT', 'terminated', 'terminated in a statement')
	{
		my $what = "$how, idle, $end";
		my $session = SeqidSession->new($node);
		my $key = $session->query("BEGIN; SELECT $snowflake");

		check_held($session->{pid}, $key, $what);
		if ($end =~ /statement/)
		{
			$session->send('SELECT count(snowflake_nextval(5)), pg_advisory_lock(19)');
			$session->waits_for($node, 'advisory') or die 'does not wait';
		}
		$end eq 'COMMIT' ? $session->query($end) : is(value("pg_terminate_backend($session->{pid}, 180000)"), 't', $what);
		check_ended($key, $what);
		$session->abandon;
	}
	$lock->close;
}

# A prepared transaction holds it, also over a crash with the clock behind.
sub check_prepared ($how)
{
	for my $end ('COMMIT', 'ROLLBACK')
	{
		my $what = "$how, prepared, $end";
		my $session = SeqidSession->new($node);

		settled_horizon($node);
		my $key = $session->query("BEGIN; INSERT INTO t SELECT snowflake_nextval(5) RETURNING snowflake_timestamp(id)");
		$session->query($_) for "PREPARE TRANSACTION 'regress_seqid'", 'DISCARD ALL', 'SELECT pg_advisory_unlock_all()';
		is($session->errors, '', "$what: no error");
		$session->close;
		my $held = check_held('regress_seqid', $key, $what);
		is(value("pid IS NULL AND held = '$held' AND since = prepared
			FROM seqid.horizon_holders JOIN pg_prepared_xacts USING (gid)"), 't', "$what: with times");
		$clock->crash($node, '-5s');
		$clock->set('+0s');
		check_held('regress_seqid', $key, "$what, after a crash", $held);
		is(value("pg_backend_pid() > 0; $end PREPARED 'regress_seqid'"), 't', $what);
		check_ended($key, $what);
	}
}

# Keys of parallel workers are their leader's, which holds back the horizon until it ends,
# whether it generated keys before, after, or not at all.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many AS SELECT n FROM generate_series(1, 20000) n;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
-- The plan of its caller has no function of seqid.
CREATE FUNCTION draw() RETURNS uuid LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN comb_uuid(); END';
SQL

my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off';

sub check_workers ($how)
{
	for my $case (map { my $keys = $_; map { [ $keys, $_ ] } 'COMMIT', 'ROLLBACK', 'PREPARE' } 'none', 'before', 'after')
	{
		my ($keys, $end) = @$case;
		my $what = "$how, workers, keys of the leader: $keys, $end";
		my $leader = SeqidSession->new($node);

		# Without LOAD in the leader, workers are refused; see 001_shared_state.pl.
		$leader->query("$parallel; LOAD 'seqid'");
		settled_horizon($node);
		$leader->query('BEGIN');
		$leader->query("SELECT $snowflake") if $keys eq 'before';
		like($leader->query('EXPLAIN (ANALYZE) CREATE TABLE keys AS SELECT draw() AS id FROM many'),
			qr/Workers Launched: [12]$/m, "$what: there are workers");
		$leader->query("SELECT $snowflake") if $keys eq 'after';
		# without a function of seqid, which would register the leader
		my $key = $leader->query("SELECT to_timestamp(('x' || left(replace(min(id::text), '-', ''), 12))::bit(48)::bigint / 1000.0) FROM keys");
		my $held = check_held($leader->{pid}, $key, $what);

		if ($end eq 'PREPARE')
		{
			$leader->query("PREPARE TRANSACTION 'regress_seqid'");
			stands_at($held, "$what, prepared");
			held_by('regress_seqid', "$what, prepared");
			$end = "ROLLBACK PREPARED 'regress_seqid'";
		}
		$leader->query($end);
		is($leader->errors, '', "$what: no error");
		check_ended($key, $what);
		$leader->query('DROP TABLE IF EXISTS keys');
		$leader->close;
	}
}

for my $library ('', 'seqid')
{
	my $how = $library eq '' ? 'loaded' : 'preloaded';

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$library'");
	$clock->restart($node, '+0s', 'fast');
	$clock->set_right($node);
	check_sessions($how);
	check_prepared($how);
	check_workers($how);
}

# A transaction that generated no key is prepared without a look at the catalogs: it would wait
# for the lock.
{
	my ($idle, $locker) = map { SeqidSession->new($node) } 1 .. 2;

	$locker->query('BEGIN; LOCK TABLE pg_extension IN ACCESS EXCLUSIVE MODE');
	is($idle->outcome("BEGIN; SELECT FROM txid_current(); PREPARE TRANSACTION 'regress_seqid'"), '', 'no key: prepared');
	value("1; ROLLBACK PREPARED 'regress_seqid'");
	$_->close for $idle, $locker;
}

#
# A slot outlives its process.  The next process of the slot has a transaction that has the same
# bits.  It is not listed with the time that was left in the slot, which is of another database
# and ahead of the clock.
#
my $get_lxid = q{SELECT split_part(virtualtransaction, '/', 2) FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'virtualxid'};

# Uses up local ids until a transaction has this one, or is already past it, and begins it.
sub begin_at ($session, $lxid)
{
	for (;;)
	{
		$session->query('BEGIN');
		my $left = $lxid - $session->query($get_lxid);
		return if $left <= 0;
		$session->query('COMMIT');
		$session->query('DO $$ BEGIN FOR i IN 1 .. ' . ($left - 10) . ' LOOP COMMIT; END LOOP; END $$') if $left > 20;
	}
}

{
	# The reader and the view have a slot of their own.
	my $reader = SeqidSession->new($node);
	my $leaving = SeqidSession->new($node, 'other');

	$leaving->query("SELECT setval('seqid.clock_mark', (extract(epoch FROM timestamptz '2040-01-01 00:00Z') * 1000)::bigint)");
	like($leaving->query("SET timezone = 'UTC'; CALL seqid.horizon()"), qr/^2040-01-01/m,
		'a slot: of a database that is ahead of the clock');
	$leaving->query('BEGIN');
	my $lxid = $leaving->query($get_lxid);
	$leaving->query('SELECT comb_uuid(); COMMIT');
	$leaving->close;
	poll_until { $reader->query('SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $$other$$)') eq 't' }
	  or die 'the session does not leave';

	my $next = SeqidSession->new($node);
	begin_at($next, $lxid + 65536);
	my $id = $next->query('SELECT snowflake_nextval(5)');
	poll_until { $reader->query("SELECT clock_timestamp() > snowflake_timestamp($id) + interval '1 ms'") eq 't' }
	  or die 'the clock stands still';
	$reader->query('CALL seqid.horizon()');
	is($reader->query("SELECT pid || ' ' || (held < clock_timestamp()) FROM seqid.horizon_holders"),
		"$next->{pid} true", 'a slot: the next process is listed, with a time of its own database');
	is($reader->query("SELECT snowflake_first(horizon) <= $id FROM seqid.stat_database"), 't', 'a slot: and holds back the horizon');
	$_->close for $reader, $next;
}

#
# Before PostgreSQL 17, the next process of a slot can have another backend id, with its own
# count of transactions, whose local id soon is that of the slot.  It does not hold back the horizon
# without a key.  The process that leaves the slot is a leader that has no slot of its own.
#
{
	my ($reader, $neighbor, $leader) = map { SeqidSession->new($node) } 1 .. 3;
	my $left = sub ($session) {
		$session->close;
		poll_until { $reader->query("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid})") eq 't' }
		  or die 'a session does not leave';
	};

	begin_at($leader, $neighbor->query("BEGIN; $get_lxid") + 1000);
	$leader->query("COMMIT; $parallel");
	$leader->query('BEGIN');
	my $lxid = $leader->query($get_lxid);
	$leader->query('CREATE TABLE keys AS SELECT draw() AS id FROM many');
	is($reader->query('SELECT pid FROM seqid.horizon_holders'), $leader->{pid}, 'a slot: workers have set it');
	$leader->query('COMMIT');
	$left->($_) for $neighbor, $leader;

	my $next = SeqidSession->new($node);
	begin_at($next, $lxid);
	is($reader->query('SELECT count(*) FROM seqid.horizon_holders'), 0, 'a slot: the next process does not hold back the horizon');
	$_->close for $reader, $next;
}

# The extension is dropped, and created again, around the PREPARE of a transaction whose workers
# have generated keys.
{
	my $leader = SeqidSession->new($node);

	$leader->query("$parallel; BEGIN");
	$leader->query('CREATE TABLE keys_of_workers AS SELECT draw() AS id FROM many');
	$node->safe_psql('postgres', 'DROP EXTENSION seqid');
	$leader->query("PREPARE TRANSACTION 'regress_seqid'");
	$node->safe_psql('postgres', 'CREATE EXTENSION seqid');
	is(value('gid FROM seqid.horizon_holders'), 'regress_seqid', 'dropped: a prepared transaction holds back the horizon');
	value("1; ROLLBACK PREPARED 'regress_seqid'");
	$leader->close;
}

$node->stop;
done_testing();
