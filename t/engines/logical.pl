# Three servers that write one table and replicate it to each other, as
# docs/replication.md says.
#
# Each has shards of its own, so no row that arrives has the key of another row.  A row
# must not return to the server that made it: from 16 on the subscription says so, with
# origin = none; on 15 each server publishes only the rows of its own shards.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../../docs/replication.md");
my @names = qw(one two three);
my $directory = PostgreSQL::Test::Utils::tempdir;

# The services one, two and three are the servers of this test.
$ENV{PGSERVICEFILE} = "$directory/services";
my @writers = map {
	my $list = 16 + 4 * $_ . '-' . (19 + 4 * $_);
	new_server($names[$_], init => [ allows_streaming => 'logical' ],
		conf => "seqid.shards = '$list'\nseqid.allowed_shards = '$list'\nmax_logical_replication_workers = 12\nmax_worker_processes = 20")
} 0 .. 2;
append_to_file("$directory/services", join '', map { "[$_->{_name}]\nhost=$_->{_host}\nport=$_->{_port}\ndbname=postgres\n" } @writers);
my ($one, $two, $three) = @writers;
my $has_origin = $one->pg_version >= 16;

# subscribe($server, $name, $publication, $from, option, ...): those that the page does not have.
sub subscribe ($server, $name, $publication, $from, @options)
{
	$server->safe_psql('postgres', "CREATE SUBSCRIPTION $name CONNECTION 'service=$from' PUBLICATION \"$publication\"
		WITH (" . join(', ', @options) . ')');
}

for my $n (0 .. 2)
{
	$writers[$n]->safe_psql('postgres', $page->sql('writers'));
	# The page has the filter of server one.
	$writers[$n]->safe_psql('postgres', $n == 0 ? $page->sql('writers-15')
		: sprintf 'ALTER PUBLICATION orders SET TABLE orders WHERE ((id >> 12) & 1023 BETWEEN %d AND %d)', 16 + 4 * $n, 19 + 4 * $n)
	  unless $has_origin;
	# What follows needs to know where and in which order rows were made.
	$writers[$n]->safe_psql('postgres', "ALTER TABLE orders ADD writer text DEFAULT '$names[$n]', ADD n int");
}

# The page has the subscriptions of server two, from 16 on.  Server one has rows when server
# three joins.
my @origin = $has_origin ? ('origin = none') : ();
my @joins = map { [ split ' ' ] } $has_origin ? () : ('two one', 'two three'), 'one two', 'one three', 'three two', 'three one';
$two->safe_psql('postgres', $page->sql('subscriptions')) if $has_origin;
for my $join (@joins)
{
	my ($to, $from) = @$join;
	my $copies = "$to $from" eq 'three one';

	$one->safe_psql('postgres', 'INSERT INTO orders SELECT FROM generate_series(1, 100)') if $copies;
	subscribe((grep { $_->name eq $to } @writers)[0], "orders_${from}_to_$to", 'orders', $from, @origin,
		'copy_data = ' . ($copies ? 'true' : 'false'));
}

# The worker that copies a table drops its slot on the publisher, and its last commit is
# asynchronous.  A crash before that is flushed, as the one below, would stop the
# subscription for good.  The rows that follow are committed after it, and flush it.
wait_until($_, $page->sql('copied')) or die 'the tables are not copied' for @writers;

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
	is(outcome($one, q{SELECT count(*) FROM orders
		 WHERE snowflake_shard(id) / 4 - 4 <> array_position('{one,two,three}', writer) - 1}),
		0, "$when: each row has a shard of its writer");
	my $ms = outcome($one, "
		SELECT max(before - at) FROM (
			SELECT id >> 22 AS at, max(id >> 22) OVER (ORDER BY n) AS before
			  FROM orders WHERE n BETWEEN $first AND $first + 59) v");
	ok($ms >= $least && $ms <= $most, "$when: order by id is order by time but for $ms ms");
}

insert_rows(1);
check_tables(1, 9160, 0, 0, 'clocks that agree');

# Ids follow the slow clock once it has passed the mark of the lifetime before.
SeqidClock->new->restart($three, '-2s', 'immediate');
wait_until($three, 'SELECT snowflake_nextval() > 0 AND clock_floor < clock_timestamp() FROM seqid.stat_database')
  or die 'the clock does not pass the mark';
insert_rows(61);
# The time between two rows makes it less than 2 s.
check_tables(61, 18220, 1000, 2100, 'a clock 2 s slow');
is(grep({ slurp_file($_->logfile) =~ /duplicate key|conflict/ } @writers), 0, 'no server logs a conflict');

#
# Dictionaries: one server interns, and the others read
#

$one->safe_psql('postgres', $page->sql('dictionary'));
$two->safe_psql('postgres', $page->sql('dictionary-subscription'));
my $id = outcome($one, "SELECT intern_id('tags', 'apples')");
wait_until($two, "SELECT intern_find('tags', 'apples') = $id") or die 'the term does not arrive';
is(outcome($two, "SELECT intern_term('tags', $id)"), 'apples', 'a replicated term is found');

# What stops a subscription: a term that both servers intern; without origin = none and a row
# filter, a row that returns to the server that made it.
$_->safe_psql('postgres', q{
	SELECT intern_create('both');
	CREATE PUBLICATION "both" FOR TABLE "both";
	CREATE TABLE ring (id bigint PRIMARY KEY);
	CREATE PUBLICATION ring FOR TABLE ring}) for $one, $two;
subscribe($two, 'both_one', 'both', 'one', @origin, 'copy_data = false');
subscribe($two, 'ring_one', 'ring', 'one', 'copy_data = false');
subscribe($one, 'ring_two', 'ring', 'two', 'copy_data = false');
$_->safe_psql('postgres', "SELECT intern_id('both', 'pears')") for $two, $one;
$one->safe_psql('postgres', 'INSERT INTO ring VALUES (1)');
for ([ $two, 'both_one', 'both_pkey' ], [ $one, 'ring_two', 'ring_pkey' ])
{
	my ($server, $subscription, $key) = @$_;

	ok(wait_until($server, "SELECT apply_error_count > 0 FROM pg_stat_subscription_stats WHERE subname = '$subscription'"),
		"$subscription stops");
	like(slurp_file($server->logfile), qr/duplicate key value violates unique constraint "$key"/, 'at its key');
	$server->safe_psql('postgres', "ALTER SUBSCRIPTION $subscription DISABLE");
}

# The row filter of 15: an UPDATE of a row that another server made stays on this server.
unless ($has_origin)
{
	my ($own, $other) = map { outcome($one, "UPDATE orders SET item = 'changed' WHERE id = (SELECT max(id) FROM orders WHERE writer = '$_') RETURNING id") } 'one', 'two';

	ok(wait_until($two, "SELECT item = 'changed' FROM orders WHERE id = $own"), 'a row filter: an UPDATE of an own row arrives');
	is(outcome($two, "SELECT item IS NULL FROM orders WHERE id = $other"), 't', 'a row filter: one of another row does not');
}

#
# A reader on a subscriber.  Server two gets the outbox of server one.  Apply waits for a
# lock of this test, so that rows are late.
#
$one->safe_psql('postgres', $page->sql('outbox-publisher'));
$two->safe_psql('postgres', $page->sql('outbox-subscriber'));
wait_until($two, $page->sql('copied')) or die 'the tables are not copied';
my ($arrived, $confirmed) = map { my $sql = $page->sql($_); sub ($lsn) { "\\set lsn $lsn\n$sql" } } 'arrived', 'confirmed';
my $applies = q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type ~ '^logical replication'};

# late_row($block, snowflake => 1): the id of a row whose apply on server two waits for the
# lock of a session, the bound and lsn of a CALL on server one afterwards, and the session.
sub late_row ($block, %option)
{
	my $session = SeqidSession->new($two);
	my ($bound, $lsn);

	$session->query("BEGIN; $block");
	my $id = outcome($one, q{INSERT INTO outbox (topic) VALUES ('late') RETURNING id});
	# The horizon of snowflakes goes on with the clock.
	poll_until
	{
		($bound, $lsn) = $option{snowflake} ? (split /\|/, outcome($one, 'CALL seqid.horizon()'))[ 3, 1 ]
		  : split /\|/, outcome($one, q{CALL seqid.sequence_horizon('outbox_id_seq')});
		return $bound > $id;
	} or die 'the horizon of the publisher is not beyond the row';
	wait_until($two, $applies) or die 'nothing waits';
	return ($id, $bound, $lsn, $session);
}

# Whether a reader on server two that reads below this bound now gets the row.
sub gets ($id, $bound)
{
	return outcome($two, "SELECT count(*) FROM outbox WHERE id = $id AND id < $bound");
}

# A row that is late is missed below its bound until the subscriber has arrived.
sub check_arrival ($what, $id, $bound, $lsn, $session)
{
	is(gets($id, $bound), 0, "$what: without waiting for the subscriber the row is missed");
	is(outcome($two, $arrived->($lsn)), 'f', "$what: the subscriber has not arrived");
	is(outcome($one, $confirmed->($lsn)), 'f', "$what: the slot has not arrived");
	$session->query('ROLLBACK');
	$session->close;
	ok(wait_until($two, $arrived->($lsn)), "$what: the subscriber arrives");
	is(gets($id, $bound), 1, "$what: then the row is not missed");
	ok(wait_until($one, $confirmed->($lsn)), "$what: the slot arrives");
}

# Parallel apply: another worker gets each change before the commit.
my $lock = 'LOCK TABLE outbox IN SHARE MODE';
if ($has_origin)
{
	reconfigure($one, debug_logical_replication_streaming => 'immediate');
	$two->safe_psql('postgres', 'ALTER SUBSCRIPTION outbox SET (streaming = parallel)');
	wait_until($one, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query ~ 'START_REPLICATION.*streaming .parallel' AND application_name = 'outbox'})
	  or die 'the subscription does not start again';
	my @late = late_row($lock);
	is(outcome($two, "$applies AND backend_type = 'logical replication parallel worker'"), 't', 'parallel apply: its worker waits');
	check_arrival('parallel apply', @late);
	reconfigure($one, debug_logical_replication_streaming => 'buffered');
}
check_arrival('bigserial', late_row($lock));

