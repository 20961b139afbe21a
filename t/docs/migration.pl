# The recipes of docs/migration.md and examples/migration/, while clients write to the
# tables and read them: no client gets an error, and no step keeps clients waiting.
#
# The second is not measured with a clock.  A step that acquires a lock which stops
# writers or readers must have a lock_timeout, and must not scan or rewrite a table
# while it holds the lock.
#
# Then the recipes with tables and sessions other than the page's: they hold, or raise an
# error before anything is lost.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

use IPC::Run ();

my $page = SeqidPage->new('docs/migration.md');

# The blocks of a file of examples/migration/, which empty lines divide.
sub blocks_of
{
	my ($recipe) = @_;
	my @blocks = grep { SeqidPage::statements($_) } split /\n{2,}/, slurp_file("examples/migration/$recipe.sql");

	return map { { recipe => $recipe, where => (SeqidPage::statements($_))[0] =~ s/\n.*//sr, text => $_ } } @blocks;
}

# The blocks before the exchange, the exchange, and the blocks after it.
sub around_exchange
{
	my @blocks = blocks_of(@_);
	my $exchange = (grep { $blocks[$_]{text} =~ /exchange_column/ } 0 .. $#blocks)[0] // @blocks;

	return ([ @blocks[ 0 .. $exchange - 1 ] ], @blocks[ $exchange .. $#blocks ]);
}

# A statement under a lock and what is asked about it can take a second on a slow machine.
# A client that waits for the lock must not find a deadlock before the step gives up.
my $node = new_server('shop', conf => "log_line_prefix = '[%a] '\ndeadlock_timeout = 1min\nclient_min_messages = error\n");

my $stops_clients = "locktype = 'relation' AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

#
# Clients
#

# Starts clients that run a pgbench script until they are stopped.
sub start_clients
{
	my ($script, $protocol) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $clients = { log => "$directory/log", logged => -s $node->logfile };
	local $ENV{PGAPPNAME} = 'client';

	append_to_file("$directory/script", $script);
	$clients->{run} = IPC::Run::start(
		[
			'pgbench', '-n', '-c4', '-T600', "--protocol=$protocol", '-f', "$directory/script",
			'-l', "--log-prefix=$clients->{log}", $node->connstr('postgres')
		],
		'>', \$clients->{out}, '2>&1');
	wait_for_clients($clients);
	return $clients;
}

# Until they have run a hundred transactions more.
sub wait_for_clients
{
	my ($clients) = @_;
	my $logged = sub { my ($log) = glob "$clients->{log}.*"; return -s ($log // '') // 0 };
	my $before = $logged->();

	return if poll_until { $logged->() > $before + 5000 } 60;
	diag($clients->{out});
	die 'the clients stand still';
}

sub stop_clients
{
	my ($recipe, $clients) = @_;
	my $log = slurp_file($node->logfile, $clients->{logged});

	$clients->{run}->kill_kill;
	is(join("\n", $log =~ /^(\[client\] (?:ERROR|FATAL).*)/mg), '', "$recipe: no client got an error");
	return;
}

#
# Steps
#

# What the session has done to each table: how often it has scanned it, the file the table
# is in, and whether it holds a lock that stops clients.
sub footprints
{
	my ($session) = @_;
	my %footprints;

	for my $row (split /\n/, $session->query("
		SELECT relid, relname, seq_scan, pg_relation_filenode(relid), current_setting('lock_timeout'),
		       relid IN (SELECT relation FROM pg_locks WHERE pid = pg_backend_pid() AND $stops_clients)
		  FROM pg_stat_xact_user_tables ORDER BY relname"))
	{
		my %table;
		@table{qw(id name scans file timeout locked)} = split /\|/, $row;
		$footprints{ $table{id} } = \%table;
	}
	return \%footprints;
}

# What the session's transaction did to tables that clients have to wait for.
sub faults
{
	my ($session, $at_begin) = @_;
	my @faults;

	for my $table (sort { $a->{name} cmp $b->{name} } values %{ footprints($session) })
	{
		next unless $table->{locked} eq 't' && (my $old = $at_begin->{ $table->{id} });
		push @faults, "$table->{name} was locked without a lock_timeout" if $table->{timeout} eq '0';
		push @faults, "$table->{name} was read" if $table->{scans} > $old->{scans};
		push @faults, "$table->{name} was rewritten" if $table->{file} ne $old->{file};
	}
	return @faults;
}

# Runs a statement that commits by itself.  Returns the locks that it is seen to hold.
# Calls $seen when there is one.
sub run_watched
{
	my ($session, $statement, $seen) = @_;
	my %locks;

	$session->send($statement);
	until ($session->answered)
	{
		$locks{$_} = 1 for split /\n/, $node->safe_psql('postgres', "
			SELECT relname || ' had a ' || mode FROM pg_locks JOIN pg_class c ON c.oid = relation
			 WHERE pid = $session->{pid} AND granted AND relkind = 'r' AND c.oid >= 16384 AND $stops_clients");
		$seen->() if $seen && %locks;
	}
	$session->answer;
	return sort keys %locks;
}

# Runs the statements of a block.  Returns the error, if one fails, and the faults.
sub run_block
{
	my ($session, $sql, $seen) = @_;
	my ($in_block, $at_begin, @all_faults);

	for my $statement (SeqidPage::statements($sql))
	{
		my @faults;

		if ($statement =~ /\bCONCURRENTLY\b|^CALL in_batches\b|^DO .*\bCOMMIT\b/s)
		{
			@faults = run_watched($session, $statement, $seen);
		}
		elsif ($statement =~ /^(BEGIN|COMMIT|SET)\b/)
		{
			$session->query($statement);
			$in_block = $1 eq 'BEGIN' unless $1 eq 'SET';
			$at_begin = footprints($session) if $1 eq 'BEGIN';
		}
		else
		{
			$session->query('BEGIN') unless $in_block;
			$at_begin = footprints($session) unless $in_block;
			$session->query($statement);
			@faults = faults($session, $at_begin) unless $session->{err} =~ /ERROR:/;
			$session->query('COMMIT') unless $in_block;
		}
		push @all_faults, map { "$_ by: $statement" } @faults;
		my $errors = $session->errors;
		if ($errors =~ /ERROR:/)
		{
			$session->query('ROLLBACK');
			$session->errors;
			return (error_in($errors), @all_faults);
		}
	}
	return ('', @all_faults);
}

# Runs the blocks of a recipe, each again while it cannot acquire a lock, as the page says.
sub run_steps
{
	my ($clients, @blocks) = @_;
	my $session = SeqidSession->new($node);

	for my $block (@blocks)
	{
		my $name = "$block->{recipe}: $block->{where}";
		my ($error, @faults);

		for my $try (1 .. 100)
		{
			($error, my @more) = run_block($session, $block->{text});
			push @faults, @more;
			last unless $error =~ /^55P03/;
		}
		is($error, '', $name);
		is(join("\n", @faults), '', "$name keeps no client waiting");
		wait_for_clients($clients) if $clients;
	}
	$session->close;
	return;
}

# Beside a transaction that reads the table and does not end, a step gives up, and the
# clients that wait behind it go on.
sub test_giving_up
{
	my ($clients, $table, $block) = @_;
	my ($reader, $session) = map { SeqidSession->new($node) } 1 .. 2;

	$reader->query("BEGIN; SELECT count(*) FROM $table");
	my ($error) = run_block($session, $block->{text});
	like($error, qr/^55P03/, "$block->{recipe}: a step that has to wait gives up");
	wait_for_clients($clients);
	$_->close for $reader, $session;
	return;
}

# The faults are found.
{
	my ($session, $holder) = map { SeqidSession->new($node) } 1 .. 2;

	$holder->query('SELECT pg_advisory_lock(1)');
	$node->safe_psql('postgres', 'CREATE TABLE naive AS SELECT id::int FROM generate_series(1, 1000) id');
	for (
		[ "SET lock_timeout = '200ms'; ALTER TABLE naive ALTER id TYPE bigint", 'read rewritten' ],
		[ 'ALTER TABLE naive ALTER id SET NOT NULL', 'read' ],
		[ 'ALTER TABLE naive ADD CHECK (id > 0)', 'read' ],
		[ 'BEGIN; LOCK TABLE naive; SELECT count(*) FROM naive; COMMIT', 'read' ],
		[ 'ALTER TABLE naive ADD CHECK (id > 1 OR true) NOT VALID', '' ],
		[ 'SET lock_timeout = 0; ALTER TABLE naive ALTER id SET DEFAULT 1', 'locked' ],
		[ 'CREATE INDEX ON naive (id)', 'locked read' ],
		[ q{SET statement_timeout = '1min'; DO $$ BEGIN LOCK TABLE naive; PERFORM pg_advisory_xact_lock(1); COMMIT; END $$},
			'AccessExclusiveLock' ])
	{
		my ($sql, $expected) = @$_;
		my ($error, @faults) = run_block($session, $sql, sub { $holder->query('SELECT pg_advisory_unlock_all()') });

		is(join(' ', $error || (), map { /^naive (?:was|had an?) (\w+)/ } @faults), $expected, "found: $sql");
	}
	$_->close for $session, $holder;
}

$node->safe_psql('postgres', $_->{text}) for $page->recipe('procedures');

#
# New rows only
#

{
	$node->safe_psql('postgres', $_->{text}) for map { $page->recipe($_) } 'new rows tables', 'new rows narrow', 'partitions tables';
	my $clients = start_clients(<<'SCRIPT', 'prepared');
BEGIN;
INSERT INTO parcels (item) VALUES ('of a client') RETURNING id \gset
INSERT INTO labels VALUES (:id);
COMMIT;
INSERT INTO clicks DEFAULT VALUES;
INSERT INTO clicks_new DEFAULT VALUES;
SELECT 1 / count(*) FROM parcels JOIN labels ON parcel_id = id WHERE id = :id;
SCRIPT
	run_steps($clients, $page->recipe('new rows'), map { { %$_, text => "SET lock_timeout = '200ms'; $_->{text}" } } $page->recipe('partitions'));
	stop_clients('new rows', $clients);

	is(outcome($node, "SELECT count(*) FILTER (WHERE id <= 60004 AND item LIKE 'item %'), count(*) FILTER (WHERE id > 60004 AND id < 1099511627776) > 0,
			count(*) FILTER (WHERE id >= 400000000000000000) > 0 FROM parcels"),
		'20000|t|t', 'new rows: old ids are what they were, and new ones are snowflakes');
	is(outcome($node, 'SELECT bool_and(snowflake_shard(id) = 5) FROM clicks WHERE id > 1099511627776'), 't', 'partitions: all have the default');

	# Each statement locks one table: no client waits longer than for one lock.
	for my $statement (grep { /^ALTER/ } map { SeqidPage::statements($_->{text}) } $page->recipe('partitions'))
	{
		is(outcome($node, "BEGIN; $statement; SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation
				WHERE pid = pg_backend_pid() AND relkind IN ('r', 'p') AND $stops_clients; COMMIT"), '1', "one lock: $statement");
	}
}

#
# Integer keys
#

{
	my ($before, @exchange) = around_exchange('integer_keys');

	$node->safe_psql('postgres', $_->{text}) for $page->recipe('integer tables');
	$node->safe_psql('postgres', 'CREATE TABLE before AS SELECT c.id, name, v.id AS visit FROM customers c JOIN visits v ON customer_id = c.id');
	my $clients = start_clients(<<'SCRIPT', 'simple');
\set n random(1, 20000)
\set m random(1, 20000)
BEGIN;
INSERT INTO customers (name) VALUES ('of a client') RETURNING id \gset
INSERT INTO visits (customer_id) VALUES (:id), (:n);
COMMIT;
UPDATE visits SET at = now() WHERE id = :m;
BEGIN;
UPDATE customers SET name = name WHERE id = :m;
UPDATE customers SET name = name WHERE id = :n AND id > :m;
COMMIT;
SELECT 1 / count(*) FROM customers c JOIN visits v ON v.customer_id = c.id WHERE c.id = :id AND v.customer_id = :id;
BEGIN;
DELETE FROM visits WHERE customer_id = :id;
DELETE FROM customers WHERE id = :id AND :m > 10000;
COMMIT;
SCRIPT
	my $prepared = SeqidSession->new($node);
	$prepared->query("PREPARE returns_it AS SELECT id, name FROM customers WHERE id = 1; EXECUTE returns_it;
		PREPARE inserts AS INSERT INTO customers (name) VALUES ('prepared'); EXECUTE inserts");

	run_steps($clients, @$before);
	test_giving_up($clients, 'visits', $exchange[0]);
	is(outcome($node, "SELECT count(*) FROM pg_trigger WHERE tgname = 'zzz_widen'"), '2', 'integer_keys: has changed nothing');
	run_steps($clients, @exchange);
	stop_clients('integer_keys', $clients);

	is($prepared->full_outcome('EXECUTE inserts'), '', 'integer_keys: a prepared statement that does not return the column goes on');
	like($prepared->full_outcome('EXECUTE returns_it'), qr/^0A000: cached plan must not change result type/, 'integer_keys: one that returns it fails');
	$prepared->close;

	is(outcome($node, "SELECT string_agg(attrelid::regclass || '.' || attname || ' ' || atttypid::regtype || ' ' || attnotnull, ', '
			ORDER BY attrelid::regclass::text, attname) FROM pg_attribute
			WHERE attrelid IN ('customers'::regclass, 'visits'::regclass) AND attname LIKE '%id' AND attnum > 0 AND NOT attisdropped"),
		'customers.id bigint true, visits.customer_id bigint true, visits.id bigint true', 'integer_keys: all are bigint');
	is(outcome($node, "SELECT count(*) FROM before b LEFT JOIN customers c USING (id) LEFT JOIN visits v ON v.id = visit
			WHERE (c.name, v.customer_id) IS DISTINCT FROM (b.name, b.id)"), '0', 'integer_keys: all have the ids that they had');
	is(outcome($node, "SELECT count(*) FILTER (WHERE id > 20000 AND id < 1099511627776) > 0, count(*) FILTER (WHERE id >= 400000000000000000) > 0
			FROM customers"), 't|t', 'integer_keys: new ids are snowflakes');
	is(outcome($node, "SELECT string_agg(conname || ' ' || convalidated, ', ' ORDER BY conname) FROM pg_constraint
			WHERE conrelid IN ('customers'::regclass, 'visits'::regclass) AND contype <> 'n'"),
		'customers_pkey true, visits_customer_id_fkey true, visits_pkey true', 'integer_keys: constraints have the names that they had');
	is(outcome($node, "SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY indexrelid::regclass::text) FROM pg_index
			WHERE indrelid IN ('customers'::regclass, 'visits'::regclass)"),
		'customers_pkey true, visits_customer_id_idx true, visits_pkey true', 'integer_keys: and indexes, too');
	is(outcome($node, "SELECT count(*), to_regclass('customers_id_seq') FROM pg_trigger WHERE NOT tgisinternal"), '0|', 'integer_keys: no trigger and no sequence is left');
	is(outcome($node, "INSERT INTO visits (customer_id) VALUES (0)"), '23503', 'integer_keys: the foreign key holds');
	is(outcome($node, "DELETE FROM customers WHERE id = 1; SELECT count(*) FROM visits WHERE customer_id = 1"), '0', 'integer_keys: and cascades');
}

#
# COMBs
#

{
	$node->safe_psql('postgres', $_->{text}) for $page->recipe('random UUIDs tables');
	my $clients = start_clients(<<'SCRIPT', 'prepared');
BEGIN;
INSERT INTO documents (title) VALUES ('of a client') RETURNING id \gset
INSERT INTO pages VALUES (:id, 1);
COMMIT;
SELECT 1 / count(*) FROM documents d JOIN pages p ON p.document_id = d.id WHERE d.id = :id;
SCRIPT
	run_steps($clients, $page->recipe('random UUIDs'));
	stop_clients('random UUIDs', $clients);
	is(outcome($node, "SELECT count(*) FILTER (WHERE comb_uuid_is_valid(id)) > 0, count(*) FILTER (WHERE NOT comb_uuid_is_valid(id)) >= 20000 FROM documents"),
		't|t', 'random UUIDs: both kinds in one column');

	# Each old row gets a COMB of its own time.  (The foreign key holds its pages.)
	$node->safe_psql('postgres', 'CREATE TABLE documents_before AS SELECT * FROM documents');
	run_steps(undef, blocks_of('random_uuids'));
	is(outcome($node, "SELECT count(*) FROM documents_before b LEFT JOIN documents_map m ON m.old_id = b.id LEFT JOIN documents d ON d.id = coalesce(m.new_id, b.id)
			WHERE (d.title, d.created_at) IS DISTINCT FROM (b.title, b.created_at) OR comb_uuid_timestamp(m.new_id) AT TIME ZONE 'America/New_York' <> d.created_at"),
		'0', 'random_uuids: all are there, with their time');
	is(outcome($node, "INSERT INTO documents (id) VALUES (gen_random_uuid())"), '23514', 'random_uuids: no more of them');
}

#
# Old rows, and from uuid to bigint
#

$node->safe_psql('postgres', $_->{text}) for $page->recipe('old numbers tables');
{
	$node->safe_psql('postgres', 'CREATE TABLE memos_before AS SELECT * FROM memos');
	my $clients = start_clients(<<'SCRIPT', 'prepared');
BEGIN;
INSERT INTO memos (body) VALUES ('new') RETURNING id \gset
INSERT INTO memo_tags VALUES (:id, 'of a client');
COMMIT;
SELECT 1 / count(*) FROM memos m JOIN memo_tags t ON t.memo_id = m.id WHERE m.id = :id;
SCRIPT
	run_steps($clients, blocks_of('old_numbers'));
	stop_clients('old_numbers', $clients);
	is(outcome($node, "SELECT count(*) FROM memos_before b LEFT JOIN memos_map ON old_id = b.id LEFT JOIN memos m ON m.id = new_id
			LEFT JOIN memo_tags t ON memo_id = new_id WHERE (m.body, m.created_at, t.tag) IS DISTINCT FROM (b.body, b.created_at, 'draft')"),
		'0', 'old_numbers: all are there, with what references them');
}

{
	$node->safe_psql('postgres', $_->{text}) for $page->recipe('uuid to bigint tables');
	$node->safe_psql('postgres', 'CREATE TABLE notes_before AS SELECT title, r.id AS reply FROM notes n JOIN replies r ON note_id = n.id');
	my $clients = start_clients(<<'SCRIPT', 'extended');
\set m random(1, 10000)
BEGIN;
INSERT INTO notes (title) VALUES ('of a client') RETURNING id \gset
INSERT INTO replies (note_id) VALUES (:id), (NULL);
DELETE FROM notes WHERE id = :id AND :m > 5000;
COMMIT;
UPDATE replies SET body = 'changed' WHERE id = :m;
SCRIPT
	run_steps($clients, blocks_of('uuid_to_bigint'));
	stop_clients('uuid_to_bigint', $clients);
	is(outcome($node, "SELECT count(*) FROM notes_before b LEFT JOIN replies r ON r.id = reply LEFT JOIN notes n ON n.id = note_id
			WHERE n.title IS DISTINCT FROM b.title"), '0', 'uuid_to_bigint: each reply has its note');
	is(outcome($node, "SELECT string_agg(conrelid::regclass || ' ' || conname || ' ' || convalidated, ', ' ORDER BY conrelid::regclass::text, conname)
			FROM pg_constraint WHERE conrelid IN ('notes'::regclass, 'replies'::regclass) AND contype <> 'n'"),
		'notes notes_pkey true, replies replies_note_id_fkey true, replies replies_pkey true', 'uuid_to_bigint: constraints have the names that they had');
	is(outcome($node, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'zzz%'"), '0', 'uuid_to_bigint: no trigger is left');
}

#
# From the core's uuidv7(), which comes with 18
#

if (outcome($node, "SELECT to_regproc('uuidv7') IS NOT NULL") eq 't')
{
	my ($change) = $page->recipe('uuidv7');

	is(outcome($node, $change->{text}), 't|t', 'uuidv7: old ones are COMBs, and new ones greater');
	is(outcome($node, "SELECT count(*) FILTER (WHERE comb_uuid_timestamp(id) BETWEEN before - interval '1 us' AND after + interval '1 us') >= 990
			FROM (SELECT clock_timestamp() AS before, uuidv7() AS id, clock_timestamp() AS after FROM generate_series(1, 1000)) v"),
		't', 'uuidv7: the microsecond is right');
}

#
# Variations
#

my %tables = (
	integer_keys => 'integer tables', old_numbers => 'old numbers tables', uuid_to_bigint => 'uuid to bigint tables');

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
		map { $_->{text} =~ s/, (?:10|20)000\) n/, 200) n/gr } (map { $page->recipe($_) } 'procedures', $tables{$recipe}));
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

# A minute each around both changes of summer time.  An hour of local time that comes twice
# is read as the second one.
for my $zone (qw(America/New_York Asia/Kathmandu Pacific/Chatham))
{
	vary('old_numbers', "times of $zone", "TRUNCATE memos CASCADE; ALTER TABLE memos ADD instant timestamptz;
		INSERT INTO memos (id, instant, created_at) SELECT row_number() OVER (), i, i AT TIME ZONE '$zone'
		  FROM (VALUES ('2024-03-10'), ('2024-11-03'), ('2024-04-07'), ('2024-09-29')) d(day),
			   generate_series(day::timestamptz - interval '1 day', day::timestamptz + interval '1 day', interval '10 minutes') i",
		sub
		{
			my ($name, $session, @blocks) = @_;
			my @named = map { { %$_, text => $_->{text} =~ s/America\/New_York/$zone/gr } } @blocks;
			my $check = pop @named;
			my @forgotten = map { { %$_, text => $_->{text} =~ s/ AT TIME ZONE '$zone' AS/ AS/r } } @named;

			$session->query("SET TimeZone = 'Europe/Berlin'");
			is(apply($session, '', @forgotten), '', "$name: without their zone");
			is($session->outcome($check->{text}), 't|f', "$name: is found");
			$session->query('UPDATE memos SET id = old_id FROM memos_map WHERE new_id = id; DROP TABLE memos_map');
			is(apply($session, '', @named), '', $name);
			is($session->outcome($check->{text}), 't|t', "$name: have their zone");
			is($session->outcome("SELECT count(*) > 1000, bool_and(snowflake_timestamp(id) = instant OR snowflake_timestamp(id) = instant + interval '1 hour'
					AND instant AT TIME ZONE '$zone' = (instant + interval '1 hour') AT TIME ZONE '$zone') FROM memos"), 't|t', "$name: are those of the rows");
		});
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
