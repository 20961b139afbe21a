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
my ($old, $new, $router) = map { new_server($_->[0], conf => "seqid.shards = '$_->[1]'") }
  [ old => 36 ], [ new => 37 ], [ router => 32 ];

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

# is_plan($tables, $query, $name): the foreign tables that a plan of the router scans.
sub is_plan ($tables, $query, $name)
{
	my $plan = $router->safe_psql('postgres', "EXPLAIN (COSTS off) $query");

	is(join(' ', $plan =~ /Foreign Scan on (\w+)/g), $tables, $name);
}

# By time: rows of before 2026 on one server, later rows on the other
$_->safe_psql('postgres', q{
	CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), note text NOT NULL);
	CREATE TABLE carts (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), customer bigint)}) for $old, $new;
$router->safe_psql('postgres', $page->sql('fdw-by-time'));
for my $node ($old, $new)
{
	my ($name, $host, $port) = ($node->name, $node->host, $node->port);

	$router->safe_psql('postgres',
		"ALTER SERVER $name OPTIONS (SET host '$host', ADD port '$port', SET dbname 'postgres')");
}
$router->safe_psql('postgres', q{
	CREATE FOREIGN TABLE no_default (id bigint, note text) SERVER new OPTIONS (table_name 'events');
	CREATE FOREIGN TABLE no_column (note text) SERVER new OPTIONS (table_name 'events');
	INSERT INTO events
		SELECT snowflake_make('2025-06-01 00:00+00', 32, n), 'backfilled' FROM generate_series(1, 500) n});
is(stored("snowflake_make('2025-06-01 00:00+00', 32, 7)"), 1, 'a row of last year is on the old server');

# Where a row is inserted, and whose shard its id has
for ([ $router, 'events', 32 ], [ $router, 'no_default', 23502 ], [ $router, 'no_column', 37 ], [ $new, 'events', 37 ])
{
	my ($node, $table, $shard) = @$_;
	my $error = outcome($node, "INSERT INTO $table (note) VALUES ('$table')");

	is($error || outcome($new, 'SELECT snowflake_shard(max(id)) FROM events'),
		$shard, $node->name . ", $table: the shard of a new row");
}

is_plan('events_new', "SELECT * FROM events WHERE id >= snowflake_first('2026-03-01 00:00+00')
	AND id < snowflake_first('2026-04-01 00:00+00')", 'a range of time reads one server');
like(outcome($router, 'EXPLAIN (VERBOSE) SELECT * FROM events_new WHERE snowflake_shard(id) = 32'),
	qr/Remote SQL: .* WHERE \(\(public\.snowflake_shard\(id\) = 32\)\)$/m,
	'the server evaluates the condition on the shard');

# By shard: the INSERT chooses the server.
$router->safe_psql('postgres', $page->sql('fdw-by-shard'));
is(outcome($router, 'SELECT count(*) FROM carts WHERE snowflake_shard(id) = 36 + jump_hash(customer, 2)'),
	1000, 'jump_hash chooses the server of a row');

my $id = $router->safe_psql('postgres', 'SELECT max(id) FROM carts_37');
is_plan('carts_36 carts_37', "SELECT * FROM carts WHERE id = $id", 'a key alone reads both servers');
is_plan('carts_37', "SELECT * FROM carts WHERE id = $id AND snowflake_shard(id) = snowflake_shard($id)",
	'a key with its shard reads one server');

# The horizon of the router: the second read in one transaction uses the remote snapshot
# of the first, although the transaction is READ COMMITTED.
my $reader = SeqidSession->new($router);
my $read = "\\set last 0\n" . $page->sql('fdw-read');
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

# A worker that generates keys
my $worker = SeqidSession->new($new);
my $caller = SeqidSession->new($router);
my $late_key = $worker->query('BEGIN; INSERT INTO events VALUES (snowflake_nextval(5), $$worker$$) RETURNING id');
wait_for_bound($late_key);
$caller->send('CALL citus_settled()');
ok($caller->waits_for($router, 'PgSleep'), 'the procedure waits for a worker that writes');
$worker->query('COMMIT');
$worker->close;
cmp_ok($caller->answer, '<=', $late_key, 'the least horizon is not beyond the key of a worker');
is($caller->outcome("BEGIN; SELECT 1 FROM pg_current_xact_id(); CALL citus_settled()") =~ s/^1\n//r, 'P0001',
	'a caller that has written would wait for itself');
$caller->query('ROLLBACK');

#
# The router is killed during a slow COMMIT on the server, without two phases.
#
$old->safe_psql('postgres', q{
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON events
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold();});
$router->safe_psql('postgres',
	q{CREATE FOREIGN TABLE slow (id bigint, note text) SERVER old OPTIONS (table_name 'events')});
my ($slow, $killed) = (SeqidSession->new($old), SeqidSession->new($router));
my $key;
$slow->query('SELECT pg_advisory_lock(1)');
$killed->send("BEGIN; SELECT snowflake_nextval() AS key \\gset\nSELECT 'key ' || :key;
INSERT INTO slow VALUES (:key, 'slow'); COMMIT");
poll_until { $killed->so_far =~ /^key (\d+)$/m and $key = $1 } or die 'no key';
wait_until($old, q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted})
  or die 'no slow COMMIT';
outcome($router, "SELECT pg_terminate_backend($killed->{pid})");
wait_for_bound($key);
is(stored($key), 0, 'the router is killed: below its horizon the row is missed');
my ($running) = outcome($old, $page->sql('running')) =~ /^(\d+)$/ or fail('its transaction runs on the server');
$caller->send('CALL citus_settled()');
ok($caller->waits_for($router, 'PgSleep'), 'the procedure waits for it');
$slow->query('SELECT pg_advisory_unlock(1)');
cmp_ok($caller->answer, '>', $key, 'the bound is beyond the row');
is(stored($key), 1, 'then the row is not missed');
unlike(outcome($old, $page->sql('running')), qr/^$running$/m, 'its transaction has ended');
$_->close for $caller, $slow;

# DROP EXTENSION drops the tables whose partition key needs it.
$router->safe_psql('postgres', 'DROP EXTENSION seqid CASCADE');
is(outcome($router, "SELECT concat(to_regclass('carts'), to_regclass('carts_36'))"),
	'', 'the tables of the router are dropped');
is(outcome($old, 'SELECT count(*) > 0 FROM carts'), 't', 'rows stay on the servers');

done_testing();
