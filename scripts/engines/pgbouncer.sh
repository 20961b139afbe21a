# pgbouncer.sh: settings behind PgBouncer's transaction pooling.
#
# A shard that is set for a database or a role belongs to the server's session, so
# it reaches whoever the pool gives that session to.

pgbouncer_packages()
{
	echo pgbouncer
}

pgbouncer_run()
{
	make_server server
	sql server <<-'SQL'
		CREATE ROLE regress_app LOGIN;
		CREATE ROLE regress_batch LOGIN;
		CREATE DATABASE shop;
		\c shop
		CREATE EXTENSION seqid;
		ALTER DATABASE shop SET seqid.shards = 5;
		ALTER ROLE regress_batch IN DATABASE shop SET seqid.shards = 9;
	SQL
	start_pooler

	is_shard regress_app 5 "ALTER DATABASE ... SET seqid.shards reaches a session"
	is_shard regress_batch 9 "ALTER ROLE ... SET seqid.shards reaches a session"
	seen=$(backends)
	check "five clients have one session of the server" "$seen" [ "$seen" = 1 ]

	sql server -c 'ALTER DATABASE shop SET seqid.shards = 6'
	is_shard regress_app 5 "a session that is there keeps its shard"
	pooler_console 'RECONNECT shop'
	is_shard regress_app 6 "RECONNECT brings the new one"

	refused=$(pooled regress_app -v VERBOSITY=sqlstate -c 'SET seqid.shards = 7' 2>&1) || true
	check "a client may not set it" "$refused" [ "$refused" = "ERROR:  42501" ]
	refused=$(PGOPTIONS='-c seqid.shards=7' pooled regress_app -c "$shard_query" 2>&1) || true
	check "options in a connection string do not reach the server" "${refused#*FATAL:  }" \
		grep -q 'unsupported startup parameter' <<<"$refused"

	sql server -c 'GRANT SET ON PARAMETER seqid.shards TO regress_app'
	seen=$(pooled regress_app -c "BEGIN; SET LOCAL seqid.shards = 7; $shard_query; COMMIT")
	check "SET LOCAL counts in its transaction" "$seen" [ "$seen" = 7 ]
	is_shard regress_app 6 "... and not in the next client's"
	pooled regress_app -c 'SET seqid.shards = 8'
	is_shard regress_app 8 "SET stays behind for the next client"
}

shard_query='SELECT snowflake_shard(snowflake_nextval())'

start_pooler()
{
	as_user mkdir "$place/pooler"
	as_user tee "$place/pooler/pgbouncer.ini" >/dev/null <<-INI
		[databases]
		shop = host=$place/server
		[pgbouncer]
		listen_addr =
		unix_socket_dir = $place/pooler
		auth_type = trust
		auth_file = $place/pooler/users
		admin_users = postgres
		pool_mode = transaction
		default_pool_size = 1
	INI
	printf '"%s" ""\n' postgres regress_app regress_batch | as_user tee "$place/pooler/users" >/dev/null
	spawn pgbouncer /usr/sbin/pgbouncer "$place/pooler/pgbouncer.ini"
	wait_for "PgBouncer answers" pooler_console 'SHOW VERSION'
}

# pooled ROLE ARGUMENT...: psql through the pooler.
pooled()
{
	PGDATABASE=shop PGPORT=6432 sql pooler -U "$1" "${@:2}"
}

pooler_console()
{
	PGDATABASE=pgbouncer PGPORT=6432 sql pooler -c "$1"
}

# is_shard ROLE EXPECTED WHAT
is_shard()
{
	local seen

	seen=$(pooled "$1" -c "$shard_query" 2>&1) || true
	check "$3" "$seen" [ "$seen" = "$2" ]
}

# How many sessions of the server five clients of one role get.
backends()
{
	for _ in 1 2 3 4 5; do
		pooled regress_app -c 'SELECT pg_backend_pid()'
	done | sort -u | wc -l
}
