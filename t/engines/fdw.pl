# Partitions on two servers, by postgres_fdw, as docs/sharding.md says.
#
# The router has foreign tables as partitions.  The server that plans an INSERT
# evaluates the default, so its shard is in the key, wherever the row is stored.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../../docs/sharding.md");
my $old = new_server('old', conf => "seqid.shards = '20'");
my $new = new_server('new', conf => "seqid.shards = '21'");
my $router = new_server('router', conf => "seqid.shards = '30'");

# wait_for_bound($id): until the horizon of the router is beyond the id.
sub wait_for_bound ($id)
{
	wait_until($router, "CALL seqid.horizon() \\gset\nSELECT :snowflake > $id") or die 'the horizon stands still';
}

# Whether a row is on the old server.
sub stored ($id)
{
	return outcome($old, "SELECT count(*) FROM events WHERE id = $id");
}

for my $node ($old, $new)
{
	$node->safe_psql('postgres', q{
		CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), note text NOT NULL);
		CREATE TABLE carts (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), customer bigint);});
}

# is_plan($tables, $query, $name): the foreign tables that a plan of the router scans.
sub is_plan ($tables, $query, $name)
{
	my $plan = $router->safe_psql('postgres', "EXPLAIN (COSTS off) $query");

	is(join(' ', $plan =~ /Foreign Scan on (\w+)/g), $tables, $name);
}

# By time: rows of before 2026 on one server, later rows on the other
$router->safe_psql('postgres', $page->sql('fdw-by-time'));
for my $node ($old, $new)
{
	my ($name, $host, $port) = ($node->name, $node->host, $node->port);

	$router->safe_psql('postgres', "ALTER SERVER $name OPTIONS (SET host '$host', ADD port '$port', SET dbname 'postgres')");
}
$router->safe_psql('postgres', q{
	CREATE FOREIGN TABLE no_default (id bigint, note text) SERVER new OPTIONS (table_name 'events');
	CREATE FOREIGN TABLE no_column (note text) SERVER new OPTIONS (table_name 'events');
	INSERT INTO events (note) SELECT 'today' FROM generate_series(1, 1000);
	INSERT INTO events SELECT snowflake_make('2025-06-01 00:00+00', 30, n), 'backfilled' FROM generate_series(1, 500) n;});
is(outcome($new, "SELECT count(*) FROM events WHERE note = 'today'"),
	1000, 'rows of today are on the new server');
is(outcome($old, "SELECT count(*) FROM events WHERE note = 'backfilled'"),
	500, 'rows of last year are on the old server');
is(outcome($new, 'SELECT DISTINCT snowflake_shard(id) FROM events'), 30,
	'the router evaluates its default');

is(outcome($router, "INSERT INTO no_default (note) VALUES ('refused')"),
	23502, 'a foreign table without a default sends NULL');
$router->safe_psql('postgres', "INSERT INTO no_column VALUES ('by the server')");
$new->safe_psql('postgres', "INSERT INTO events (note) VALUES ('directly')");
is(outcome($router, "SELECT snowflake_shard(id) FROM events WHERE note = 'by the server'"),
	21, 'the server evaluates its default for a foreign table without the column');
is(outcome($router, "SELECT snowflake_shard(id) FROM events WHERE note = 'directly'"),
	21, 'a row that is inserted on the server has its shard');

