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
	new_server($names[$_], init => [ allows_streaming => 'logical' ], conf => "seqid.shards = '$list'
		max_prepared_transactions = 1
		seqid.allowed_shards = '$list'
		max_logical_replication_workers = 12
		max_worker_processes = 20")
} 0 .. 2;
append_to_file("$directory/services", "[$_->{_name}]\nhost=$_->{_host}\nport=$_->{_port}\ndbname=postgres\n")
  for @writers;
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
	# What follows needs to know where rows were made.
	$writers[$n]->safe_psql('postgres',
		$page->sql('writers') . "ALTER TABLE orders ADD writer text DEFAULT '$names[$n]'");
	# The page has the filter of server one.
	my ($first, $last) = (16 + 4 * $n, 19 + 4 * $n);
	$writers[$n]->safe_psql('postgres', $page->sql('writers-15') =~ s/16 AND 19/$first AND $last/r) unless $has_origin;
}

# The page has the subscriptions of server two, from 16 on.  Server one has rows when server
# three joins.
my @origin = $has_origin ? ('origin = none') : ();
$two->safe_psql('postgres', $page->sql('subscriptions')) if $has_origin;
for my $join ($has_origin ? () : ('two one', 'two three'), 'one two', 'one three', 'three two', 'three one')
{
	my ($to, $from) = split / /, $join;
	my ($server) = grep { $_->name eq $to } @writers;
	my $copies = $join eq 'three one';

	$one->safe_psql('postgres', 'INSERT INTO orders SELECT FROM generate_series(1, 100)') if $copies;
	subscribe($server, "orders_${from}_to_$to", 'orders', $from, @origin,
		'copy_data = ' . ($copies ? 'true' : 'false'));
}

wait_until($_, $page->sql('copied')) or die 'the tables are not copied' for @writers;

# Two sessions of each server insert at once.
my @session = map { SeqidSession->new($_) } @writers, @writers;
$_->send('INSERT INTO orders (item) SELECT NULL FROM generate_series(1, 1500)') for @session;
$_->answer for @session;
is(join('', map { $_->errors } @session), '', 'no INSERT fails');
$_->close for @session;
wait_until($_, 'SELECT count(*) >= 9100 FROM orders') or die 'rows do not arrive' for @writers;
my $table = q{SELECT count(*), count(DISTINCT id), md5(string_agg(id || ' ' || writer, ',' ORDER BY id)) FROM orders};
my %tables = map { $_->safe_psql('postgres', $table) => 1 } @writers;
like(join(' ', keys %tables), qr/^9100\|9100\|\w+$/, 'three servers have the same rows');
is(outcome($one, q{SELECT count(*) FROM orders
	 WHERE snowflake_shard(id) / 4 - 4 <> array_position('{one,two,three}', writer) - 1}),
	0, 'each row has a shard of its writer');

#
# Dictionaries: one server interns, and the others read
#

