# Ids for rows that exist already, of both layouts: distinct, in the order of the rows, with
# their times, of a shard that issues no others, and of milliseconds that have passed.  No
# id that the shard issues later is one of them, whatever the clock does.
#
# SQL can neither write the configuration file nor set the clock.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main');

sub answer
{
	return outcome($node, $_[0]);
}

is(answer('SELECT snowflake_backfill(now(), 31) OVER ()'), '55000', 'a shard that can be issued is refused');

# The server remembers issued ids until it is restarted.
answer('SELECT snowflake_nextval(31)');
reconfigure($node, 'seqid.allowed_shards' => '0-30, 32-1023');
is(answer('SELECT snowflake_backfill(now(), 31) OVER ()'), '55000', 'a shard that has issued ids is refused');
like(answer('SELECT snowflake53_backfill(now(), 31) OVER ()'), qr/^\d+$/, 'but not of the other layout');
$node->restart;
is(answer('SELECT snowflake_nextval(31)'), '55000', 'and the other way round');

# A million rows over two years, from before the epoch on, in no order; 10,000 of them have
# one time.
$node->safe_psql('postgres', q{
	CREATE TABLE old AS
	SELECT g AS id, CASE WHEN g BETWEEN 500000 AND 509999 THEN timestamptz '2024-02-29 12:00:00.123456'
		ELSE timestamptz '2022-12-31 23:00Z' + (g::bigint * 7919 % 1000003)::float8 * interval '60.0017 s' END AS created_at
	  FROM generate_series(1, 1000000) g;});

