# Sessions that intern the same terms wait for each other: eight at once, while the
# dictionary is reindexed, rewritten and renamed, and one whose batch is cancelled while
# it waits.  A term keeps its id, no other term gets that id, and no term of a
# transaction that failed is kept.
#
# A regression test has one session, and an isolation test runs one step at a time.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main', conf => "max_connections = 30\nmax_prepared_transactions = 10");
my $directory = PostgreSQL::Test::Utils::tempdir;

# The terms of a dictionary with their ids: id|term, in the terms' order.
sub entries ($dictionary)
{
	return $node->safe_psql('postgres', "SELECT id, term FROM $dictionary ORDER BY term");
}

# A transaction that interns a batch, and says at its end whether it is kept.
sub transaction ($name, @terms)
{
	my $array = 'ARRAY[' . join(', ', map { "'$_'" } @terms) . ']';
	my $intern = "SELECT unnest(intern_ids('words', $array)), unnest($array);\n";
	my @kinds = (
		[ 1, $intern ],
		[ 0, "BEGIN;\n${intern}ROLLBACK;\n" ],
		[ 1, "BEGIN;\nSAVEPOINT a;\n$intern\\qecho undone\nROLLBACK TO a;\n${intern}COMMIT;\n" ],
		[ 1, "BEGIN;\n${intern}PREPARE TRANSACTION '$name';\nCOMMIT PREPARED '$name';\n" ],
		[ 0, "BEGIN;\n${intern}PREPARE TRANSACTION '$name';\nROLLBACK PREPARED '$name';\n" ]);
	my ($kept, $script) = @{ $kinds[ rand(2) < 1 ? 0 : rand @kinds ] };

	return $script . ($kept ? "\\qecho done\n" : "\\qecho undone\n");
}

# The rows that a client was given in transactions that were kept, as [id, term].
sub kept_rows ($file)
{
	my (@kept, @open);

	for my $line (split /\n/, slurp_file($file))
	{
		push @kept, @open if $line eq 'done';
		@open = () if $line =~ /^(un)?done$/;
		push @open, [ split /\|/, $line ] if $line =~ /\|/;
	}
	return @kept;
}

#
# Eight clients intern batches that overlap, each in an order of its own and with
# duplicates, and undo some of them.  Their first batches all contain a term that
# another transaction holds until all of them wait.  Meanwhile the dictionary is
# reindexed, rewritten and renamed.
#
{
	my $clients = 8;
	my @terms = map { sprintf 'term %04d', $_ } 1 .. 3000;
	my $gate = SeqidSession->new($node);
	my $owner = SeqidSession->new($node);
	my @sessions;

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
		for my $batch (1 .. 60)
		{
			my @batch = map { $terms[ rand @terms ] } 1 .. 150;

			$batch[ rand @batch ] = $terms[1500] if $batch == 1;
			$script .= transaction("$client-$batch", @batch);
		}
		append_to_file("$directory/$client.sql", $script);
		$session->query($_) for "\\o $directory/$client.out", '\set QUIET on';
		$session->send("\\i $directory/$client.sql");
		push @sessions, $session;
	}
	wait_until_blocked($node, @sessions);
	$gate->query('ROLLBACK');
	$gate->close;
	until (8 == grep { $_->answered } @sessions)
	{
		$owner->query('REINDEX TABLE words');
		$owner->query('BEGIN; ALTER TABLE words RENAME TO other; ALTER TABLE other RENAME TO words; COMMIT');
		$owner->query('VACUUM FULL words');
	}

	my (%id_of, %term_of);
	my ($errors, $changed, $shared) = ($owner->errors, 0, 0);
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->answer;
		$errors .= $sessions[$client]->errors;
		$sessions[$client]->close;
		for my $row (kept_rows("$directory/$client.out"))
		{
			my ($id, $term) = @$row;

			$id_of{$term} //= $id;
			$term_of{$id} //= $term;
			$changed++ if $id_of{$term} ne $id;
			$shared++ if $term_of{$id} ne $term;
		}
	}
	$owner->close;
	is($errors, '', 'concurrently: no error, and no deadlock');
	is($changed, 0, 'concurrently: no term was given two ids');
	is($shared, 0, 'concurrently: no id was given to two terms');
	cmp_ok(scalar(keys %id_of), '>', 2900, 'concurrently: the batches had most of the terms');
	is(join("\n", map { "$id_of{$_}|$_" } sort keys %id_of),
		entries('words'), 'concurrently: the dictionary has what the clients were given');
}

#
# A batch of 100,000 terms is cancelled when it waits for one that another session holds, the
# first one or one in the middle, and a batch in a transaction that goes on.
#
{
	my ($holder, $session) = map { SeqidSession->new($node) } 1 .. 2;

	# Holds a term while the session sends a batch with it, which is then cancelled.
	my $cancel = sub ($held, $batch, $what) {
		$holder->query("BEGIN; SELECT intern_id('large', '$held')");
		$session->send($batch);
		wait_until_blocked($node, $session);
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
		is($session->answer, '', "cancelled $what: nothing is returned");
		like($session->errors, qr/^ERROR:  57014: canceling statement due to user request$/m, "cancelled $what: query_canceled");
		$holder->query('ROLLBACK');
	};

	$node->safe_psql('postgres', "SELECT intern_create('large')");
	my $first = $session->query("SELECT intern_id('large', 'first')");
	for my $held ('000001', '050000')
	{
		$cancel->($held, "SELECT cardinality(intern_ids('large', ARRAY(SELECT lpad(n::text, 6, '0') FROM generate_series(1, 100000) n)))", "at $held");
		is(entries('large'), "$first|first", "cancelled at $held: no term was kept");
	}

	$session->query('BEGIN');
	my $kept = $session->query("SELECT intern_id('large', 'kept')");
	$session->query('SAVEPOINT a');
	$cancel->('held', "SELECT intern_ids('large', '{before,held,kept,zero}')", 'in a subtransaction');
	$session->query('ROLLBACK TO a; COMMIT');
	is(entries('large'), "$first|first\n$kept|kept", 'cancelled in a subtransaction: what was interned before it is kept');

	# What the session knows of the dictionary is neither lost nor stuck.
	$node->safe_psql('postgres', 'ALTER TABLE large RENAME TO larger; ALTER TABLE larger ADD COLUMN note text');
	is($session->query("SELECT intern_ids('larger', '{first,kept,kept}')"),
		"{$first,$kept,$kept}", 'cancelled: the session goes on with the dictionary renamed');
	is($session->full_outcome("SELECT intern_id('larger', 'again') = intern_id('larger', 'again')"), 't', 'cancelled: and assigns ids');
	$_->close for $session, $holder;
}

$node->stop;
done_testing();
