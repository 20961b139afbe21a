# The recipes of docs/migration.md that need no stop, while clients write to the
# tables and read them: no client gets an error, and no step holds up a client for
# longer than its lock_timeout and a change of the catalogue take.
#
# The second is not measured with a clock, but seen from what each step does: one
# that takes a lock which stops writers or readers has a lock_timeout, and reads and
# rewrites no table while it holds it.  What the clients measured is printed.
#
# It takes clients beside the steps, which a regression test has not.

use IPC::Run ();
use List::Util qw(max sum);
use Time::HiRes qw(time);

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;
use SeqidPage;

my $node = PostgreSQL::Test::Cluster->new('shop');
$node->init;

# What a step does under its locks, and what is asked here in between, takes a second and
# more on a slow machine; then a client who waits for it would look for a deadlock in
# the very moment in which the step waits for him, and be told before it lets go.
$node->append_conf('postgresql.conf', "log_line_prefix = '%m [%a] '\nautovacuum = off\ndeadlock_timeout = 1min\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

my $stops_writers = "locktype = 'relation' AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

#
# Clients
#

# Starts clients that run a pgbench script until they are stopped.
sub start_clients
{
	my ($script, $protocol) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $self = { log => "$directory/log", out => '', logged => -s $node->logfile };
	local $ENV{PGAPPNAME} = 'client';

	append_to_file("$directory/script", $script);
	$self->{run} = IPC::Run::start(
		[
			'pgbench', '--no-vacuum', '--client=4', '--time=600', "--protocol=$protocol",
			"--file=$directory/script", '--log', "--log-prefix=$self->{log}", $node->connstr('postgres')
		],
		'>', \$self->{out}, '2>&1');
	wait_for_clients($self);
	return $self;
}

sub latencies
{
	my ($clients) = @_;
	my ($file) = glob("$clients->{log}.*") or return;

	return map { (split)[2] / 1000 } split /\n/, slurp_file($file);
}

# Until they have gone on for a while: what they write down comes in buffers.
sub wait_for_clients
{
	my ($clients) = @_;
	my $before = () = latencies($clients);

	poll_until { (() = latencies($clients)) > $before + 300 } 60
	  or die "the clients stand still: $clients->{out}";
	return;
}

# The clients' errors, as the server has logged them; they must not have stopped.
sub stop_clients
{
	my ($what, $clients) = @_;
	my $running = $clients->{run}->pumpable;

	wait_for_clients($clients) if $running;
	my @latencies = latencies($clients);
	my @errors = grep { /\[client\] (ERROR|FATAL)/ } split /\n/, slurp_file($node->logfile, $clients->{logged});
	eval { $clients->{run}->kill_kill };
	is(join("\n", @errors), '', "$what: no client got an error");
	ok($running, "$what: no client gave up") or diag($clients->{out});
	note(sprintf '%s: %d transactions, the longest took %.0f ms, the mean %.2f ms',
		$what, scalar @latencies, max(@latencies), sum(@latencies) / @latencies);
	return;
}

#
# Steps
#

# The tables that are there: how often this session has read each from end to end, and
# the file it is in; of those that it has locked so that clients wait, or of all.
sub footprints
{
	my ($session, $which) = @_;
	my %prints;
	my $rows = $session->query("
		SELECT relid, relname, seq_scan, pg_relation_filenode(relid) FROM pg_stat_xact_user_tables
		 WHERE '$which' = 'all' OR relid IN (SELECT relation FROM pg_locks WHERE pid = pg_backend_pid() AND $stops_writers)");

	for my $row (split /\n/, $rows)
	{
		my ($id, $name, $scans, $file) = split /\|/, $row;
		$prints{$id} = { name => $name, scans => $scans, file => $file };
	}
	return \%prints;
}

# Runs a statement of a transaction; what it did that clients would have to wait for,
# to tables that were there when the transaction began ($at_begin).
sub run_guarded
{
	my ($session, $statement, $at_begin) = @_;
	my $before = footprints($session, 'all');
	my $outcome = $session->full_outcome($statement);
	return ($outcome) if $outcome =~ /^[0-9A-Z]{5}: /;
	my $locked = footprints($session, 'locked');
	my @faults;

	$session->{stops_clients} = 1 if grep { $at_begin->{$_} } keys %$locked;

	for my $id (sort { $locked->{$a}{name} cmp $locked->{$b}{name} } grep { $at_begin->{$_} } keys %$locked)
	{
		my $table = $locked->{$id};

		push @faults, "$table->{name} was locked without a lock_timeout" if $session->query('SHOW lock_timeout') eq '0';
		push @faults, "$table->{name} was read" if $table->{scans} > $before->{$id}{scans};
		push @faults, "$table->{name} was rewritten" if $table->{file} ne $at_begin->{$id}{file};
	}
	return ($outcome, map { "$_ by: $statement" } @faults);
}

# A statement that commits by itself: the locks it is seen to hold.
sub run_watched
{
	my ($session, $statement, $seen) = @_;

	$session->send($statement);
	until ($session->answered)
	{
		$seen->{$_} = 1 for split /\n/, $node->safe_psql('postgres', "
			SELECT DISTINCT mode FROM pg_locks
			 WHERE pid = $session->{pid} AND relation >= 16384 AND granted AND $stops_writers
			   AND relation IN (SELECT oid FROM pg_class WHERE relkind = 'r')");
	}
	$session->answer;
	my $errors = $session->errors;
	return $errors eq '' ? '' : error_in($errors);
}

# Runs the block once: the error, if there is one; faults, and how long transactions
# took that held locks which stop clients, are gathered in $seen.
sub run_block
{
	my ($session, $block, $seen) = @_;
	my ($open, $began, $at_begin) = (0);

	for my $statement (SeqidPage::statements($block->{sql}))
	{
		my ($outcome, @faults);
		my $begin = sub {
			$session->{stops_clients} = 0;
			$at_begin = footprints($session, 'all');
			$began = time;
		};
		my $commit = sub { push @{ $seen->{held} }, time - $began if $session->{stops_clients} };

		if ($statement =~ /\bCONCURRENTLY\b|^DO .*\bCOMMIT\b/s)
		{
			$outcome = run_watched($session, $statement, \my %locks);
			@faults = map { "$_ by: $statement" } sort keys %locks;
		}
		elsif ($statement =~ /^(BEGIN|COMMIT|SET) ?/)
		{
			$outcome = $session->full_outcome($statement);
			if ($1 eq 'BEGIN') { $open = 1; $begin->(); }
			if ($1 eq 'COMMIT') { $open = 0; $commit->(); }
		}
		elsif ($open)
		{
			($outcome, @faults) = run_guarded($session, $statement, $at_begin);
		}
		else
		{
			$session->query('BEGIN');
			$begin->();
			($outcome, @faults) = run_guarded($session, $statement, $at_begin);
			$outcome = $session->full_outcome('COMMIT') unless $outcome =~ /^[0-9A-Z]{5}: /;
			$commit->();
		}
		push @{ $seen->{faults} }, @faults;
		if ($outcome =~ /^[0-9A-Z]{5}: /)
		{
			$session->query('ROLLBACK');
			$session->errors;
			return $outcome;
		}
	}
	return '';
}

# As the page says: the same block again while a lock is not to be had.
sub run_until_passed
{
	my ($session, $block, $seen) = @_;

	for my $try (1 .. 100)
	{
		my $error = run_block($session, $block, $seen);

		return $error unless $error =~ /^55P03/;
		$seen->{again}++;
	}
	return 'not even after 100 times';
}

# Runs the blocks of a recipe, and looks at what they did.
sub run_steps
{
	my ($what, $clients, @blocks) = @_;
	my $session = SeqidSession->new($node);
	my %seen = (faults => [], held => [], again => 0);

	for my $block (@blocks)
	{
		my $error = run_until_passed($session, $block, \%seen);

		if ($block->{fails}) { isnt($error, '', "$what: line $block->{line} fails, as it says"); }
		else { is($error, '', "$what: line $block->{line}"); }
		wait_for_clients($clients) if $clients;
	}
	is(join("\n", @{ $seen{faults} }), '', "$what: nothing is read or rewritten under a lock that stops clients");
	note(sprintf '%s: the longest transaction that stopped clients took %.0f ms, with the wait for its locks; %d times a step was run again',
		$what, 1000 * max(@{ $seen{held} }), $seen{again});
	$session->close;
	return;
}

sub value
{
	return outcome($node, 'postgres', @_);
}

# That they see what is done in other ways, and so mean something.
{
	my $session = SeqidSession->new($node);
	my $fault = sub {
		my %seen;

		run_block($session, { sql => $_[0] }, \%seen);
		return join ' ', map { s/ by: .*//sr } @{ $seen{faults} };
	};

	$node->safe_psql('postgres', 'CREATE TABLE naive AS SELECT id::int FROM generate_series(1, 1000) id');
	is($fault->("SET lock_timeout = '200ms'; ALTER TABLE naive ALTER id TYPE bigint"), 'naive was read naive was rewritten', 'guard: a rewrite');
	is($fault->("ALTER TABLE naive ALTER id SET NOT NULL"), 'naive was read', 'guard: a check of all rows');
	is($fault->("ALTER TABLE naive ADD CHECK (id > 0)"), 'naive was read', 'guard: a constraint');
	is($fault->("BEGIN; LOCK TABLE naive; SELECT count(*) FROM naive; COMMIT"), 'naive was read', 'guard: a query under a lock');
	is($fault->("ALTER TABLE naive ADD CHECK (id > 1 OR true) NOT VALID"), '', 'guard: a constraint for new rows');
	is($fault->("SET lock_timeout = 0; ALTER TABLE naive ALTER id SET DEFAULT 1"), 'naive was locked without a lock_timeout', 'guard: no lock_timeout');
	is($fault->("CREATE INDEX ON naive (id)"), 'naive was locked without a lock_timeout naive was read', 'guard: an index');
	$session->close;
}

#
# From bigserial and an identity
#

{
	my ($tables, $change, @rest) = SeqidPage::blocks('migration.md', 'From bigserial, or a bigint identity');

	$node->safe_psql('postgres', $tables->{sql});
	my $clients = start_clients(<<'SCRIPT', 'prepared');
\set n random(1, 20000)
BEGIN;
INSERT INTO orders (item) VALUES ('of a client') RETURNING id \gset
INSERT INTO parcels (order_id) VALUES (:id) RETURNING id AS parcel \gset
COMMIT;
UPDATE orders SET item = item WHERE id = :n;
SELECT 1 / count(*) FROM orders o JOIN parcels p ON p.order_id = o.id WHERE o.id = :id AND p.id = :parcel;
SCRIPT

	# Somebody is in a transaction that will not end: the step gives up, and the
	# clients, who wait behind it, go on.
	my $reader = SeqidSession->new($node);
	my $session = SeqidSession->new($node);
	$reader->query('BEGIN; SELECT count(*) FROM orders');
	like(run_block($session, $change, {}), qr/^55P03/, 'bigserial: a step that has to wait gives up');
	wait_for_clients($clients);
	$reader->close;
	$session->close;

	run_steps('bigserial', $clients, $change, @rest);
	stop_clients('bigserial', $clients);

	is(value("SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relname <> 'clock_mark'"), '0',
		'bigserial: no sequence is left');
	is(value("SELECT count(*) FILTER (WHERE id <= 20000) = 20000, count(*) FILTER (WHERE id > 20000 AND id < 1099511627776) > 0,
			count(*) FILTER (WHERE id >= 400000000000000000) > 0, count(*) = count(DISTINCT id) FROM orders"),
		't|t|t|t', 'bigserial: old ids are what they were, and new ones are snowflakes');
	is(value("SELECT max(id) FILTER (WHERE item <> 'of a client' AND item <> 'the first new one') FROM orders"), '20000',
		'bigserial: no old row has another id');
	is(value('SELECT bool_and(snowflake_shard(id) = 5) FROM parcels WHERE id > 1099511627776'), 't', 'identity: also the other table');
	is(value("INSERT INTO orders (id, item) VALUES (1099511627776, 'typed')"), '23514', 'bigserial: an id that is neither is refused');
	is(value('SELECT count(*) FROM parcels LEFT JOIN orders o ON o.id = order_id WHERE o.id IS NULL'), '0',
		'bigserial: every parcel has its order');
}

#
# From serial
#

{
	my ($tables, @steps) = SeqidPage::blocks('migration.md', 'From serial, or an integer identity');

	$node->safe_psql('postgres', "$tables->{sql}; CREATE TABLE before AS SELECT * FROM customers; CREATE TABLE visits_before AS SELECT * FROM visits");
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
	$prepared->query('PREPARE told AS SELECT id, name FROM customers WHERE id = 1');
	$prepared->query("PREPARE given AS INSERT INTO customers (name) VALUES ('prepared')");
	$prepared->query('EXECUTE told');
	$prepared->query('EXECUTE given');

	# The exchange, beside somebody who is in a transaction: nothing is half done.
	my ($exchange) = grep { $steps[$_]{sql} =~ /^LOCK TABLE/m } 0 .. $#steps;
	run_steps('serial', $clients, @steps[0 .. $exchange - 1]);
	my $reader = SeqidSession->new($node);
	my $session = SeqidSession->new($node);
	$reader->query('BEGIN; SELECT count(*) FROM visits');
	like(run_block($session, $steps[$exchange], {}), qr/^55P03/, 'serial: an exchange that has to wait gives up');
	is(value("SELECT count(*) FROM pg_trigger WHERE tgname = 'widen'"), '2', 'serial: and has changed nothing');
	wait_for_clients($clients);
	$reader->close;
	$session->close;

	run_steps('serial, exchange', $clients, @steps[$exchange .. $#steps]);
	stop_clients('serial', $clients);

	is($prepared->full_outcome('EXECUTE given'), '', 'serial: a prepared statement that does not return the column goes on');
	like($prepared->full_outcome('EXECUTE told'), qr/^0A000: cached plan must not change result type/,
		'serial: one that returns it fails, once');
	$prepared->query('DEALLOCATE told');
	is($prepared->full_outcome('SELECT id FROM customers WHERE id = 1'), '1', 'serial: and is prepared again');
	$prepared->close;

	is(value("SELECT string_agg(attrelid::regclass || '.' || attname || ' ' || atttypid::regtype || ' ' || attnotnull, ', '
			ORDER BY attrelid::regclass::text, attname) FROM pg_attribute
			WHERE attrelid IN ('customers'::regclass, 'visits'::regclass) AND attname LIKE '%id' AND attnum > 0 AND NOT attisdropped"),
		'customers.id bigint true, visits.customer_id bigint true, visits.id bigint true', 'serial: all are bigint');
	is(value("SELECT count(*) FROM before b LEFT JOIN customers c USING (id) WHERE c.name IS DISTINCT FROM b.name"), '0',
		'serial: every customer has the id that it had');
	is(value("SELECT count(*) FROM visits_before b LEFT JOIN visits v USING (id) WHERE v.customer_id IS DISTINCT FROM b.customer_id"), '0',
		'serial: and every visit its customer');
	is(value("SELECT count(*) FILTER (WHERE id > 20000 AND id < 1099511627776) > 0, count(*) FILTER (WHERE id >= 400000000000000000) > 0
			FROM customers"), 't|t', 'serial: new ids are snowflakes');
	is(value("SELECT string_agg(conname || ' ' || convalidated, ', ' ORDER BY conname) FROM pg_constraint
			WHERE conrelid IN ('customers'::regclass, 'visits'::regclass) AND contype <> 'n'"),
		'customers_pkey true, visits_customer_id_fkey true, visits_pkey true', 'serial: constraints have the names that they had');
	is(value("SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY indexrelid::regclass::text) FROM pg_index
			WHERE indrelid IN ('customers'::regclass, 'visits'::regclass)"),
		'customers_pkey true, visits_customer_id_idx true, visits_pkey true', 'serial: and indexes, too');
	is(value("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"), '0', 'serial: no trigger is left');
	is(value("SELECT to_regclass('customers_id_seq')"), '', 'serial: nor its sequence');
	is(value("INSERT INTO visits (customer_id) VALUES (0)"), '23503', 'serial: the foreign key holds');
	is(value("DELETE FROM customers WHERE id = 1; SELECT count(*) FROM visits WHERE customer_id = 1"), '0', 'serial: and cascades');
}

#
# From gen_random_uuid
#

{
	my ($tables, @steps) = SeqidPage::blocks('migration.md', 'From gen_random_uuid to COMBs');
	my ($rewriting) = grep { $steps[$_]{sql} =~ /DROP CONSTRAINT pages_document_id_fkey/ } 0 .. $#steps;

	$node->safe_psql('postgres', $tables->{sql});
	my $random = value('SELECT count(*), bool_or(comb_uuid_is_valid(id)) FROM documents');
	is($random, '20000|f', 'random UUIDs: so they are');
	my $clients = start_clients(<<'SCRIPT', 'prepared');
BEGIN;
INSERT INTO documents (title) VALUES ('of a client') RETURNING id \gset
INSERT INTO pages VALUES (:id, 1);
COMMIT;
SELECT 1 / count(*) FROM documents d JOIN pages p ON p.document_id = d.id WHERE d.id = :id;
SCRIPT
	run_steps('random UUIDs', $clients, @steps[0 .. $rewriting - 1]);
	stop_clients('random UUIDs', $clients);
	is(value("SELECT count(*) FILTER (WHERE comb_uuid_is_valid(id)) > 0, count(*) FILTER (WHERE NOT comb_uuid_is_valid(id)) >= 20000 FROM documents"),
		't|t', 'random UUIDs: both kinds in one column');

	# What is rewritten: each row has a COMB of its own time, and its pages follow.
	$node->safe_psql('postgres', 'CREATE TABLE documents_before AS SELECT * FROM documents');
	run_steps('random UUIDs, rewritten', undef, @steps[$rewriting .. $#steps]);
	is(value("SELECT count(*) FROM documents_before b LEFT JOIN documents_renamed r ON r.old_id = b.id
			JOIN documents d ON d.id = coalesce(r.new_id, b.id)
			WHERE d.title = b.title AND d.created_at = b.created_at
			  AND (r.new_id IS NULL OR comb_uuid_timestamp(d.id) = d.created_at)") eq value('SELECT count(*) FROM documents_before'), 1,
		'random UUIDs, rewritten: all are there, with their time');
	is(value('SELECT count(*) FROM pages p LEFT JOIN documents d ON d.id = document_id WHERE d.id IS NULL'), '0',
		'random UUIDs, rewritten: every page has its document');
	is(value("INSERT INTO documents (id) VALUES (gen_random_uuid())"), '23514', 'random UUIDs, rewritten: no more of them');
}

#
# From the core's uuidv7()
#

SKIP:
{
	skip 'uuidv7() comes with 18', 3 if value("SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'") eq '0';
	my ($change) = SeqidPage::blocks('migration.md', "From pg_uuidv7 and the core's uuidv7");

	is(value($change->{sql}), 't|t', 'uuidv7: old ones are COMBs, and new ones greater');
	is(value("SELECT count(*) FILTER (WHERE comb_uuid_timestamp(id) BETWEEN before - interval '1 us' AND after + interval '1 us') >= 990
			FROM (SELECT clock_timestamp() AS before, uuidv7() AS id, clock_timestamp() AS after FROM generate_series(1, 1000)) v"),
		't', 'uuidv7: they tell their microsecond');
	is(value("SELECT bool_and(id < comb_uuid_first(clock_timestamp() + interval '1 ms')) FROM letters"), 't', 'uuidv7: and are in ranges');
}

$node->stop;
done_testing();
