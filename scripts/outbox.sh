#!/usr/bin/env bash
# outbox.sh: runs what docs/outbox.md shows against writers, and counts lost rows.
#
# The page's SQL makes the tables; then eight sessions insert, think, and roll back
# one time in five, while four readers go through the table at once: the page's
# function, its program for Python and the one for Node, and one that asks for ids
# above the last one he saw.  The last one must miss rows, or nothing was tested;
# the others must read each row once, in order.
#
# Node's driver comes from npm.  Ends with 'N passed, N failed'; the exit status is 0
# if none failed.
set -euo pipefail

usage='usage: scripts/outbox.sh [--seconds N]

  --seconds  how long writers write (15)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/server.sh"

seconds=15
page=$top/docs/outbox.md
while [ $# -gt 0 ]; do
	case $1 in
		--seconds)
			[ $# -ge 2 ] || wrong_usage
			seconds=$2
			shift 2 ;;
		*) wrong_usage ;;
	esac
done
case $seconds in
	'' | *[!0-9]* | 0* | ?????*) die "--seconds needs a number from 1 to 9999" ;;
esac

pids=()

stop_readers()
{
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
	wait
	pids=()
}

end()
{
	stop_readers
	clean_up
}

code()
{
	PG_MAJOR=$PG_MAJOR perl "$top/scripts/docs.pl" "$@"
}

make_work_directory
trap end EXIT
packages=(perl python3 python3-psycopg2)
command -v node >/dev/null || packages+=(nodejs)
command -v npm >/dev/null || packages+=(npm)
build_seqid "${packages[@]}"
npm install --silent --no-fund --no-audit --prefix "$work/node" pg@8 >"$work/npm.log" 2>&1 ||
	{ cat "$work/npm.log" >&2; die "npm could not install pg"; }


start_server 32MB
sql -c "CREATE DATABASE shop"

#
# What the page makes, and its programs, each with a position of its own.
#
code script "$page" >"$work/page.sql"
sql -d shop -f "$work/page.sql" >"$work/page.log" 2>&1 ||
	{ cat "$work/page.log" >&2; die "the page's SQL does not run"; }
code code "$page" python | sed "s/'mail'/'python'/" >"$work/reader.py"
code code "$page" js | sed "s/'mail'/'node'/" >"$work/node/reader.js"
sql -d shop <<-'SQL'
	TRUNCATE outbox, outbox_reader;
	INSERT INTO outbox_reader SELECT unnest('{function,python,node}'::text[]);
	CREATE TABLE naive_reader AS SELECT 0::bigint AS last_id;
	CREATE FUNCTION naive_read() RETURNS SETOF bigint LANGUAGE plpgsql AS $$
	DECLARE
		id bigint;
	BEGIN
		FOR id IN SELECT o.id FROM outbox o, naive_reader n WHERE o.id > n.last_id ORDER BY o.id LOOP
			RETURN NEXT id;
		END LOOP;
		UPDATE naive_reader SET last_id = id WHERE id IS NOT NULL;
	END
	$$;
SQL

# client COMMAND...: connected to the table's database.
client()
{
	PGHOST=$work PGDATABASE=shop PGUSER=$(as_user id -un) exec "$@"
}

# read_as READER COMMAND...: begins to read.
read_as()
{
	client "${@:2}" >"$work/$1.read" 2>"$work/$1.errors" &
	pids+=($!)
}

echo 'SELECT id FROM outbox_read($$function$$) \watch 0.01' >"$work/function.sql"
echo 'SELECT * FROM naive_read() \watch 0.01' >"$work/naive.sql"
read_as function "$bin/psql" -XAtf "$work/function.sql"
read_as naive "$bin/psql" -XAtf "$work/naive.sql"
read_as python /usr/bin/python3 "$work/reader.py"
read_as node node "$work/node/reader.js"

#
# Writers
#
cat >"$work/think.sql" <<-'SQL'
	\set think random(0, 40)
	\set dice random(1, 10)
	\set shard random(5, 7)
	BEGIN;
	INSERT INTO outbox (id, topic) VALUES (snowflake_nextval(:shard), 'first');
	\sleep :think ms
	\if :dice <= 2
	ROLLBACK;
	\elif :dice <= 4
	SAVEPOINT tried;
	INSERT INTO outbox (topic) VALUES ('rolled back');
	ROLLBACK TO tried;
	INSERT INTO outbox (topic) VALUES ('second');
	COMMIT;
	\else
	INSERT INTO outbox (topic) SELECT 'more' FROM generate_series(1, 3);
	COMMIT;
	\endif
SQL
echo 'INSERT INTO outbox (id, topic) VALUES (snowflake_nextval(6), $$quick$$);' >"$work/quick.sql"
chmod a+r "$work"/*.sql
pg pgbench -n -c 8 -T "$seconds" -f "$work/think.sql@8" -f "$work/quick.sql@1" shop \
	>"$work/pgbench.log" 2>&1 || { cat "$work/pgbench.log" >&2; die "writers failed"; }

# All have written down the last row, or three minutes have passed.  (The position of
# one who commits before he prints is there earlier.)
last=$(sql -At -d shop -c "SELECT max(id) FROM outbox")
for _ in $(seq 1800); do
	for reader in function python node; do
		grep -q "^$last" "$work/$reader.read" || { sleep 0.1; continue 2; }
	done
	break
done
stop_readers

#
# What they have read, and what there is
#
sql -At -d shop -c "SELECT id FROM outbox" | sort >"$work/all"
passed=0
failed=0

# judge READER: what he has read; the naive one must have missed some.
judge()
{
	local rows missed twice order=ascending fine=false

	sed -n 's/^\([0-9]\{15,19\}\)\( .*\)\{0,1\}$/\1/p' "$work/$1.read" >"$work/ids"
	sort -n -c "$work/ids" 2>/dev/null || order="not in order"
	sort "$work/ids" >"$work/sorted"
	rows=$(wc -l <"$work/all")
	missed=$(comm -23 "$work/all" "$work/sorted" | wc -l)
	twice=$(uniq -d "$work/sorted" | wc -l)
	if [ "$1" = naive ]; then
		[ "$missed" = 0 ] || fine=true
	elif [ "$rows" -gt 0 ] && [ "$missed $twice $order" = "0 0 ascending" ]; then
		fine=true
	fi
	if $fine; then
		echo "ok      $1: of $rows rows $missed missed, $twice twice, $order"
		passed=$((passed + 1))
	else
		echo "not ok  $1: of $rows rows $missed missed, $twice twice, $order"
		cat "$work/$1.errors"
		failed=$((failed + 1))
	fi
}

for reader in function python node naive; do
	judge $reader
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
