# The clock is set back, set forward, and stands still, while the server runs and while it
# is down: ids go on, or are refused, and no id comes again.
#
# SQL can neither set the clock nor restart a server.  (026_clock_step.pl steps the clock
# within a call.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, conf => "timezone = 'UTC'");
my %millisecond = (snowflake => 4096, snowflake53 => 128);

my $session = SeqidSession->new($node);

sub issue ($call)
{
	return $session->full_outcome("SELECT $call");
}

sub is_refused ($call, $state, $what)
{
	is($session->outcome("SELECT $call"), $state, "$what: $call is refused");
}

sub goes_on ($call, $what)
{
	like(issue($call), qr/^[0-9a-f-]{16,36}$/, "$what: $call goes on");
}

sub limit ($limit)
{
	$session->query("SET seqid.max_lead = '$limit'");
}

# How far the next id of a shard is at least ahead of the clock, in milliseconds.
sub lead_ms ($shard)
{
	return issue("round(extract(epoch FROM snowflake_timestamp(snowflake_nextval($shard)) - clock_timestamp()) * 1000)");
}

#
# Back by less than the limit: ids go on from the last one, at the clock's speed.
#
my ($last, $comb) = split /\|/, issue('snowflake_nextval(5), comb_uuid()');
$clock->set('-5s');
cmp_ok(issue('snowflake_nextval(5)'), '>', $last, 'back 5 s: ids go on');

