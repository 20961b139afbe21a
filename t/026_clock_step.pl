# The clock steps while a call is under way, at each place where the call reads it: no call
# sleeps for the length of the step, and each returns a key or is refused.
#
# The server runs with a library that freezes the clock of one session, steps it at a
# reading that the test chooses, and adds up the naps that the session asks for.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $ns_per_ms = 1000 * 1000;
my $step_ms = 20000;

# The most that a statement can sleep: it waits for a few milliseconds, a few times.
my $most_ms = 50;

my $shim = SeqidShim->new;
my $node = new_server('main', clock => $shim, conf => "seqid.shards = '1'");
my $session = SeqidSession->new($node);
$session->query("SET timezone = 'UTC'");

# Each case begins with a clock that is an hour ahead of all earlier keys.
my $clock_ms = 1000 * time;

# The last key of a millisecond, for witnesses; the layouts begin with 2023.
my $epoch_ms = 1672531200000;
my %seen_elsewhere = (
	snowflake => sub { my ($ms) = @_; return ($ms - $epoch_ms << 22) + (1 << 12) + 4095 },
	snowflake53 => sub { my ($ms) = @_; return ($ms - $epoch_ms << 12) + (1 << 7) + 127 },
	comb_uuid => sub {
		my ($ms) = @_;
		return sprintf("'%08x-%04x-7fff-bfff-ffffffffffff'", $ms >> 16, $ms & 65535);
	});

# Calls that use up a millisecond.
my %full = (
	snowflake => 'snowflake_nextblock(1, 4096)',
	snowflake53 => 'snowflake53_nextblock(1, 128)',
	comb_uuid => 'comb_uuid()');
my $thrice = 'FROM generate_series(1, 3)';
my @calls = (
	[ snowflake => "SELECT snowflake_nextval(1) $thrice" ],
	[ snowflake => "SELECT snowflake_nextblock(1, 4096) $thrice" ],
	[ snowflake => 'SELECT snowflake_witness(%s); SELECT snowflake_nextval(1)' ],
	[ snowflake53 => "SELECT snowflake53_nextval(1) $thrice" ],
	[ snowflake53 => 'SELECT snowflake53_nextvals(1, 300)' ],
	[ snowflake53 => 'SELECT snowflake53_witness(%s); SELECT snowflake53_nextval(1)' ],
	[ comb_uuid => "SELECT comb_uuid() $thrice" ],
	[ comb_uuid => 'SELECT comb_uuids(600)' ],
	[ comb_uuid => 'SELECT comb_uuid_witness(%s); SELECT comb_uuid()' ],
	[ horizon => 'CALL seqid.horizon()' ]);

# How far the last key is ahead of the clock: behind it, in its millisecond, in the
# queue, at the queue's end and beyond it, and almost too far.
my @leads_ms = (-1, 0, 1, 3, 7, 8, 9, 20, 9980);

my %last;

# Runs a statement whose k-th reading of the clock is a step; returns whether there was one,
# how long it slept, and its outcome.
sub run ($kind, $sql, $lead_ms, $k, $step)
{
	my $what = "$sql, $lead_ms ms ahead, step of $step ms at reading $k";

	# A full millisecond ahead of the clock, by a clock that was set back.
	$clock_ms += 3600 * 1000;
	$shim->set(frozen_ns => ($clock_ms + $lead_ms + 1) * $ns_per_ms - 1);
	$shim->watch($session->{pid});
	check_order($kind, "$what: ahead", $session->outcome("SELECT $full{$kind}")) if $full{$kind};

	$shim->set(frozen_ns => $clock_ms * $ns_per_ms);
	$shim->watch($session->{pid}, $k, $step * $ns_per_ms);
	$sql = sprintf($sql, $seen_elsewhere{$kind}->($clock_ms + $lead_ms)) if $sql =~ /%s/;
	my $outcome = $session->outcome($sql);
	check_order($kind, $what, $outcome);
	return ($shim->get('steps'), $shim->get('napped_ns') / $ns_per_ms, $outcome);
}

# The same, for calls that do not sleep.  On a busy machine, the server also naps when it waits
# for a spinlock, and longer each time; it does not do so each time that a case is tried.
sub step_happens ($kind, $sql, $lead_ms, $k, $step)
{
	my ($happened, $napped_ms);

	for my $try (1 .. 5)
	{
		($happened, $napped_ms) = run($kind, $sql, $lead_ms, $k, $step);
		return $happened if $napped_ms <= $most_ms;
	}
	fail("$sql, $lead_ms ms ahead, step of $step ms at reading $k: sleeps for $napped_ms ms");
	return $happened;
}

# Keys ascend over all statements of a kind, so that none comes twice.
sub check_order ($kind, $what, $outcome)
{
	return if $outcome =~ /^(55000|22023)$/;
	for my $key (split /\n/, $outcome)
	{
		my $ascends = !defined $last{$kind} ||
		  ($kind =~ /snowflake/ ? $key > $last{$kind} : $key gt $last{$kind});

		return fail("$what: $key does not follow $last{$kind}") unless $ascends;
		$last{$kind} = $key;
	}
	fail("$what: returns nothing") if $outcome eq '';
}

for my $limit ('10s', '1h')
{
	$session->query("SET seqid.max_lead = '$limit'");
	for my $call (@calls)
	{
		my ($kind, $sql) = @$call;

		my $steps = 0;
		for my $lead_ms ($kind eq 'horizon' ? (0) : @leads_ms)
		{
			for my $step (-$step_ms, $step_ms)
			{
				# Until the call ends before the k-th reading
				my $k = 1;
				$k++ while step_happens($kind, $sql, $lead_ms, $k, $step);
				$steps += $k - 1;
			}
		}
		cmp_ok($steps, '>', 1, "limit of $limit: $sql: $steps steps");
	}
}

# While a call waits in the queue, a step by more than the limit is refused as it is before.
$session->query("SET seqid.max_lead = '10s'");
is((run(snowflake => 'SELECT snowflake_nextblock(1, 4096)', 0, $_, -$step_ms))[2], '55000', "in the queue, a step at reading $_: refused")
  for 1 .. 5;

# A key is not below a horizon, although the clock is one millisecond behind it: the floor is
# the last millisecond that the key must not contain.
$clock_ms += 3600 * 1000;
$shim->set(frozen_ns => $clock_ms * $ns_per_ms);
$shim->watch($session->{pid});
my $horizon = $session->query('CALL seqid.horizon()') =~ s/\|.*//r;
$shim->set(frozen_ns => ($clock_ms - 1) * $ns_per_ms);
is($session->query("SELECT snowflake_timestamp(snowflake_nextval(2)) >= '$horizon'"), 't', 'behind a horizon by a millisecond');

# The mark covers each key, however far the clock has gone since the mark was written.
for my $step (1 .. 20)
{
	$shim->set(frozen_ns => ($clock_ms += 100 * $step) * $ns_per_ms);
	my $key = $session->query('SELECT snowflake_nextval(2)');
	is($session->query("SELECT snowflake_timestamp($key) <= to_timestamp(last_value / 1000.0) FROM seqid.clock_mark"), 't',
		'a step of ' . 100 * $step . ' ms: the mark covers the key');
}

$session->close;
$node->stop;
done_testing();
