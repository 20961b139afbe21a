# uses.pl
#	  Extensions at work on a table whose keys are snowflakes.
#
# pg_repack moves the table, PgQ and table_log log its changes, periods keeps its history,
# plpgsql_check reads a function that calls seqid, and PoWA sees its statements.  What is not
# installed is skipped.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

# PoWA's worker takes no snapshots.
my ($directory) = run_command([ 'pg_config', '--pkglibdir' ]);
my $libraries = join ', ', 'pg_stat_statements', grep { -f "$directory/$_.so" } 'powa';
my $node = new_server('main', extension => 0,
	conf => "shared_preload_libraries = '$libraries'\npowa.frequency = -1\n");
my %available = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');

# What each does; statements before 50 rows are inserted, and after; a query with its answer.
my @work = (
	[ plpgsql_check => 'reads a function, and finds a wrong call', q{
		CREATE FUNCTION place(item text) RETURNS bigint LANGUAGE plpgsql AS $$
		DECLARE key bigint := snowflake_nextval(5);
		BEGIN
			INSERT INTO orders VALUES (key, item || snowflake_timestamp(key) || comb_uuid());
			RETURN key;
		END $$;
		CREATE FUNCTION wrong() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN snowflake_nextval(5, 6, 7); END'}, '',
		q{SELECT (SELECT count(*) FROM plpgsql_check_function('place(text)', other_warnings => false)),
			(SELECT bool_or(line LIKE '%snowflake_nextval%') FROM plpgsql_check_function('wrong()') line)}, '0|t' ],
	[ pgq => 'each row is an event, with its key', q{
		SELECT pgq.create_queue('orders'), pgq.register_consumer('orders', 'reader');
		CREATE TRIGGER to_queue AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION pgq.logutriga('orders')},
		q{SELECT pgq.force_tick('orders'); SELECT pgq.ticker('orders')},
		q{SELECT count(*) FROM pgq.get_batch_events(pgq.next_batch('orders', 'reader')) e
			JOIN orders o ON e.ev_data = 'id=' || o.id || '&item=' || o.item}, 50 ],
	[ periods => 'the history has the keys',
		q{SELECT periods.add_system_time_period('orders'); SELECT periods.add_system_versioning('orders')},
		q{UPDATE orders SET item = item || 'a'},
		q{SELECT count(*) FROM orders o JOIN orders_history h USING (id) WHERE o.item = h.item || 'a'}, 50 ],
	[ table_log => 'the log has the keys', q{SELECT table_log_init(5, 'public', 'orders', 'public', 'orders_log')},
		'DELETE FROM orders', 'SELECT count(DISTINCT id), min(snowflake_shard(id)) FROM orders_log', '50|5' ],
	[ powa => 'a snapshot has its statements', '', 'SELECT powa_take_snapshot()',
		q{SELECT count(*) > 0 FROM powa_statements WHERE query LIKE 'INSERT INTO orders%'}, 't' ],
	[ pg_repack => 'the table is moved, with its keys', '',
		q{CREATE TABLE copy AS SELECT *, pg_relation_filenode('orders') AS file FROM orders},
		q{SELECT count(*) FROM copy JOIN orders USING (id, item) WHERE pg_relation_filenode('orders') <> file}, 50 ]);

for (@work)
{
	my ($extension, $what, $before, $after, $query, $answer) = @$_;

	SKIP:
	{
		skip "$extension is not installed", 1 unless $available{$extension};
		$node->safe_psql('postgres', "CREATE DATABASE $extension");
		$node->safe_psql($extension, "CREATE EXTENSION seqid;
			CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text);
			SET client_min_messages = error; CREATE EXTENSION $extension CASCADE");
		$node->safe_psql($extension, $_)
		  for $before, 'INSERT INTO orders (item) SELECT n FROM generate_series(1, 50) n', $after;
		command_ok([ 'pg_repack', '--table=orders', '--host', $node->host, '--port', $node->port, $extension ],
			'pg_repack runs')
		  if $extension eq 'pg_repack';
		is($node->safe_psql($extension, $query), $answer, "$extension: $what");
		is(outcome($node, $extension, 'INSERT INTO orders (item) VALUES (1); DROP EXTENSION seqid CASCADE'),
			'', "$extension: seqid is dropped");
	}
}

done_testing();