# Snowflakes: the horizon of server two is that of its own keys.  Another transaction of this
# server can hold it for a moment.
$one->safe_psql('postgres', 'ALTER TABLE outbox ALTER id SET DEFAULT snowflake_nextval()');
my @late = late_row($lock, snowflake => 1);
my $own;
ok((poll_until { ($own = (split /\|/, outcome($two, 'CALL seqid.horizon()'))[3]) > $late[0] }),
	'the horizon of the subscriber is beyond the row');
is(gets($late[0], $own), 0, 'by the horizon of the subscriber the row is missed');
check_arrival('snowflake', @late);

# Several writers: the least of all horizons, then the arrival of each other server's rows.
my $holder = SeqidSession->new($two);
$holder->query('BEGIN; LOCK TABLE orders IN SHARE MODE');
my %row = map { $_->name => outcome($_, 'INSERT INTO orders DEFAULT VALUES RETURNING id') } $one, $three;
my ($least, %call);
poll_until
{
	%call = map { $_->name => [ split /\|/, outcome($_, 'CALL seqid.horizon()') ] } @writers;
	($least) = sort { $a <=> $b } map { $_->[3] } values %call;
	return $least > $row{one} && $least > $row{three};
} or die 'a horizon stands still';
my %arrives = map { $_ => "SELECT max(latest_end_lsn) >= '$call{$_}[1]' FROM pg_stat_subscription
	WHERE subname = 'orders_${_}_to_two' AND relid IS NULL" } keys %row;
my $count = "SELECT count(*) FROM orders WHERE id < $least AND id IN ($row{one}, $row{three})";
is(outcome($two, $count), 0, 'several writers: by the least horizon alone rows are missed');
is(outcome($two, $arrives{$_}), 'f', "several writers: server $_ has not arrived") for sort keys %row;
$holder->query('ROLLBACK');
$holder->close;
ok(wait_until($two, $arrives{$_}), "several writers: server $_ arrives") for sort keys %row;
is(outcome($two, $count), 2, 'several writers: then no row is missed');

# received_lsn moves when the commit has arrived, before it is applied: a constraint
# trigger of the subscriber holds it there.
$two->safe_psql('postgres', q{
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold();
	ALTER TABLE outbox ENABLE ALWAYS TRIGGER hold});
$one->safe_psql('postgres', q{ALTER TABLE outbox ALTER id SET DEFAULT nextval('outbox_id_seq')});
my $missed = 0;
for my $try (1 .. 50)
{
	last if $missed;
	my ($id, $bound, $lsn, $session) = late_row('SELECT pg_advisory_xact_lock(1)');

	$missed += outcome($two, "SELECT max(received_lsn) >= '$lsn' FROM pg_stat_subscription WHERE subname = 'outbox'") eq 't'
	  && !gets($id, $bound);
	is(outcome($two, $arrived->($lsn)), 'f', 'latest_end_lsn has not arrived');
	$session->query('ROLLBACK');
	$session->close;
	wait_until($two, $arrived->($lsn)) or die 'the subscriber does not arrive';
}
is($missed, 1, 'by received_lsn a row is missed');

# The horizon in a published table arrives after the rows.
my ($late, undef, undef, $session) = late_row($lock);
$one->safe_psql('postgres', $page->sql('publish-horizon'));
is(outcome($two, "SELECT coalesce(max(horizon), 0) > $late FROM outbox_horizon"), 'f', 'the published horizon has not arrived');
$session->query('ROLLBACK');
$session->close;
ok(wait_until($two, "SELECT horizon > $late FROM outbox_horizon"), 'the published horizon arrives');
is(outcome($two, "SELECT count(*) FROM outbox WHERE id = $late"), 1, 'after the row');
like(outcome($two, "\\set last 0\n" . $page->sql('by-table')), qr/^$late\|late$/m, 'the reader gets it');
$_->stop('immediate') for @writers;

done_testing();
