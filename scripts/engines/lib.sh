# lib.sh: what the parts of engines.sh share.  To be sourced, by bash, after
# scripts/lib.sh.
#
# A part is a file that defines PART_packages, what it needs from apt, and
# PART_run.  It runs in a process of its own, below $work/PART, so that one that
# breaks off fails alone; what it started is stopped when that process ends,
# however it does.  Every process is stopped by its id.

# run_part PART: in the background, as a signal must not wait for it.
run_part()
{
	local status=0

	part_process "$1" &
	running=$!
	wait "$running" || status=$?
	running=
	[ $status = 0 ] || report 'not ok' "$1" "runs to its end" "exit status $status"
}

part_process()
{
	part=$1
	place=$work/$part
	spawned=()
	trap end_of_part EXIT
	trap 'exit 143' TERM
	as_user mkdir "$place"
	"${part}_run"
}

end_of_part()
{
	local status=$? name

	trap '' TERM
	set +e
	[ $status = 0 ] || [ $status = 143 ] || show_logs
	kill_spawned "${spawned[@]}"
	for name in "$place"/*/data; do
		stop_server "$(basename "$(dirname "$name")")"
	done
	rm -rf "$place"
}

end_of_run()
{
	trap '' INT TERM
	if [ -n "$running" ]; then
		kill -TERM "$running" 2>/dev/null || true
		wait "$running" 2>/dev/null || true
	fi
	rm -rf "$work"
}

# The ends of the logs, but for Patroni's telling each second that all is well.
show_logs()
{
	local log

	for log in "$place"/*.log; do
		[ -s "$log" ] || continue
		say "--- $(basename "$log")"
		grep -v 'INFO: no action\. ' "$log" | tail -n 15 >&2
	done
}

#
# Processes
#

# spawn NAME COMMAND...: runs it in the background as an ordinary user, as the
# leader of a process group; its id is in $pid.
spawn()
{
	local name=$1 user=()
	shift

	[ "$(id -u)" != 0 ] || user=(setpriv --reuid=postgres --regid=postgres --init-groups)
	(cd "$place" && exec setsid "${user[@]}" env HOME="$place" "$@" >"$place/$name.log" 2>&1 </dev/null) &
	pid=$!
	spawned+=("$pid")
}

# kill_spawned PID...: with what they have started.
kill_spawned()
{
	local one

	for one in "$@"; do
		kill -KILL -- "-$one" 2>/dev/null || kill -KILL "$one" 2>/dev/null || true
		wait "$one" 2>/dev/null || true
	done
}

# wait_for WHAT COMMAND...: until the command succeeds, for three minutes.
wait_for()
{
	local until=$((SECONDS + 180)) what=$1
	shift

	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || die "waited too long until $what"
		sleep 0.1
	done
}

#
# Servers.  The one of the name N has its files below $place/N, and its socket there.
#

make_template()
{
	as_user "$bin/initdb" -A trust -U postgres -N -E UTF8 --no-locale -D "$work/template" >"$work/initdb.log" 2>&1 ||
		{ cat "$work/initdb.log" >&2; die "initdb failed"; }
}

# make_server NAME [LINE...]: with these lines in its postgresql.conf, and started.
make_server()
{
	local name=$1
	shift

	as_user mkdir "$place/$name"
	as_user cp -a "$work/template" "$place/$name/data"
	{
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$place/$name'" \
			'shared_buffers = 16MB' 'max_connections = 40' 'autovacuum = off' "timezone = 'UTC'" \
			'fsync = off' "$@"
	} | as_user tee -a "$place/$name/data/postgresql.conf" >/dev/null
	start_server "$name"
	sql "$name" -c 'CREATE EXTENSION seqid'
}

# start_server NAME [VARIABLE=VALUE...]
start_server()
{
	(cd / && as_user env "${@:2}" "$bin/pg_ctl" -s -w -D "$place/$1/data" -l "$place/$1.log" start) ||
		die "server $1 does not start"
}

# stop_server NAME: if it runs.  A postmaster that stands still hears nothing else.
stop_server()
{
	local processes

	processes=$(server_processes "$1")
	[ -n "$processes" ] || return 0
	signal_server CONT "$1"
	(cd / && as_user "$bin/pg_ctl" -s -m immediate -D "$place/$1/data" stop) >/dev/null 2>&1 || true
	forget_clock "${processes%% *}"
}

# clock_variables FILE: what a server goes by the clock in that file with; see
# t/SeqidTest.pm.
clock_variables()
{
	echo "LD_PRELOAD=$(echo /usr/lib/*/faketime/libfaketime.so.1)" "FAKETIME_TIMESTAMP_FILE=$1" \
		FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 TZ=UTC
}

# forget_clock PID: removes what libfaketime leaves behind of a process.
forget_clock()
{
	as_user rm -f "/dev/shm/faketime_shm_$1" "/dev/shm/sem.faketime_sem_$1"
}

# sql NAME ARGUMENT...: psql, silent but for what it was asked.
sql()
{
	as_user env PGHOST="$place/$1" PGDATABASE="${PGDATABASE:-postgres}" PGUSER=postgres PGCONNECT_TIMEOUT=10 \
		"$bin/psql" -X -q -At -v ON_ERROR_STOP=1 "${@:2}"
}

# is_true NAME QUERY: whether it answers t.
is_true()
{
	[ "$(sql "$1" -c "$2" 2>/dev/null)" = t ]
}

# server_processes NAME: the postmaster, and all that it has forked.  The id of one
# that is gone may be another program's.
server_processes()
{
	local data=$place/$1/data postmaster

	postmaster=$(head -n 1 "$data/postmaster.pid" 2>/dev/null) || return 0
	[ "/proc/$postmaster/cwd" -ef "$data" ] || return 0
	echo "$postmaster" $(pgrep -P "$postmaster" || true)
}

# signal_server SIGNAL NAME
signal_server()
{
	local processes

	processes=$(server_processes "$2")
	[ -z "$processes" ] || kill "-$1" $processes 2>/dev/null || true
}

#
# Results
#

# report OUTCOME PART WHAT SEEN
report()
{
	printf '%-7s %-10s %-68s %s\n' "$@"
	printf '%s\n' "$1" >>"$work/results"
}

# check WHAT SEEN COMMAND...: passed if the command succeeds.
check()
{
	local outcome=ok

	"${@:3}" >/dev/null 2>&1 || outcome='not ok'
	report "$outcome" "$part" "$1" "$2"
}

# check_sql NAME WHAT EXPECTED QUERY: what it answers, or the SQLSTATE it fails with.
check_sql()
{
	local answer

	answer=$(sql "$1" -v VERBOSITY=sqlstate -c "$4" 2>&1) || true
	answer=${answer#ERROR:  }
	answer=${answer//$'\n'/ }
	check "$2" "$answer" [ "$answer" = "$3" ]
}
