# seqid.adopt() of tables that clients write to: no client gets an error, every committed
# row is there with its foreign keys, and a crash, a cancelled call and a call that cannot
# lock the table leave the table as it was.
#
# SQL alone has no concurrent clients, and no crash.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

use List::Util qw(max);

my $directory = PostgreSQL::Test::Utils::tempdir;
my $node = new_server('shop', conf => "log_line_prefix = '[%a] '\n");

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE customers (id bigserial PRIMARY KEY);
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customers);
CREATE TABLE events (id bigserial, at timestamptz DEFAULT clock_timestamp(), customer_id bigint NOT NULL REFERENCES customers,
	PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_old PARTITION OF events FOR VALUES FROM (MINVALUE) TO ('2025-01-01');
CREATE TABLE events_new PARTITION OF events FOR VALUES FROM ('2025-01-01') TO (MAXVALUE);
CREATE TABLE documents (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), customer_id bigint NOT NULL REFERENCES customers);
SQL

#
# Under load
#
append_to_file("$directory/script", <<'SCRIPT');
BEGIN;
INSERT INTO customers DEFAULT VALUES RETURNING id \gset
INSERT INTO orders (customer_id) VALUES (:id) RETURNING id AS order \gset
INSERT INTO events (customer_id) VALUES (:id);
INSERT INTO events_new (customer_id) VALUES (:id);
INSERT INTO documents (customer_id) VALUES (:id);
COMMIT;
SELECT 1 / count(*) FROM customers JOIN orders o ON customer_id = customers.id WHERE o.id = :order;
SCRIPT

my $logged = -s $node->logfile;
my $clients = do
{
	local $ENV{PGAPPNAME} = 'client';

	spawn("$directory/output", 'pgbench', '-n', '-c4', '-T600', '-Mprepared', '-f', "$directory/script",
		'-l', "--log-prefix=$directory/latencies", $node->connstr('postgres'));
};

# Waits until clients have written rows; dies if they have ended.
sub wait_for_rows
{
	my $before = $node->safe_psql('postgres', 'SELECT max(customer_id) FROM orders');

	$node->poll_query_until('postgres', "SELECT count(*) > 100 FROM customers WHERE id > '$before'")
	  or die slurp_file("$directory/output");
}

# The outcome of a call, without what it prints.
sub adopt
{
	return outcome($node, "CALL seqid.adopt($_[0])");
}

$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM orders') or die 'no rows';
wait_for_rows();
my @calls = (
	map({ "'$_', 'snowflake', shard => 5, drop_sequence => true" } qw(customers orders events)),
	"'documents', 'comb_uuid'",
	map({ "'$_', 'settled_nextval'" } qw(customers orders events)),
	map({ "'$_', 'nextval'" } qw(customers orders events)),
	"'documents', 'gen_random_uuid'");
for my $call (@calls)
{
	is(adopt($call), '', "$call: beside clients");
	wait_for_rows();
}

# A transaction that has read the table: the call gives up, and the clients go on.
my $reader = SeqidSession->new($node);
$reader->query('BEGIN; SELECT count(*) FROM events_old');
like(full_outcome($node, "CALL seqid.adopt('events', 'snowflake', shard => 5, attempts => 2)"),
	qr/^55P03: could not lock table public\.events$/, 'a table that is locked: refused');
my (undef, undef, $error) = $node->psql('postgres', "CALL seqid.adopt('events', 'snowflake', shard => 5, attempts => 1)");
like($error, qr/DETAIL:.*first: $reader->{pid}\b/, 'the process that holds the lock is named first');
wait_for_rows();

