#!/usr/bin/env bash
# clients.sh: runs a program for each common way to reach PostgreSQL.
#
# The programs are examples/clients/LANGUAGE/*; each makes a table whose key seqid draws,
# and prints a line for each check, 'ok ...' or 'not ok ...', and 'end' in the end.
# docs/clients.md shows parts of them, which are compared. What is missing is installed: from apt (as root, or
# through sudo), and for Node from npm, as examples/clients/node/package-lock.json says,
# into SEQID_CACHE or /var/cache/seqid-clients. The server is a throwaway one.
#
# Ends with 'N passed, N failed'; the exit status is 0 if none failed. A tool
# that cannot be had is a failure.
set -euo pipefail

usage='usage: scripts/clients.sh [CLIENT...]

  CLIENT  LANGUAGE or LANGUAGE/PROGRAM, as in: node python/django; all by default'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/server.sh"
. "$top/scripts/clients/languages.sh"

all=(psql/psql psql/outbox c/libpq
	node/pg node/drizzle node/prisma node/sequelize node/typeorm node/mikro_orm node/knex node/snowflake53
	python/psycopg2 python/asyncpg python/sqlalchemy python/django
	ruby/activerecord java/pgjdbc java/hibernate go/pq go/pgx rust/tokio_postgres)
cache=${SEQID_CACHE:-/var/cache/seqid-clients}

# The clients that a word of the command line means.
clients_of()
{
	printf '%s\n' "${all[@]}" | grep -x -e "$1" -e "$1/.*" || wrong_usage
}

clients=()
for word in "${@:-.*}"; do
	chosen=$(clients_of "$word")
	clients+=($chosen)
done

# each LINE...: every one once
each()
{
	printf '%s\n' "$@" | awk '!seen[$0]++'
}

clients=($(each "${clients[@]}"))
languages=$(each "${clients[@]%/*}")

make_work_directory
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
: >"$work/results"

# report OUTCOME CLIENT WHAT
report()
{
	printf '%-6s %-20s %s\n' "$@"
	printf '%s\n' "$1" >>"$work/results"
}

# The programs reach the server as most do, by TCP and with a password, and have a
# database of their own: an ordinary user's, who can create one for tests.
start_for_clients()
{
	start_server 32MB
	sql -c "CREATE ROLE regress_client LOGIN CREATEDB PASSWORD 'client'" \
		-c "ALTER SYSTEM SET listen_addresses = '127.0.0.1'" -c "ALTER SYSTEM SET port = $port"
	printf '%s\n' 'local all all trust' 'host shop,shop_test regress_client 127.0.0.1/32 scram-sha-256' |
		as_user tee "$work/data/pg_hba.conf" >/dev/null
	stop_server
	export PGPORT=$port
	start_server 32MB
}

new_database()
{
	pgoptions='-c client_min_messages=warning' \
		sql -c "DROP DATABASE IF EXISTS shop WITH (FORCE)" -c "CREATE DATABASE shop OWNER regress_client"
	sql -d shop -c "CREATE EXTENSION seqid" -c "ALTER DATABASE shop SET seqid.shards = 5"
}

# as_client COMMAND...: in the language's directory, with the server in its
# environment, for at most $limit seconds.
limit=600
as_client()
{
	(cd "$place" && as_user env HOME="$work" PGHOST=127.0.0.1 PGPORT="$port" PGUSER=regress_client \
		PGPASSWORD=client PGDATABASE=shop PATH="$bin:$PATH" timeout "$limit" "$@")
}

# run_client LANGUAGE/PROGRAM: its lines become ours. One that ends early, with
# whatever status, has not written 'end'.
run_client()
{
	local client=$1 language=${1%/*} line place=$work/source/examples/clients/${1%/*} status=0

	new_database
	"${language}_run" "${client#*/}" >"$work/output" 2>"$work/errors" </dev/null || status=$?
	while read -r line; do
		case $line in
			'ok '*) report ok "$client" "${line#ok }" ;;
			'not ok '*) report 'not ok' "$client" "${line#not ok }" ;;
		esac
	done <"$work/output"
	if [ $status != 0 ] || [ "$(tail -n 1 "$work/output")" != end ]; then
		report 'not ok' "$client" "runs to its end (exit status $status)"
		tail -n 20 "$work/output" "$work/errors" >&2
	fi
}

# prepare LANGUAGE: what its programs need, and what has to be compiled.
prepare()
{
	local place=$work/source/examples/clients/$1 limit=2700

	if ! ("${1}_prepare") >"$work/prepare.log" 2>&1 </dev/null; then
		report 'not ok' "$1" "is ready to run"
		tail -n 20 "$work/prepare.log" >&2
		return 1
	fi
}

packages=$(for language in $languages; do "${language}_packages"; done)
build_seqid perl $packages
port=$(free_ports 1)
start_for_clients

for language in $languages; do
	say "preparing $language"
	prepare "$language" || continue
	for client in "${clients[@]}"; do
		[ "${client%/*}" != "$language" ] || run_client "$client"
	done
done

# The page shows what the programs do, to the letter.
perl "$top/scripts/clients/excerpts.pl" "$top/docs/clients.md" >"$work/output" ||
	report 'not ok' docs/clients.md "could not be read"
while read -r line; do
	case $line in
		'ok '*) report ok docs/clients.md "${line#ok }" ;;
		*) report 'not ok' docs/clients.md "$line" ;;
	esac
done <"$work/output"

passed=$(grep -c '^ok' "$work/results" || true)
failed=$(grep -c '^not ok' "$work/results" || true)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
