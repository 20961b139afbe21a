# Partitions on two servers, by postgres_fdw.
#
# The router has foreign tables as partitions.  The server that plans an INSERT
# evaluates the default, so its shard is in the key, wherever the row is stored.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $old = new_server('old', conf => "seqid.shards = '20'");
my $new = new_server('new', conf => "seqid.shards = '21'");
my $router = new_server('router', conf => "seqid.shards = '30'");

# With extensions 'seqid' the router sends immutable functions to the servers.
$router->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
for my $node ($old, $new)
{
	my ($name, $host, $port) = ($node->name, $node->host, $node->port);

	$router->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
		    OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'seqid');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name;});
	$node->safe_psql('postgres', q{
		CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), note text NOT NULL);
		CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), customer bigint);});
}

# is_plan($tables, $query, $name): the foreign tables that a plan of the router scans.
sub is_plan ($tables, $query, $name)
{
	my $plan = $router->safe_psql('postgres', "EXPLAIN (COSTS off) $query");

	is(join(' ', $plan =~ /Foreign Scan on (\w+)/g), $tables, $name);
}

# By time: rows of before 2026 on one server, later rows on the other
$router->safe_psql('postgres', q{
	CREATE TABLE events (id bigint NOT NULL DEFAULT snowflake_nextval(), note text) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE events_old PARTITION OF events
	    FOR VALUES FROM (0) TO (snowflake_first('2026-01-01 00:00+00')) SERVER old OPTIONS (table_name 'events');
	CREATE FOREIGN TABLE events_new PARTITION OF events
	    FOR VALUES FROM (snowflake_first('2026-01-01 00:00+00')) TO (MAXVALUE) SERVER new OPTIONS (table_name 'events');
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
$router->safe_psql('postgres', q{
	CREATE TABLE orders (id bigint NOT NULL DEFAULT snowflake_nextval(), customer bigint)
	    PARTITION BY LIST (snowflake_shard(id));
	CREATE FOREIGN TABLE orders_20 PARTITION OF orders FOR VALUES IN (20) SERVER old OPTIONS (table_name 'orders');
	CREATE FOREIGN TABLE orders_21 PARTITION OF orders FOR VALUES IN (21) SERVER new OPTIONS (table_name 'orders');});
is(outcome($router, 'INSERT INTO orders (customer) VALUES (1)'),
	23514, 'no partition has the shard of the router');
for my $node ($old, $new)
{
	$node->append_conf('postgresql.conf', "seqid.allowed_shards = '0-19, 22-1023'");
	$node->restart;
}
is(outcome($old, 'INSERT INTO orders (customer) VALUES (1)'),
	55000, 'a server does not issue a shard of the router');
$router->safe_psql('postgres',
	'INSERT INTO orders SELECT snowflake_nextval(20 + jump_hash(c, 2)), c FROM generate_series(1, 1000) c');
is(outcome($router, 'SELECT bool_and(snowflake_shard(id) = 20 + jump_hash(customer, 2)) AND count(*) = 1000 FROM orders'),
	't', 'jump_hash chooses the server of a row');
is(outcome($old, 'SELECT DISTINCT snowflake_shard(id) FROM orders'), 20, 'a server has the rows of its shard');

my $id = $router->safe_psql('postgres', 'SELECT max(id) FROM orders_21');
is_plan('orders_20 orders_21', "SELECT * FROM orders WHERE id = $id", 'a key alone reads both servers');
is_plan('orders_21', "SELECT * FROM orders WHERE id = $id AND snowflake_shard(id) = snowflake_shard($id)",
	'a key with its shard reads one server');

done_testing();
