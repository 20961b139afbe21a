# server.sh: a throwaway server that has seqid.  To be sourced, by bash, after
# lib.sh.
#
# pg_virtualenv -p makes one for as long as a command runs; ours are stopped and
# started, run beside one of another build, and are made anew in between.

# What the server leaves is not needed; quickly, then, also on Ctrl-C.
clean_up()
{
	trap '' INT TERM
	stop_server immediate
	rm -rf "$work"
}

# build_seqid PACKAGE...: builds seqid, optimised as PGXS does, into a private copy
# of PostgreSQL; installs packages that are needed beside.
build_seqid()
{
	need_package_lists
	choose_major
	need_packages gcc make libc6-dev "postgresql-$PG_MAJOR" "postgresql-server-dev-$PG_MAJOR" "$@"
	private_postgres
	copy_sources
	give_to_user
	say "building seqid for PostgreSQL $PG_MAJOR"
	quietly as_user make -s -j "$(nproc)" -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no all install
}

# start_server SHARED_BUFFERS: starts the server, which is made the first time.
# No checkpoint, autovacuum or JIT compilation falls into a measurement; commits
# are flushed, as in production.
start_server()
{
	if [ ! -d "$work/data" ]; then
		quietly as_user "$bin/initdb" -A trust -N -E UTF8 --no-locale -D "$work/data"
		as_user tee -a "$work/data/postgresql.conf" >/dev/null <<-CONF
			listen_addresses = ''
			unix_socket_directories = '$work'
			max_wal_size = 64GB
			checkpoint_timeout = 1d
			autovacuum = off
			jit = off
			max_parallel_workers_per_gather = 0
			timezone = 'UTC'
		CONF
	fi
	cd "$work"
	as_user "$bin/pg_ctl" -s -w -D "$work/data" -l "$work/server.log" \
		-o "-c shared_buffers=$1" start ||
		{ cat "$work/server.log" >&2; die "the server does not start"; }
}

# stop_server [MODE]: if it runs; fast, unless told otherwise.
stop_server()
{
	[ -e "$work/data/postmaster.pid" ] || return 0
	(cd / && as_user "$bin/pg_ctl" -s -m "${1:-fast}" -D "$work/data" stop) >/dev/null 2>&1 || true
}

# pg PROGRAM ARGUMENT...: one of PostgreSQL's, as a client of the server.
pg()
{
	as_user env PGHOST="$work" PGDATABASE=postgres PGUSER="$(as_user id -un)" \
		PGOPTIONS="${pgoptions:-}" "$bin/$1" "${@:2}"
}

sql()
{
	pg psql -X -q -v ON_ERROR_STOP=1 "$@"
}

value()
{
	sql -At -c "$1"
}
