# With a synchronous standby, the mark waits for it whatever synchronous_commit a session
# has: no key that a client got comes again after a promotion.  A reader waits for no
# standby, and gets each bound that one has confirmed.  If synchronous
# replication is turned off, the key is returned; if the wait is cancelled, it is not.
#
# Only a standby that is away makes a session wait, and only a real one is promoted.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $offset = 0;
my $clock = SeqidClock->new;
my $primary = new_server('primary', clock => $clock, streaming => 1);

# Sets the clock past the mark, which is a second ahead: the next key needs another.
sub move_clock_on
{
	$offset += 5;
	$clock->set("+${offset}s");
}

sub must_wait ($session, $sql, $what)
{
	$session->send($sql);
	return ok($session->waits_for($primary, 'SyncRep'), "$what: waits for the standby");
}

#
# The standby is away while keys are asked for, comes back, is away again, and is then
# promoted in the place of a primary that is lost.
#
my $standby_clock = SeqidClock->new('-6s');
my $standby = new_standby($primary, 'standby', clock => $standby_clock, conf => "seqid.max_lead = '1min'");
make_synchronous($primary);

#
# A reader gets a bound as soon as the standby has its WAL, although writers, whose
# transactions need not commit, have already written more.
#
my $settled = "SELECT seqid.settled('numbers')";
my $reader = SeqidSession->new($primary);
my $write = "BEGIN; SELECT count(nextval('numbers')) FROM generate_series(1, 40); ROLLBACK";

$primary->safe_psql('postgres', 'CREATE SEQUENCE numbers');
is($reader->query($settled), '1', 'a reader: the standby has the WAL');
for my $expected ('1', '41')
{
	$standby->stop;
	$primary->safe_psql('postgres', $write);
	is($reader->query($settled), $expected, "a reader: the standby lacks the WAL of the last 40 values: $expected");
	$standby_clock->start($standby);
	$primary->wait_for_catchup($standby, 'flush', $primary->lsn('insert'));
}
is($reader->query($settled), '81', 'a reader: the standby has all WAL');
$reader->close;

my %lines = (
	'local' => 'SET synchronous_commit = local; SELECT snowflake_nextval(6); SELECT comb_uuid();
		SET synchronous_commit = on; SELECT snowflake_nextval(5); SELECT comb_uuid()',
	'off, in a transaction' => 'BEGIN; SET LOCAL synchronous_commit = off; SELECT snowflake_nextval(6);
		COMMIT; SELECT snowflake_nextval(5); SELECT comb_uuid()',
	'remote_write' => 'SET synchronous_commit = remote_write; SELECT snowflake_nextval(6);
		SET synchronous_commit = on; SELECT snowflake_nextval(5)',
	# Rows fill the buffer, and are sent before the statement has ended.
	'COPY' => "COPY (SELECT snowflake_nextval(5), repeat('x', 10000) FROM generate_series(1, 3)) TO STDOUT");
my %sessions = map { $_ => SeqidSession->new($primary) } keys %lines;

$_->query('SELECT snowflake_nextval(5)') for values %sessions;
$standby->stop;
move_clock_on();
must_wait($sessions{local}, 'SELECT snowflake_nextval(5)', 'standby away');
$standby_clock->start($standby);
my $id = $sessions{local}->answer;
like($id, qr/^\d+$/, 'standby away: the key is returned when the standby has the mark');

$standby->stop;
move_clock_on();
must_wait($sessions{$_}, $lines{$_}, "lost primary, $_") for sort keys %lines;
$primary->kill9;
# The server ends the waits without an error, and a session ends when it notices the kill.
my $returned = join '', map { (eval { $_->answer } // '') . $_->so_far } values %sessions;
my @ids = sort { $a <=> $b } $id, $returned =~ /^(\d{15,})\b/mg;
my @combs = sort $returned =~ /^(\w{8}-[\w-]{27})$/mg;

$standby_clock->start($standby);
promote_standby($standby);
cmp_ok(outcome($standby, "SELECT snowflake_nextval($_)"), '>', $ids[-1], "lost primary: no id of shard $_ comes again") for 5, 6;
cmp_ok(outcome($standby, 'SELECT comb_uuid()'), 'gt', $combs[-1] // '', 'lost primary: COMBs go on in order');
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
			like($session->answer . '|' . $session->errors, qr/\A\|.*^ERROR:  57014: /ms, "$what: an error, and no key");
		}
	}
	is($session->query('SHOW synchronous_commit'), $level, "cancel, $level: the level is as it was");

	must_wait($session, 'SELECT snowflake_nextval(5)', "terminate, $level");
	is(outcome($primary, "SELECT pg_terminate_backend($session->{pid}, 180000)"), 't', "terminate, $level: the session ends");
	eval { $session->answer };
	unlike($session->so_far, qr/\d{15}/, "terminate, $level: no key");
}

#
# Turned off while sessions wait.
#
my %calls = map { $_ => SeqidSession->new($primary) } 'snowflake_nextval(5)', 'snowflake_nextval(6)', 'comb_uuid()';
$calls{'snowflake_nextval(6)'}->query('SET synchronous_commit = local');
$calls{'comb_uuid()'}->query('SET client_min_messages = error');
move_clock_on();
must_wait($calls{$_}, "SELECT $_", "turned off, $_") for sort keys %calls;
reconfigure($primary, synchronous_standby_names => '');
# The checkpointer wakes the sessions.  It reads the file before this checkpoint.
$primary->safe_psql('postgres', 'CHECKPOINT');
while (my ($call, $session) = each %calls)
{
	like($session->answer . $session->errors, qr/^[0-9a-f-]{18,36}$/, "turned off, $call: the key is returned");
	$session->close;
}

#
# Turned on while a statement runs, which does not read the configuration.
#
my ($locker, $running) = map { SeqidSession->new($primary) } 1 .. 2;

$locker->query('SELECT pg_advisory_lock(1)');
$running->send('SELECT snowflake_nextval(5) FROM (SELECT pg_advisory_lock_shared(1) OFFSET 0) locked');
$running->waits_for($primary, 'advisory');
reconfigure($primary, synchronous_standby_names => '*');
$primary->safe_psql('postgres', 'CHECKPOINT');
move_clock_on();
$locker->query('SELECT pg_advisory_unlock(1)');
ok($running->waits_for($primary, 'SyncRep'), 'turned on: waits for the standby');
$primary->safe_psql('postgres', "SELECT pg_cancel_backend($running->{pid})");
like($running->answer . '|' . $running->errors, qr/\A\|.*^ERROR:  57014: /ms, 'turned on, cancel: an error, and no key');
$_->close for $locker, $running;

$primary->stop;
done_testing();
