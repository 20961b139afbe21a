# uses.pl
#	  Extensions at work on a table whose keys are snowflakes.
#
# pg_repack moves the table, PgQ and table_log log its changes, periods keeps its history,
# plpgsql_check reads a function that calls seqid, pldebugger stops one, pg_fact_loader sums up by
# the time in keys, and PoWA sees its statements.  What is not installed is skipped.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..", $FindBin::RealBin;
use SeqidNeighbours;
use SeqidTest;

# PoWA's worker takes no snapshots.
my ($directory) = run_command([ 'pg_config', '--pkglibdir' ]);
my $libraries = join ', ', 'pg_stat_statements', grep { -f "$directory/$_.so" } qw(powa plugin_debugger);
my $node = new_server('main', extension => 0, conf => "shared_preload_libraries = '$libraries'\npowa.frequency = -1\n");

# use_of($extension => sub ($database) { ... }): with an empty table of keys, and one of keys
# in a row of 100.
sub use_of ($extension, $check)
{
	my $available = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = '$extension'");

	SKIP:
	{
		skip "$extension is not installed", 1 unless $available;
		$node->safe_psql('postgres', "CREATE DATABASE $extension");
		$node->safe_psql($extension, 'CREATE EXTENSION seqid;
			CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text);
			SET client_min_messages = error; ' . create($extension));
		$check->($extension);
		is(errors_of($node, $extension, 'INSERT INTO orders (item) VALUES (1)', 'DROP EXTENSION seqid CASCADE'), '', "$extension: seqid is dropped");
	}
}

use_of(pg_repack => sub ($database) {
	my $rows = 'SELECT count(*), sum(id - 515200165452206080) FROM orders WHERE item = $$old$$';
	my $file = "SELECT pg_relation_filenode('orders')";
	my $writer = SeqidSession->new($node, $database);
	my $keys = PostgreSQL::Test::Utils::tempdir . '/keys';

	$node->safe_psql($database, q{INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 5000);
		DELETE FROM orders WHERE id % 2 = 0});
	my ($before, $old_file) = map { $node->safe_psql($database, $_) } $rows, $file;
	append_to_file("$keys.sql", "INSERT INTO orders (item) VALUES ('new') RETURNING id;\n" x 20000);
	$writer->query("\\o $keys");
	$writer->send("\\i $keys.sql");
	poll_until { (-s $keys // 0) > 1000 } or die 'no keys';
	command_ok([ 'pg_repack', '--table=orders', '--host', $node->host, '--port', $node->port, '--dbname', $database ],
		'pg_repack: runs while keys are generated');
	isnt($node->safe_psql($database, $file), $old_file, 'pg_repack: the table has a new file');
	is($node->safe_psql($database, "SELECT pg_cancel_backend($writer->{pid})"), 't', 'pg_repack: the writer ends');
	$writer->abandon;
	poll_until { $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $writer->{pid}") == 0 };
	is($node->safe_psql($database, $rows), $before, 'pg_repack: the keys are as they were');
	my @keys = slurp_file($keys) =~ /^(\d+)\n/mg;
	my $list = join ',', @keys;
	is($node->safe_psql($database, "SELECT count(*) FROM orders WHERE item = 'new' AND id = ANY ('{$list}')"),
		scalar(@keys), 'pg_repack: all new rows are there');
});

my $place = q{CREATE FUNCTION place(item text) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		bound record;
		key bigint;
	BEGIN
		key := snowflake_nextval(5);
		EXECUTE 'CALL seqid.horizon()' INTO bound;
		INSERT INTO orders VALUES (key, item || snowflake_timestamp(key) || comb_uuid() || bound.snowflake);
		RETURN key;
	END $$};

use_of(pldbgapi => sub ($database) {
	$node->safe_psql($database, $place);
	my ($debugger, $debugged) = map { SeqidSession->new($node, $database) } 1 .. 2;
	my $listener = $debugger->query('SELECT pldbg_create_listener()');
	$debugger->query("SELECT pldbg_set_global_breakpoint($listener, 'place(text)'::regprocedure, NULL, NULL)");
	$debugged->send("SELECT place('debugged')");
	$debugger->query("SELECT pldbg_$_($listener)") for qw(wait_for_target wait_for_breakpoint step_over);
	my ($shard, $key) = split /\|/, $debugger->query("SELECT snowflake_shard(value::bigint), value FROM pldbg_get_variables($listener) WHERE name = 'key'");
	is($shard, 5, 'pldebugger: shows the key');
	$debugger->send("SELECT pldbg_continue($listener)");
	is($debugged->answer, $key, 'pldebugger: the function goes on');
	$_->abandon for $debugger, $debugged;
});

# What is done before 50 rows are inserted, what after, and a query with its answer.
my %work = (
	plpgsql_check => [ 'reads a function, and finds a wrong call', "$place; CREATE FUNCTION wrong() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN snowflake_nextval(5, 6, 7); END'", '',
		"SELECT (SELECT count(*) FROM plpgsql_check_function('place(text)', other_warnings => false)),
			(SELECT bool_or(line LIKE '%snowflake_nextval%') FROM plpgsql_check_function('wrong()') line)", '0|t' ],
	pg_fact_loader => [ 'counts by the time in the keys', q{CREATE TABLE items (day date PRIMARY KEY, items bigint);
		CREATE FUNCTION count_items() RETURNS void LANGUAGE sql AS $$
			INSERT INTO items SELECT snowflake_timestamp(id)::date, count(*) FROM orders GROUP BY 1 $$;
		INSERT INTO fact_loader.fact_tables (fact_table_relid, enabled, use_daily_schedule, daily_scheduled_time, daily_scheduled_tz, daily_scheduled_proid)
			VALUES ('items', true, true, '00:00', 'UTC', 'count_items'::regproc)}, 'SELECT fact_loader.worker()', 'SELECT sum(items) FROM items', 50 ],
	pgq => [ 'each row is an event, with its key', q{SELECT pgq.create_queue('orders'), pgq.register_consumer('orders', 'reader');
		CREATE TRIGGER to_queue AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION pgq.logutriga('orders')},
		'SELECT pgq.force_tick($$orders$$); SELECT pgq.ticker($$orders$$)',
		q{SELECT count(*) FROM pgq.get_batch_events(pgq.next_batch('orders', 'reader')) e JOIN orders o ON e.ev_data = 'id=' || o.id || '&item=' || o.item}, 50 ],
	periods => [ 'the history has the keys', "SELECT periods.add_system_time_period('orders'); SELECT periods.add_system_versioning('orders')",
		"UPDATE orders SET item = item || 'a'", "SELECT count(*) FROM orders o JOIN orders_history h USING (id) WHERE o.item = h.item || 'a'", 50 ],
	table_log => [ 'the log has the keys', "SELECT table_log_init(5, 'public', 'orders', 'public', 'orders_log')",
		'DELETE FROM orders', 'SELECT count(DISTINCT id), min(snowflake_shard(id)) FROM orders_log', '50|5' ],
	powa => [ 'a snapshot has its statements', '', 'SELECT powa_take_snapshot()', "SELECT count(*) > 0 FROM powa_statements WHERE query LIKE 'INSERT INTO orders%'", 't' ]);

for my $extension (sort keys %work)
{
	my ($what, $before, $after, $query, $answer) = @{ $work{$extension} };

	use_of($extension => sub ($database) {
		$node->safe_psql($database, $_) for $before, 'INSERT INTO orders (item) SELECT n FROM generate_series(1, 50) n', $after;
		is($node->safe_psql($database, $query), $answer, "$extension: $what");
	});
}

done_testing();