# More attempts outlast the transaction.
my $caller = SeqidSession->new($node);
$caller->send("CALL seqid.adopt('events', 'snowflake', shard => 5, attempts => 1000)");
wait_until($node, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $caller->{pid}");
$reader->query('COMMIT');
is($caller->answer, '', 'a later attempt locks the table');
unlike($caller->errors, qr/ERROR/, 'a later attempt: no error');
wait_for_rows();

kill 'INT', -$clients;
waitpid $clients, 0;
is(join("\n", slurp_file($node->logfile, $logged) =~ /^\[client\] ERROR:.*/mg), '', 'no client got an error');
is(outcome($node, <<'SQL'), 't|t|t|0', 'every row is there');
SELECT count(*) > 0, count(*) = (SELECT count(*) FROM orders), 2 * count(*) = (SELECT count(*) FROM events),
	count(*) - (SELECT count(*) FROM documents) FROM customers
SQL
is(outcome($node, 'SELECT count(*) > 0, count(DISTINCT id) - count(*) FROM events'), 't|0', 'all keys are distinct');
is(outcome($node, 'SELECT count(DISTINCT CASE WHEN id < 1e12 THEN 1 WHEN snowflake_shard(id) = 5 THEN 5 END) FROM events'), '2', 'of all generators');
my @latencies = map { (split)[2] } map { split /\n/, slurp_file($_) } glob "$directory/latencies.*";
note(sprintf 'longest of %d transactions of clients: %d ms', scalar @latencies, max(@latencies) / 1000);

#
# In the middle: an event trigger stops the call after its second statement.
#
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parcels (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
INSERT INTO parcels SELECT FROM generate_series(1, 100);
CREATE FUNCTION stop() RETURNS event_trigger LANGUAGE plpgsql SET lock_timeout = 0
	AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); END $$;
CREATE EVENT TRIGGER stop ON ddl_command_end WHEN TAG IN ('CREATE SEQUENCE') EXECUTE FUNCTION stop();
SQL

my $state = q{SELECT attidentity, (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid),
	pg_get_serial_sequence('parcels', 'id'), (SELECT count(*) FROM parcels)
  FROM pg_attribute WHERE attrelid = 'parcels'::regclass AND attname = 'id'};
my $before = outcome($node, $state);

sub stop_in_the_middle
{
	my ($holder, $caller) = map { SeqidSession->new($node) } 1 .. 2;

	$holder->query('SELECT pg_advisory_lock(1)');
	$caller->send("CALL seqid.adopt('parcels', 'settled_nextval')");
	wait_until_blocked($node, $caller);
	return ($holder, $caller);
}

my ($holder, $stopped) = stop_in_the_middle();
$node->safe_psql('postgres', "SELECT pg_cancel_backend($stopped->{pid})");
$stopped->answer;
like($stopped->errors, qr/57014/, 'cancelled: the call ends');
is(outcome($node, $state), $before, 'cancelled: the table is as it was');
$_->close for $holder, $stopped;

($holder, $stopped) = stop_in_the_middle();
$node->kill9;
SeqidTest::start_again($node);
is(outcome($node, $state), $before, 'crashed: the table is as it was');
$node->safe_psql('postgres', 'DROP EVENT TRIGGER stop');
is(adopt("'parcels', 'settled_nextval'"), '', 'once more');
is(outcome($node, 'INSERT INTO parcels DEFAULT VALUES RETURNING id > 100'), 't', 'once more: keys go on');

# A key that is not committed when the call begins
($holder, my $waiting) = map { SeqidSession->new($node) } 1 .. 2;
$holder->query('BEGIN; INSERT INTO parcels VALUES (5000)');
$waiting->send("CALL seqid.adopt('parcels', 'nextval')");
wait_until_blocked($node, $waiting);
$holder->query('COMMIT');
is($waiting->answer, '', 'a key that commits meanwhile: no error');
is(outcome($node, 'INSERT INTO parcels DEFAULT VALUES RETURNING id'), '5001', 'a key that commits meanwhile: keys go on above it');

# CREATE INDEX has this lock.  It could add a function of the table's owner after the check
# for such functions.
$holder->query('BEGIN; LOCK TABLE parcels IN SHARE MODE');
like(full_outcome($node, "CALL seqid.adopt('parcels', 'snowflake', shard => 5, dry_run => true)"),
	qr/^55P03: could not lock table public\.parcels$/, 'the table cannot change while it is checked');
$holder->query('COMMIT');
$_->close for $holder, $waiting;

# The server cancels an autovacuum that is in the way, but only after deadlock_timeout.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE vacuumed (id bigserial PRIMARY KEY, filler text)
	WITH (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1, autovacuum_vacuum_insert_threshold = 1);
INSERT INTO vacuumed (filler) SELECT repeat('x', 1000) FROM generate_series(1, 10000);
SQL
$node->append_conf('postgresql.conf', "autovacuum = on\nautovacuum_naptime = 1s\ndeadlock_timeout = 300ms\n");
$node->reload;
$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_progress_vacuum WHERE relid = 'vacuumed'::regclass") or die 'no autovacuum';
is(adopt("'vacuumed', 'snowflake', shard => 5, attempts => 3"), '', 'beside autovacuum');
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->reload;

# A copy of the database has tables with the same OIDs.
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE postgres');
my $copy = SeqidSession->new($node, 'copy');
$holder = SeqidSession->new($node);
$_->query('BEGIN; SELECT count(*) FROM parcels') for $copy, $holder;
(undef, undef, $error) = $node->psql('postgres', "CALL seqid.adopt('parcels', 'snowflake', shard => 5, attempts => 1)");
like($error, qr/DETAIL:.*first: $holder->{pid}\.$/m, 'no process of another database is named');
$_->query('COMMIT') for $copy, $holder;
$_->close for $copy, $holder;

#
# Dropped or renamed by a transaction that the call waits for
#
for my $case ([ 'DROP TABLE parcels', '42' ], [ 'ALTER TABLE orders RENAME TO renamed', '' ])
{
	my ($ddl, $expected) = @$case;
	my ($table) = $ddl =~ /TABLE (\w+)/;
	my ($other, $caller) = map { SeqidSession->new($node) } 1 .. 2;

	$other->query('BEGIN');
	$other->query($ddl);
	$caller->send("CALL seqid.adopt('$table', 'snowflake', shard => 5)");
	wait_until_blocked($node, $caller);
	$other->query('COMMIT');
	$caller->answer;
	my $errors = $caller->errors;
	is($errors =~ /ERROR:  (\w\w)/ ? $1 : '', $expected, "$ddl meanwhile");
	$_->close for $other, $caller;
}
is(outcome($node, 'INSERT INTO renamed (customer_id) SELECT min(id) FROM customers RETURNING snowflake_shard(id)'), '5', 'the renamed table has changed');

# dumped and restored
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_dump', '-f', "$directory/dump", $node->connstr('postgres') ], 'dumped');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$directory/dump", '-d', $node->connstr('restored') ], 'restored');
is(outcome($node, 'restored', 'INSERT INTO renamed (customer_id) SELECT min(id) FROM customers RETURNING snowflake_shard(id)'), '5', 'restored: keys go on');

$node->stop;
done_testing();
