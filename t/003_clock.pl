# The clock of a running server is set back, set forward, and stands still.
#
# The server runs under libfaketime and reads its offset from a file that the
# test changes; SQL cannot set the clock.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$clock->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

my $session = SeqidSession->new($node);
$session->query("SET timezone = 'UTC'");

# An id of a shard, or the SQLSTATE and message if it is refused.
sub issue
{
	my ($call) = @_;

	return $session->full_outcome("SELECT $call");
}

sub fails_like
{
	my ($call, $pattern, $what) = @_;

	like(issue($call), $pattern, $what);
	return;
}

# How far an id is ahead of the clock, in milliseconds.
my $ahead = 'round(extract(epoch FROM snowflake_timestamp(%s) - clock_timestamp()) * 1000)';

#
# Back by less than the limit: ids go on from the last, and do not run away.
#
my $last = issue('snowflake_nextval(5)');
my $comb = issue('comb_uuid()');
$clock->set('-5s');
cmp_ok($session->query('SELECT snowflake_nextval(5)'), '>', $last, 'back 5 s: ids go on');

# What follows is so only while the clock is behind, however long that takes.
$session->query("SET seqid.max_clock_regression = '1h'");
$clock->set('-30m');
cmp_ok($session->query('SELECT snowflake_nextval(5)'), '>', $last, 'back 30 min: ids go on');
my $lead = $session->query('SELECT ' . sprintf($ahead, 'snowflake_nextval(5)'));
cmp_ok($lead, '>', 0, 'back 30 min: ahead of the clock');
cmp_ok($lead, '<=', 1800000, 'back 30 min: by no more than that');
is( $session->query(
		'SELECT count(*) FILTER (WHERE id > previous) FROM
		 (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous FROM
		  (SELECT n, snowflake_nextval(5) AS id FROM generate_series(1, 40000) n) d) c'),
	'40000',
	'back 30 min: ten milliseconds of ids, ascending');

# Whole milliseconds are drawn much faster than the clock ticks, if they may be.
$lead = $session->query('SELECT ' . sprintf($ahead, 'snowflake_nextval(5)'));
is($session->query('SELECT count(snowflake_nextblock(5, 4096)) FROM generate_series(1, 500)'),
	'500', 'back 30 min: half a second of blocks');
cmp_ok($session->query('SELECT ' . sprintf($ahead, 'snowflake_nextval(5)')),
	'<=', $lead + 2, 'back 30 min: the lead has not grown');
is($session->errors, '', 'back 30 min: no error');
cmp_ok(issue('comb_uuid()'), 'gt', $comb, 'back 30 min: combs go on');

# The limit is exact: a lower one refuses what a higher one allows.
$session->query("SET seqid.max_clock_regression = '1s'");
fails_like('snowflake_nextval(5)', qr/^55000: clock is \d{6,7} ms behind the next snowflake id of shard 5$/,
	'back 30 min: refused with a limit of 1 s');
$session->query('SET seqid.max_clock_regression = 0');
fails_like('snowflake_nextval(5)', qr/^55000: /, 'back 30 min: refused with a limit of 0');
like(issue('snowflake_nextval(6)'), qr/^\d+$/, 'back 30 min: a shard without ids is not affected');
$session->query("SET seqid.max_clock_regression = '1h'");
like(issue('snowflake_nextval(5)'), qr/^\d+$/, 'back 30 min: allowed again');

#
# Back by more than the limit: refused by every function, and nothing is lost.
#
$session->query('RESET seqid.max_clock_regression');
$clock->set('+0s');
$last = issue('snowflake_nextval(5)');
my $last53 = issue('snowflake53_nextval(5)');
$comb = issue('comb_uuid()');
$clock->set('-1h');
for my $call ('snowflake_nextval(5)', 'snowflake_nextvals(5, 3)',
	'snowflake_nextblock(5, 1)', 'snowflake_nextblock(5, 4096)')
{
	fails_like($call, qr/^55000: clock is 3[56]\d{5} ms behind the next snowflake id of shard 5$/,
		"back 1 h: $call is refused");
}
for my $call ('snowflake53_nextval(5)', 'snowflake53_nextvals(5, 3)', 'snowflake53_nextblock(5, 128)')
{
	fails_like($call, qr/^55000: clock is 3[56]\d{5} ms behind the next snowflake53 id of shard 5$/,
		"back 1 h: $call is refused");
}
is(issue('snowflake53_currval()'), $last53, 'back 1 h: currval of snowflake53 is as before');
is(issue('snowflake_currval()'), $last, 'back 1 h: currval is as before');
cmp_ok(issue('comb_uuid()'), 'gt', $comb, 'back 1 h: combs go on');
fails_like("comb_uuid_validate('" . issue('comb_uuid()') . "')", qr/^22023: .* from the future$/,
	'back 1 h: and are from the future');
$session->query("SET seqid.max_clock_regression = '2h'");
is(issue('snowflake_nextval(5)'), $last + 1, 'back 1 h: the next id if the limit is raised');
is(issue('snowflake53_nextval(5)'), $last53 + 1, 'back 1 h: the next snowflake53, too');
$session->query('RESET seqid.max_clock_regression');

$clock->set('+0s');
cmp_ok(issue('snowflake_nextval(5)'), '>', $last + 1, 'the clock is right again: ids go on');
cmp_ok($session->query('SELECT ' . sprintf($ahead, 'snowflake_nextval(5)')),
	'<=', 0, 'the clock is right again: they tell its time');

#
# A day ahead and back.
#
$clock->set('+1d');
my $tomorrow = issue('snowflake_nextval(5)');
cmp_ok($tomorrow, '>', $last + (86000000 << 22), 'ahead 1 d: ids are of tomorrow');
$clock->set('+0s');
fails_like('snowflake_nextval(5)', qr/^55000: clock is 8[56]\d{6} ms behind/,
	'ahead 1 d and back: the shard that issued ids meanwhile is refused');
cmp_ok(issue('snowflake_nextval(8)'), '<', $tomorrow, 'ahead 1 d and back: others are not');
$clock->set('+1d');
cmp_ok(issue('snowflake_nextval(5)'), '>', $tomorrow, 'ahead 1 d again: it goes on');

#
# A clock that stands still hangs nobody: ids go on up to the limit.
#
$clock->set('2080-01-01 00:00:00');
is( $session->query(
		'SELECT count(DISTINCT id) FROM (SELECT snowflake_nextval(20) AS id
		 FROM generate_series(1, 20000)) d'),
	'20000',
	'standing still: ids go on');
cmp_ok($session->query('SELECT ' . sprintf($ahead, 'snowflake_nextval(20)')),
	'<=', 5, 'standing still: in as many milliseconds as they need');
$session->query('SET seqid.max_clock_regression = 0');
fails_like('snowflake_nextval(20)', qr/^55000: clock is \d ms behind/,
	'standing still: within the limit');
$session->query('RESET seqid.max_clock_regression');
is($session->query('SELECT count(DISTINCT id) FROM comb_uuids(10000) id'),
	'10000', 'standing still: combs go on');

#
# Outside the time of the format.
#
$clock->set('@2022-06-01 00:00:00');
fails_like('snowflake_nextval(30)', qr/^55000: clock is before the epoch/,
	'before 2023: refused');
fails_like('snowflake_nextval(5)', qr/^55000: /, 'before 2023: refused');
like(issue('comb_uuid()'), qr/^[0-9a-f-]{36}$/, 'before 2023: combs go on');

# The clock stands at the beginning of the last second, 551 ms before the end.
# Ids go on to the very last, and not further.
$clock->set('2092-09-06 15:47:35');
$session->query("SET seqid.max_clock_regression = '1d'");
my %millisecond = (snowflake => 4096, snowflake53 => 128);
for my $kind (sort keys %millisecond)
{
	my $ids = $millisecond{$kind};
	my $last_sequence = $ids - 1;

	is( $session->query(
			"SELECT ${kind}_parts(max(first) + $last_sequence), count(*) FROM
			 (SELECT ${kind}_nextblock(31, $ids) AS first FROM generate_series(1, 552)) d"),
		"(\"2092-09-06 15:47:35.551+00\",31,$last_sequence)|552",
		"the last second: $kind ids go on to the last of all");
	fails_like("${kind}_nextval(31)", qr/^2200H: time of $kind ids is used up$/,
		'the last second: and then end');
}
is(issue('snowflake53_currval()'), '9007199254740991', 'the last second: of snowflake53, it is the largest safe integer');
like(issue('snowflake_nextval(33)'), qr/^\d+$/, 'the last second: other shards go on');
$session->query('RESET seqid.max_clock_regression');
$clock->set('@2092-09-06 15:47:36');
fails_like('snowflake_nextval(31)', qr/^2200H: time of snowflake ids is used up$/,
	'after the end: refused');
fails_like('snowflake_nextval(32)', qr/^2200H: /, 'after the end: unused shards too');
fails_like('snowflake_nextblock(31, 4096)', qr/^2200H: /, 'after the end: blocks too');
$clock->set('@2093-01-01 00:00:00');
fails_like('snowflake_nextval(31)', qr/^2200H: /, 'years after the end: refused');
like(issue('comb_uuid()'), qr/^[0-9a-f-]{36}$/, 'years after the end: combs go on');
$clock->set('+0s');
like(issue('snowflake_nextval(32)'), qr/^\d+$/, 'a refused call changed nothing');

$session->close;
$node->stop;
done_testing();