my %most = (snowflake => 4096, snowflake53 => 128);
for my $kind (sort keys %most)
{
	my $spill = int(10000 / $most{$kind} + 0.999);

	$node->safe_psql('postgres', qq{
		CREATE TABLE new_$kind AS
		SELECT id, created_at, ${kind}_backfill(created_at, 31) OVER (ORDER BY created_at, id) AS new_id FROM old});
	for my $case (
		[ '1000000', 'distinct ids', "count(DISTINCT new_id) FROM new_$kind" ],
		[ '0', 'in the order of the rows', qq{
			count(*) FROM (SELECT new_id, lag(new_id) OVER (ORDER BY created_at, id) AS before FROM new_$kind) o
			 WHERE new_id <= before} ],
		[ 't|0', "of that shard, in the past, of the rows' own milliseconds", qq{
			bool_and(${kind}_shard(new_id) = 31 AND ${kind}_timestamp(new_id) < now()),
			count(*) FILTER (WHERE created_at >= '2023-01-01Z' AND ${kind}_timestamp(new_id) <> date_trunc('milliseconds', created_at)
			                   AND NOT created_at BETWEEN '2024-02-29 12:00:00.123Z' AND '2024-02-29 12:00:01Z')
			  FROM new_$kind} ],
		[ "$spill|t", 'rows for which a millisecond has no room go to the next ones', qq{
			count(DISTINCT ${kind}_timestamp(new_id)), max(${kind}_timestamp(new_id)) < '2024-02-29 12:00:01Z'
			  FROM new_$kind WHERE id BETWEEN 500000 AND 509999} ],
		[ 't|t', 'before the epoch is its beginning', qq{
			count(*) > 50, max(${kind}_timestamp(new_id)) < '2023-01-01 00:00:01Z'
			  FROM new_$kind WHERE created_at < '2023-01-01Z'} ],
		[ 't|t', 'NULL', "${kind}_backfill(NULL, 31) OVER () IS NULL, ${kind}_backfill(now(), NULL) OVER () IS NULL" ],
		[ 't', '-infinity', "${kind}_timestamp(${kind}_backfill('-infinity', 31) OVER ()) = '2023-01-01Z'" ],
		[ '22023', 'the wrong order', "${kind}_backfill(created_at, 31) OVER (ORDER BY created_at DESC) FROM old LIMIT 2" ],
		[ '22023', 'partitions', "count(*) FROM (SELECT ${kind}_backfill(created_at, 31) OVER (PARTITION BY id % 2 ORDER BY created_at) FROM old) o" ],
		[ '22023', 'the future', "${kind}_backfill(now() + '1 h', 31) OVER ()" ],
		[ '22023', 'infinity', "${kind}_backfill('infinity', 31) OVER ()" ],
		[ '55000', 'a shard that can be issued', "${kind}_backfill(now(), 30) OVER ()" ],
		[ '22023', 'no shard', "${kind}_backfill(now(), -1) OVER ()" ],
		[ '22023', "after another shard's id", "${kind}_backfill(now(), 31, after => ${kind}_make(now(), 30, 0)) OVER ()" ],
		[ '22003', 'after a negative number', "${kind}_backfill(now(), 31, after => -1) OVER ()" ],
		[ '22023', 'after an id of a much later time', "${kind}_backfill('2024-01-01Z', 31, after => ${kind}_make('2024-01-02Z', 31, 0)) OVER ()" ],
		[ 't', 'after an id that a full millisecond can have moved', "${kind}_backfill('2024-01-01Z', 31, after => ${kind}_make('2024-01-01 00:00:09Z', 31, 5)) OVER () = ${kind}_make('2024-01-01 00:00:09Z', 31, 6)" ],
		[ '42809', 'without OVER', "${kind}_backfill(now(), 31)" ],
		[ '22023', 'too far ahead to wait', "${kind}_backfill(now(), 31, after => ${kind}_make(now() + '1 h', 31, 0)) OVER ()" ])
	{
		my ($expected, $what, $sql) = @$case;

		is(answer("SELECT $sql"), $expected, "$kind: $what");
	}

	# The milliseconds of ids have passed, also those of the newest rows and of rows that
	# spill forward: 50,000 in 53 bits are 391 ms.
	for my $case (
		[ 'a row of this millisecond', "${kind}_backfill(date_trunc('milliseconds', clock_timestamp()), 31) OVER () AS id" ],
		[ 'rows of now', "${kind}_backfill(now(), 31) OVER () AS id FROM generate_series(1, 50000)" ],
		[ 'after an id that is ahead of the clock',
			"${kind}_backfill(now(), 31, after => ${kind}_make(clock_timestamp() + '0.3 s', 31, 0)) OVER () AS id" ])
	{
		is(answer("SELECT ${kind}_timestamp(last) < date_trunc('milliseconds', clock_timestamp()) FROM
				(SELECT max(id) AS last FROM (SELECT $case->[1]) b OFFSET 0) c"), 't', "$kind: $case->[0] has passed");
	}
	is(answer("SET statement_timeout = '50ms'; SET seqid.max_lead = '1 d';
		SELECT ${kind}_backfill(now(), 31, after => ${kind}_make(now() + '1 h', 31, 0)) OVER ()"),
		'57014', "$kind: the wait can be cancelled");
}
is(answer('SELECT snowflake53_backfill(now(), 32) OVER ()'), '22023', 'snowflake53: a shard that it does not have');
is(answer('SELECT snowflake53_backfill(now(), 31, after => 9007199254740991) OVER ()'), '2200H', 'snowflake53: its time is over');
$node->stop;

# The wait ends when the clock is set forward, or so far back that the id is refused.
my $clock = SeqidClock->new('2080-01-01 00:00:00');
$node = new_server('stepped', clock => $clock,
	conf => "seqid.allowed_shards = '0-30, 32-1023'\nseqid.max_lead = '2h'");
my $session = SeqidSession->new($node);
for my $case ([ '@2080-01-01 01:30:00', 't' ], [ '2079-12-31 22:00:00', '55000' ])
{
	my ($time, $expected) = @$case;

	$clock->set('2080-01-01 00:00:00');
	$session->send("SELECT snowflake_timestamp(snowflake_backfill(clock_timestamp(), 31, after => snowflake_make('2080-01-01 01:00Z', 31, 0)) OVER ())
		= '2080-01-01 01:00Z'");
	$node->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $session->{pid}")
	  or die 'it does not wait';
	$clock->set($time);
	is($session->answer || error_in($session->errors) =~ s/:.*//r, $expected, "an hour ahead of the clock, which is set to $time");
}
$session->close;

# Statements that began before the shard was removed from the list can issue their first
# ids after a backfill, by a clock that was set back to the times of its rows.  A restart
# by such a clock can add the shard to the list again.  Each case is an hour later.
my $hour = 2;
add_database($node, 'other');

# Ids of rows of 5 seconds; none of them is among the others.
sub backfill ($kind, $first, $database = 'postgres')
{
	return split /\n/, outcome($node, $database, qq{
		SELECT ${kind}_backfill(t, 31) OVER (ORDER BY t)
		  FROM generate_series('$first'::timestamptz, '$first'::timestamptz + '4 s', '1 s') t});
}

sub is_other ($old, $new, $what)
{
	my %seen = map { $_ => 1 } @$old;

	is(join(' ', scalar @$old, scalar @$new, grep { $seen{$_} } @$new), '10 5', "$what: no id comes again");
}

for my $kind (sort keys %most)
{
	# Another database has another mark, and the same counters.
	my $start = sprintf '2080-01-01 %02d:00:00', $hour++;

	$clock->restart($node, $start =~ s/:00:/:30:/r);
	reconfigure($node, 'seqid.allowed_shards' => '0-1023');
	my $holder = SeqidSession->new($node);
	my $late = SeqidSession->new($node);
	$holder->query('SELECT pg_advisory_lock(1)');
	$late->send("SELECT ${kind}_nextvals(31, 5) FROM (SELECT pg_advisory_lock(1) OFFSET 0) l");
	wait_until_blocked($node, $late);
	reconfigure($node, 'seqid.allowed_shards' => '0-30, 32-1023');

	my @old = map { backfill($kind, $start =~ s/:00:/:$_:/r . 'Z', 'other') } '20', '00';
	is(outcome($node, "SELECT count(*) FROM seqid.stat_shards"), 0, "$kind: ids of rows are not issued ids");
	$clock->set($start);
	$holder->close;
	is_other(\@old, [ split /\n/, $late->answer ], "$kind, a late statement");
	$late->close;
	is((backfill($kind, '2080-01-01 01:00Z'))[0], '55000', "$kind: then the shard has issued ids");

	$start = sprintf '2080-01-01 %02d:00:00', $hour++;
	$clock->restart($node, $start =~ s/:00:/:30:/r);
	@old = map { backfill($kind, $start =~ s/:00:/:$_:/r . 'Z') } '20', '00';
	$node->append_conf('postgresql.conf', "seqid.allowed_shards = '0-1023'");
	$clock->crash($node, $start);
	is_other(\@old, [ split /\n/, outcome($node, "SELECT ${kind}_nextvals(31, 5)") ], "$kind, after a crash");
	reconfigure($node, 'seqid.allowed_shards' => '0-30, 32-1023');
}
$node->stop;
done_testing();
