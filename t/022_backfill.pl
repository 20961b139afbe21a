# Ids for rows that were there before: distinct, in the order of the rows, of their
# time, in a shard that nobody issues from, and of milliseconds that have passed.  Of
# both layouts.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

sub answer
{
	return outcome($node, 'postgres', $_[0]);
}

like(full_outcome($node, 'postgres', 'SELECT snowflake_backfill(now()) OVER ()'),
	qr/^55000: shard 31 is one that this server may issue/, 'a shard that may be issued is refused');

# What was issued of it is known as long as the server runs.
$node->safe_psql('postgres', 'SELECT snowflake_nextval(31)');
$node->append_conf('postgresql.conf', "seqid.allowed_shards = '0-30, 32-1023'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('seqid.allowed_shards', true) = '0-30, 32-1023'")
  or die 'the setting is not there';
like(full_outcome($node, 'postgres', 'SELECT snowflake_backfill(now()) OVER ()'),
	qr/^55000: shard 31 has issued ids since the server was started/, 'a shard that has issued ids is refused');
like(answer('SELECT snowflake53_backfill(now()) OVER ()'), qr/^\d+$/, 'but not of the other layout');
$node->restart;
is(answer('SELECT snowflake_nextval(31)'), '55000', 'and the other way round');

# A million rows over some years, from before the epoch on, which do not come in
# order; 10,000 of them at one time.  Inserted in another order than that of time.
$node->safe_psql('postgres', q{
	CREATE TABLE old AS
	SELECT g AS id, CASE WHEN g BETWEEN 500000 AND 509999 THEN timestamptz '2024-02-29 12:00:00.123456'
		ELSE timestamptz '2022-12-31 23:00Z' + (g::bigint * 7919 % 1000003)::float8 * interval '60.0017 s' END AS created_at
	  FROM generate_series(1, 1000000) g;});

my %most = (snowflake => 4096, snowflake53 => 128);
for my $kind (sort keys %most)
{
	my $spill = 10000 / $most{$kind};

	$node->safe_psql('postgres', qq{
		CREATE TABLE new_$kind AS
		SELECT id, created_at, ${kind}_backfill(created_at) OVER (ORDER BY created_at, id) AS new_id FROM old});
	is(answer("SELECT count(DISTINCT new_id) FROM new_$kind"), 1000000, "$kind: a million distinct ids");
	is(answer(qq{
		SELECT count(*) FROM (SELECT new_id, lag(new_id) OVER (ORDER BY created_at, id) AS before FROM new_$kind) o
		 WHERE new_id <= before}), 0, "$kind: in the order of the rows");
	is(answer(qq{
		SELECT bool_and(${kind}_shard(new_id) = 31 AND ${kind}_timestamp(new_id) < now()),
		       count(*) FILTER (WHERE created_at >= '2023-01-01Z' AND ${kind}_timestamp(new_id) <> date_trunc('milliseconds', created_at)
		                        AND NOT created_at BETWEEN '2024-02-29 12:00:00.123Z' AND '2024-02-29 12:00:01Z')
		  FROM new_$kind}), 't|0', "$kind: of that shard, in the past, of the rows' own milliseconds");
	is(answer(qq{
		SELECT count(DISTINCT ${kind}_timestamp(new_id)), max(${kind}_timestamp(new_id)) < '2024-02-29 12:00:01Z'
		  FROM new_$kind WHERE id BETWEEN 500000 AND 509999}),
		int($spill + 0.999) . '|t', "$kind: what a millisecond does not hold goes to the next ones");
	is(answer(qq{
		SELECT count(*) > 50, max(${kind}_timestamp(new_id)) < '2023-01-01 00:00:01Z'
		  FROM new_$kind WHERE created_at < '2023-01-01Z'}), 't|t', "$kind: before the epoch is its beginning");

	# In parts, each above the one before, whose last millisecond is full.
	$node->safe_psql('postgres', qq{
		CREATE TABLE parts_$kind AS
		SELECT ${kind}_backfill('2024-01-01Z') OVER () AS new_id FROM generate_series(1, 5000);
		INSERT INTO parts_$kind
		SELECT ${kind}_backfill('2024-01-01Z', after => (SELECT max(new_id) FROM parts_$kind)) OVER () FROM generate_series(1, 5000)});
	is(answer("SELECT count(DISTINCT new_id) FROM parts_$kind"), 10000, "$kind: two parts have nothing in common");

	is(answer("SELECT ${kind}_backfill(NULL) OVER () IS NULL, ${kind}_backfill(now(), NULL) OVER () IS NULL"), 't|t', "$kind: NULL");
	is(answer("SELECT ${kind}_timestamp(${kind}_backfill('-infinity') OVER ()) = '2023-01-01Z'"), 't', "$kind: -infinity");
	is(answer("SELECT ${kind}_backfill(created_at) OVER (ORDER BY created_at DESC) FROM old LIMIT 2"), '22023', "$kind: the wrong order");
	is(answer("SELECT count(*) FROM (SELECT ${kind}_backfill(created_at) OVER (PARTITION BY id % 2 ORDER BY created_at) FROM old) o"),
		'22023', "$kind: partitions");
	is(answer("SELECT ${kind}_backfill(now() + '1 h') OVER ()"), '22023', "$kind: the future");
	is(answer("SELECT ${kind}_backfill('infinity') OVER ()"), '22023', "$kind: infinity");
	is(answer("SELECT ${kind}_backfill(now(), 30) OVER ()"), '55000', "$kind: a shard that may be issued");
	is(answer("SELECT ${kind}_backfill(now(), -1) OVER ()"), '22023', "$kind: no shard");
	is(answer("SELECT ${kind}_backfill(now(), after => ${kind}_make(now(), 30, 0)) OVER ()"), '22023', "$kind: after another shard's id");
	is(answer("SELECT ${kind}_backfill(now(), after => -1) OVER ()"), '22003', "$kind: after what is no id");
	is(answer("SELECT ${kind}_backfill(now())"), '42809', "$kind: without OVER");
}

