# The recipes of docs/migration.md and examples/migration/, while clients write to the
# tables and read them: no client gets an error, and no step keeps clients waiting.
#
# The second is not measured with a clock.  A step that acquires a lock which stops
# writers or readers must have a lock_timeout, and must not scan or rewrite a table
# while it holds the lock.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

use IPC::Run ();

my $page = SeqidPage->new('docs/migration.md');

# A client that waits for the lock must not find a deadlock before the step gives up.
my $node = new_server('shop', conf => <<'CONF');
log_line_prefix = '[%a] '
deadlock_timeout = 1min
client_min_messages = error
CONF

# Until the clients have run a hundred transactions more
sub wait_for_clients ($clients)
{
	my $logged = sub { my ($log) = glob "$clients->{log}.*"; return -s ($log // '') // 0 };
	my $before = $logged->();

	return if poll_until { $logged->() > $before + 5000 } 60;
	diag($clients->{out});
	die 'the clients stand still';
}

# Calls a function beside clients that run a pgbench script until it returns.
sub beside_clients ($recipe, $protocol, $script, $run)
{
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $clients = { log => "$directory/log" };
	my $logged = -s $node->logfile;

	append_to_file("$directory/script", $script);
	my $pgbench = IPC::Run::start(
		[ 'pgbench', '-n', '-c4', '-T600', '-M', $protocol, '-f', "$directory/script", '-l',
			'--log-prefix', $clients->{log}, $node->connstr('postgres') . ' application_name=client' ], '>', \$clients->{out}, '2>&1');
	wait_for_clients($clients);
	$run->($clients);
	my @errors = slurp_file($node->logfile, $logged) =~ /^(\[client\] (?:ERROR|FATAL).*)/mg;
	$pgbench->kill_kill;
	is(join("\n", @errors), '', "$recipe: no client got an error");
	return;
}

my $stops_clients = "locktype = 'relation' AND pid = pg_backend_pid()
	AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

# A transaction begins, and then what it did to tables that clients have to wait for
my $tables = 'SELECT relid, relname, seq_scan, pg_relation_filenode(relid) AS file FROM pg_stat_xact_user_tables';
my $begin = "BEGIN; SELECT json_agg(t) AS before FROM ($tables) t \\gset\n";
my $faults = <<"SQL";
SELECT DISTINCT relname || fault
  FROM ($tables) now JOIN json_to_recordset(:'before') old (relid oid, seq_scan bigint, file oid) USING (relid)
  JOIN pg_locks ON relation = relid AND $stops_clients,
       LATERAL (VALUES (' was locked without a lock_timeout', current_setting('lock_timeout') = '0'),
           (' was read', now.seq_scan > old.seq_scan), (' was rewritten', now.file <> old.file)) f (fault, found)
 WHERE found ORDER BY 1
SQL

# Runs the statements of a block.  Returns the SQLSTATE of the first error, and the faults.
# (What commits by itself acquires no such lock, as PostgreSQL's manual says.)
sub run_block ($session, $sql)
{
	my ($open, @found) = ('');

	for my $statement (SeqidPage::statements($sql))
	{
		my $watched = $statement !~ /^(COMMIT|SET|CALL in_batches)\b|\bCONCURRENTLY\b/;

		if ($watched && $open eq '')
		{
			$session->query($begin);
			$open = $statement;
		}
		my $error = $statement eq 'BEGIN' ? '' : $session->outcome($statement) =~ s/^(?!\w{5}$).*//sr;
		if ($error ne '')
		{
			$session->outcome('ROLLBACK');
			return ($error, @found);
		}
		push @found, map { "$_ by: $statement" } split /\n/, $session->query($faults) if $watched;
		$session->query('COMMIT') if $open ne '' && $open ne 'BEGIN';
		$open = '' if $open ne 'BEGIN' || $statement eq 'COMMIT';
	}
	return ('', @found);
}

# Runs blocks, each again while it cannot acquire a lock, as the page says.
sub run_steps ($clients, @blocks)
{
	my $session = SeqidSession->new($node);

	for my $block (@blocks)
	{
		my ($error, @found);

		poll_until
		{
			($error, my @more) = run_block($session, $block->{text});
			push @found, @more;
			$error ne '55P03';
		};
		is(join("\n", $error || (), @found), '', "$block->{recipe}: $block->{where}: keeps no client waiting");
		wait_for_clients($clients);
	}
	$session->close;
	return;
}

# The faults are found.
{
	my $session = SeqidSession->new($node);

	$session->query('CREATE TABLE naive AS SELECT id::int FROM generate_series(1, 1000) id');
	for (
		[ "SET lock_timeout = '200ms'; ALTER TABLE naive ALTER id TYPE bigint", 'read rewritten' ],
		[ 'ALTER TABLE naive ALTER id SET NOT NULL', 'read' ],
		[ 'BEGIN; LOCK TABLE naive; SELECT count(*) FROM naive; COMMIT', 'read' ],
		[ 'ALTER TABLE naive ADD CHECK (id > 1 OR true) NOT VALID', '' ],
		[ 'SET lock_timeout = 0; ALTER TABLE naive ALTER id SET DEFAULT 1', 'locked' ],
		[ 'CREATE INDEX ON naive (id)', 'locked read' ],
		[ 'ALTER TABLE naive ADD CHECK (id < 0)', '23514' ])
	{
		my ($sql, $expected) = @$_;
		my ($error, @found) = run_block($session, $sql);

		is(join(' ', $error || (), map { /^naive was (\w+)/ } @found), $expected, "found: $sql");
	}
	$session->close;
}

# all_are($recipe, [ what, expected answer, statement ], ...)
sub all_are ($recipe, @checks)
{
	is(outcome($node, $_->[2]), $_->[1], "$recipe: $_->[0]") for @checks;
}

sub prepare (@sql) { $node->safe_psql('postgres', $_) for @sql }
sub from_page (@recipes) { return map { $page->recipe($_) } @recipes }

# The columns of keys, constraints, indexes and triggers of two tables
sub definition_of (@tables)
{
	my $is_one = 'IN (' . join(', ', map { "'$_'::regclass" } @tables) . ')';

	return outcome($node, "SELECT attrelid::regclass::text, attname, atttypid::regtype, attnotnull FROM pg_attribute
		WHERE attrelid $is_one AND attname LIKE '%id' AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
		SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid $is_one AND contype <> 'n' ORDER BY 1;
		SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indrelid $is_one ORDER BY 1;
		SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgrelid $is_one");
}

# Runs a recipe beside clients.  The rows of a query, which leaves out those of clients, stay
# the same.
sub test_recipe ($recipe, $rows, $protocol, $script, $steps = sub ($clients) { run_steps($clients, SeqidPage::migration($recipe)) })
{
	my $all = "SELECT count(*), md5(string_agg(r::text, ',' ORDER BY r)) FROM ($rows) r";
	my $before = outcome($node, $all);

	like($before, qr/^10000\|/, "$recipe: has rows");
	beside_clients($recipe, $protocol, $script, $steps);
	is(outcome($node, $all), $before, "$recipe: all are there");
}

#
# New rows only
#
prepare((map { slurp_file("examples/migration/$_.sql") } 'in_batches', 'exchange_column'),
	SeqidPage::migration_tables('new rows only', 20000), map { $_->{text} } from_page('new rows narrow'));
beside_clients('new rows', 'prepared', <<'SCRIPT', sub ($clients) { run_steps($clients, from_page('new rows', 'partitions')) });
BEGIN;
INSERT INTO parcels (item) VALUES ('of a client') RETURNING id \gset
INSERT INTO labels VALUES (:id);
COMMIT;
INSERT INTO clicks DEFAULT VALUES;
INSERT INTO clicks_new DEFAULT VALUES;
SELECT 1 / count(*) FROM parcels JOIN labels ON parcel_id = id WHERE id = :id;
SCRIPT
all_are('new rows',
	[ 'old ids are what they were', '20000', "SELECT count(*) FROM parcels WHERE id <= 60004 AND item LIKE 'item %'" ],
	[ 'ids were numbers before, and are snowflakes', 't|t',
		'SELECT bool_or(id < 1::bigint << 40), bool_or(id > 1::bigint << 58) FROM parcels WHERE id > 60004' ],
	[ 'all partitions have the default', 't',
		'SELECT bool_and(snowflake_shard(id) = 5) FROM clicks WHERE id > 1::bigint << 40' ],
	map { [ "one lock: $_", 1, "BEGIN; $_; SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation
		WHERE relkind IN ('r', 'p') AND $stops_clients; COMMIT" ] }
	  grep { /^ALTER/ } map { SeqidPage::statements($_->{text}) } from_page('partitions'));

#
# Integer keys
#
prepare(map { SeqidPage::migration_tables($_, 10000) } qw(integer_keys random_uuids old_numbers uuid_to_bigint));
my %before = map { $_ => definition_of(split) } 'customers visits', 'notes replies';
my ($reader, $session) = map { SeqidSession->new($node) } 1 .. 2;
my $script = <<'SCRIPT';
\set n random(1, 10000)
\set m random(1, 10000)
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
DELETE FROM customers WHERE id = :id AND :m > 5000;
COMMIT;
SCRIPT
my $visits = 'SELECT c.id, name, v.id FROM customers c JOIN visits v ON customer_id = c.id WHERE v.id <= 10000';
test_recipe('integer_keys', $visits, 'simple', $script, sub ($clients) {
	my @blocks = SeqidPage::migration('integer_keys');
	my $exchange = pop @blocks;

	run_steps($clients, @blocks);
	# Beside a transaction that reads the table and does not end, a step gives up, and the
	# clients that wait behind it go on.
	$reader->query('BEGIN; SELECT count(*) FROM visits');
	is((run_block($session, $exchange->{text}))[0], '55P03', 'integer_keys: a step that has to wait gives up');
	wait_for_clients($clients);
	$reader->query('COMMIT');
	run_steps($clients, $exchange);
});
$_->close for $reader, $session;
all_are('integer_keys',
	[ 'ids were numbers before, and are snowflakes', 't|t',
		'SELECT bool_or(id < 1::bigint << 40), bool_or(id > 1::bigint << 58) FROM customers WHERE id > 10000' ]);

#
# Random UUIDs, for new rows and then for old ones
#
my @steps = (from_page('random UUIDs', 'random UUIDs index'), SeqidPage::migration('random_uuids'));
my $pages = "SELECT title, created_at, page FROM documents JOIN pages ON document_id = id WHERE title LIKE 'title %'";
test_recipe('random_uuids', $pages, 'prepared', <<'SCRIPT', sub ($clients) { run_steps($clients, @steps) });
BEGIN;
INSERT INTO documents (title) VALUES ('of a client') RETURNING id \gset
INSERT INTO pages VALUES (:id, 1);
COMMIT;
SELECT 1 / count(*) FROM documents d JOIN pages p ON p.document_id = d.id WHERE d.id = :id;
SCRIPT
all_are('random_uuids', [ 'no more random ones', '23514', 'INSERT INTO documents (id) VALUES (gen_random_uuid())' ]);

#
# Old rows
#
prepare(map { $_->{text} } from_page('shard'));
my $memos = "SELECT created_at, tag FROM memos JOIN memo_tags ON memo_id = id WHERE body = 'old'";
test_recipe('old_numbers', $memos, 'prepared', <<'SCRIPT');
BEGIN;
INSERT INTO memos (body) VALUES ('new') RETURNING id \gset
INSERT INTO memo_tags VALUES (:id, 'of a client');
COMMIT;
SELECT 1 / count(*) FROM memos m JOIN memo_tags t ON t.memo_id = m.id WHERE m.id = :id;
SCRIPT

#
# From uuid to bigint
#
my $replies = "SELECT title, created_at, r.id FROM notes n JOIN replies r ON note_id = n.id WHERE title LIKE 'note %'";
test_recipe('uuid_to_bigint', $replies, 'extended', <<'SCRIPT');
\set m random(1, 10000)
BEGIN;
INSERT INTO notes (title) VALUES ('of a client') RETURNING id \gset
INSERT INTO replies (note_id) VALUES (:id), (NULL);
DELETE FROM notes WHERE id = :id AND :m > 5000;
COMMIT;
UPDATE replies SET body = 'changed' WHERE id = :m;
SCRIPT
is(definition_of(split), $before{$_} =~ s/integer|uuid/bigint/gr, "$_: only types differ") for sort keys %before;

$node->stop;
done_testing();
