# The recipes of examples/migration/ with tables and sessions other than the page's: they hold,
# or raise an error before anything is lost.

use v5.36;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/..";
use SeqidMigration;
use SeqidTest;
use SeqidPage;

my $node = new_server('shop', conf => "client_min_messages = error\nseqid.allowed_shards = '0-30, 32-1023'\n");

# The blocks before the first that contains a text, and the others.
sub split_at ($text, @blocks)
{
	my ($first) = grep { $blocks[$_]{text} =~ /$text/ } 0 .. $#blocks;

	return ([ @blocks[ 0 .. $first - 1 ] ], [ @blocks[ $first .. $#blocks ] ]);
}

# vary($recipe, $what, $change, sub ($name, $session, @blocks) { ... }): runs the sub in a
# database of its own, in which the tables of the recipe were created with 200 rows and then
# changed.  The blocks end with the exchange of columns.
sub vary ($recipe, $what, $change, $test)
{
	state $number = 0;
	my $database = 'variation' . ++$number;
	my @blocks = blocks_of($recipe);

	pop @blocks while grep({ $_->{text} =~ /CALL exchange_column/ } @blocks) && $blocks[-1]{text} !~ /CALL exchange_column/;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, join "\n", 'CREATE EXTENSION seqid;',
		(map { slurp_file("examples/migration/$_.sql") } 'in_batches', 'exchange_column'), tables($recipe, 200), $change);
	my $session = SeqidSession->new($node, $database);
	$test->("$recipe, $what", $session, @blocks);
	$session->close;
}

# Runs blocks, and what a client does after each.  Returns the first error's SQLSTATE.
sub apply ($session, $client, @blocks)
{
	for my $statement (map { (SeqidPage::statements($_->{text}), $client || ()) } @blocks)
	{
		my ($error) = $session->full_outcome($statement) =~ /^(?!00000)([0-9A-Z]{5}): / or next;

		$session->full_outcome('ROLLBACK');
		return $error;
	}
	return '';
}

# A trigger of the user that sets a column of rows that clients insert.
sub trigger_sql ($table, $name, $assignment)
{
	return "CREATE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN $assignment; RETURN NEW; END \$\$;
		CREATE TRIGGER $name BEFORE INSERT ON $table FOR EACH ROW EXECUTE FUNCTION assign()";
}

my $visit = 'INSERT INTO visits (customer_id) VALUES (7)';

for my $case (
	[ 'a trigger that changes the reference', trigger_sql('visits', 'zed', 'NEW.customer_id := 9'), $visit, 9 ],
	[ 'rows of a replication worker, with other defaults', "SELECT current_database() AS own \\gset
		ALTER DATABASE :own SET default_transaction_isolation = 'repeatable read'; ALTER DATABASE :own SET DateStyle = 'German';
		ALTER DATABASE :own SET TimeZone = 'America/Havana'",
		"SET session_replication_role = replica; $visit; RESET session_replication_role", 7 ])
{
	my ($what, $change, $client, $reference) = @$case;

	vary('integer_keys', $what, $change, sub ($name, $session, @blocks) {
		is(apply($session, $client, @blocks), '', $name);
		is($session->outcome("SELECT count(*) > 5, bool_and(customer_id = $reference) FROM visits WHERE id > 200"), 't|t', "$name: all are there");
	});
}
for my $case (
	[ 'a trigger that fires after all', trigger_sql('visits', 'zzzz', 'NEW.customer_id := 9'), '23514' ],
	[ 'an index that the recipe does not have', 'CREATE UNIQUE INDEX ON visits (customer_id, at)', '55000' ])
{
	my ($what, $change, $error) = @$case;

	vary('integer_keys', $what, $change, sub ($name, $session, @blocks) {
		is(apply($session, $visit, @blocks), $error, "$name: is refused");
		is($session->outcome("SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attname = 'customer_id'"), 'integer', "$name: nothing has changed");
	});
}
vary('integer_keys', 'a reference that can be NULL', 'ALTER TABLE visits ALTER customer_id DROP NOT NULL; INSERT INTO visits (customer_id) VALUES (NULL)', sub ($name, $session, @blocks) {
	my ($columns, $rest) = split_at('CALL in_batches', @blocks);

	# The file has this constraint in a comment.
	is(apply($session, '', @$columns, { text => 'ALTER TABLE visits DROP CONSTRAINT new_customer_id_same,
		ADD CONSTRAINT new_customer_id_same CHECK (new_customer_id IS NOT DISTINCT FROM customer_id) NOT VALID' }), '', "$name: columns");
	is(apply($session, 'INSERT INTO visits (customer_id) VALUES (NULL)', @$rest), '', $name);
	is($session->outcome('SELECT count(customer_id), count(*) > 205 FROM visits'), '200|t', "$name: stays NULL");
});
vary('integer_keys', 'kill -9 within the batches', "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0
		AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
	CREATE TRIGGER hold BEFORE UPDATE ON visits FOR EACH ROW WHEN (NEW.id = 150) EXECUTE FUNCTION hold()", sub ($name, $session, @blocks) {
	my ($before, $rest) = split_at('CALL in_batches', @blocks);
	my $database = $session->query('SELECT current_database()');
	my $client = SeqidSession->new($node, $database);

	apply($session, $visit, @$before);
	$client->query('SELECT pg_advisory_lock(1)');
	$session->send($rest->[0]{text});
	wait_until_blocked($node, $session);
	$session->kill_backend;
	$_->abandon for $session, $client;
	$node->{_pid} = undef;
	start_again($node);
	my $again = SeqidSession->new($node, $database);
	is(apply($again, $visit, @$rest), '', "$name: the block is run again");
	is($again->outcome('SELECT count(*) FROM customers c JOIN visits ON customer_id = c.id WHERE c.id <= 200'), $again->query('SELECT count(*) FROM visits'), "$name: no reference is lost");
	$again->close;
});

# Times around changes of summer time, in a session of another zone.  An hour of local time
# that comes twice is read as the second one.
for my $case (
	[ 'old_numbers', 'memos', 'snowflake', 'id, body', 'row_number() OVER (), NULL' ],
	[ 'random_uuids', 'documents', 'comb_uuid', 'title', "''" ],
	[ 'uuid_to_bigint', 'notes', 'snowflake', 'title', "''" ])
{
	my ($recipe, $table, $kind, $columns, $values) = @$case;

	vary($recipe, 'summer time', "TRUNCATE $table CASCADE; ALTER TABLE $table ADD instant timestamptz;
		INSERT INTO $table ($columns, instant, created_at) SELECT $values, i, i AT TIME ZONE 'America/New_York'
		  FROM (VALUES ('2024-03-10'), ('2024-11-03')) d(day),
			   generate_series(day::timestamptz - interval '1 day', day::timestamptz + interval '1 day', interval '10 minutes') i", sub ($name, $session, @) {
		my @blocks = blocks_of($recipe);
		my $check = pop @blocks;

		$session->query("SET TimeZone = 'Europe/Berlin'");
		is(apply($session, '', @blocks), '', $name);
		is($session->outcome($check->{text}), 't|t', "$name: the sample has its zone");
		is($session->outcome("SELECT count(*) > 500, bool_and(t = instant OR t = instant + interval '1 hour' AND t AT TIME ZONE 'America/New_York' = created_at)
				FROM (SELECT ${kind}_timestamp(id) AS t, instant, created_at FROM $table) k"), 't|t', "$name: times are those of the rows");
		$session->query("UPDATE $table SET created_at = created_at + interval '45 minutes'");
		is($session->outcome($check->{text}), 't|f', "$name: times of another zone are found");
	});
}
vary('old_numbers', 'a LIMIT, numbers of the old sequence, and all again', "INSERT INTO memos (id, created_at) VALUES (201, NULL), (202, '2021-01-01'), (203, '2022-12-31 18:59')", sub ($name, $session, @blocks) {
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);
	my $client = "INSERT INTO memos (id) SELECT max(id) + 1 FROM memos WHERE id < 1000000";
	my ($number) = SeqidPage::statements($rest->[0]{text});

	is(apply($session, '', @$before, { text => "$number LIMIT 50" }) . apply($session, $client, @$rest), '', $name);
	is(apply($session, '', @$rest), '', "$name: again");
	is($session->outcome('SELECT count(*), count(*) FILTER (WHERE id < 1000000), count(*) FILTER (WHERE snowflake_shard(id) = 31), (SELECT count(DISTINCT new_id) FROM memos_map) FROM memos'),
		'206|3|203|203', "$name: each has one id, but for those without a time");
	is($session->outcome("INSERT INTO memos (id, created_at) VALUES (300, '2024-01-01')"), '', "$name: an old row comes later");
	is(apply($session, '', @$rest), '22023', "$name: is refused");
});
vary('old_numbers', 'a foreign key that does not follow', '', sub ($name, $session, @blocks) {
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);

	$session->query('CREATE TABLE memos_map (old_id bigint PRIMARY KEY, new_id bigint NOT NULL UNIQUE)');
	is(apply($session, '', @$rest), '23503', "$name: is refused");
});

my $reply = "INSERT INTO replies (note_id) SELECT id FROM notes WHERE title = 'note 7'";

# Whether all of the replies that clients have added are to that note.
sub replies_are_to ($session, $title)
{
	return $session->outcome("SELECT bool_and(title = '$title'), count(*) > 3 FROM replies r LEFT JOIN notes n ON n.id = note_id WHERE r.id > 201");
}

vary('uuid_to_bigint', 'a client with an old snapshot', '', sub ($name, $session, @blocks) {
	my ($before, $rest) = split_at('UNIQUE INDEX CONCURRENTLY', @blocks);
	my $client = SeqidSession->new($node, $session->query('SELECT current_database()'));

	$client->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	is(apply($session, '', @$before), '', $name);
	$session->send($rest->[0]{text});
	wait_until_blocked($node, $session);
	is($client->outcome($reply), '', "$name: its reply");
	$client->query('COMMIT');
	$session->answer;
	is(apply($session, $reply, @$rest[ 1 .. $#$rest ]), '', "$name: the other steps");
	is(replies_are_to($session, 'note 7'), 't|t', "$name: no reference is lost");
	$client->close;
});
vary('uuid_to_bigint', 'a writer that cannot read the table', "CREATE ROLE regress_writer; GRANT INSERT ON replies TO regress_writer; GRANT USAGE ON SEQUENCE replies_id_seq TO regress_writer;"
	. trigger_sql('replies', 'zed', "NEW.note_id := (SELECT note_id FROM public.replies WHERE id = 9)") . '; ALTER FUNCTION assign() SECURITY DEFINER', sub ($name, $session, @blocks) {
	my ($before, $rest) = split_at('replies_both FOREIGN', @blocks);
	my $exchange = pop @$rest;

	is(apply($session, '', @$before), '', $name);
	is(apply($session, "SET ROLE regress_writer; SET search_path = ''; INSERT INTO public.replies (note_id) VALUES (NULL); RESET search_path; RESET ROLE", @$rest), '', "$name: writes");
	is(apply($session, '', $exchange), '', "$name: exchange");
	is(replies_are_to($session, 'note 9'), 't|t', "$name: its trigger is followed");
});
vary('uuid_to_bigint', 'a new value that is lost', trigger_sql('replies', 'zzzz', 'NEW.note_id := NEW.note_id'), sub ($name, $session, @blocks) {
	my ($before, $rest) = split_at('INDEX CONCURRENTLY replies', @blocks);

	is(apply($session, '', @$before), '', $name);
	$session->query("CREATE OR REPLACE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.new_note_id := NULL; RETURN NEW; END'");
	is($session->outcome($reply), '23503', "$name: is refused");
});
vary('uuid_to_bigint', 'rows that were numbered twice', '', sub ($name, $session, @blocks) {
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);

	apply($session, '', @$before);
	$session->query((SeqidPage::statements($rest->[0]{text}))[0]);
	$session->query("UPDATE notes SET new_id = m.new_id FROM notes_map m WHERE old_id = id AND title < 'note 5'");
	is(apply($session, '', @$rest), '', $name);
	is($session->outcome("SELECT count(DISTINCT id), bool_and(snowflake_timestamp(id) AT TIME ZONE 'America/New_York' = created_at) FROM notes"), '200|t', "$name: each has one id");
});

$node->stop;
done_testing();
