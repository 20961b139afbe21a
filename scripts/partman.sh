#!/usr/bin/env bash
# partman.sh: runs seqid under pg_partman, for a month.
#
# usage: scripts/partman.sh [--here]
#
# In a chroot of Debian 13, which has pg_partman 5.2 for PostgreSQL 17 (see
# matrix.sh); with --here on this machine, if apt offers postgresql-17-partman.
#
# First come the statements of docs/partitioning.md that need pg_partman, then a
# month of its maintenance, day by day, by a clock that is set forward
# (libfaketime): rows come in, maintenance is called, and partitions must be there
# before they are needed, and be gone when they are old.  Then each row of the
# page's table of what works.  Prints a line for each check, and ends with
# 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/server.sh"

case ${*:-} in
	'') exec "$top/scripts/matrix.sh" --run 'scripts/partman.sh --here' 17 ;;
	--here) ;;
	*) die "usage: scripts/partman.sh [--here]" ;;
esac
PG_MAJOR=${PG_MAJOR:-17}
days=30

make_work_directory
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
build_seqid "postgresql-$PG_MAJOR-partman" faketime
: >"$work/results"

# set_clock SPEC: in the words of libfaketime.
set_clock()
{
	as_user tee "$work/clock.new" >/dev/null <<<"$1"
	as_user mv "$work/clock.new" "$work/clock"
}

# set_day N: so many days on, at an hour that is half a day from either midnight: no test
# goes over one unless it is meant to.
noon=$((86400 - $(date +%s) % 86400 + 43200))
set_day()
{
	set_clock "+$((noon + $1 * 86400))s"
}

# As t/SeqidTest.pm has it.
start_with_clock()
{
	set_day 0
	start_server 32MB
	stop_server
	as_user env LD_PRELOAD="$(echo /usr/lib/*/faketime/libfaketime.so.1)" \
		FAKETIME_TIMESTAMP_FILE="$work/clock" FAKETIME_NO_CACHE=1 \
		FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 TZ=UTC \
		"$bin/pg_ctl" -s -w -D "$work/data" -l "$work/server.log" start ||
		{ cat "$work/server.log" >&2; die "the server does not start"; }
}

report()
{
	printf '%-6s %-66s %s\n' "$@"
	echo "$1" >>"$work/results"
}

