# Eight clients generate keys at the same time: no key twice, none out of order.
#
# A regression test has one session, and an isolation test runs one step at a time.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clients = 8;
my $node = new_server('main');
$node->safe_psql('postgres', 'CREATE SEQUENCE seq');
my $directory = PostgreSQL::Test::Utils::tempdir;

# Runs a script in all clients at once; returns a list of rows for each client.  None
# begins before all are there.
sub generate ($script)
{
	my $gate = SeqidSession->new($node);
	my @sessions = map { SeqidSession->new($node) } 1 .. $clients;
	my @rows;

	$gate->query('SELECT pg_advisory_lock(1)');
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->query("\\o $directory/$client.out");
		$sessions[$client]->send("DO 'BEGIN PERFORM pg_advisory_lock_shared(1); END';\n$script");
	}
	wait_until_blocked($node, @sessions);
	$gate->close;
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->answer;
		is($sessions[$client]->errors, '', "client $client: no error") if $sessions[$client]->{err} ne '';
		$sessions[$client]->close;
		push @rows, [ split /\n/, slurp_file("$directory/$client.out") ];
	}
	return @rows;
}

# Each client runs a statement that returns 500 keys 50 times.  $compare is given if the
# keys of a client must ascend.
sub check_keys ($statement, $compare = undef)
{
	my @rows = generate("$statement;\n" x 50);
	my %owner;

	for my $client (0 .. $#rows)
	{
		@owner{ @{ $rows[$client] } } = ($client) x @{ $rows[$client] };
	}
	is(scalar(map { @$_ } @rows), 200000, "$statement: all keys were generated");
	is(scalar(keys %owner), 200000, "$statement: no key twice");
	return unless $compare;

	my $disorder = 0;
	for my $keys (@rows)
	{
		$disorder += grep { $compare->($keys->[ $_ - 1 ], $keys->[$_]) >= 0 } 1 .. $#$keys;
	}
	is($disorder, 0, "$statement: ascending within each session");

	# Clients that ran one after the other would prove nothing.
	my @order = map { $owner{$_} } sort { $compare->($a, $b) } keys %owner;
	cmp_ok(scalar(grep { $order[$_] != $order[ $_ - 1 ] } 1 .. $#order), '>', $clients,
		"$statement: the sessions ran at the same time");
}

my $by_number = sub { $_[0] <=> $_[1] };
my $by_text = sub { $_[0] cmp $_[1] };
my $each = 'FROM generate_series(1, 500) n';

for my $kind ('snowflake', 'snowflake53')
{
	check_keys("SELECT ${kind}_nextval(5) $each", $by_number);
	check_keys("SELECT ${kind}_nextval(n % 8) $each");
	check_keys("SELECT ${kind}_nextvals(7, 500)", $by_number);
}
check_keys("SELECT comb_uuid() $each", $by_text);
check_keys('SELECT comb_uuids(500)', $by_text);
check_keys("SELECT uuid_time_nextval() $each");
check_keys("SELECT uuid_sequence_nextval('seq') $each");

# Single ids, large and small blocks of one shard do not overlap, and the large ones
# get their turn.
my @rows = generate(
	join '',
	map {
		"SELECT snowflake_nextval(9), 1 FROM generate_series(1, 2000);\n"
		  . "SELECT snowflake_nextblock(9, 4096), 4096;\n"
		  . "SELECT snowflake_nextblock(9, n), n FROM generate_series(1, 50) n;\n"
	} 1 .. 10);
my @blocks = sort { $a->[0] <=> $b->[0] } map { [ split /\|/ ] } map { @$_ } @rows;
is(scalar(@blocks), 8 * 10 * 2051, 'blocks: all were generated');
is(scalar(grep { $blocks[$_][0] < $blocks[ $_ - 1 ][0] + $blocks[ $_ - 1 ][1] } 1 .. $#blocks),
	0, 'blocks: no id is in two of them');
is(scalar(grep { ($_->[0] & 4095) + $_->[1] > 4096 } @blocks), 0, 'blocks: each is within one millisecond');

# However many keys were generated, none is ahead of the clock.
is( outcome($node, 'SELECT bool_and(snowflake_timestamp(snowflake_nextval(s)) <= clock_timestamp())
		FROM unnest(ARRAY[5, 7, 9]) s'), 't', 'shards do not run ahead of the clock');
is( outcome($node, 'SELECT bool_and(snowflake53_timestamp(snowflake53_nextval(s)) <= clock_timestamp())
		FROM unnest(ARRAY[5, 7]) s'), 't', 'nor do those of snowflake53');

# Signals end naps early, and any session can send them with NOTIFY.  With a limit of 0,
# a shard that therefore ran ahead of the clock would be refused.
{
	my $session = SeqidSession->new($node);
	my $signals = 0;

	$session->query('SET seqid.max_lead = 0');
	$session->send('SELECT count(snowflake_nextblock(12, 4096)) FROM generate_series(1, 1000)');
	do
	{
		$signals += kill('USR1', $session->{pid}) for 1 .. 100;
	} until $session->answered;
	is($session->answer . $session->errors, '1000', 'signals: all blocks were generated');
	cmp_ok($signals, '>', 0, 'signals: were sent');
	is($session->query('SELECT snowflake_timestamp(snowflake_nextval(12)) <= clock_timestamp()'),
		't', 'signals: the shard is not ahead of the clock');
	$session->close;
}

# COMBs that are reserved and thrown away, faster than the clock has ticks for them: two
# sessions ask for many and fetch half of those that are reserved.
{
	my @sessions = map { SeqidSession->new($node) } 1 .. 2;
	my $most = 0;

	$_->send('SELECT count(c) FROM generate_series(1, 60000) n, LATERAL (SELECT comb_uuids(1000 + 0 * n) AS c LIMIT 129) d')
	  for @sessions;
	do
	{
		my $lead = outcome($node, 'SELECT ceil(extract(epoch FROM at - clock_timestamp()) * 1000)
			FROM (SELECT comb_uuid_time AS at FROM seqid.stat_database OFFSET 0) t');
		$most = $lead if $lead > $most;
	} until @sessions == grep { $_->answered } @sessions;
	is($_->answer, 60000 * 129, 'wasted COMBs: generated') for @sessions;
	cmp_ok($most, '<=', 2, 'wasted COMBs: were never ahead of the clock');
	$_->close for @sessions;
}

$node->stop;
done_testing();
