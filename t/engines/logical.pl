# Three servers that write one table and replicate it to each other.
#
# Each has shards of its own, so no row that arrives has the key of another row.  A row
# must not return to the server that made it: from 16 on the subscription says so, with
# origin = none; on 15 each server publishes only the rows of its own shards.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my @writer = map { new_server("writer$_", init => [ allows_streaming => 'logical' ],
		conf => "seqid.shards = '${_}0-${_}7'\nseqid.allowed_shards = '${_}0-${_}7'") } 1 .. 3;
my $has_origin = $writer[0]->pg_version >= 16;

for my $n (1 .. 3)
{
	my $filter = $has_origin ? '' : "WHERE ((id >> 12) & 1023 BETWEEN ${n}0 AND ${n}7)";

	$writer[ $n - 1 ]->safe_psql('postgres', qq{
		CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), writer int DEFAULT $n, n int);
		CREATE PUBLICATION orders FOR TABLE orders $filter;});
}
for my $to (@writer)
{
	for my $from (grep { $_ != $to } @writer)
	{
		my ($name, $host, $port) = ($from->name . '_to_' . $to->name, $from->host, $from->port);
		my $origin = $has_origin ? ', origin = none' : '';

		$to->safe_psql('postgres', "CREATE SUBSCRIPTION $name
			CONNECTION 'host=$host port=$port dbname=postgres' PUBLICATION orders WITH (copy_data = false$origin)");
	}
}

# Two sessions of each server insert 1500 rows each at once.  Then 60 rows follow one
# after the other, on each server in turn, numbered in their true order from $first on.
sub insert_rows ($first)
{
	my @session = map { SeqidSession->new($_) } @writer, @writer;

	$_->send('DO $$ BEGIN
		FOR i IN 1..30 LOOP
			INSERT INTO orders (n) SELECT NULL FROM generate_series(1, 50);
			COMMIT;
		END LOOP;
	END $$') for @session;
	$_->answer for @session;
	$session[ $_ % 3 ]->query("INSERT INTO orders (n) VALUES ($_)") for $first .. $first + 59;
	is(join('', map { $_->errors } @session), '', 'no INSERT fails');
	$_->close for @session;
}

# check_tables($first, $rows, $least, $most, $when): each server gets all rows, and they
# are the same.  Of the rows in true order, one has an id that is so many milliseconds
# earlier than that of a row before it.
sub check_tables ($first, $rows, $least, $most, $when)
{
	wait_until($_, "SELECT count(*) >= $rows FROM orders") or die 'rows do not arrive' for @writer;
	my %tables = map { $_->safe_psql('postgres', q{
		SELECT count(*), count(DISTINCT id), md5(string_agg(id || ' ' || writer, ',' ORDER BY id)) FROM orders}) => 1 } @writer;
	like(join(' ', keys %tables), qr/^$rows\|$rows\|\w+$/, "$when: three servers have the same rows");
	is(outcome($writer[0], 'SELECT count(*) FROM orders WHERE snowflake_shard(id) / 10 <> writer'),
		0, "$when: each row has a shard of its writer");
	my $ms = outcome($writer[0], "
		SELECT max(before - at) FROM (
			SELECT id >> 22 AS at, max(id >> 22) OVER (ORDER BY n) AS before
			  FROM orders WHERE n BETWEEN $first AND $first + 59) v");
	ok($ms >= $least && $ms <= $most, "$when: order by id is order by time but for $ms ms");
}

insert_rows(1);
check_tables(1, 9060, 0, 0, 'clocks that agree');

# Ids follow the slow clock once it has passed the mark of the lifetime before.
SeqidClock->new->restart($writer[2], '-2s', 'immediate');
wait_until($writer[2], 'SELECT snowflake_nextval() > 0 AND clock_floor < clock_timestamp() FROM seqid.stat_database')
  or die 'the clock does not pass the mark';
insert_rows(61);
# The time between two rows makes it less than 2 s.
check_tables(61, 18120, 1000, 2100, 'a clock 2 s slow');
is(grep({ slurp_file($_->logfile) =~ /duplicate key|conflict/ } @writer), 0, 'no server logs a conflict');

done_testing();
