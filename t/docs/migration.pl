# The recipes of docs/migration.md that need no downtime, while clients write to the
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
		elsif ($statement =~ /^CALL seqid\.adopt\b/)
		{
			$session->query($statement);
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
		if (($block->{output} // '') =~ /^ERROR:/) { isnt($error, '', "$name fails"); }
		else { is($error, '', $name); }
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
	my ($change, @rest) = $page->recipe('adopt');

	$node->safe_psql('postgres', $_->{text}) for $page->recipe('adopt tables');
	my $clients = start_clients(<<'SCRIPT', 'prepared');
\set n random(1, 20000)
BEGIN;
INSERT INTO orders (item) VALUES ('of a client') RETURNING id \gset
INSERT INTO parcels (order_id) VALUES (:id) RETURNING id AS parcel \gset
COMMIT;
UPDATE orders SET item = item WHERE id = :n;
SELECT 1 / count(*) FROM orders o JOIN parcels p ON p.order_id = o.id WHERE o.id = :id AND p.id = :parcel;
SCRIPT
	run_steps($clients, $change, @rest);
	stop_clients('adopt', $clients);

	is(outcome($node, "SELECT count(*) FILTER (WHERE id <= 20000 AND item = 'item ' || id), count(*) FILTER (WHERE id > 20000 AND id < 1099511627776) > 0,
			count(*) FILTER (WHERE id >= 400000000000000000) > 0 FROM orders"),
		'20000|t|t', 'adopt: old ids are what they were, and new ones are snowflakes');
	is(outcome($node, 'SELECT bool_and(snowflake_shard(id) = 5) FROM parcels WHERE id > 1099511627776'), 't', 'adopt: also the identity');
	is(outcome($node, "INSERT INTO orders (id, item) VALUES (1099511627776, 'typed')"), '23514', 'adopt: an id that is neither is refused');
}

#
# Integer keys
#

{
	my @exchange = $page->recipe('serial exchange');

	$node->safe_psql('postgres', $_->{text}) for $page->recipe('serial tables');
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

	run_steps($clients, $page->recipe('serial'));
	test_giving_up($clients, 'visits', $exchange[0]);
	is(outcome($node, "SELECT count(*) FROM pg_trigger WHERE tgname = 'zzz_widen'"), '2', 'serial exchange: has changed nothing');
	run_steps($clients, @exchange);
	stop_clients('serial', $clients);

	is($prepared->full_outcome('EXECUTE inserts'), '', 'serial: a prepared statement that does not return the column goes on');
	like($prepared->full_outcome('EXECUTE returns_it'), qr/^0A000: cached plan must not change result type/, 'serial: one that returns it fails');
	$prepared->close;

	is(outcome($node, "SELECT string_agg(attrelid::regclass || '.' || attname || ' ' || atttypid::regtype || ' ' || attnotnull, ', '
			ORDER BY attrelid::regclass::text, attname) FROM pg_attribute
			WHERE attrelid IN ('customers'::regclass, 'visits'::regclass) AND attname LIKE '%id' AND attnum > 0 AND NOT attisdropped"),
		'customers.id bigint true, visits.customer_id bigint true, visits.id bigint true', 'serial: all are bigint');
	is(outcome($node, "SELECT count(*) FROM before b LEFT JOIN customers c USING (id) LEFT JOIN visits v ON v.id = visit
			WHERE (c.name, v.customer_id) IS DISTINCT FROM (b.name, b.id)"), '0', 'serial: all have the ids that they had');
	is(outcome($node, "SELECT count(*) FILTER (WHERE id > 20000 AND id < 1099511627776) > 0, count(*) FILTER (WHERE id >= 400000000000000000) > 0
			FROM customers"), 't|t', 'serial: new ids are snowflakes');
	is(outcome($node, "SELECT string_agg(conname || ' ' || convalidated, ', ' ORDER BY conname) FROM pg_constraint
			WHERE conrelid IN ('customers'::regclass, 'visits'::regclass) AND contype <> 'n'"),
		'customers_pkey true, visits_customer_id_fkey true, visits_pkey true', 'serial: constraints have the names that they had');
	is(outcome($node, "SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY indexrelid::regclass::text) FROM pg_index
			WHERE indrelid IN ('customers'::regclass, 'visits'::regclass)"),
		'customers_pkey true, visits_customer_id_idx true, visits_pkey true', 'serial: and indexes, too');
	is(outcome($node, "SELECT count(*), to_regclass('customers_id_seq') FROM pg_trigger WHERE NOT tgisinternal"), '0|', 'serial: no trigger and no sequence is left');
	is(outcome($node, "INSERT INTO visits (customer_id) VALUES (0)"), '23503', 'serial: the foreign key holds');
	is(outcome($node, "DELETE FROM customers WHERE id = 1; SELECT count(*) FROM visits WHERE customer_id = 1"), '0', 'serial: and cascades');
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
	run_steps(undef, $page->recipe('old random UUIDs'));
	is(outcome($node, "SELECT count(*) FROM documents_before b LEFT JOIN documents_map m ON m.old_id = b.id LEFT JOIN documents d ON d.id = coalesce(m.new_id, b.id)
			WHERE (d.title, d.created_at) IS DISTINCT FROM (b.title, b.created_at) OR comb_uuid_timestamp(m.new_id) <> d.created_at"),
		'0', 'old random UUIDs: all are there, with their time');
	is(outcome($node, "INSERT INTO documents (id) VALUES (gen_random_uuid())"), '23514', 'old random UUIDs: no more of them');
}

#
# Old rows, and from uuid to bigint
#

$node->safe_psql('postgres', $_->{text}) for $page->recipe('old rows tables');
{
	$node->safe_psql('postgres', 'CREATE TABLE memos_before AS SELECT * FROM memos');
	my $clients = start_clients(<<'SCRIPT', 'prepared');
BEGIN;
INSERT INTO memos (body) VALUES ('new') RETURNING id \gset
INSERT INTO memo_tags VALUES (:id, 'of a client');
COMMIT;
SELECT 1 / count(*) FROM memos m JOIN memo_tags t ON t.memo_id = m.id WHERE m.id = :id;
SCRIPT
	run_steps($clients, $page->recipe('old rows'));
	stop_clients('old rows', $clients);
	is(outcome($node, "SELECT count(*) FROM memos_before b LEFT JOIN memos_map ON old_id = b.id LEFT JOIN memos m ON m.id = new_id
			LEFT JOIN memo_tags t ON memo_id = new_id WHERE (m.body, m.created_at, t.tag) IS DISTINCT FROM (b.body, b.created_at, 'draft')"),
		'0', 'old rows: all are there, with what references them');
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
	run_steps($clients, $page->recipe('uuid to bigint'));
	run_steps($clients, $page->recipe('uuid to bigint exchange'));
	stop_clients('uuid to bigint', $clients);
	is(outcome($node, "SELECT count(*) FROM notes_before b LEFT JOIN replies r ON r.id = reply LEFT JOIN notes n ON n.id = note_id
			WHERE n.title IS DISTINCT FROM b.title"), '0', 'uuid to bigint: each reply has its note');
	is(outcome($node, "SELECT string_agg(conrelid::regclass || ' ' || conname || ' ' || convalidated, ', ' ORDER BY conrelid::regclass::text, conname)
			FROM pg_constraint WHERE conrelid IN ('notes'::regclass, 'replies'::regclass) AND contype <> 'n'"),
		'notes notes_pkey true, replies replies_note_id_fkey true, replies replies_pkey true', 'uuid to bigint: constraints have the names that they had');
	is(outcome($node, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'zzz%'"), '0', 'uuid to bigint: no trigger is left');
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
	serial => 'serial tables', 'old rows' => 'old rows tables', 'uuid to bigint' => 'uuid to bigint tables');

my $number = 0;

# vary($recipe, $what, $change, sub ($session, @blocks)): runs the sub in a database of its
# own, in which the tables of the recipe were created and then changed.
sub vary
{
	my ($recipe, $what, $change, $test) = @_;
	my $database = 'variation' . ++$number;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, join "\n", 'CREATE EXTENSION seqid;',
		map { $_->{text} =~ s/, (?:10|20)000\) n/, 200) n/gr } (map { $page->recipe($_) } 'procedures', $tables{$recipe}));
	$node->safe_psql($database, $change);
	my $session = SeqidSession->new($node, $database);
	$test->("$recipe, $what", $session, $page->recipe($recipe));
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

my ($exchange) = $page->recipe('serial exchange');
my $visit = 'INSERT INTO visits (customer_id) VALUES (7)';

vary('serial', 'a trigger that changes the reference', trigger_sql('visits', 'zed', 'NEW.customer_id := 9'), sub
{
	my ($name, $session, @blocks) = @_;

	is(apply($session, $visit, @blocks, $exchange), '', $name);
	is($session->outcome('SELECT count(*) > 5, bool_and(customer_id = 9) FROM visits WHERE id > 200'), 't|t', "$name: is followed");
});
vary('serial', 'a trigger that fires after all', trigger_sql('visits', 'zzzz', 'NEW.customer_id := 9'), sub
{
	my ($name, $session, @blocks) = @_;

	is(apply($session, $visit, @blocks, $exchange), '23514', "$name: is refused");
});
vary('serial', 'rows of a replication worker, with other defaults', '', sub
{
	my ($name, $session, @blocks) = @_;

	$session->query("SET default_transaction_isolation = 'repeatable read'; SET DateStyle = 'German'; SET TimeZone = 'America/Havana'");
	is(apply($session, "SET session_replication_role = replica; $visit; RESET session_replication_role", @blocks, $exchange), '', $name);
	is($session->outcome('SELECT count(*) > 5, bool_and(customer_id = 7) FROM visits WHERE id > 200'), 't|t', "$name: are filled");
});
vary('serial', 'a reference that can be NULL', 'ALTER TABLE visits ALTER customer_id DROP NOT NULL; INSERT INTO visits (customer_id) VALUES (NULL)', sub
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
	vary('serial', @$case, sub
	{
		my ($name, $session, @blocks) = @_;

		is(apply($session, $visit, @blocks, $exchange), '55000', "$name: is refused");
		is($session->outcome("SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attname = 'customer_id'"), 'integer', "$name: nothing has changed");
	});
}
vary('serial', 'constraints that are not validated', '', sub
{
	my ($name, $session, @blocks) = @_;

	is(apply($session, $visit, (grep { $_->{text} !~ /VALIDATE/ } @blocks), $exchange), '55000', "$name: are refused");
	$session->query('ALTER TABLE customers DROP CONSTRAINT new_id_same; ALTER TABLE visits DROP CONSTRAINT new_customer_id_same, DROP CONSTRAINT visits_new_customer_id_fkey');
	is(apply($session, $visit, $exchange), '55000', "$name: and none at all");
});
vary('serial', 'kill -9 within the batches', 'CREATE TABLE other ()', sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('CALL in_batches', @blocks);
	my $database = $session->query('SELECT current_database()');
	my $client = SeqidSession->new($node, $database);

	apply($session, $visit, @$before);
	$client->query('BEGIN; UPDATE visits SET at = now() WHERE id = 150');
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

my $spring = "UPDATE memos SET created_at = '2024-03-31 00:30Z'::timestamptz + id * interval '1 minute'; SET TimeZone = 'Europe/Berlin'; ALTER TABLE memos ALTER created_at TYPE timestamp";
vary('old rows', 'times without time zone', $spring, sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);

	$session->query("SET TimeZone = 'Europe/Berlin'");
	is(apply($session, '', @$before, @$rest), '42804', "$name: are refused");
	is(apply($session, '', map { { %$_, text => $_->{text} =~ s/created_at AS made/created_at AT TIME ZONE 'Europe\/Berlin' AS made/r } } @$rest), '', "$name: with their zone");
	is($session->outcome("SELECT count(*), bool_and(snowflake_timestamp(id) = '2024-03-31 00:30Z'::timestamptz + old_id * interval '1 minute') FROM memos JOIN memos_map ON new_id = id"),
		'200|t', "$name: have their own times");
});
vary('old rows', 'a LIMIT, numbers of the old sequence, and all again', "INSERT INTO memos (id, created_at) VALUES (201, NULL), (202, '2021-01-01'), (203, '2022-12-31 23:59Z')", sub
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
vary('old rows', 'a foreign key that does not follow', '', sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);

	$session->query('CREATE TABLE memos_map (old_id bigint PRIMARY KEY, new_id bigint NOT NULL UNIQUE)');
	is(apply($session, '', @$rest), '23503', "$name: is refused");
});

my ($uuid_exchange) = $page->recipe('uuid to bigint exchange');
my $reply = "INSERT INTO replies (note_id) SELECT id FROM notes WHERE title = 'note 7'";

vary('uuid to bigint', 'a client with an old snapshot', '', sub
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
vary('uuid to bigint', 'a writer that cannot read the table', "CREATE ROLE regress_writer; GRANT INSERT ON replies TO regress_writer; GRANT USAGE ON SEQUENCE replies_id_seq TO regress_writer;"
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
vary('uuid to bigint', 'a new value that is lost', trigger_sql('replies', 'zzzz', 'NEW.note_id := NEW.note_id'), sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('INDEX CONCURRENTLY replies', @blocks);

	is(apply($session, '', @$before), '', $name);
	$session->query("CREATE OR REPLACE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.new_note_id := NULL; RETURN NEW; END'");
	is($session->outcome($reply), '23503', "$name: is refused");
});
vary('uuid to bigint', 'rows that were numbered twice', '', sub
{
	my ($name, $session, @blocks) = @_;
	my ($before, $rest) = split_at('snowflake_backfill', @blocks);

	apply($session, '', @$before);
	my ($number, @update) = SeqidPage::statements($rest->[0]{text});
	$session->query($number);
	$session->query("UPDATE notes SET new_id = m.new_id FROM notes_map m WHERE old_id = id AND title < 'note 5'");
	is(apply($session, '', @$rest, $uuid_exchange), '', $name);
	is($session->outcome('SELECT count(DISTINCT id), bool_and(snowflake_timestamp(id) = created_at) FROM notes'), '200|t', "$name: each has one id");
});

$node->stop;
done_testing();
