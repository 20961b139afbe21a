# The recipes of examples/migration/ with tables and sessions other than the page's: they hold,
# or raise an error before anything is lost.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('shop', conf => "client_min_messages = error\n");

sub blocks_of
{
	my ($recipe) = @_;

	return SeqidPage::file_blocks("examples/migration/$recipe.sql");
}

# The tables of each of these files
my %tables = map { $_->{text} =~ /^-- (\w+)\.sql\n/ ? ($1 => $_->{text}) : () } blocks_of('tables');

# The blocks before the exchange, the exchange, and the blocks after it.
sub around_exchange
{
	my @blocks = blocks_of(@_);
	my $exchange = (grep { $blocks[$_]{text} =~ /CALL exchange_column/ } 0 .. $#blocks)[0] // @blocks;

	return ([ @blocks[ 0 .. $exchange - 1 ] ], @blocks[ $exchange .. $#blocks ]);
}

$node->safe_psql('postgres', "LOAD 'seqid'; ALTER SYSTEM SET seqid.allowed_shards = '0-30, 32-1023'; SELECT pg_reload_conf()");

my $number = 0;

# vary($recipe, $what, $change, sub ($session, @blocks)): runs the sub in a database of its
# own, in which the tables of the recipe were created and then changed.  The blocks end
# before the exchange.
sub vary
{
	my ($recipe, $what, $change, $test) = @_;
	my $database = 'variation' . ++$number;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, join "\n", 'CREATE EXTENSION seqid;',
		(map { slurp_file("examples/migration/$_.sql") } 'in_batches', 'exchange_column'), $tables{$recipe} =~ s/, (?:10|20)000\) n/, 200) n/gr);
	$node->safe_psql($database, $change);
	my $session = SeqidSession->new($node, $database);
	$test->("$recipe, $what", $session, @{ (around_exchange($recipe))[0] });
	$session->close;
	return;
}

# Runs blocks, and what a client does after each.  Returns the first error's SQLSTATE.
sub apply
{
	my ($session, $client, @blocks) = @_;

	for my $block (@blocks)
	{
		for my $statement (SeqidPage::statements($block->{text}), $client ? $client : ())
		{
			my $outcome = $session->full_outcome($statement);

			next unless $outcome =~ /^([0-9A-Z]{5}): /;
			my $error = $1;
			next if $error eq '00000';
			$session->full_outcome('ROLLBACK');
			return $error;
		}
	}
	return '';
}

