# The recipes of docs/migration.md and examples/migration/, while clients write to the
# tables and read them: no client gets an error, and no step keeps clients waiting.
#
# The second is not measured with a clock.  A step that acquires a lock which stops
# writers or readers must have a lock_timeout, and must not scan or rewrite a table
# while it holds the lock.

use v5.36;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/..";
use SeqidMigration;
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
sub start_clients ($protocol, $script)
{
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
sub wait_for_clients ($clients)
{
	my $logged = sub { my ($log) = glob "$clients->{log}.*"; return -s ($log // '') // 0 };
	my $before = $logged->();

	return if poll_until { $logged->() > $before + 5000 } 60;
	diag($clients->{out});
	die 'the clients stand still';
}

sub stop_clients ($recipe, $clients)
{
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
sub footprints ($session)
{
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
sub faults ($session, $at_begin)
{
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
sub run_watched ($session, $statement, $seen)
{
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
sub run_block ($session, $sql, $seen = undef)
{
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
sub run_steps ($clients, @blocks)
{
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
sub test_giving_up ($clients, $table, $block)
{
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

# all_are($recipe, [ what, expected answer, statement ], ...)
sub all_are ($recipe, @checks)
{
	is(outcome($node, $_->[2]), $_->[1], "$recipe: $_->[0]") for @checks;
}

#
# New rows only
#
$node->safe_psql('postgres', $_->{text}) for map { $page->recipe($_) } 'new rows tables', 'new rows narrow', 'partitions tables';
my $clients = start_clients('prepared', <<'SCRIPT');
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
all_are('new rows',
	[ 'old ids are what they were, and new ones are snowflakes', '20000|t|t', "SELECT count(*) FILTER (WHERE id <= 60004 AND item LIKE 'item %'),
		count(*) FILTER (WHERE id > 60004 AND id < 1099511627776) > 0, count(*) FILTER (WHERE id >= 400000000000000000) > 0 FROM parcels" ],
	[ 'all partitions have the default', 't', 'SELECT bool_and(snowflake_shard(id) = 5) FROM clicks WHERE id > 1099511627776' ]);

# Each statement locks one table: no client waits longer than for one lock.
all_are('one lock', map { [ $_, 1, "BEGIN; $_; SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation
		WHERE pid = pg_backend_pid() AND relkind IN ('r', 'p') AND $stops_clients; COMMIT" ] }
	  grep { /^ALTER/ } map { SeqidPage::statements($_->{text}) } $page->recipe('partitions'));

#
# Integer keys
#
$node->safe_psql('postgres', tables('integer_keys', 20000)
	  . 'CREATE TABLE before AS SELECT c.id, name, v.id AS visit FROM customers c JOIN visits v ON customer_id = c.id');
$clients = start_clients('simple', <<'SCRIPT');
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
my @blocks = blocks_of('integer_keys');
my $exchange = pop @blocks;
run_steps($clients, @blocks);
test_giving_up($clients, 'visits', $exchange);
all_are('integer_keys', [ 'has changed nothing', 2, "SELECT count(*) FROM pg_trigger WHERE tgname = 'zzz_widen'" ]);
run_steps($clients, $exchange);
stop_clients('integer_keys', $clients);
is($prepared->outcome('EXECUTE inserts'), '', 'integer_keys: a prepared statement that does not return the column goes on');
is($prepared->outcome('EXECUTE returns_it'), '0A000', 'integer_keys: one that returns it fails');
$prepared->close;

my $two_tables = "IN ('customers'::regclass, 'visits'::regclass)";
all_are('integer_keys',
	[ 'all are bigint', 'customers.id bigint true, visits.customer_id bigint true, visits.id bigint true',
		"SELECT string_agg(attrelid::regclass || '.' || attname || ' ' || atttypid::regtype || ' ' || attnotnull, ', ' ORDER BY attrelid::regclass::text, attname)
		   FROM pg_attribute WHERE attrelid $two_tables AND attname LIKE '%id' AND attnum > 0 AND NOT attisdropped" ],
	[ 'all have the ids that they had', 0, "SELECT count(*) FROM before b LEFT JOIN customers c USING (id) LEFT JOIN visits v ON v.id = visit
		WHERE (c.name, v.customer_id) IS DISTINCT FROM (b.name, b.id)" ],
	[ 'new ids are snowflakes', 't|t', 'SELECT count(*) FILTER (WHERE id > 20000 AND id < 1099511627776) > 0, count(*) FILTER (WHERE id >= 400000000000000000) > 0 FROM customers' ],
	[ 'constraints have the names that they had', 'customers_pkey true, visits_customer_id_fkey true, visits_pkey true',
		"SELECT string_agg(conname || ' ' || convalidated, ', ' ORDER BY conname) FROM pg_constraint WHERE conrelid $two_tables AND contype <> 'n'" ],
	[ 'and indexes, too', 'customers_pkey true, visits_customer_id_idx true, visits_pkey true',
		"SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid $two_tables" ],
	[ 'no trigger and no sequence is left', '0|', "SELECT count(*), to_regclass('customers_id_seq') FROM pg_trigger WHERE NOT tgisinternal" ],
	[ 'the foreign key holds', '23503', 'INSERT INTO visits (customer_id) VALUES (0)' ],
	[ 'and cascades', 0, 'DELETE FROM customers WHERE id = 1; SELECT count(*) FROM visits WHERE customer_id = 1' ]);

#
# COMBs
#
$node->safe_psql('postgres', tables('random_uuids', 20000));
$clients = start_clients('prepared', <<'SCRIPT');
BEGIN;
INSERT INTO documents (title) VALUES ('of a client') RETURNING id \gset
INSERT INTO pages VALUES (:id, 1);
COMMIT;
SELECT 1 / count(*) FROM documents d JOIN pages p ON p.document_id = d.id WHERE d.id = :id;
SCRIPT
run_steps($clients, map { $page->recipe($_) } 'random UUIDs', 'random UUIDs index');
stop_clients('random UUIDs', $clients);
all_are('random UUIDs', [ 'both kinds in one column', 't|t',
		'SELECT count(*) FILTER (WHERE comb_uuid_is_valid(id)) > 0, count(*) FILTER (WHERE NOT comb_uuid_is_valid(id)) >= 20000 FROM documents' ]);

# Each old row gets a COMB of its own time.  (The foreign key holds its pages.)
$node->safe_psql('postgres', 'CREATE TABLE documents_before AS SELECT * FROM documents');
@blocks = blocks_of('random_uuids');
run_steps(undef, @blocks);
all_are('random_uuids', [ 'the sample has the right times', 't|t', $blocks[-1]{text} ],
	[ 'all are there, with their time', 0, "SELECT count(*) FROM documents_before b LEFT JOIN documents_map m ON m.old_id = b.id LEFT JOIN documents d ON d.id = coalesce(m.new_id, b.id)
		WHERE (d.title, d.created_at) IS DISTINCT FROM (b.title, b.created_at) OR comb_uuid_timestamp(m.new_id) AT TIME ZONE 'America/New_York' <> d.created_at" ],
	[ 'no more random ones', '23514', 'INSERT INTO documents (id) VALUES (gen_random_uuid())' ]);

#
# Old rows, and from uuid to bigint
#
$node->safe_psql('postgres', $_) for tables('old_numbers', 10000), 'CREATE TABLE memos_before AS SELECT * FROM memos', map { $_->{text} } $page->recipe('shard');
$clients = start_clients('prepared', <<'SCRIPT');
BEGIN;
INSERT INTO memos (body) VALUES ('new') RETURNING id \gset
INSERT INTO memo_tags VALUES (:id, 'of a client');
COMMIT;
SELECT 1 / count(*) FROM memos m JOIN memo_tags t ON t.memo_id = m.id WHERE m.id = :id;
SCRIPT
run_steps($clients, blocks_of('old_numbers'));
stop_clients('old_numbers', $clients);
all_are('old_numbers', [ 'all are there, with what references them', 0, "SELECT count(*) FROM memos_before b LEFT JOIN memos_map ON old_id = b.id LEFT JOIN memos m ON m.id = new_id
		LEFT JOIN memo_tags t ON memo_id = new_id WHERE (m.body, m.created_at, t.tag) IS DISTINCT FROM (b.body, b.created_at, 'draft')" ]);

$node->safe_psql('postgres', tables('uuid_to_bigint', 10000) . 'CREATE TABLE notes_before AS SELECT title, r.id AS reply FROM notes n JOIN replies r ON note_id = n.id');
$clients = start_clients('extended', <<'SCRIPT');
\set m random(1, 10000)
BEGIN;
INSERT INTO notes (title) VALUES ('of a client') RETURNING id \gset
INSERT INTO replies (note_id) VALUES (:id), (NULL);
DELETE FROM notes WHERE id = :id AND :m > 5000;
COMMIT;
UPDATE replies SET body = 'changed' WHERE id = :m;
SCRIPT
@blocks = blocks_of('uuid_to_bigint');
run_steps($clients, @blocks);
stop_clients('uuid_to_bigint', $clients);
all_are('uuid_to_bigint', [ 'the sample has the right times', 't|t', $blocks[-1]{text} ],
	[ 'each reply has its note', 0, 'SELECT count(*) FROM notes_before b LEFT JOIN replies r ON r.id = reply LEFT JOIN notes n ON n.id = note_id WHERE n.title IS DISTINCT FROM b.title' ],
	[ 'constraints have the names that they had', 'notes notes_pkey true, replies replies_note_id_fkey true, replies replies_pkey true',
		"SELECT string_agg(conrelid::regclass || ' ' || conname || ' ' || convalidated, ', ' ORDER BY conrelid::regclass::text, conname)
		   FROM pg_constraint WHERE conrelid IN ('notes'::regclass, 'replies'::regclass) AND contype <> 'n'" ],
	[ 'no trigger is left', 0, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'zzz%'" ]);

#
# From the core's uuidv7(), which comes with 18
#
all_are('uuidv7',
	[ 'old ones are COMBs, and new ones greater', 't|t', "CREATE TABLE letters (id uuid PRIMARY KEY DEFAULT uuidv7(), body text);
		INSERT INTO letters (body) SELECT 'old' FROM generate_series(1, 1000);
		ALTER TABLE letters ALTER id SET DEFAULT comb_uuid();
		INSERT INTO letters (body) SELECT 'new' FROM generate_series(1, 1000);
		SELECT bool_and(comb_uuid_is_valid(id)), (array_agg(id ORDER BY id))[1001] = (SELECT id FROM letters WHERE body = 'new' ORDER BY id LIMIT 1) FROM letters" ],
	[ 'the microsecond is right', 't', "SELECT count(*) FILTER (WHERE comb_uuid_timestamp(id) BETWEEN before - interval '1 us' AND after + interval '1 us') >= 990
		FROM (SELECT clock_timestamp() AS before, uuidv7() AS id, clock_timestamp() AS after FROM generate_series(1, 1000)) v" ])
  if outcome($node, "SELECT to_regproc('uuidv7') IS NOT NULL") eq 't';

$node->stop;
done_testing();