limit('1h');
$clock->set('-30m');
my $lead = lead_ms(5);
ok($lead > 0 && $lead <= 1800000, 'back 30 min: ahead of the clock by no more than that') or diag($lead);
is( issue('count(*) FILTER (WHERE id > previous) FROM
		(SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous FROM
		 (SELECT n, snowflake_nextval(5) AS id FROM generate_series(1, 40000) n) i) c'),
	'40000', 'back 30 min: ten milliseconds of ids, ascending');
# By a clock that is read before the blocks, and one that is read after them.  Without the
# pace of the clock, they would take no time.
is(issue("count(*), max(snowflake_timestamp(id)) - min(snowflake_timestamp(id)) < clock_timestamp() - began + interval '5 ms'
		FROM (SELECT clock_timestamp() AS began OFFSET 0) c,
			LATERAL (SELECT snowflake_nextblock(5, 4096 + 0 * n) AS id FROM generate_series(1, 500) n OFFSET 0) b
		GROUP BY began"), '500|t', 'back 30 min: half a second of blocks, at the pace of the clock');
cmp_ok(issue('comb_uuid()'), 'gt', $comb, 'back 30 min: COMBs go on');

#
# Back by more than the limit: every function refuses, and nothing is lost.
#
$session->query('RESET seqid.max_lead');
$clock->set('+0s');
my %last = map { $_ => issue("${_}_nextval(5)") } keys %millisecond;
$comb = issue('comb_uuid()');
$clock->set('-1h');
for my $kind (sort keys %millisecond)
{
	for my $call ('nextval(5)', 'nextvals(5, 3)', 'nextblock(5, 1)', "nextblock(5, $millisecond{$kind})")
	{
		like(issue("${kind}_$call"), qr/^55000: \D*3[56]\d{5} ms/, "back 1 h: ${kind}_$call is refused, with how far");
	}
	is(issue("${kind}_currval()"), $last{$kind}, "back 1 h: ${kind}_currval is as before");
}
my $next = issue('comb_uuid()');
cmp_ok($next, 'gt', $comb, 'back 1 h: COMBs go on');
is_refused("comb_uuid_witness('$next')", '22023', 'back 1 h: from the future');
goes_on('snowflake_nextval(6)', 'back 1 h, a shard without ids');
limit('2h');
is(issue("${_}_nextval(5)"), $last{$_} + 1, "back 1 h: a higher limit allows the next $_") for sort keys %last;
$session->query('RESET seqid.max_lead');

$clock->set('+0s');
cmp_ok(issue('snowflake_nextval(5)'), '>', $last{snowflake} + 1, 'the clock is right again: ids go on');
cmp_ok(lead_ms(5), '<=', 0, 'the clock is right again: ids have its time');
$session->close;

#
# Set while the server is down.
#
my @keys = new_keys($node);

# Restarts with the clock at an offset; a shard that issued ids and one that did not
# either go on or are refused.
sub step ($mode, $offset, $refused = 0)
{
	my $what = "$offset, $mode restart";

	$clock->restart($node, $offset, $mode);
	for my $shard (5, 6)
	{
		# A millisecond of the new shard is later, whatever the bits of the shard are.
		my $later = outcome($node, "SELECT snowflake_nextval($shard) >> 22 > $keys[0]::bigint >> 22");
		my $later53 = outcome($node, "SELECT snowflake53_nextval($shard) >> 12 > $keys[1]::bigint >> 12");

		is("$later $later53", $refused ? '55000 55000' : 't t', "$what: shard $shard goes on, or is refused");
	}
	is(outcome($node, "SELECT comb_uuid() > '$keys[2]'"), 't', "$what: COMBs go on");
	my $call = $refused ? "$keys[0], $keys[1], comb_uuid()"
	  : 'max(snowflake_nextval(5)), max(snowflake53_nextval(5)), max(comb_uuid()::text) FROM generate_series(1, 5000)';
	@keys = split /\|/, outcome($node, "SELECT $call");
}

$clock->set('-6s');
for my $mode ('fast', 'immediate')
{
	step($mode, $_) for '+0s', '-1s', '-5s', '+0s';
	step($mode, '-1h', 'refused');
	step($mode, '+0s');
}

# While snowflakes are refused, COMBs are generated and take the mark along; so does a
# clock that was a day ahead.
step('fast', '+1d');
step('fast', '+0s', 'refused');
step('immediate', '+1d');
step('immediate', '-5s', 'refused');
is(outcome($node, "SET seqid.max_lead = '2d'; SELECT snowflake_nextval(5) > $keys[0], snowflake53_nextval(5) > $keys[1]"),
	't|t', 'a larger limit lets ids go on');

# The mark is ahead of the clock on purpose.  It is the floor once in a server lifetime:
# a session that begins when the mark has just been raised is not pushed ahead by it.
$clock->set('+2d');
my $writer = SeqidSession->new($node);
my $written = 'SELECT marks_written FROM seqid.stat_database';
for my $round (1 .. 3)
{
	my $before = $writer->query($written);

	do { $writer->query('SELECT snowflake_nextval(6)') } while $writer->query($written) == $before;
	is(outcome($node, 'SELECT snowflake_timestamp(snowflake_nextval(8)) <= clock_timestamp()'),
		't', 'a new session is not pushed ahead of the clock');
}
$writer->close;

# pg_resetwal throws away the WAL that has the mark, and gives its checkpoint the time of
# the clock.  The page on disk is that of the checkpoint before.
$clock->restart($node, '+3d');
outcome($node, 'SELECT snowflake_nextval(5); CHECKPOINT');
$clock->set('+259205s');
@keys = new_keys($node);
$clock->set('+259208s');
$node->kill9;
unlink $node->data_dir . '/postmaster.pid';
{
	local %ENV = (%ENV, $clock->environment);
	command_ok([ 'pg_resetwal', '-f', '-D', $node->data_dir ], 'pg_resetwal');
}
$clock->set('+3d');
$clock->start($node);
@keys = keys_ascend($node, \@keys, 'pg_resetwal');

#
# While the clock stands still, ids go on up to the limit.
#
$session = SeqidSession->new($node);
$clock->set('2080-01-01 00:00:00');
is(issue('count(DISTINCT id) FROM (SELECT snowflake_nextval(20) AS id FROM generate_series(1, 20000)) i'),
	'20000', 'standing still: ids go on');
cmp_ok(lead_ms(20), '<=', 5, 'standing still: in as many milliseconds as they need');
limit('0');
is_refused('snowflake_nextval(20)', '55000', 'standing still, limit of 0');
$session->query('RESET seqid.max_lead');
is(issue('count(DISTINCT id) FROM comb_uuids(10000) id'), '10000', 'standing still: COMBs go on');

#
# Outside the time of the format.
#
$clock->set('@2022-06-01 00:00:00');
is_refused('snowflake_nextval(5)', '55000', 'before 2023');
like(issue('snowflake_nextval(30)'), qr/^55000: clock is before the epoch/, 'before 2023: the error says so');
goes_on('comb_uuid()', 'before 2023');

# The clock stands at the beginning of the last second, 551 ms before the end.  Ids go
# on to the very last.
$clock->set('2092-09-06 15:47:35');
limit('1d');
for my $kind (sort keys %millisecond)
{
	my $ids = $millisecond{$kind};
	my $sequence = $ids - 1;

	is( issue("${kind}_parts(max(first) + $sequence), count(*) FROM
			(SELECT ${kind}_nextblock(31, $ids) AS first FROM generate_series(1, 552)) b"),
		"(\"2092-09-06 15:47:35.551+00\",31,$sequence)|552", "the last second: $kind ids go on to the last of all");
	is_refused("${kind}_nextval(31)", '2200H', 'the last second is used up');
}
is(issue('snowflake53_currval()'), '9007199254740991', 'the last snowflake53 is the largest safe integer');
goes_on('snowflake_nextval(33)', 'the last second, another shard');
$session->query('RESET seqid.max_lead');
for my $time ('2092-09-06 15:47:36', '2093-01-01 00:00:00')
{
	$clock->set("\@$time");
	is_refused($_, '2200H', $time) for 'snowflake_nextval(31)', 'snowflake_nextval(32)', 'snowflake_nextblock(31, 4096)';
	goes_on('comb_uuid()', $time);
}
$clock->set('+3d');
goes_on('snowflake_nextval(32)', 'after refused calls');
$session->close;

$node->stop;
done_testing();
