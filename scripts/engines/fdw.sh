# fdw.sh: tables whose partitions are on two servers, by postgres_fdw.
#
# Clients ask a router, which has foreign tables for partitions; a server can be
# written to directly as well.  Which server's shard is in a key depends on where the
# default was evaluated, and that is where the INSERT was planned.

fdw_packages()
{
	:
}

fdw_run()
{
	make_server old "seqid.shards = '20'"
	make_server new "seqid.shards = '21'"
	make_server router "seqid.shards = '30'"
	make_routes
	partition_by_time
	partition_by_shard
}

# extensions 'seqid': the router may let the servers evaluate its immutable functions.
make_routes()
{
	local name

	sql router -c 'CREATE EXTENSION postgres_fdw'
	for name in old new; do
		sql router <<-SQL
			CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
			    OPTIONS (host '$place/$name', dbname 'postgres', extensions 'seqid');
			CREATE USER MAPPING FOR postgres SERVER $name OPTIONS (user 'postgres');
		SQL
	done
}

# Rows until 2026 on one server, those of today on the other.
partition_by_time()
{
	local name seen

	for name in old new; do
		sql $name -c 'CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), note text NOT NULL)'
	done
	sql router <<-'SQL'
		CREATE TABLE events (id bigint NOT NULL DEFAULT snowflake_nextval(), note text) PARTITION BY RANGE (id);
		CREATE FOREIGN TABLE events_old PARTITION OF events
		    FOR VALUES FROM (0) TO (snowflake_first('2026-01-01 00:00+00')) SERVER old OPTIONS (table_name 'events');
		CREATE FOREIGN TABLE events_new PARTITION OF events
		    FOR VALUES FROM (snowflake_first('2026-01-01 00:00+00')) TO (MAXVALUE) SERVER new OPTIONS (table_name 'events');
		INSERT INTO events (note) SELECT 'today' FROM generate_series(1, 1000);
		INSERT INTO events SELECT snowflake_make('2025-06-01 00:00+00', 30, n), 'backfilled' FROM generate_series(1, 500) n;
	SQL
	check_sql new "by time: rows of today are on the new server" 1000 "SELECT count(*) FROM events WHERE note = 'today'"
	check_sql old "by time: rows of last year are on the old one" 500 "SELECT count(*) FROM events WHERE note = 'backfilled'"
	check_sql new "by time: the router's default was evaluated on the router" 30 \
		'SELECT DISTINCT snowflake_shard(id) FROM events'

	sql new -c "INSERT INTO events (note) VALUES ('directly')"
	check_sql router "by time: a row inserted on the server has its shard" 21 \
		"SELECT snowflake_shard(id) FROM events WHERE note = 'directly'"
	sql router <<-'SQL'
		CREATE FOREIGN TABLE no_default (id bigint, note text) SERVER new OPTIONS (table_name 'events');
		CREATE FOREIGN TABLE no_column (note text) SERVER new OPTIONS (table_name 'events');
	SQL
	check_sql router "by time: a foreign table without a default sends NULL" 23502 \
		"INSERT INTO no_default (note) VALUES ('refused')"
	sql router -c "INSERT INTO no_column VALUES ('by the server')"
	check_sql router "by time: without the column the server's default counts" 21 \
		"SELECT snowflake_shard(id) FROM events WHERE note = 'by the server'"

	check_plan "by time: a range of time asks one server" 'events_new' \
		"SELECT * FROM events WHERE id >= snowflake_first('2026-03-01 00:00+00') AND id < snowflake_first('2026-04-01 00:00+00')"
	check_plan "by time: a key asks one server" 'events_old' \
		"SELECT * FROM events WHERE id = snowflake_make('2025-06-01 00:00+00', 30, 7)"
	check_sql router "by time: and the answer is right" backfilled \
		"SELECT note FROM events WHERE id = snowflake_make('2025-06-01 00:00+00', 30, 7)"
	seen=$(sql router -c 'EXPLAIN (VERBOSE) SELECT * FROM events_new WHERE snowflake_shard(id) = 30' |
		sed -n 's/.*Remote SQL: .* WHERE //p')
	check "by time: the server evaluates the shard" "$seen" [ "$seen" = '((public.snowflake_shard(id) = 30))' ]
}

# Each server has a range of shards; who inserts chooses one.
partition_by_shard()
{
	local name

	for name in old new; do
		sql $name -c 'CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), customer bigint)'
	done
	sql router <<-'SQL'
		CREATE TABLE orders (id bigint NOT NULL DEFAULT snowflake_nextval(), customer bigint)
		    PARTITION BY LIST (snowflake_shard(id));
		CREATE FOREIGN TABLE orders_20 PARTITION OF orders FOR VALUES IN (20) SERVER old OPTIONS (table_name 'orders');
		CREATE FOREIGN TABLE orders_21 PARTITION OF orders FOR VALUES IN (21) SERVER new OPTIONS (table_name 'orders');
	SQL
	check_sql router "by shard: the router's own shard is nobody's" 23514 'INSERT INTO orders (customer) VALUES (1)'

	# The router issues what the servers could, too: they must not.
	for name in old new; do
		sql $name -c "LOAD 'seqid'" -c "ALTER SYSTEM SET seqid.allowed_shards = '0-19, 22-1023'" -c 'SELECT pg_reload_conf()'
	done >/dev/null
	sql router -c 'INSERT INTO orders SELECT snowflake_nextval(20 + jump_hash(c, 2)), c FROM generate_series(1, 1000) c'
	for name in old new; do
		wait_for "$name has read its configuration" is_true $name "SELECT current_setting('seqid.allowed_shards') = '0-19, 22-1023'"
	done
	check_sql router "by shard: rows are where jump_hash says" t \
		'SELECT bool_and(snowflake_shard(id) = 20 + jump_hash(customer, 2)) AND count(*) = 1000 FROM orders'
	check_sql old "by shard: the servers do not issue the router's shards" 55000 'INSERT INTO orders (customer) VALUES (1)'

	sql router -c 'SELECT max(id) FROM orders_21' >"$place/id"
	check_plan "by shard: a key alone asks both servers" 'orders_20 orders_21' \
		"SELECT * FROM orders WHERE id = $(cat "$place/id")"
	check_plan "by shard: with its shard it asks one" 'orders_21' \
		"SELECT * FROM orders WHERE id = $(cat "$place/id") AND snowflake_shard(id) = snowflake_shard($(cat "$place/id"))"
}

# check_plan WHAT FOREIGN_TABLES QUERY: those that the router asks.
check_plan()
{
	local seen

	seen=$(sql router -c "EXPLAIN (COSTS off) $3" | sed -n 's/.*Foreign Scan on \([a-z_0-9]*\).*/\1/p' | xargs)
	check "$1" "$seen" [ "$seen" = "$2" ]
}