$_->safe_psql('postgres', "SELECT intern_create('tags')") for $one, $two;
$one->safe_psql('postgres', 'CREATE PUBLICATION tags FOR TABLE tags');
subscribe($two, 'tags', 'tags', 'one', 'copy_data = true');
my $term_id = outcome($one, "SELECT intern_id('tags', 'apples')");
wait_until($two, "SELECT intern_find('tags', 'apples') = $term_id") or die 'the term does not arrive';
is(outcome($two, "SELECT intern_term('tags', $term_id)"), 'apples', 'a replicated term is found');

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

	ok(wait_until($server, "SELECT apply_error_count > 0 FROM pg_stat_subscription_stats
		WHERE subname = '$subscription'"), "$subscription stops");
	like(slurp_file($server->logfile), qr/duplicate key value violates unique constraint "$key"/, 'at its key');
	$server->safe_psql('postgres', "ALTER SUBSCRIPTION $subscription DISABLE");
}

# The row filter of 15: an UPDATE of a row that another server made stays on this server.
unless ($has_origin)
{
	my ($own, $other) = map { outcome($one, "UPDATE orders SET item = 'changed'
		WHERE id = (SELECT max(id) FROM orders WHERE writer = '$_') RETURNING id") } 'one', 'two';

	ok(wait_until($two, "SELECT item = 'changed' FROM orders WHERE id = $own"), 'an UPDATE of an own row arrives');
	is(outcome($two, "SELECT item IS NULL FROM orders WHERE id = $other"), 't', 'one of another row does not');

	# Without the option publish, it comes back and deletes the new row.
	$two->safe_psql('postgres', 'TRUNCATE orders');
	my $new = outcome($two, 'INSERT INTO orders DEFAULT VALUES RETURNING id');
	ok(wait_until($one, "SELECT true FROM orders WHERE id = $new"), 'a row after a TRUNCATE arrives');
	is(outcome($one, 'SELECT count(*) > 1 FROM orders'), 't', 'the TRUNCATE of another server does not');
	is(outcome($two, 'SELECT count(*) FROM orders'), 1, 'nor does it come back');
}

#
# A reader on a subscriber.  Server two gets the outbox of server one.  Apply waits for a
# lock of this test, so that rows are late.
#
$one->safe_psql('postgres', $page->sql('outbox-publisher'));
$two->safe_psql('postgres', $page->sql('outbox-subscriber'));
wait_until($two, $page->sql('copied')) or die 'the tables are not copied';

# late_row(): the id of a row whose apply on server two waits for a lock, and the session that
# has the lock.
sub late_row
{
	my $session = SeqidSession->new($two);

	$session->query('BEGIN; LOCK TABLE outbox IN SHARE MODE');
	my $id = outcome($one, q{INSERT INTO outbox (topic) VALUES ('late') RETURNING id});
	wait_until($two, q{SELECT count(*) > 0 FROM pg_stat_activity
		WHERE wait_event_type = 'Lock' AND backend_type ~ '^logical replication'}) or die 'nothing waits';
	return ($id, $session);
}

# horizon_beyond($server, $id): the bound of snowflakes and the lsn of a CALL.  Another
# transaction of the server can hold back the horizon for a moment.
sub horizon_beyond ($server, $id)
{
	my ($lsn, $bound);

	poll_until
	{
		($lsn, $bound) = (split /\|/, outcome($server, 'CALL seqid.horizon()'))[ 1, 3 ];
		return $bound > $id;
	} or die 'the horizon stands still';
	return ($bound, $lsn);
}

# The bound in a published table arrives after the rows.
my ($id, $session) = late_row();
$one->safe_psql('postgres', $page->sql('publish-bound'));
is(outcome($two, "SELECT coalesce(max(bound), 0) > $id FROM outbox_bound"),
	'f', 'the published bound has not arrived');
$session->query('ROLLBACK');
$session->close;
ok(wait_until($two, "SELECT bound > $id FROM outbox_bound"), 'the published bound arrives');
like(outcome($two, "\\set last 0\n" . $page->sql('by-table')), qr/^$id\|late$/m, 'after the row');

# The bounds of both servers are beyond a row that is late.
$one->safe_psql('postgres', 'ALTER TABLE outbox ALTER id SET DEFAULT snowflake_nextval()');
($id, $session) = late_row();
my ($own) = horizon_beyond($two, $id);
my ($bound, $lsn) = horizon_beyond($one, $id);
my $gets = "SELECT count(*) FROM outbox WHERE id = $id AND id < least($own, $bound)";
my $arrived = "\\set lsn $lsn\n" . $page->sql('arrived');
is(outcome($two, $gets), 0, 'without waiting for the subscriber the row is missed');
is(outcome($two, $arrived), 'f', 'the subscriber has not arrived');
$session->query('ROLLBACK');
$session->close;
ok(wait_until($two, $arrived), 'the subscriber arrives');
is(outcome($two, $gets), 1, 'then the row is not missed');

# Several writers: the least of all bounds, then the arrival of each other server's rows.
$session = SeqidSession->new($two);
$session->query('BEGIN; LOCK TABLE orders IN SHARE MODE');
my @rows = sort { $a <=> $b } map { outcome($_, 'INSERT INTO orders DEFAULT VALUES RETURNING id') } $one, $three;
my %call = map { $_->name => [ horizon_beyond($_, $rows[1]) ] } @writers;
my ($least) = sort { $a <=> $b } map { $_->[0] } values %call;
my %arrives = map { $_ => "SELECT max(latest_end_lsn) >= '$call{$_}[1]' FROM pg_stat_subscription
	WHERE subname = 'orders_${_}_to_two' AND relid IS NULL" } 'one', 'three';
$gets = "SELECT count(*) FROM orders WHERE id < $least AND id IN ($rows[0], $rows[1])";
is(outcome($two, $gets), 0, 'several writers: by the least bound alone rows are missed');
is(outcome($two, $arrives{$_}), 'f', "several writers: server $_ has not arrived") for sort keys %arrives;
$session->query('ROLLBACK');
$session->close;
ok(wait_until($two, $arrives{$_}), "several writers: server $_ arrives") for sort keys %arrives;
is(outcome($two, $gets), 2, 'several writers: then no row is missed');

#
# Server two takes over.  Sequences above those of the publisher stay, and a prepared transaction
# is not lost.
#
my ($caught_up, $setvals) = SeqidPage::statements($page->sql('take over'));
for my $server ($one, $two)
{
	$server->safe_psql('postgres', q{
		CREATE TABLE taken (n int);
		CREATE SEQUENCE behind;
		CREATE SEQUENCE beyond;
		CREATE SEQUENCE descending INCREMENT -1;
		SELECT setval('behind', 5), setval('beyond', 5), setval('descending', -5)});
}
$one->safe_psql('postgres', q{SELECT setval('behind', 9), setval('descending', -9)});
$two->safe_psql('postgres', q{SELECT setval('beyond', 9)});
$one->safe_psql('postgres', 'CREATE PUBLICATION taken FOR TABLE taken');
subscribe($two, 'everything', 'taken', 'one', 'copy_data = true');
wait_until($two, $page->sql('copied')) or die 'the tables are not copied';
ok(wait_until($one, $caught_up), 'take over: the subscriber has caught up');
$one->safe_psql('postgres', q{BEGIN; INSERT INTO taken VALUES (1); PREPARE TRANSACTION 'order 17'});
wait_until($one, q{SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication WHERE application_name = 'everything'})
  or die 'the subscriber does not catch up';
is(outcome($one, $caught_up), 'f', 'take over: the subscriber lacks a prepared transaction');
$one->safe_psql('postgres', q{COMMIT PREPARED 'order 17'});
ok(wait_until($one, $caught_up), 'take over: the subscriber has caught up with it');
is(outcome($two, 'SELECT n FROM taken'), 1, 'take over: and has its row');
$two->safe_psql('postgres', join "\n", grep { /behind|beyond|descending/ } split /\n/, outcome($one, $setvals));
is(outcome($two, 'SELECT a.last_value, b.last_value, c.last_value FROM behind a, beyond b, descending c'),
	'9|9|-9', 'take over: no sequence is set back');
$_->stop('immediate') for @writers;

done_testing();