# The milliseconds of ids have passed, those of the newest rows, too, and of rows that
# spill forward: 50,000 in 53 bits are 391 ms.
my $passed = '%1$s_timestamp(%2$s) < date_trunc(\'milliseconds\', clock_timestamp())';
for my $kind (sort keys %most)
{
	is(answer(sprintf "SELECT $passed FROM (SELECT ${kind}_backfill(date_trunc('milliseconds', clock_timestamp())) OVER () AS id OFFSET 0) b", $kind, 'id'),
		't', "$kind: a row of this millisecond");
	is(answer(sprintf "SELECT $passed FROM (SELECT ${kind}_backfill(now()) OVER () AS id FROM generate_series(1, 50000)) b", $kind, 'max(id)'),
		't', "$kind: rows of now");
	is(answer(sprintf "SELECT $passed FROM (SELECT ${kind}_backfill(now(), after => ${kind}_make(clock_timestamp() + '0.3 s', 31, 0)) OVER () AS id OFFSET 0) b", $kind, 'id'),
		't', "$kind: after an id that is ahead of the clock");
	like(full_outcome($node, 'postgres', "SELECT ${kind}_backfill(now(), after => ${kind}_make(now() + '1 h', 31, 0)) OVER ()"),
		qr/^55000: clock is 3\d{6} ms behind the next ${kind} id of shard 31/, "$kind: too far ahead to wait");
	is(answer("SET statement_timeout = '50ms'; SET seqid.max_clock_regression = '1 d';
		SELECT ${kind}_backfill(now(), after => ${kind}_make(now() + '1 h', 31, 0)) OVER ()"),
		'57014', "$kind: the wait can be cancelled");
}

is(answer("SELECT snowflake53_backfill(now(), 32) OVER ()"), '22023', 'snowflake53: no shard of its own');
is(answer("SELECT snowflake53_backfill(now(), after => 9007199254740991) OVER ()"), '2200H', 'snowflake53: its time is over');

$node->stop;

# Each wait is for the clock, which may be set meanwhile: not for as long as it was
# behind when the wait began.
my $clock = SeqidClock->new;
my $stepped = PostgreSQL::Test::Cluster->new('stepped');
$stepped->init;
$stepped->append_conf('postgresql.conf', "seqid.allowed_shards = '0-30, 32-1023'\nseqid.max_clock_regression = '2h'\n");
$clock->set('2080-01-01 00:00:00');
$clock->start($stepped);
$stepped->safe_psql('postgres', 'CREATE EXTENSION seqid');

my $session = SeqidSession->new($stepped);
my $behind = "SELECT snowflake_timestamp(snowflake_backfill(clock_timestamp(), after => snowflake_make('2080-01-01 01:00Z', 31, 0)) OVER ())
	= '2080-01-01 01:00Z'";
my $waits = "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $session->{pid}";

$session->send($behind);
$stepped->poll_query_until('postgres', $waits) or die 'it does not wait';
ok(!$session->answered, 'an hour ahead of a clock that stands still: it waits');
$clock->set('@2080-01-01 01:30:00');
is($session->answer, 't', 'until the clock is set forward');
$clock->set('2080-01-01 00:00:00');
$session->send($behind);
$stepped->poll_query_until('postgres', $waits) or die 'it does not wait';
$clock->set('2079-12-31 22:00:00');
$session->answer;
like(error_in($session->errors), qr/^55000: clock is 10800000 ms behind the next snowflake id of shard 31/,
	'or too far back');
$session->close;

$stepped->stop;
done_testing;
