#!/usr/bin/env bash
# engines.sh: runs seqid under the engines that spread PostgreSQL over servers.
#
# usage: scripts/engines.sh [PART...]     PART: patroni logical fdw plproxy pgbouncer
#
#   patroni     failovers, with and without a synchronous standby, and split brains
#   logical     three servers that write, and replicate to each other
#   fdw         a table partitioned over two servers by postgres_fdw
#   plproxy     rows and terms hashed to servers by PL/Proxy
#   pgbouncer   settings of sessions behind PgBouncer's transaction pooling
#
# All of it is Debian's: what is missing is installed from apt (as root, or through
# sudo). Servers listen on Unix sockets, or on 127.0.0.1 where an engine wants that,
# below a temporary directory that is removed in the end, also on failure and on
# Ctrl-C; the packages stay. (Those of etcd and PgBouncer start a server of their
# own where there is systemd; this is not it.) Prints a line for each check, and
# ends with 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/engines/lib.sh"

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(patroni logical fdw plproxy pgbouncer)
for part in "${parts[@]}"; do
	[ -f "$top/scripts/engines/$part.sh" ] && [ "$part" != lib ] ||
		die "usage: scripts/engines.sh [patroni] [logical] [fdw] [plproxy] [pgbouncer]"
	. "$top/scripts/engines/$part.sh"
done

make_work_directory
running=
trap end_of_run EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need_package_lists
choose_major
need_packages gcc make libc6-dev util-linux procps "postgresql-$PG_MAJOR" \
	"postgresql-server-dev-$PG_MAJOR" $(for part in "${parts[@]}"; do "${part}_packages"; done)
private_postgres
copy_sources
: >"$work/results"
give_to_user

say "building seqid for PostgreSQL $PG_MAJOR"
as_user make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no all install >"$work/build.log" 2>&1 ||
	{ cat "$work/build.log" >&2; die "seqid does not build"; }
make_template

printf '%-7s %-10s %-68s %s\n' outcome part what seen
for part in "${parts[@]}"; do
	run_part "$part"
done

passed=$(grep -c '^ok' "$work/results" || true)
failed=$(grep -c '^not ok' "$work/results" || true)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
