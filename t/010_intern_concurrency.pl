# Sessions that intern the same terms are in each other's way: eight at once, and
# one whose batch is cancelled while it waits for another's term.  A term keeps
# its id, no other term is given it, and nothing of a cancelled batch is kept.
#
# A regression test has one session, and an isolation test runs one step at a time.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_connections = 30");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');
my $directory = PostgreSQL::Test::Utils::tempdir;

# The terms of a dictionary with their ids: id|term, in the terms' order.
sub entries
{
	my ($dictionary) = @_;

	return $node->safe_psql('postgres', "SELECT id, term FROM $dictionary ORDER BY term");
}

#
# Eight clients intern batches that overlap, each in an order of its own and
# with duplicates.  Their first batches are all under way when any goes on:
# all contain a term that another transaction holds until then.
#
{
	my $clients = 8;
	my @terms = map { sprintf 'term %04d', $_ } 1 .. 3000;
	my $gate = SeqidSession->new($node);
	my (@sessions, %sent);

	$node->safe_psql('postgres', "SELECT intern_create('words')");
	$gate->query('BEGIN');
	$gate->query("SELECT intern_id('words', '$terms[1500]')");
	for my $client (0 .. $clients - 1)
	{
		my $session = SeqidSession->new($node);
		my $seed = 20260301 + $client;
		my $script = '';

		note("client $client: seed $seed");
		srand $seed;
		for my $batch (1 .. 30)
		{
			my @batch = map { $terms[ rand @terms ] } 1 .. 300;

			$batch[ rand @batch ] = $terms[1500] if $batch == 1;
			$sent{$_}++ for @batch;
			my $array = 'ARRAY[' . join(', ', map { "'$_'" } @batch) . ']';
			$script .= "SELECT unnest(intern_ids('words', $array)), unnest($array);\n";
		}
		append_to_file("$directory/$client.sql", $script);
		push @sessions, $session;
	}
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->query("\\o $directory/$client.out");
		$sessions[$client]->send("\\i $directory/$client.sql");
	}
	SeqidSession::wait_until_blocked($node, @sessions);
	$gate->query('ROLLBACK');
	$gate->close;

	my (%id_of, %term_of, $returned, $changed, $shared);
	my $errors = '';
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->answer;
		$errors .= $sessions[$client]->errors;
		$sessions[$client]->close;
		for my $row (split /\n/, slurp_file("$directory/$client.out"))
		{
			my ($id, $term) = split /\|/, $row;

			$returned++;
			$id_of{$term} //= $id;
			$term_of{$id} //= $term;
			$changed++ if $id_of{$term} ne $id;
			$shared++ if $term_of{$id} ne $term;
		}
	}
	is($errors, '', 'concurrently: no error, and no deadlock');
	is($returned, $clients * 30 * 300, 'concurrently: all ids were returned');
	is($changed // 0, 0, 'concurrently: no term was given two ids');
	is($shared // 0, 0, 'concurrently: no id was given to two terms');
	cmp_ok(scalar(keys %sent), '>', 2900, 'concurrently: the batches had most of the terms');
	is(join("\n", map { "$id_of{$_}|$_" } sort keys %sent),
		entries('words'), 'concurrently: the dictionary has what the clients were given');
}

#
# A batch of a million terms is cancelled when half of them are inserted and it
# waits for one that another session holds.
#
{
	my $holder = SeqidSession->new($node);
	my $session = SeqidSession->new($node);
	my $million =
	  "SELECT cardinality(intern_ids('large',
	   ARRAY(SELECT lpad(n::text, 7, '0') FROM generate_series(1, 1000000) n)))";

	$node->safe_psql('postgres', "SELECT intern_create('large')");
	my $first = $session->query("SELECT intern_id('large', 'first')");
	for my $held ('0000001', '0500000')
	{
		$holder->query('BEGIN');
		$holder->query("SELECT intern_id('large', '$held')");
		$session->send($million);
		SeqidSession::wait_until_blocked($node, $session);
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
		is($session->answer, '', "cancelled at $held: nothing is returned");
		like($session->errors, qr/^ERROR:  57014: canceling statement due to user request$/m,
			"cancelled at $held: query_canceled");
		$holder->query('ROLLBACK');
		is($node->safe_psql('postgres', 'SELECT id, term FROM large'),
			"$first|first", "cancelled at $held: no term was kept");
	}

	# In a transaction that goes on.
	$holder->query('BEGIN');
	$holder->query("SELECT intern_id('large', 'held')");
	$session->query('BEGIN');
	my $kept = $session->query("SELECT intern_id('large', 'kept')");
	$session->query('SAVEPOINT a');
	$session->send("SELECT intern_ids('large', '{before,held,kept,zero}')");
	SeqidSession::wait_until_blocked($node, $session);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
	$session->answer;
	like($session->errors, qr/57014/, 'cancelled in a subtransaction: query_canceled');
	$session->query('ROLLBACK TO a');
	$session->query('COMMIT');
	$holder->query('ROLLBACK');
	is(entries('large'), "$first|first\n$kept|kept",
		'cancelled in a subtransaction: what was interned before it is kept');

	# What the session knows of the dictionary is neither lost nor stuck.
	$node->safe_psql('postgres',
		"ALTER TABLE large RENAME TO larger; ALTER TABLE larger ADD COLUMN note text");
	is($session->query("SELECT intern_ids('larger', '{first,kept,kept}')"),
		"{$first,$kept,$kept}", 'cancelled: the session goes on with the dictionary renamed');
	is($session->query("SELECT intern_id('larger', 'again') = intern_id('larger', 'again')"),
		't', 'cancelled: and assigns ids');
	is($session->errors, '', 'cancelled: without an error');
	$session->close;
	$holder->close;
}

$node->stop;
done_testing();
