# Eight clients draw at the same time: no key twice, none out of order.
#
# A regression test has one session, an isolation test runs one step at a time.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clients = 8;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid; CREATE SEQUENCE seq');
my $directory = PostgreSQL::Test::Utils::tempdir;

# Lets all clients run a script at once, each writing the rows it gets to a file
# of its own; returns their rows, a list for each client.  None begins before the
# last one is there.
sub draw
{
	my ($script) = @_;
	my $gate = SeqidSession->new($node);
	my @sessions = map { SeqidSession->new($node) } 1 .. $clients;
	my @rows;

	$gate->query('SELECT pg_advisory_lock(1)');
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->query("\\o $directory/$client.out");
		$sessions[$client]->send("DO 'BEGIN PERFORM pg_advisory_lock_shared(1); END';\n$script");
	}
	SeqidSession::wait_until_blocked($node, @sessions);
	$gate->close;
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->answer;
		is($sessions[$client]->errors, '', "client $client: no error")
		  if $sessions[$client]->{err} ne '';
		$sessions[$client]->close;
		push @rows, [ split /\n/, slurp_file("$directory/$client.out") ];
	}
	return @rows;
}

# How often the owner changes in the order of all keys.  Without this, a test
# whose clients ran one after the other would prove nothing.
sub alternations
{
	my ($sorted, $owner) = @_;
	my $changes = 0;

	for my $i (1 .. $#$sorted)
	{
		$changes++ if $owner->{ $sorted->[$i] } != $owner->{ $sorted->[ $i - 1 ] };
	}
	return $changes;
}

# Has every client run a statement that returns 500 keys 50 times, and checks
# all 200000; $ascending if a client's must be, under $compare.
sub check_keys
{
	my ($what, $statement, $compare, $ascending) = @_;
	my @rows = draw("$statement;\n" x 50);
	my (%owner, $total, $disorder);

	for my $client (0 .. $#rows)
	{
		my $previous;
		for my $key (@{ $rows[$client] })
		{
			$total++;
			$owner{$key} = $client;
			$disorder++ if defined $previous && $compare->($previous, $key) >= 0;
			$previous = $key;
		}
	}
	is($total, 200000, "$what: all were drawn");
	is(scalar(keys %owner), 200000, "$what: no key twice");
	return unless $ascending;
	is($disorder // 0, 0, "$what: ascending within each session");
	my @sorted = sort { $compare->($a, $b) } keys %owner;
	cmp_ok(alternations(\@sorted, \%owner), '>', $clients,
		"$what: the sessions ran at the same time");
	return;
}

my $by_number = sub { $_[0] <=> $_[1] };
my $by_text = sub { $_[0] cmp $_[1] };

check_keys('snowflake of one shard',
	'SELECT snowflake_nextval(5) FROM generate_series(1, 500)', $by_number, 1);
check_keys('snowflake of 8 shards',
	'SELECT snowflake_nextval(n % 8) FROM generate_series(1, 500) n', $by_number, 0);
check_keys('snowflakes by runs', 'SELECT snowflake_nextvals(7, 500)', $by_number, 1);
check_keys('snowflake53 of one shard',
	'SELECT snowflake53_nextval(5) FROM generate_series(1, 500)', $by_number, 1);
check_keys('snowflake53 of 8 shards',
	'SELECT snowflake53_nextval(n % 8) FROM generate_series(1, 500) n', $by_number, 0);
check_keys('snowflake53s by runs', 'SELECT snowflake53_nextvals(7, 500)', $by_number, 1);
check_keys('comb', 'SELECT comb_uuid() FROM generate_series(1, 500)', $by_text, 1);
check_keys('combs by runs', 'SELECT comb_uuids(500)', $by_text, 1);
check_keys('uuid_time', 'SELECT uuid_time_nextval() FROM generate_series(1, 500)', $by_text, 0);
check_keys('uuid_sequence',
	"SELECT uuid_sequence_nextval('seq') FROM generate_series(1, 500)", $by_text, 0);

# Small callers and large blocks on one shard: nobody gets another's ids, and
# the large blocks have their turn.
my @rows = draw(
	join '',
	map {
		"SELECT snowflake_nextval(9), 1 FROM generate_series(1, 2000);\n"
		  . "SELECT snowflake_nextblock(9, 4096), 4096;\n"
		  . "SELECT snowflake_nextblock(9, n), n FROM generate_series(1, 50) n;\n"
	} 1 .. 10);
my @blocks = sort { $a->[0] <=> $b->[0] }
  map { [ split /\|/ ] } map { @$_ } @rows;
my ($overlaps, $torn) = (0, 0);
for my $i (0 .. $#blocks)
{
	my ($first, $count) = @{ $blocks[$i] };
	$overlaps++ if $i > 0 && $first < $blocks[ $i - 1 ][0] + $blocks[ $i - 1 ][1];
	$torn++ if ($first & 4095) + $count > 4096;
}
is(scalar(@blocks), 8 * 10 * 2051, 'blocks: all were drawn');
is($overlaps, 0, 'blocks: no id in two of them');
is($torn, 0, 'blocks: each within one millisecond');

# However many ids were drawn, no shard is left ahead of the clock.
is( $node->safe_psql(
		'postgres',
		"SELECT snowflake_timestamp(snowflake_nextval(s)) <= clock_timestamp() FROM unnest(ARRAY[5, 7, 9]) s"),
	"t\nt\nt",
	'shards do not run ahead of the clock');
is( $node->safe_psql(
		'postgres',
		"SELECT snowflake53_timestamp(snowflake53_nextval(s)) <= clock_timestamp() FROM unnest(ARRAY[5, 7]) s"),
	"t\nt",
	'nor do those of snowflake53');

# Signals cut naps short, and any session can send them: NOTIFY does.  They must
# not let a shard run ahead of the clock.  With a limit of 0, that is an error.
{
	my $session = SeqidSession->new($node);

	$session->query('SET seqid.max_clock_regression = 0');
	$session->send('SELECT count(snowflake_nextblock(12, 4096)) FROM generate_series(1, 1000)');
	my $signals = 0;
	do
	{
		$signals += kill('USR1', $session->{pid}) for 1 .. 100;
	} until $session->answered;
	is($session->answer, '1000', 'signals: all blocks were drawn');
	is($session->errors, '', 'signals: the clock is not said to be behind');
	cmp_ok($signals, '>', 0, 'signals: were sent');
	is($session->query(
			'SELECT snowflake_timestamp(snowflake_nextval(12)) <= clock_timestamp()'),
		't', 'signals: the shard is not ahead of the clock');
	$session->close;
}

# Whoever asks for many COMBs and fetches one must not drive them ahead either:
# 100000 of these once were 1.5 s.
is( $node->safe_psql(
		'postgres',
		"SELECT count(c) FROM (SELECT (SELECT comb_uuids(256 + 0 * n) LIMIT 1) AS c
		 FROM generate_series(1, 100000) n OFFSET 0) v;
		 SELECT comb_uuid_timestamp(comb_uuid()) < clock_timestamp() + interval '100 ms'"),
	"100000\nt",
	'COMBs that were not fetched do not run ahead of the clock');

# Eight who claim shards at once: none is two owners', and none is left out.
{
	my @sessions = map { SeqidSession->new($node) } 1 .. 8;

	$sessions[$_]->send("SELECT seqid.shard_claim('owner $_/' || n, 4) FROM generate_series(1, 20) n") for 0 .. 7;
	my @lists = map { split /\n/, $_->answer } @sessions;
	is(join('', map { $_->errors } @sessions), '', 'claims: no error');
	is(join(' ', sort { $a <=> $b } map { /^(\d+)-(\d+)$/ ? $1 .. $2 : 'none' } @lists),
		join(' ', 0 .. 639), 'claims: 160 owners have 640 shards, each once');
	$_->close for @sessions;
}

$node->stop;
done_testing();