my $one = "FROM events WHERE id = snowflake_make('2025-06-01 00:00+00', 30, 7)";
is_plan('events_new', "SELECT * FROM events WHERE id >= snowflake_first('2026-03-01 00:00+00')
	AND id < snowflake_first('2026-04-01 00:00+00')", 'a range of time reads one server');
is_plan('events_old', "SELECT * $one", 'a key reads one server');
is(outcome($router, "SELECT note $one"), 'backfilled', 'a key finds its row');
like(outcome($router, 'EXPLAIN (VERBOSE) SELECT * FROM events_new WHERE snowflake_shard(id) = 30'),
	qr/Remote SQL: .* WHERE \(\(public\.snowflake_shard\(id\) = 30\)\)$/m,
	'the server evaluates the condition on the shard');

# By shard: the INSERT chooses the server.  The servers must not issue the shards that
# the router issues for them.
for my $node ($old, $new)
{
	$node->append_conf('postgresql.conf', "seqid.allowed_shards = '0-19, 22-1023'");
	$node->restart;
}
is(outcome($old, 'INSERT INTO carts (customer) VALUES (1)'),
	55000, 'a server does not issue a shard of the router');
$router->safe_psql('postgres', $page->sql('fdw-by-shard'));
is(outcome($router, 'INSERT INTO carts VALUES (snowflake_nextval(), 1)'),
	23514, 'no partition has the shard of the router');
is(outcome($router, 'SELECT bool_and(snowflake_shard(id) = 20 + jump_hash(customer, 2)) AND count(*) = 1000 FROM carts'),
	't', 'jump_hash chooses the server of a row');
is(outcome($old, 'SELECT DISTINCT snowflake_shard(id) FROM carts'), 20, 'a server has the rows of its shard');

my $id = $router->safe_psql('postgres', 'SELECT max(id) FROM carts_21');
is_plan('carts_20 carts_21', "SELECT * FROM carts WHERE id = $id", 'a key alone reads both servers');
is_plan('carts_21', "SELECT * FROM carts WHERE id = $id AND snowflake_shard(id) = snowflake_shard($id)",
	'a key with its shard reads one server');

# The horizon of the router: the second read in one transaction uses the remote snapshot
# of the first, although the transaction is READ COMMITTED.
my $reader = SeqidSession->new($router);
my $read = $page->sql('fdw-read');
my $late = sub { $reader->query($read) =~ /late/ ? 'found' : 'missed' };
$reader->query("BEGIN;\n$read");
wait_for_bound(outcome($router, "INSERT INTO events (note) VALUES ('late') RETURNING id"));
is($late->() . $reader->errors, 'missed', 'a second read in a transaction misses a row below the horizon');
$reader->query('COMMIT');
is($late->() . $reader->errors, 'found', 'one read in a transaction finds it');
$reader->close;

#
# A reader of rows whose keys another server has generated.  The servers
# have the function run_command_on_all_nodes() of Citus, by dblink.
#
$_->append_conf('postgresql.conf', 'max_prepared_transactions = 5') for $old, $new, $router;
$_->restart for $old, $new, $router;
my $dsns = join ', ', map { "('" . $_->connstr('postgres') =~ s/'/''/gr . "')" } $old, $new, $router;
$router->safe_psql('postgres', "CREATE EXTENSION dblink; CREATE FUNCTION run_command_on_all_nodes(command text)
	RETURNS TABLE (nodeid int, success bool, result text) LANGUAGE plpgsql AS \$\$
	DECLARE dsn text;
	BEGIN
		nodeid := 0;
		FOR dsn IN VALUES $dsns LOOP
			nodeid := nodeid + 1;
			BEGIN
				SELECT true, r INTO success, result FROM dblink(dsn, command) t (r text);
			EXCEPTION WHEN OTHERS THEN
				success := false;
				result := SQLERRM;
			END;
			RETURN NEXT;
		END LOOP;
	END \$\$");
my $procedure = slurp_file("$FindBin::RealBin/../../examples/citus/settled.sql");
like(outcome($router, $procedure . 'CALL citus_settled()'), qr/^P0001$/, 'a node without the function: no bound');
$_->safe_psql('postgres', $procedure) for $old, $new;

my $key = outcome($router, 'SELECT snowflake_nextval()');
outcome($old, "BEGIN; INSERT INTO events VALUES ($key, 'prepared'); PREPARE TRANSACTION 'phase'");
wait_for_bound($key);
is(stored($key), 0, 'two phases: below the horizon of the router a row is missed');
my $caller = SeqidSession->new($router);
$caller->send('CALL citus_settled()');
ok($caller->waits_for($router, 'PgSleep'), 'two phases: the procedure waits');
outcome($old, "COMMIT PREPARED 'phase'");
cmp_ok($caller->answer, '>', $key, 'two phases: the bound is beyond the row');
is(stored($key), 1, 'two phases: which is there');

# A worker that generates keys
my $worker = SeqidSession->new($new);
my $late_key = $worker->query('BEGIN; INSERT INTO events VALUES (snowflake_nextval(5), $$worker$$) RETURNING id');
wait_for_bound($late_key);
$caller->send('CALL citus_settled()');
ok($caller->waits_for($router, 'PgSleep'), 'the procedure waits for a worker that writes');
$worker->query('COMMIT');
$worker->close;
cmp_ok($caller->answer, '<=', $late_key, 'the least horizon is not beyond the key of a worker');
is($caller->outcome("BEGIN; SELECT 1 FROM pg_current_xact_id(); CALL citus_settled()") =~ s/^1\n//r, 'P0001', 'a caller that has written would wait for itself');
$caller->query('ROLLBACK');

#
# Without two phases: the router is killed during a slow COMMIT on the server.
#
$old->safe_psql('postgres', q{
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()});
$router->safe_psql('postgres', q{CREATE FOREIGN TABLE slow (id bigint, note text) SERVER old OPTIONS (table_name 'events')});
$old->safe_psql('postgres', $page->sql('key-locks'));
my $slow = SeqidSession->new($old);
my $killed = SeqidSession->new($router);
$slow->query('SELECT pg_advisory_lock(1)');
$key = $killed->query('SELECT snowflake_nextval() AS key \gset' . "\nSELECT :key");
$killed->send("BEGIN; SELECT snowflake_nextval() AS key \\gset\nSELECT 'key ' || :key;\nINSERT INTO slow VALUES (:key, 'slow'); COMMIT");
poll_until { $killed->so_far =~ /^key (\d+)$/m and $key = $1 } or die 'no key';
wait_until($old, q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) or die 'no slow COMMIT';
cmp_ok(outcome($router, "CALL seqid.horizon() \\gset\nSELECT :snowflake"), '<=', $key, 'a COMMIT that is under way holds the horizon');
outcome($router, "SELECT pg_terminate_backend($killed->{pid})");
wait_for_bound($key);
is(stored($key), 0, 'the router is killed: below its horizon the row is missed');
is(outcome($old, 'SELECT count(*) FROM pg_prepared_xacts'), 0, 'no transaction is prepared');
my $running = sub { return split /\n/, outcome($old, $page->sql('running')) };
my @running = $running->();
cmp_ok(@running, '>', 0, 'but its transaction runs on the server');
my $key_bound = "\\set snowflake 9223372036854775807\n" . $page->sql('key-bound');
cmp_ok(outcome($old, $key_bound), '<=', $key, 'the lock of the key lowers the bound');
cmp_ok(outcome($old, $key_bound), '>', $key - (1 << 32), 'to its time');
$caller->send('CALL citus_settled()');
ok($caller->waits_for($router, 'PgSleep'), 'the procedure waits for it');
$slow->query('SELECT pg_advisory_unlock(1)');
ok( poll_until
	{
		my %still = map { $_ => 1 } $running->();

		!grep { $still{$_} } @running;
	},
	'and ends');
cmp_ok($caller->answer, '>', $key, 'the bound is beyond the row');
is(stored($key), 1, 'then the row is not missed');
is(outcome($old, $key_bound), 9223372036854775807, 'and no lock lowers the bound');

# The condition: a row that is inserted after its key's transaction has ended.
$old->safe_psql('postgres', 'DROP TRIGGER hold ON events');
$key = outcome($router, 'SELECT snowflake_nextval()');
wait_for_bound($key);
cmp_ok($caller->query('CALL citus_settled()'), '>', $key, 'a key whose transaction has ended does not hold the bound');
outcome($old, "INSERT INTO events VALUES ($key, 'too late')");
is(stored($key), 1, 'a row that is inserted later appears below the bound');
is($caller->errors, '', 'no call fails');
$_->close for $caller, $slow;

# DROP EXTENSION drops the tables whose partition key needs it.
$router->safe_psql('postgres', 'CREATE TABLE carts_local PARTITION OF carts FOR VALUES IN (30); INSERT INTO carts VALUES (snowflake_nextval(), 1);
	DROP EXTENSION seqid CASCADE');
is(outcome($router, "SELECT concat(to_regclass('carts'), to_regclass('carts_20'), to_regclass('carts_local'))"), '', 'the tables of the router are dropped');
is(outcome($old, 'SELECT count(*) > 0 FROM carts'), 't', 'rows stay on the servers');

done_testing();