# outcome QUERY: what it answers, or the SQLSTATE it fails with.
outcome()
{
	local answer

	answer=$(sql -At -v VERBOSITY=sqlstate -c "SET client_min_messages = error" -c "$1" 2>&1) || true
	answer=${answer#ERROR:  }
	printf '%s' "${answer//$'\n'/ }"
}

# check WHAT EXPECTED QUERY
check()
{
	local seen

	seen=$(outcome "$3")
	if [ "$seen" = "$2" ]; then
		report ok "$1" "$seen"
	else
		report 'not ok' "$1" "$seen, not $2"
	fi
}

# The page's blocks of SQL that need pg_partman; in lists they are indented.
page_sql()
{
	awk '
		/<!-- not run: needs pg_partman -->/ { wanted = 1; next }
		wanted && /^ *```sql$/ { inside = 1; next }
		inside && /^ *```$/ { inside = wanted = 0; next }
		inside' "$top/docs/partitioning.md"
}

run_page()
{
	page_sql >"$work/page.sql"
	[ "$(grep -c create_parent "$work/page.sql")" = 2 ] ||
		die "docs/partitioning.md has not the statements that are expected here"
	if sql -v ON_ERROR_STOP=1 <"$work/page.sql" >"$work/page.out" 2>&1; then
		report ok "the statements of docs/partitioning.md" ''
	else
		cat "$work/page.out" >&2
		report 'not ok' "the statements of docs/partitioning.md" ''
	fi
}

# One day: rows, midnight, maintenance.  What goes wrong on any of them is counted.
run_month()
{
	local day failures=0 in_default=0

	for day in $(seq 1 $days); do
		sql -c "INSERT INTO letters SELECT FROM generate_series(1, 100)" \
			-c "INSERT INTO visits SELECT FROM generate_series(1, 100)"
		set_day "$day"
		sql -c "CALL partman.run_maintenance_proc()" >"$work/maintenance" 2>&1 || failures=$((failures + 1))
		grep -q ERROR "$work/maintenance" && cat "$work/maintenance" >&2
		in_default=$((in_default + $(value "SELECT count(*) FROM partman.check_default()")))
	done
	report "$([ $failures = 0 ] && echo ok || echo 'not ok')" "$days days of maintenance without an error" "$failures"
	report "$([ $in_default = 0 ] && echo ok || echo 'not ok')" "on no day a row in a default partition" "$in_default"
}

# partitions TABLE: as rows of first, last.
partitions="
	SELECT p.relname, p.oid AS id,
	       (regexp_match(bound, 'FROM \\(''([^'']+)''\\)'))[1] AS low, (regexp_match(bound, 'TO \\(''([^'']+)''\\)'))[1] AS high,
	       i.inhparent::regclass AS parent
	  FROM pg_class p JOIN pg_inherits i ON i.inhrelid = p.oid,
	       LATERAL (SELECT pg_get_expr(p.relpartbound, p.oid) AS bound) b
	 WHERE bound <> 'DEFAULT'"

# check_month TABLE LOW-TIME PREMADE: partitions are days without a hole, from ten days ago
# to what is made ahead, and each has the rows of its day.
check_month()
{
	local table=$1 low=$2 premade=$3

	check "$table: partitions are days, from midnight to midnight, without a hole" t "
		SELECT bool_and(day = date_trunc('day', day) AND next IN (day + interval '1 day') IS NOT false)
		  FROM (SELECT day, lead(day) OVER (ORDER BY day) AS next
		          FROM (SELECT $low AS day FROM ($partitions) p WHERE parent = '$table'::regclass) d) n"
	check "$table: what is older than 10 days is gone" t "
		SELECT min($low) >= now() - interval '12 days' AND min($low) <= now() - interval '9 days'
		  FROM ($partitions) p WHERE parent = '$table'::regclass"
	check "$table: what is to come is there" t "
		SELECT max($low) >= date_trunc('day', now()) + interval '$premade days'
		  FROM ($partitions) p WHERE parent = '$table'::regclass"
	check "$table: 100 rows in each of the last nine days" '100|100|9' "
		SELECT min(rows), max(rows), count(*)
		  FROM (SELECT tableoid, count(*) AS rows FROM $table GROUP BY tableoid) r
		 WHERE tableoid IN (SELECT id FROM ($partitions) p
		                     WHERE parent = '$table'::regclass AND $low >= date_trunc('day', now()) - interval '9 days')"
}

# check_undo TABLE WHAT: all its rows in a table without partitions.
check_undo()
{
	local rows

	rows=$(value "SELECT count(*) FROM $1")
	check "undo_partition_proc: $2" '' \
		"CALL partman.undo_partition_proc('public.$1', 'public.$1_plain', p_keep_table := false)"
	check "undo_partition_proc: all rows, $2" "$rows" "SELECT count(*) FROM $1_plain"
}

# Each row of the table in the page.
check_functions()
{
	check "show_partitions" t "SELECT (SELECT count(*) FROM partman.show_partitions('public.letters')) > 10
		AND (SELECT count(*) FROM partman.show_partitions('public.visits')) > 10"
	check "show_partition_name: a time of COMBs" t "
		SELECT partition_table = to_char(now(), '\"letters_p\"YYYYMMDD') AND table_exists
		  FROM partman.show_partition_name('public.letters', now()::text)"
	check "show_partition_name: not a COMB" 22007 "SELECT partman.show_partition_name('public.letters', comb_uuid()::text)"
	check "show_partition_name: an id" t "
		SELECT suffix_id = snowflake_first(date_trunc('day', now())) AND table_exists
		  FROM partman.show_partition_name('public.visits', snowflake_first(now())::text)"
	check "show_partition_info: of COMBs not without the parent" 22007 "
		SELECT partman.show_partition_info(to_char(now(), '\"public.letters_p\"YYYYMMDD'))"
	check "show_partition_info: of COMBs with it" t "
		SELECT child_start_time = date_trunc('day', now())
		  FROM partman.show_partition_info(to_char(now(), '\"public.letters_p\"YYYYMMDD'), p_parent_table := 'public.letters')"
	check "show_partition_info: of ids" t "
		SELECT child_start_id = snowflake_first(date_trunc('day', now()))
		  FROM partman.show_partition_info('public.visits_p' || snowflake_first(date_trunc('day', now())))"

	sql -c "INSERT INTO letters VALUES (comb_uuid_at(now() - interval '40 days'), 'late')" \
		-c "INSERT INTO visits VALUES (snowflake_make(now() - interval '40 days', 1, 1), 'late')"
	check "check_default: a late row in each" 'public.letters_default|1 public.visits_default|1' \
		"SELECT * FROM partman.check_default() ORDER BY 1"
	check "partition_data_proc: not of COMBs" 42883 "CALL partman.partition_data_proc('public.letters')"
	check "partition_data_proc: of ids" '' "CALL partman.partition_data_proc('public.visits')"
	check "partition_data_proc: and the row is where it belongs" '0|1' "
		SELECT (SELECT count(*) FROM visits_default), count(*) FROM visits
		 WHERE id = snowflake_make(now() - interval '40 days', 1, 1) OR page = 'late'"
	check "partition_gap_fill: of ids, what retention has dropped" t "SELECT partman.partition_gap_fill('public.visits') > 20"
	check "partition_gap_fill: of COMBs, without a gap" 0 "SELECT partman.partition_gap_fill('public.letters')"

	# Silence: COMBs' partitions go by the clock, those of ids by the highest one.
	set_day $((days + 20))
	sql -c "CALL partman.run_maintenance_proc()" >/dev/null 2>&1
	sql -c "INSERT INTO letters (body) VALUES ('after silence')" -c "INSERT INTO visits (page) VALUES ('after silence')"
	check "20 days of silence: COMBs have their partition" 0 "SELECT count(*) FROM letters_default WHERE body = 'after silence'"
	check "20 days of silence: ids, made 14 days ahead, have not" 1 "SELECT count(*) FROM visits_default"
	check "20 days of silence: the row is moved" '' "CALL partman.partition_data_proc('public.visits')"
	check "20 days of silence: to its day" t "
		SELECT tableoid::regclass::text = 'visits_p' || snowflake_first(date_trunc('day', now())) FROM visits WHERE page = 'after silence'"

	sql -c "UPDATE partman.part_config SET ignore_default_data = false"
	check "ignore_default_data = false: not of COMBs" P0001 "SELECT partman.run_maintenance('public.letters')"
	check "ignore_default_data = false: of ids" '' "SELECT partman.run_maintenance('public.visits')"

	sql -c "CREATE TABLE letters_plain (LIKE letters)" -c "CREATE TABLE visits_plain (LIKE visits)"
	check_undo letters "of COMBs"
	check_undo visits "of ids"
}

# What the page warns of.
check_warnings()
{
	sql -c "CREATE TABLE plain_names (id uuid PRIMARY KEY DEFAULT comb_uuid()) PARTITION BY RANGE (id)" \
		-c "CREATE TABLE uuid_decoder (LIKE plain_names INCLUDING ALL) PARTITION BY RANGE (id)" \
		-c "CREATE TABLE epoch (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5)) PARTITION BY RANGE (id)"
	check "names without a schema: create_parent" t "SELECT partman.create_parent('public.plain_names', 'id', '1 day',
		p_time_encoder := 'comb_uuid_first', p_time_decoder := 'comb_uuid_timestamp_text')"
	check "names without a schema: maintenance fails" 42883 "SELECT partman.show_partitions('public.plain_names')"
	check "the decoder of uuids: create_parent" t "SELECT partman.create_parent('public.uuid_decoder', 'id', '1 day',
		p_time_encoder := 'public.comb_uuid_first', p_time_decoder := 'public.comb_uuid_timestamp')"
	check "the decoder of uuids: maintenance fails" 42883 "SELECT partman.show_partitions('public.uuid_decoder')"
	check "and stops that of all tables" P0001 "CALL partman.run_maintenance_proc()"
	sql -c "DELETE FROM partman.part_config WHERE parent_table IN ('public.plain_names', 'public.uuid_decoder')"

	check "p_epoch := 'milliseconds' is accepted" t "
		SELECT partman.create_parent('public.epoch', 'id', '1 day', p_epoch := 'milliseconds')"
	check "p_epoch := 'milliseconds': the row is in the default" epoch_default "
		INSERT INTO epoch DEFAULT VALUES RETURNING tableoid::regclass"
	check "an encoder for a bigint is refused" P0001 "SELECT partman.create_parent('public.epoch', 'id', '1 day',
		p_time_encoder := 'public.snowflake_first', p_time_decoder := 'public.snowflake_timestamp')"
}

start_with_clock
sql -c "CREATE EXTENSION seqid"
printf '%-6s %-66s %s\n' outcome what seen
run_page
run_month
check_month letters 'comb_uuid_timestamp_text(low)' 4
check_month visits 'snowflake_timestamp(low::bigint)' 13
check_functions
check_warnings

passed=$(grep -c '^ok' "$work/results" || true)
failed=$(grep -c '^not ok' "$work/results" || true)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
