# Three servers that write one table and replicate it to each other, as docs/clusters.md
# says.
#
# Each has shards of its own, so no row that arrives has the key of another row.  A row
# must not return to the server that made it: from 16 on the subscription says so, with
# origin = none; on 15 each server publishes only the rows of its own shards.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../../docs/clusters.md");
my @names = qw(one two three);
my %writer = map {
	my $first = 16 + 4 * $_;
	my $list = $first . '-' . ($first + 3);
	$names[$_] => new_server($names[$_], init => [ allows_streaming => 'logical' ],
		conf => "seqid.shards = '$list'\nseqid.allowed_shards = '$list'")
} 0 .. 2;
my @writers = @writer{@names};
my $has_origin = $writers[0]->pg_version >= 16;

# run_recipe($name, $server, change => sub): runs the blocks of a recipe on a server.  The
# page's servers one, two and three are those of this test.
sub run_recipe ($name, $server, $change = sub ($sql) { $sql })
{
	my @blocks = grep { ($_->{recipe} // '') eq $name } @{ $page->{blocks} };

	die "the page has no recipe '$name'" unless @blocks;
	for my $sql (map { $change->($_->{text}) } @blocks)
	{
		$sql =~ s{host=(\w+) dbname=shop}{$writer{$1}->connstr('postgres') =~ s/'//gr}ge;
		$server->safe_psql('postgres', $sql);
	}
}

for my $n (0 .. 2)
{
	my ($first, $last) = (16 + 4 * $n, 19 + 4 * $n);

	run_recipe('writers', $writers[$n]);
	run_recipe('writers-15', $writers[$n], sub ($sql) { $sql =~ s/16 AND 19/$first AND $last/r })
	  unless $has_origin;
	# What follows needs to know where and in which order rows were made.
	$writers[$n]->safe_psql('postgres',
		"ALTER TABLE orders ADD writer text DEFAULT '$names[$n]', ADD n int");
}

# Server one has rows.
$writers[0]->safe_psql('postgres', 'INSERT INTO orders SELECT FROM generate_series(1, 100)');

# The page has the subscriptions of server two.  They become those of each server if the
# names of all servers are moved on.
for my $n (0 .. 2)
{
	my %moved = map { $names[$_] => $names[ ($_ + $n + 2) % 3 ] } 0 .. 2;

	run_recipe('subscriptions', $writers[$n], sub ($sql) {
		my $names = join '|', @names;

		$sql =~ s/(?<![a-z])($names)(?![a-z])/$moved{$1}/g;
		$sql =~ s/(host=one .*?copy_data = )false/$1true/s if $sql =~ /host=one/;
		$sql =~ s/origin = none, //g unless $has_origin;
		return $sql;
	});
}

# Two sessions of each server insert 1500 rows each at once.  Then 60 rows follow one
# after the other, on each server in turn, numbered in their true order from $first on.
sub insert_rows ($first)
{
	my @session = map { SeqidSession->new($_) } @writers, @writers;

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
	wait_until($_, "SELECT count(*) >= $rows FROM orders") or die 'rows do not arrive' for @writers;
	my %tables = map { $_->safe_psql('postgres', q{
		SELECT count(*), count(DISTINCT id), md5(string_agg(id || ' ' || writer, ',' ORDER BY id)) FROM orders}) => 1 } @writers;
	like(join(' ', keys %tables), qr/^$rows\|$rows\|\w+$/, "$when: three servers have the same rows");
	is(outcome($writers[0], q{SELECT count(*) FROM orders
		 WHERE snowflake_shard(id) / 4 - 4 <> array_position('{one,two,three}', writer) - 1}),
		0, "$when: each row has a shard of its writer");
	my $ms = outcome($writers[0], "
		SELECT max(before - at) FROM (
			SELECT id >> 22 AS at, max(id >> 22) OVER (ORDER BY n) AS before
			  FROM orders WHERE n BETWEEN $first AND $first + 59) v");
	ok($ms >= $least && $ms <= $most, "$when: order by id is order by time but for $ms ms");
}

insert_rows(1);
check_tables(1, 9160, 0, 0, 'clocks that agree');

# Ids follow the slow clock once it has passed the mark of the lifetime before.
SeqidClock->new->restart($writers[2], '-2s', 'immediate');
wait_until($writers[2], 'SELECT snowflake_nextval() > 0 AND clock_floor < clock_timestamp() FROM seqid.stat_database')
  or die 'the clock does not pass the mark';
insert_rows(61);
# The time between two rows makes it less than 2 s.
check_tables(61, 18220, 1000, 2100, 'a clock 2 s slow');
is(grep({ slurp_file($_->logfile) =~ /duplicate key|conflict/ } @writers), 0, 'no server logs a conflict');

#
# Dictionaries: one server interns, and the others read
#

my ($one, $two) = @writers;

run_recipe('dictionary', $one);
run_recipe('dictionary-subscription', $two);
my $id = outcome($one, "SELECT intern_id('tags', 'apples')");
wait_until($two, "SELECT intern_find('tags', 'apples') = $id") or die 'the term does not arrive';
is(outcome($two, "SELECT intern_term('tags', $id)"), 'apples', 'a replicated term is found');

# Both ways, a term that both servers intern stops the subscriptions.  They begin when
# both have it.
for my $server ($one, $two)
{
	$server->safe_psql('postgres', "SELECT intern_create('both'); CREATE PUBLICATION \"both\" FOR TABLE \"both\"");
}
for my $pair ([ $one, $two ], [ $two, $one ])
{
	my ($from, $to) = @$pair;
	my $connection = $from->connstr('postgres') =~ s/'//gr;

	$to->safe_psql('postgres', 'CREATE SUBSCRIPTION both_' . $from->name . " CONNECTION '$connection'
		PUBLICATION \"both\" WITH (copy_data = false, enabled = false" . ($has_origin ? ', origin = none)' : ')'));
}
$_->safe_psql('postgres', "SELECT intern_id('both', 'pears')") for $one, $two;
$two->safe_psql('postgres', 'ALTER SUBSCRIPTION both_one ENABLE');
ok(wait_until($two, q{SELECT apply_error_count > 0 FROM pg_stat_subscription_stats WHERE subname = 'both_one'}),
	'a dictionary that is published both ways stops the subscription');
$_->stop('immediate') for @writers;

done_testing();
