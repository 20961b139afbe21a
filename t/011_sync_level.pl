# With a synchronous standby, the mark waits for it whatever synchronous_commit
# a session has: what a session was given under "local" must not let it go on
# under "on".  Who turns synchronous replication off lets the waiting go on;
# who cancels gets no key.
#
# Only a standby that is away makes a session wait, and only a real one is
# promoted.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Behind the real one, which the last case goes by.
my $clock = SeqidClock->new;
my $offset = -600;
$clock->set("${offset}s");
my $primary = PostgreSQL::Test::Cluster->new('primary');
$clock->init($primary, allows_streaming => 1);
$primary->append_conf('postgresql.conf', 'autovacuum = off');
$clock->start($primary);
$primary->safe_psql('postgres', 'CREATE EXTENSION seqid');
$primary->backup('base');

# Returns when everybody knows it: the checkpointer tells those who wait, and it
# reads the file before it does a checkpoint that is asked for later.
sub name_standbys
{
	my ($names) = @_;

	$primary->append_conf('postgresql.conf', "synchronous_standby_names = '$names'");
	$primary->reload;
	$primary->poll_query_until('postgres',
		"SELECT current_setting('synchronous_standby_names') = '$names'")
	  or die 'the server does not read its configuration file';
	$primary->safe_psql('postgres', 'CHECKPOINT');
	return;
}

# The mark is a second ahead: this makes sure that the next key needs another.
sub move_clock_on
{
	$offset += 5;
	$clock->set("${offset}s");
	return;
}

# Sends the statement that draws the next key, and returns whether it waits.
sub must_wait
{
	my ($session, $sql, $what) = @_;

	$session->send($sql);
	return ok($session->waits_for($primary, 'SyncRep'), "$what: waits for the standby");
}

# What a session is told that did not get the key it waited for.
sub check_withheld
{
	my ($session, $what) = @_;

	is($session->answer, '', "$what: no key");
	like($session->errors, qr/^ERROR:  57014: /m, "$what: the error says so");
	return;
}

#
# The standby has all that was given, is away while more is asked for, and is
# then promoted in the place of a primary that is lost.
#
my $standby_clock = SeqidClock->new;
$standby_clock->set($offset - 6 . 's');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby_clock->start($standby);
name_standbys('*');
SeqidSession::wait_until_synchronous($primary);

my @lines = (
	[ 'local' => 'SET synchronous_commit = local', 'SELECT snowflake_nextval(6)', 'SELECT comb_uuid()',
		'SET synchronous_commit = on', 'SELECT snowflake_nextval(5)', 'SELECT comb_uuid()' ],
	[ 'off, in a transaction' => 'BEGIN', 'SET LOCAL synchronous_commit = off', 'SELECT snowflake_nextval(6)',
		'COMMIT', 'SELECT snowflake_nextval(5)', 'SELECT comb_uuid()' ],
	[ 'remote_write' => 'SET synchronous_commit = remote_write', 'SELECT snowflake_nextval(6)',
		'SET synchronous_commit = on', 'SELECT snowflake_nextval(5)' ]);
my @sessions = map { SeqidSession->new($primary) } @lines;

# Keys that are given now are given with the standby's knowledge.
$_->query('SELECT snowflake_nextval(5)') for @sessions;

$standby->stop;
move_clock_on();
for my $i (0 .. $#lines)
{
	my ($level, @sql) = @{ $lines[$i] };

	must_wait($sessions[$i], join(";\n", @sql), "lost primary, $level");
}

$primary->kill9;
my $given = join '', map { $_->so_far } @sessions;
my @ids = sort { $a <=> $b } $given =~ /^(\d{15,})$/mg;
my @combs = sort $given =~ /^(\w{8}-[\w-]{27})$/mg;
note(scalar(@ids) . ' ids and ' . scalar(@combs) . ' combs were given without the standby');

$standby->append_conf('postgresql.conf',
	"synchronous_standby_names = ''\nseqid.max_clock_regression = '1min'");
$standby_clock->start($standby);
$standby->promote;
for my $shard (5, 6)
{
	cmp_ok($standby->safe_psql('postgres', "SELECT snowflake_nextval($shard)"),
		'>', $ids[-1] // 0, "lost primary: no id of shard $shard comes again");
}
cmp_ok($standby->safe_psql('postgres', 'SELECT comb_uuid()'),
	'gt', $combs[-1] // '', 'lost primary: combs go on in order');
$standby->stop;

#
# From here on there is no standby; the primary is as the crash left it.
#
$clock->start($primary);
for my $level ('on', 'remote_apply', 'remote_write', 'local', 'off')
{
	my $session = SeqidSession->new($primary);

	$session->query("SET synchronous_commit = $level");
	move_clock_on();
	for my $messages ('notice', 'error')
	{
		$session->query("SET client_min_messages = $messages");
		for my $call ('snowflake_nextval(5)', 'comb_uuid()')
		{
			my $what = "cancel, $level, $messages, $call";

			must_wait($session, "SELECT $call", $what);
			$primary->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
			check_withheld($session, $what);
		}
	}
	is($session->query("SHOW synchronous_commit"), $level, "cancel, $level: the level is as it was");

	must_wait($session, 'SELECT snowflake_nextval(5)', "terminate, $level");
	$primary->safe_psql('postgres', "SELECT pg_terminate_backend($session->{pid})");
	eval { $session->answer };
	unlike($session->so_far, qr/\d{15}/, "terminate, $level: no key");
	ok($primary->poll_query_until('postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $session->{pid}"),
		"terminate, $level: the session ends");
}

#
# Turned off while sessions wait: what they wait for is no longer asked for.
#
@sessions = map { SeqidSession->new($primary) } 1 .. 3;
$sessions[1]->query('SET synchronous_commit = local');
$sessions[2]->query("SET client_min_messages = error");
move_clock_on();
my @calls = ('SELECT snowflake_nextval(5)', 'SELECT snowflake_nextval(6)', 'SELECT comb_uuid()');
for my $i (0 .. $#sessions)
{
	must_wait($sessions[$i], $calls[$i], "turned off, $calls[$i]");
}
name_standbys('');
for my $i (0 .. $#sessions)
{
	like($sessions[$i]->answer, qr/^[0-9a-f-]{18,36}$/, "turned off, $calls[$i]: the key is given");
	is($sessions[$i]->errors, '', "turned off, $calls[$i]: nobody cancelled it");
	$sessions[$i]->close;
}

#
# A timeout.  By the real clock, as libfaketime cannot bear one, and last, as that
# is ten minutes ahead: the next key needs another mark.
#
$primary->stop;
$primary->start;
name_standbys('*');
for my $level ('on', 'remote_apply', 'remote_write', 'local', 'off')
{
	my $session = SeqidSession->new($primary);

	$session->query("SET synchronous_commit = $level");
	$session->query("SET statement_timeout = '200ms'");
	for my $messages ('notice', 'error')
	{
		$session->query("SET client_min_messages = $messages");
		for my $call ('snowflake_nextval(5)', 'comb_uuid()')
		{
			$session->send("SELECT $call");
			check_withheld($session, "timeout, $level, $messages, $call");
		}
	}
	$session->close;
}

$primary->stop;
done_testing();
