# The procedure of docs/partitioning.md creates a partition for each day, also where
# daylight saving time begins at midnight, whatever the session's settings are.  An existing
# table becomes a partition without a scan, because a constraint proves its bound.  Its rows
# continue to be replicated.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('shop', init => [ allows_streaming => 'logical' ]);
my $page = SeqidPage->new('docs/partitioning.md');
my ($recipe) = $page->recipe('partitions');

for my $zone (qw(UTC Africa/Cairo America/Havana))
{
	my $name = lc $zone =~ s{/}{_}r;

	add_database($node, $name);
	# The page's own partitions begin at midnight of UTC.
	$node->safe_psql($name, "$recipe->{text} DROP TABLE events;
		CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
		ALTER PROCEDURE add_event_partitions SET timezone = '$zone'");
	is(outcome($node, $name, "SET client_min_messages = error; SET timezone = 'Asia/Tokyo'; SET datestyle = 'German';
			CALL add_event_partitions('2026-01-01', '2026-07-01', '1 day');
			CALL add_event_partitions('2026-07-01', '2026-12-31', '1 day'); CALL add_event_partitions('2026-12-30', '2026-12-31', '12 hours');
			SET timezone = '$zone'; SET datestyle = 'ISO';
			INSERT INTO events SELECT snowflake_make(at, 5, 0)
			  FROM generate_series(timestamptz '2026-01-01', timestamptz '2027-01-01' - interval '1 minute', '10 minutes') at;
			SELECT count(DISTINCT tableoid), count(*) FILTER (WHERE tableoid::regclass::text <> to_char(snowflake_timestamp(id), '\"events_\"YYYY_MM_DD')) <= 6
			  FROM events"), '365|t', "$zone: each time has the partition of its day, but for an hour that midnight repeats");
}

# At noon of UTC, it is the next day in Kiritimati.  The page's call must still create the partition of today.
my $clock = SeqidClock->new;
$clock->set('+' . (86400 - time % 86400 + 43200) . 's');
my $ahead = new_server('ahead', clock => $clock, conf => "timezone = 'Pacific/Kiritimati'\nclient_min_messages = error\n");
my ($call) = grep { /^CALL .*current_date/m } map { $_->{text} } @{ $page->{blocks} };
$ahead->safe_psql('postgres', "$recipe->{text} DROP TABLE events;
	CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5)) PARTITION BY RANGE (id)");
is(outcome($ahead, 'postgres', ($call =~ s/date_trunc.*?::date/current_date/r =~ s/1 month/1 day/r) . 'INSERT INTO events DEFAULT VALUES'),
	'', 'a caller ahead of UTC: today has a partition');
$ahead->stop;

# Attaches the table of the page with or without its constraint, and shows what the server says of it.
sub attached ($name, $before)
{
	my ($prove, $attach) = map { $_->{text} } $page->recipe('existing table');

	add_database($node, $name);
	$node->psql($name, "$prove INSERT INTO orders VALUES (snowflake_make('2026-03-10 12:00+00', 5, 0)); $before
		SET client_min_messages = debug1; $attach", stderr => \my $said, on_error_die => 1);
	is($node->safe_psql($name, 'SELECT count(*), min(tableoid::regclass::text) FROM orders'), '1|orders_old', "$name: the row is in the partition");
	return $said;
}

my $implied = qr/partition constraint for table "orders_old" is implied by existing constraints/;
like(attached('proved', ''), $implied, 'no row is read');
unlike(attached('not_proved', 'ALTER TABLE orders DROP CONSTRAINT before_2027;'), $implied, 'rows are read without the constraint');

# The table is published, and a step of the page's list publishes the new table.
add_database($node, $_) for 'publisher', 'subscriber';
my ($prove, $attach) = map { $_->{text} } $page->recipe('existing table');
$node->safe_psql('publisher', "$prove CREATE PUBLICATION p FOR TABLE orders");
$node->safe_psql('publisher', q{SELECT pg_create_logical_replication_slot('s', 'pgoutput')});
my $publisher = $node->connstr('publisher') =~ s/'/''/gr;
$node->safe_psql('subscriber', "CREATE TABLE orders (id bigint PRIMARY KEY, page text);
	CREATE SUBSCRIPTION s CONNECTION '$publisher' PUBLICATION p WITH (create_slot = false, copy_data = false)");
$attach =~ s{^-- here.*}{ALTER PUBLICATION p ADD TABLE orders; ALTER PUBLICATION p SET (publish_via_partition_root);}m
  or die 'the steps have no place';
$node->safe_psql('publisher', q{INSERT INTO orders (page) VALUES ('before')});
$node->safe_psql('publisher', $attach);
$node->safe_psql('publisher', q{INSERT INTO orders (page) VALUES ('after')});
ok((poll_until { outcome($node, 'subscriber', 'SELECT string_agg(page, $$ $$ ORDER BY id) FROM orders') eq 'before after' }),
	'a published table: rows from before and after the exchange arrive');
$node->safe_psql('subscriber', 'DROP SUBSCRIPTION s');

$node->stop;
done_testing();