# The blocks before the first that contains a text, and the others.
sub split_at
{
	my ($text, @blocks) = @_;
	my ($first) = grep { $blocks[$_]{text} =~ /$text/ } 0 .. $#blocks;

	return ([ @blocks[ 0 .. $first - 1 ] ], [ @blocks[ $first .. $#blocks ] ]);
}

# A trigger of the user that sets a column of rows that clients insert.
sub trigger_sql
{
	my ($table, $name, $assignment) = @_;

	return "CREATE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN $assignment; RETURN NEW; END \$\$;
		CREATE TRIGGER $name BEFORE INSERT ON $table FOR EACH ROW EXECUTE FUNCTION assign()";
}

my $exchange = (around_exchange('integer_keys'))[1];
my $visit = 'INSERT INTO visits (customer_id) VALUES (7)';

vary('integer_keys', 'a trigger that changes the reference', trigger_sql('visits', 'zed', 'NEW.customer_id := 9'), sub
{
	my ($name, $session, @blocks) = @_;

	is(apply($session, $visit, @blocks, $exchange), '', $name);
	is($session->outcome('SELECT count(*) > 5, bool_and(customer_id = 9) FROM visits WHERE id > 200'), 't|t', "$name: is followed");
});
vary('integer_keys', 'a trigger that fires after all', trigger_sql('visits', 'zzzz', 'NEW.customer_id := 9'), sub
{
	my ($name, $session, @blocks) = @_;

	is(apply($session, $visit, @blocks, $exchange), '23514', "$name: is refused");
});
vary('integer_keys', 'rows of a replication worker, with other defaults', '', sub
{
	my ($name, $session, @blocks) = @_;

	$session->query("SET default_transaction_isolation = 'repeatable read'; SET DateStyle = 'German'; SET TimeZone = 'America/Havana'");
	is(apply($session, "SET session_replication_role = replica; $visit; RESET session_replication_role", @blocks, $exchange), '', $name);
	is($session->outcome('SELECT count(*) > 5, bool_and(customer_id = 7) FROM visits WHERE id > 200'), 't|t', "$name: are filled");
});
vary('integer_keys', 'a reference that can be NULL', 'ALTER TABLE visits ALTER customer_id DROP NOT NULL; INSERT INTO visits (customer_id) VALUES (NULL)', sub
{
	my ($name, $session, @blocks) = @_;
	my $null = 'INSERT INTO visits (customer_id) VALUES (NULL)';

	is(apply($session, $null, map { { %$_, text => $_->{text} =~ s/new_customer_id IS NOT NULL AND new_customer_id = customer_id/new_customer_id IS NOT DISTINCT FROM customer_id/r } } @blocks, $exchange), '', $name);
	is($session->outcome('SELECT count(customer_id), count(*) > 205 FROM visits'), '200|t', "$name: stays NULL");
});
for my $case (
	[ 'an index that the recipe does not have', 'CREATE UNIQUE INDEX ON visits (customer_id, at)' ],
	[ 'a constraint that the recipe does not have', 'ALTER TABLE visits ADD CHECK (customer_id > 0)' ],
	[ 'a privilege on the column', 'GRANT SELECT (customer_id) ON visits TO pg_monitor' ])
{
	vary('integer_keys', @$case, sub
	{
		my ($name, $session, @blocks) = @_;

		is(apply($session, $visit, @blocks, $exchange), '55000', "$name: is refused");
		is($session->outcome("SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attname = 'customer_id'"), 'integer', "$name: nothing has changed");
	});
}
vary('integer_keys', 'constraints that are not validated', '', sub
{
	my ($name, $session, @blocks) = @_;

	is(apply($session, $visit, (grep { $_->{text} !~ /VALIDATE/ } @blocks), $exchange), '55000', "$name: are refused");
	$session->query('ALTER TABLE customers DROP CONSTRAINT new_id_same; ALTER TABLE visits DROP CONSTRAINT new_customer_id_same, DROP CONSTRAINT visits_new_customer_id_fkey');
	is(apply($session, $visit, $exchange), '55000', "$name: and none at all");
});
vary('integer_keys', 'kill -9 within the batches', "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0
		AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
	CREATE TRIGGER hold BEFORE UPDATE ON visits FOR EACH ROW WHEN (NEW.id = 150) EXECUTE FUNCTION hold()", sub
{
	my ($name, $session, @blocks) = @_;
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
	is(apply($again, $visit, @$rest, $exchange), '', "$name: the block is run again");
	is($again->outcome('SELECT count(*) FROM customers c JOIN visits ON customer_id = c.id WHERE c.id <= 200'), $again->query('SELECT count(*) FROM visits'), "$name: no reference is lost");
	$again->close;
});

# Times around both changes of summer time.  An hour of local time that comes twice is read
# as the second one.
for my $case ([ 'old_numbers', 'memos', 'snowflake' ], [ 'random_uuids', 'documents', 'comb_uuid' ], [ 'uuid_to_bigint', 'notes', 'snowflake' ])
{
	my ($recipe, $table, $kind) = @$case;

	for my $zone (qw(America/New_York Asia/Kathmandu Pacific/Chatham))
	{
		my $rows = "TRUNCATE $table CASCADE; ALTER TABLE $table ADD instant timestamptz;
			INSERT INTO $table (instant, created_at) SELECT i, i AT TIME ZONE '$zone'
			  FROM (VALUES ('2024-03-10'), ('2024-11-03'), ('2024-04-07'), ('2024-09-29')) d(day),
				   generate_series(day::timestamptz - interval '1 day', day::timestamptz + interval '1 day', interval '10 minutes') i;"
		  . ($table eq 'memos' ? 'UPDATE memos SET id = n FROM (SELECT instant AS i, row_number() OVER () AS n FROM memos) m WHERE i = instant'
			: '');
		$rows =~ s/INSERT INTO notes \(instant, created_at\) SELECT/INSERT INTO notes (title, instant, created_at) SELECT '',/;
		my $run = sub
		{
			my ($session, $change) = @_;
			my @blocks = map { { %$_, text => $_->{text} =~ s/America\/New_York/$zone/gr } } blocks_of($recipe);
			my $check = pop @blocks;

			$session->query("SET TimeZone = 'Europe/Berlin'");
			is(apply($session, '', map { { %$_, text => $change->($_->{text}) } } @blocks), '', "$recipe in $zone");
			return $session->outcome($check->{text});
		};

		vary($recipe, "times of $zone", $rows, sub
		{
			my ($name, $session) = @_;

			is($run->($session, sub { $_[0] }), 't|t', "$name: have their zone");
			is($session->outcome("SELECT count(*) > 1000, bool_and(t = instant OR t = instant + interval '1 hour' AND t AT TIME ZONE '$zone' = instant AT TIME ZONE '$zone')
					FROM (SELECT ${kind}_timestamp(id) AS t, instant FROM $table) k"), 't|t', "$name: are those of the rows");
		});
		vary($recipe, "times of $zone, read in another zone", $rows, sub
		{
			my ($name, $session) = @_;

			is($run->($session, sub { $_[0] =~ s/created_at AT TIME ZONE '$zone'/created_at/r }), 't|f', "$name: are found");
		}) if $zone eq 'Asia/Kathmandu';
	}
}
vary('old_numbers', 'a LIMIT, numbers of the old sequence, and all again', "INSERT INTO memos (id, created_at) VALUES (201, NULL), (202, '2021-01-01'), (203, '2022-12-31 18:59')", sub
{
	my ($name, $session, @blocks) = @_;
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
vary('old_numbers', 'a foreign key that does not follow', '', sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);

	$session->query('CREATE TABLE memos_map (old_id bigint PRIMARY KEY, new_id bigint NOT NULL UNIQUE)');
	is(apply($session, '', @$rest), '23503', "$name: is refused");
});

my $uuid_exchange = (around_exchange('uuid_to_bigint'))[1];
my $reply = "INSERT INTO replies (note_id) SELECT id FROM notes WHERE title = 'note 7'";

vary('uuid_to_bigint', 'a client with an old snapshot', '', sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('UNIQUE INDEX CONCURRENTLY', @blocks);
	my $client = SeqidSession->new($node, $session->query('SELECT current_database()'));

	$client->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	is(apply($session, '', @$before), '', $name);
	$session->send($rest->[0]{text});
	wait_until_blocked($node, $session);
	is($client->outcome($reply), '', "$name: its reply");
	$client->query('COMMIT');
	$session->answer;
	is(apply($session, $reply, @$rest[ 1 .. $#$rest ], $uuid_exchange), '', "$name: the other steps");
	is($session->outcome("SELECT bool_and(title = 'note 7'), count(*) > 5 FROM replies r LEFT JOIN notes n ON n.id = note_id WHERE r.id > 201"), 't|t', "$name: no reference is lost");
	$client->close;
});
vary('uuid_to_bigint', 'a writer that cannot read the table', "CREATE ROLE regress_writer; GRANT INSERT ON replies TO regress_writer; GRANT USAGE ON SEQUENCE replies_id_seq TO regress_writer;"
	. trigger_sql('replies', 'zed', "NEW.note_id := (SELECT note_id FROM public.replies WHERE id = 9)"), sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('replies_both FOREIGN', @blocks);

	$session->query('ALTER FUNCTION assign() SECURITY DEFINER');
	is(apply($session, '', @$before), '', $name);
	is(apply($session, "SET ROLE regress_writer; SET search_path = ''; INSERT INTO public.replies (note_id) VALUES (NULL); RESET search_path; RESET ROLE", @$rest[ 0 .. $#$rest ]), '', "$name: writes");
	is(apply($session, '', $uuid_exchange), '', "$name: exchange");
	is($session->outcome("SELECT bool_and(title = 'note 9'), count(*) > 3 FROM replies r LEFT JOIN notes n ON n.id = note_id WHERE r.id > 201"), 't|t', "$name: its trigger is followed");
});
vary('uuid_to_bigint', 'a new value that is lost', trigger_sql('replies', 'zzzz', 'NEW.note_id := NEW.note_id'), sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('INDEX CONCURRENTLY replies', @blocks);

	is(apply($session, '', @$before), '', $name);
	$session->query("CREATE OR REPLACE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.new_note_id := NULL; RETURN NEW; END'");
	is($session->outcome($reply), '23503', "$name: is refused");
});
vary('uuid_to_bigint', 'rows that were numbered twice', '', sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);

	apply($session, '', @$before);
	my ($number, @update) = SeqidPage::statements($rest->[0]{text});
	$session->query($number);
	$session->query("UPDATE notes SET new_id = m.new_id FROM notes_map m WHERE old_id = id AND title < 'note 5'");
	is(apply($session, '', @$rest, $uuid_exchange), '', $name);
	is($session->outcome("SELECT count(DISTINCT id), bool_and(snowflake_timestamp(id) AT TIME ZONE 'America/New_York' = created_at) FROM notes"), '200|t', "$name: each has one id");
});

$node->stop;
done_testing();
