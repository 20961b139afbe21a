# The clock of a running server is set back, set forward, and stands still.
#
# SQL cannot set the clock.  (026_clock_step.pl steps it within a call.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock);
my $session = SeqidSession->new($node);
my %millisecond = (snowflake => 4096, snowflake53 => 128);

$session->query("SET timezone = 'UTC'");

sub issue ($call)
{
	return $session->full_outcome("SELECT $call");
}

sub is_refused ($call, $state, $what)
{
	is($session->outcome("SELECT $call"), $state, "$what: $call is refused");
}

# The milliseconds that an error says the clock is behind.
sub behind_ms ($call)
{
	return issue($call) =~ /^55000: \D*(\d+) ms/ ? $1 : -1;
}

sub limit
{
	$session->query("SET seqid.max_lead = '$_[0]'");
}

# How far the next id of a shard is ahead of the clock, in milliseconds: at least, by a clock
# that is read after it, and at most, by one that is read before.  So a machine that stands
# still between the two cannot fail a test.
sub lead_ms ($shard)
{
	return issue("round(extract(epoch FROM snowflake_timestamp(snowflake_nextval($shard)) - clock_timestamp()) * 1000)");
}

sub most_lead_ms ($shard)
{
	return issue("round(extract(epoch FROM snowflake_timestamp(snowflake_nextval($shard)) - before) * 1000)
		FROM (SELECT clock_timestamp() AS before OFFSET 0) c");
}

#
# Back by less than the limit: ids go on from the last one, at the clock's speed.
#
my $last = issue('snowflake_nextval(5)');
my $comb = issue('comb_uuid()');
$clock->set('-5s');
cmp_ok(issue('snowflake_nextval(5)'), '>', $last, 'back 5 s: ids go on');

limit('1h');
$clock->set('-30m');
cmp_ok(issue('snowflake_nextval(5)'), '>', $last, 'back 30 min: ids go on');
my $lead = lead_ms(5);
cmp_ok($lead, '>', 0, 'back 30 min: ahead of the clock');
cmp_ok($lead, '<=', 1800000, 'back 30 min: by no more than that');
is( issue('count(*) FILTER (WHERE id > previous) FROM
		(SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous FROM
		 (SELECT n, snowflake_nextval(5) AS id FROM generate_series(1, 40000) n) i) c'),
	'40000', 'back 30 min: ten milliseconds of ids, ascending');
$lead = most_lead_ms(5);
is(issue('count(snowflake_nextblock(5, 4096)) FROM generate_series(1, 500)'), '500', 'back 30 min: half a second of blocks');
cmp_ok(lead_ms(5), '<=', $lead + 2, 'back 30 min: the lead has not grown');
cmp_ok(issue('comb_uuid()'), 'gt', $comb, 'back 30 min: COMBs go on');

# A lower limit refuses what a higher one allows.
for my $limit ('1s', '0')
{
	limit($limit);
	is_refused('snowflake_nextval(5)', '55000', "back 30 min, limit of $limit");
}
like(issue('snowflake_nextval(6)'), qr/^\d+$/, 'back 30 min: a shard without ids is not affected');
limit('1h');
like(issue('snowflake_nextval(5)'), qr/^\d+$/, 'back 30 min: allowed again');

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
		my $ms = behind_ms("${kind}_$call");

		ok($ms > 3500000 && $ms < 3700000, "back 1 h: ${kind}_$call is refused, and the error says how far") or diag($ms);
	}
	is(issue("${kind}_currval()"), $last{$kind}, "back 1 h: ${kind}_currval is as before");
}
my $next = issue('comb_uuid()');
cmp_ok($next, 'gt', $comb, 'back 1 h: COMBs go on');
is_refused("comb_uuid_witness('$next')", '22023', 'back 1 h: from the future');
limit('2h');
is(issue("${_}_nextval(5)"), $last{$_} + 1, "back 1 h: a higher limit allows the next $_") for sort keys %last;
$session->query('RESET seqid.max_lead');

$clock->set('+0s');
cmp_ok(issue('snowflake_nextval(5)'), '>', $last{snowflake} + 1, 'the clock is right again: ids go on');
cmp_ok(lead_ms(5), '<=', 0, 'the clock is right again: ids have its time');

#
# A day ahead and back.
#
$clock->set('+1d');
my $tomorrow = issue('snowflake_nextval(5)');
cmp_ok($tomorrow, '>', $last{snowflake} + (86000000 << 22), 'ahead 1 d: ids are of tomorrow');
$clock->set('+0s');
cmp_ok(behind_ms('snowflake_nextval(5)'), '>', 85000000, 'ahead 1 d and back: the shard is refused');
cmp_ok(issue('snowflake_nextval(8)'), '<', $tomorrow, 'ahead 1 d and back: others are not');
$clock->set('+1d');
cmp_ok(issue('snowflake_nextval(5)'), '>', $tomorrow, 'ahead 1 d again: it goes on');

#
# While the clock stands still, ids go on up to the limit.
#
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
is_refused("snowflake_nextval($_)", '55000', 'before 2023') for 30, 5;
like(issue('comb_uuid()'), qr/^[0-9a-f-]{36}$/, 'before 2023: COMBs go on');

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
like(issue('snowflake_nextval(33)'), qr/^\d+$/, 'the last second: other shards go on');
$session->query('RESET seqid.max_lead');
for my $time ('2092-09-06 15:47:36', '2093-01-01 00:00:00')
{
	$clock->set("\@$time");
	is_refused($_, '2200H', "$time") for 'snowflake_nextval(31)', 'snowflake_nextval(32)', 'snowflake_nextblock(31, 4096)';
	like(issue('comb_uuid()'), qr/^[0-9a-f-]{36}$/, "$time: COMBs go on");
}
$clock->set('+0s');
like(issue('snowflake_nextval(32)'), qr/^\d+$/, 'a refused call changed nothing');

$session->close;
$node->stop;
done_testing();
