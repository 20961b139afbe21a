#!/usr/bin/env bash
# docs.sh: runs every SQL statement of the documentation.
#
# usage: scripts/docs.sh [PAGE...]     README.md docs/*.md
#
# Each page gets a throwaway server, with a database of the name shop in which
# its ```sql blocks are run in order, as psql would run them, up to the first
# error. A block may be followed by what it prints, a ``` block without a
# language: that is compared, with drawn keys, times and sizes masked. If an
# error is printed there, the block must fail with it. The extension is there
# unless the page's first block creates it. An HTML comment before a block tells
# what is not done, and why; it is counted, and shown:
#
#   <!-- not run: needs a standby -->
#   <!-- only on 15 to 16 -->
#   <!-- only on 18 and later -->
#   <!-- only headings compared: counters -->
#
# Every function and setting of the extension must be in docs/reference.md, with
# its signature or default, and every link must lead somewhere. Ends with a line
# 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/bench/lib.sh"

cd "$top"
pages=("$@")
[ ${#pages[@]} -gt 0 ] || pages=(README.md docs/*.md)
for page in "${pages[@]}"; do
	[ -f "$page" ] || die "usage: scripts/docs.sh [PAGE...], from the top of the sources: no page $page"
done

make_work_directory
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
build_seqid perl

docs()
{
	(cd "$top" && PG_MAJOR=$PG_MAJOR perl scripts/docs.pl "$@")
}

# A page must not find settings and roles of another one.
new_server()
{
	stop_server
	rm -rf "$work/data"
	start_server 32MB
	sql -c "CREATE DATABASE shop"
}

run_page()
{
	docs script "$1" >"$work/script.sql"
	[ -s "$work/script.sql" ] || return 0
	say "running $1"
	new_server
	sql -d shop -P footer=off <"$work/script.sql" >"$work/output" 2>&1 || true
	docs compare "$1" "$work/output" >>"$work/results"
}

# What the extension has, says the server, written as in the reference.
list_objects()
{
	sql -At -d shop -c "CREATE EXTENSION IF NOT EXISTS seqid" -c "LOAD 'seqid'" -c "
		SELECT format('%s%s(%s)', CASE WHEN pronamespace = 'seqid'::regnamespace THEN 'seqid.' END, proname, regexp_replace(replace(replace(replace(
		           regexp_replace(pg_get_function_arguments(p.oid), '(, )?\\mOUT .*', ''),
		           'timestamp with time zone', 'timestamptz'), 'integer', 'int'), 'IN ', ''), '::\\w+', '', 'g'))
		  FROM pg_proc p
		  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		 WHERE e.extname = 'seqid'
		 UNION ALL
		SELECT name FROM pg_settings WHERE name LIKE 'seqid.%'
		 ORDER BY 1"
}

# count WORD: how many results begin with it.
count()
{
	grep -c "^$1 " "$work/results" || true
}

: >"$work/results"
for page in "${pages[@]}"; do
	run_page "$page"
done

new_server
list_objects >"$work/objects"
[ -s "$work/objects" ] || die "could not list what the extension has"
docs listed docs/reference.md "$work/objects" >>"$work/results"
docs links "${pages[@]}" >>"$work/results"

grep -v '^ok ' "$work/results" || true
passed=$(count ok)
failed=$(count 'not ok')
say "$(count 'not run') not run; of $(count 'only headings') only the headings compared"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
