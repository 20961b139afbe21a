# The settled horizon over crashes, clocks that are set back, prepared transactions,
# databases, parallel workers, a dump: it does not go back, is held by who has drawn
# keys and by nobody else.
#
# SQL can neither crash a server nor set its clock, nor look at a session from
# another one.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
restart_after_crash = on
max_prepared_transactions = 5
max_worker_processes = 8
seqid.max_clock_regression = 45min
CONF
$clock->start($node);
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION seqid; CREATE TABLE t (id bigint, c uuid)') for 'postgres', 'other';

sub value
{
	my ($sql, $database) = @_;

	return outcome($node, $database // 'postgres', "SELECT $sql");
}

sub horizon
{
	my ($database) = @_;

	return outcome($node, $database // 'postgres', 'CALL seqid.horizon()') =~ s/\|.*//r;
}

# Compares times, or kinds of NULL.
sub is_later
{
	my ($later, $earlier, $what) = @_;

	is(value("'$later'::timestamptz > '$earlier'"), 't', $what) or diag("$later, $earlier");
	return;
}

sub is_no_earlier
{
	my ($later, $earlier, $what) = @_;

	is(value("'$later'::timestamptz >= '$earlier'"), 't', $what) or diag("$later, $earlier");
	return;
}

# Waits until the clock is no reason that the horizon has not passed a time.
sub wait_for_clock
{
	my ($time, $database) = @_;

	$node->poll_query_until($database // 'postgres', "SELECT clock_timestamp() > '$time'::timestamptz + interval '1 ms'")
	  or die "the clock does not reach $time";
	return;
}

sub goes_on_after
{
	my ($time, $what, $database) = @_;

	wait_for_clock($time, $database);
	is_later(horizon($database), $time, $what);
	return;
}

sub stands_at
{
	my ($time, $what) = @_;

	wait_for_clock(value('clock_timestamp()'));
	is(horizon(), $time, $what);
	return;
}

sub holders
{
	my ($database) = @_;

	return value("string_agg(coalesce(pid::text, gid), ',' ORDER BY pid, gid) FROM seqid.horizon_holders", $database);
}

# Where clock and mark are right, and a mark that a key needs must be a new one.
sub set_clock_right
{
	$clock->set('+0s');
	$node->poll_query_until('postgres',
		'SELECT extract(epoch FROM clock_timestamp()) * 1000 > last_value FROM seqid.clock_mark')
	  or die 'the clock does not reach the mark';
	return;
}

my $snowflake = 'snowflake_timestamp(snowflake_nextval(5))';

#
# The first reader of a database comes while a transaction is open that was
# listed before him: he is told a time that bounds can be made of.
#
{
	my $session = SeqidSession->new($node);

	$session->query('BEGIN');
	my $drawn = $session->query("SELECT $snowflake");
	is(value("'" . horizon() . "'::timestamptz = '2023-01-01 00:00:00.001+00'"), 't', 'first reader: held at the beginning of snowflakes');
	is(value('snowflake_first(horizon) FROM seqid.stat_database'), '4194304', 'first reader: a bound');
	$session->query('COMMIT');
	goes_on_after($drawn, 'first reader: released');
	$session->close;
}

#
# A crash, of a backend and of the whole server, and the clock 5 s behind: what was
# told is covered by the mark, with no key that was drawn since.
#
for my $kind ('backend', 'postmaster')
{
	for my $writer_first (0, 1)
	{
		my $what = "crash of a $kind" . ($writer_first ? ', a writer before the reader' : '');

		set_clock_right();
		my $victim = SeqidSession->new($node);
		$victim->query('BEGIN');
		$victim->query("INSERT INTO t SELECT snowflake_nextval(5)");
		my $held = horizon();
		is(holders(), $victim->{pid}, "$what: held by who was killed");
		my $other = SeqidSession->new($node);
		my $told = $other->query('CALL seqid.horizon()') =~ s/\|.*//r;
		$other->close;

		if ($kind eq 'backend')
		{
			$clock->set('-5s');
			$victim->kill_backend;
			SeqidSession::wait_until($node, 'SELECT horizon IS NULL FROM seqid.stat_database')
			  or die 'the server does not start again';
		}
		else
		{
			$clock->crash($node, '-5s');
		}
		$victim->abandon;

		my $session;
		if ($writer_first)
		{
			$session = SeqidSession->new($node);
			$session->query('BEGIN');
			is_no_earlier($session->query("SELECT $snowflake"), $told, "$what: the first key is not below the horizon");
		}
		is_no_earlier(horizon(), $told, "$what: the horizon does not go back");
		is(holders(), $writer_first ? $session->{pid} : '', "$what: the killed one holds nothing");
		is_no_earlier(value('snowflake_timestamp(snowflake_nextval(800))'), $told,
			"$what: no key below it, of a shard that was not used");
		is_no_earlier(value('comb_uuid_timestamp(comb_uuid())'), $told, "$what: no COMB below it");
		$session->close if $writer_first;
	}
}

# Nothing but the horizon has needed the mark.
set_clock_right();
my $told = horizon();
is_later($told, value("to_timestamp(last_value / 1000.0) - interval '1 min' FROM seqid.clock_mark"), 'nothing drawn: it follows the clock');
$clock->crash($node, '-5s');
is_no_earlier(value('snowflake_timestamp(snowflake_nextval(801))'), $told, 'nothing drawn, crash: no key below it');
is_no_earlier(horizon(), $told, 'nothing drawn, crash: it does not go back');

# The first key of a server lifetime is one under a mark that is rolled back.
set_clock_right();
$told = horizon();
$clock->crash($node, '-5s');
value('1; BEGIN; DROP EXTENSION seqid; CREATE EXTENSION seqid; SELECT snowflake_nextval(5); ROLLBACK');
{
	my $writer = SeqidSession->new($node);

	$writer->query('BEGIN; INSERT INTO t VALUES (snowflake_nextval(5))');
	is_no_earlier(horizon(), $told, 'a mark that was rolled back: the horizon does not go back');
	$writer->query('ROLLBACK');
	$writer->close;
}

#
# The clock set back in a server that goes on.
#
set_clock_right();
# In one that an earlier life has known, its mark would be the floor.
$node->safe_psql('postgres', 'CREATE DATABASE of_this_life');
$node->safe_psql('of_this_life', 'CREATE EXTENSION seqid');
$told = horizon();
value('snowflake_nextval(5)');
$clock->set('-30m');
is(horizon(), $told, 'back 30 min: it stands');
for my $draw ('snowflake_nextval(802)', 'snowflake_nextblock(803, 100)', '(SELECT min(id) FROM snowflake_nextvals(804, 5000) id)')
{
	is_no_earlier(value("snowflake_timestamp($draw)"), $told, "back 30 min: no key below it, $draw");
}
is_no_earlier(value('comb_uuid_timestamp(comb_uuid())'), $told, 'back 30 min: no COMB below it');
is_no_earlier(value('comb_uuid_timestamp(min(id::text)::uuid) FROM comb_uuids(5000) id'), $told, 'back 30 min: nor of many');

$clock->set('-1h');
is(value("snowflake_nextval($_)"), '55000', "back 1 h: shard $_ is refused") for 5, 805, 1023;
is_no_earlier(value('comb_uuid_timestamp(comb_uuid())'), $told, 'back 1 h: COMBs go on above it');
is(horizon(), $told, 'back 1 h: it stands');
is(value('snowflake_nextval(806) > 0', 'of_this_life'), 't', 'back 1 h: a database without readers goes on');
is_later($told, value('snowflake_timestamp(snowflake_nextval(807))', 'of_this_life'), 'back 1 h: and tells its own time');
$clock->set('+0s');
goes_on_after($told, 'the clock is right: it goes on');

#
# What is so with a library that is preloaded, and with one that is not.
#
sub check_sessions
{
	my ($how) = @_;
	my ($session, $drawn, $held);

	# Idle in transaction.
	$session = SeqidSession->new($node);
	$session->query('BEGIN');
	horizon();
	$drawn = $session->query("SELECT $snowflake");
	$held = horizon();
	stands_at($held, "$how, idle: it stands");
	is_no_earlier($drawn, $held, "$how, idle: below its key");
	is(holders(), $session->{pid}, "$how, idle: shown by pid");
	is(value("h.since = a.xact_start AND h.held = '$held' AND h.gid IS NULL AND a.state = 'idle in transaction'
		FROM seqid.horizon_holders h JOIN pg_stat_activity a USING (pid)"), 't', "$how, idle: with times");

	# Beside it, another database is not held up, and does not see it.
	is(holders('other'), '', "$how, idle: not in another database");
	goes_on_after($drawn, "$how, idle: which goes on", 'other');
	$session->query('ROLLBACK');
	goes_on_after($drawn, "$how, idle: rolled back");
	is(holders(), '', "$how, idle: nobody any more");

	# The other way round.
	my $elsewhere = SeqidSession->new($node, 'other');
	$elsewhere->query('BEGIN');
	$drawn = $elsewhere->query("SELECT $snowflake");
	goes_on_after($drawn, "$how, another database's transaction holds nothing");
	is(holders(), '', "$how, another database's transaction is not shown");
	is(holders('other'), $elsewhere->{pid}, "$how, but there");
	$elsewhere->query('COMMIT');
	$elsewhere->close;

	# Terminated in the middle, of a transaction and of a statement.
	for my $statement ('', 'SELECT count(snowflake_nextval(5)), pg_sleep(1000)')
	{
		my $victim = SeqidSession->new($node);

		$victim->query('BEGIN');
		$drawn = $victim->query("SELECT $snowflake");
		horizon();
		is(holders(), $victim->{pid}, "$how, terminated: held");
		if ($statement ne '')
		{
			$victim->send($statement);
			$victim->waits_for($node, 'PgSleep') or die 'does not sleep';
		}
		value("pg_terminate_backend($victim->{pid})");
		$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $victim->{pid}")
		  or die 'is not terminated';
		is(holders(), '', "$how, terminated: held no longer");
		goes_on_after($drawn, "$how, terminated: it goes on");
		$victim->abandon;
	}
	$session->close;
	return;
}

# A prepared transaction holds it, over a crash with the clock set back too.
sub check_prepared
{
	my ($how) = @_;

	for my $end ('COMMIT', 'ROLLBACK')
	{
		my $session = SeqidSession->new($node);

		horizon();
		$session->query('BEGIN');
		$session->query('INSERT INTO t SELECT snowflake_nextval(5)');
		my $drawn = $session->query('SELECT snowflake_timestamp(max(id)) FROM t');
		$session->query("PREPARE TRANSACTION 'regress_seqid'");
		$session->query('DISCARD ALL');
		$session->query('SELECT pg_advisory_unlock_all()');
		my $held = horizon();
		stands_at($held, "$how, prepared, $end: it stands");
		is_no_earlier($drawn, $held, "$how, prepared, $end: below its key");
		is(holders(), 'regress_seqid', "$how, prepared, $end: shown by name");
		is(value("pid IS NULL AND held = '$held' AND since = prepared
			FROM seqid.horizon_holders JOIN pg_prepared_xacts USING (gid)"), 't', "$how, prepared, $end: with times");
		goes_on_after($drawn, "$how, prepared, $end: another database goes on", 'other');
		is(holders('other'), '', "$how, prepared, $end: and does not see it");
		is($session->errors, '', "$how, prepared, $end: no error");
		$session->close;

		$clock->crash($node, '-5s');
		$clock->set('+0s');
		is(holders(), 'regress_seqid', "$how, prepared, $end: shown by name after a crash");
		stands_at($held, "$how, prepared, $end: it stands after a crash");
		goes_on_after($drawn, "$how, prepared, $end: another database goes on after a crash", 'other');
		is(value("pg_backend_pid() > 0; $end PREPARED 'regress_seqid'"), 't', "$how, prepared, $end");
		goes_on_after($drawn, "$how, prepared, $end: it goes on");
		is(holders(), '', "$how, prepared, $end: nobody any more");
	}
	return;
}

# Parallel workers draw for their leader, who holds it until he ends, be it that he
# has drawn before, after, or not at all.
sub check_workers
{
	my ($how) = @_;

	for my $draws ('never', 'before', 'after')
	{
		for my $end ('COMMIT', 'ROLLBACK', 'PREPARE')
		{
			my $what = "$how, workers, leader draws $draws, $end";
			my $leader = SeqidSession->new($node);

			$leader->query("SET max_parallel_workers_per_gather = 2;
				SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
				SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off");
			# Without it in the leader, workers are refused; see 023_parallel_load.pl.
			$leader->query("LOAD 'seqid'");
			horizon();
			$leader->query('BEGIN');
			$leader->query("SELECT $snowflake") if $draws eq 'before';
			like($leader->query('EXPLAIN (ANALYZE) CREATE TABLE drawn AS SELECT draw() AS id FROM many'),
				qr/Workers Launched: [12]$/m, "$what: they drew");
			$leader->query("SELECT $snowflake") if $draws eq 'after';
			# without a function of seqid, by which the leader would attach
			my $drawn = $leader->query("SELECT to_timestamp(('x' || left(replace(min(id::text), '-', ''), 12))::bit(48)::bigint / 1000.0) FROM drawn");

			my $held = horizon();
			is_no_earlier($drawn, $held, "$what: below their keys");
			stands_at($held, "$what: it stands");
			is(holders(), $leader->{pid}, "$what: the leader alone is shown");

			if ($end eq 'PREPARE')
			{
				$leader->query("PREPARE TRANSACTION 'regress_seqid'");
				stands_at($held, "$what: it stands when prepared");
				is(holders(), 'regress_seqid', "$what: shown by name");
				value("1; ROLLBACK PREPARED 'regress_seqid'");
			}
			else
			{
				$leader->query($end);
			}
			is($leader->errors, '', "$what: no error");
			is(holders(), '', "$what: nobody any more");
			goes_on_after($drawn, "$what: it goes on");
			$leader->query('DROP TABLE IF EXISTS drawn');
			$leader->close;
		}
	}
	return;
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many AS SELECT n FROM generate_series(1, 20000) n;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
-- Its caller has nothing of seqid in his plan.
CREATE FUNCTION draw() RETURNS uuid LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN comb_uuid(); END';
SQL

for my $library ('', 'seqid')
{
	my $how = $library eq '' ? 'loaded' : 'preloaded';

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$library'");
	$clock->restart($node, '+0s', 'fast');
	set_clock_right();
	check_sessions($how);
	check_prepared($how);
	check_workers($how);
}

#
# Without prepared transactions, and over a dump.
#
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 0');
$clock->restart($node, '+0s', 'fast');
my $drawn = value($snowflake);
goes_on_after($drawn, 'no prepared transactions: it goes on');
is(holders(), '', 'no prepared transactions: nobody holds it');

set_clock_right();
$told = horizon();
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
$node->command_ok([ 'pg_dump', '--format=custom', "--file=$dump", $node->connstr('postgres') ], 'a database with readers is dumped');
$clock->set('-5s');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('restored'), $dump ], 'and restored');
is(value('horizon IS NULL FROM seqid.stat_database', 'restored'), 't', 'restored: nobody was told one there');
is_no_earlier(value('snowflake_timestamp(snowflake_nextval(808))', 'restored'), $told, 'restored, the clock behind: no key below it');
is_no_earlier(horizon('restored'), $told, 'restored, the clock behind: it does not go back');

$node->stop;
done_testing();
