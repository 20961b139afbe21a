#!/usr/bin/env bash
# monitoring.sh: tries examples/monitoring/ with Debian's exporter for PostgreSQL and with
# Prometheus.
#
# promtool checks the alerts and runs their tests.  Then a server of our own, whose
# clock can be set (libfaketime), is asked by a running exporter, as a role that has
# what docs/monitoring.md gives it and nothing else, and a Prometheus scrapes that: all
# metrics must be there, the same as SQL tells, and no alert.  Then the server is
# brought into one trouble after the other: just the alerts that it is named for must
# come, and go again.  (How long an alert waits is what promtool tests.)
#
# Both programs are unpacked from their packages, not installed, as that would start
# services.  Ends with 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

usage='usage: scripts/monitoring.sh [--rules]

  --rules  only what promtool tests, without a server'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/server.sh"

rules_only=
while [ $# -gt 0 ]; do
	case $1 in
		--rules) rules_only=yes ;;
		*) wrong_usage ;;
	esac
	shift
done

pids=()

end()
{
	local status=$?

	if server_has_died; then
		keep_what_is_left
	elif [ $status != 0 ] && [ -f "$work/server.log" ]; then
		tail -n 40 "$work/server.log" >&2
	fi
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
	forget_clock
	clean_up
}

# It does not start again by itself then: see stay_down.
server_has_died()
{
	grep -qE 'was terminated by signal|PANIC:' "$work/server.log" 2>/dev/null
}

# The log and the core files of a server that has died, which are all that can tell why.
keep_what_is_left()
{
	local kept core

	kept=$(mktemp -d "${TMPDIR:-/tmp}/seqid-died.XXXXXX")
	cp "$work/server.log" "$kept"
	cat "$work/server.log" >&2
	for core in "$work"/data/core*; do
		[ -f "$core" ] || continue
		cp "$core" "$kept"
		! command -v gdb >/dev/null || gdb -batch -ex bt "$bin/postgres" "$core" >&2 || true
	done
	say "the server has died; what is left of it is in $kept"
}

# What libfaketime leaves of the server that was started last.
forget_clock()
{
	local pid

	pid=$(head -n 1 "$work/data/postmaster.pid" 2>/dev/null) || return 0
	stop_server immediate
	as_user rm -f "/dev/shm/faketime_shm_$pid" "/dev/shm/sem.faketime_sem_$pid"
}

report()
{
	printf '%-6s %-78s %s\n' "$@"
	echo "$1" >>"$work/results"
}

# check WHAT EXPECTED SEEN
check()
{
	if [ "$3" = "$2" ]; then
		report ok "$1" "$3"
	else
		report FAILED "$1" "$3, not $2"
		! server_has_died || die "the server has died"
	fi
}

# passes WHAT COMMAND...
passes()
{
	local what=$1
	shift

	if "$@" >"$work/output" 2>&1; then
		report ok "$what" ""
	else
		report FAILED "$what" ""
		cat "$work/output"
	fi
}

# unpack PACKAGE: below $work/tools.
unpack()
{
	(
		mkdir -p "$work/download/$1"
		cd "$work/download/$1"
		apt-get download -qq "$1" >"$work/apt.log" 2>&1 && dpkg-deb -x ./*.deb "$work/tools"
	) || { cat "$work/apt.log" >&2; die "could not fetch $1"; }
}

make_work_directory
trap end EXIT
: >"$work/results"
need_package_lists
need_packages python3 curl ca-certificates
unpack prometheus
tools=$work/tools/usr/bin
# Later releases have it in a package of its own.
[ -x "$tools/promtool" ] || unpack promtool

#
# The rules
#
passes 'promtool: the rules are well formed' "$tools/promtool" check rules "$top/examples/monitoring/alerts.yaml"
passes 'promtool: each alert comes, and does not' "$tools/promtool" test rules "$top/examples/monitoring/alerts_test.yaml"

# The names of the alerts, from the rules or their tests.
alerts_in()
{
	sed -n "s/^ *$1 *\\(Seqid[A-Za-z]*\\).*/\\1/p" "$top/examples/monitoring/$2" | sort -u | tr '\n' ' '
}

check 'each alert has a test' "$(alerts_in '- alert:' alerts.yaml)" "$(alerts_in '.*ALERTS{alertname="' alerts_test.yaml)"

# missing_in_page: which of the words it is given docs/monitoring.md does not have.
missing_in_page()
{
	while IFS= read -r word; do
		grep -qF "\`$word\`" "$top/docs/monitoring.md" || printf '%s ' "$word"
	done
}

check 'and is in the documentation' '' "$(alerts_in '- alert:' alerts.yaml | tr ' ' '\n' | sed '/^$/d' | missing_in_page)"

# As GitHub makes anchors of headings.
anchors()
{
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

while IFS='#' read -r page anchor; do
	anchors "$top/$page" | grep -qxF "$anchor" && found=yes || found=no
	check "the documentation has $page#$anchor" yes "$found"
done < <(sed -n 's/^ *runbook: //p' "$top/examples/monitoring/alerts.yaml" | sort -u)

finish()
{
	local passed failed

	passed=$(grep -c '^ok' "$work/results" || true)
	failed=$(grep -c '^FAILED' "$work/results" || true)
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit
}

[ -z "$rules_only" ] || finish

#
# Server, exporter and Prometheus
#
unpack prometheus-postgres-exporter
build_seqid faketime

# set_clock SPEC: in the words of libfaketime.
set_clock()
{
	as_user tee "$work/clock.new" >/dev/null <<<"$1"
	as_user mv "$work/clock.new" "$work/clock"
}

# The handler of a timer's signal asks for the time, and libfaketime then opens its
# file and calls malloc(), which the signal may have interrupted: the session dies.
# No session here has a timeout, but the server starts a timer of its own in sessions
# that report their statistics often, as the exporter's do.  So no timer ever fires.
without_timers()
{
	cc -shared -fPIC -o "$work/no_timers.so" -x c - <<-'C'
		int setitimer(int which, const void *value, void *old);

		int
		setitimer(int which, const void *value, void *old)
		{
			(void) which, (void) value, (void) old;
			return 0;
		}
	C
}

# As t/SeqidTest.pm has it.
start_with_clock()
{
	as_user sh -c 'ulimit -c unlimited 2>/dev/null; exec "$@"' sh \
		env LD_PRELOAD="$(echo /usr/lib/*/faketime/libfaketime.so.1) $work/no_timers.so" \
		FAKETIME_TIMESTAMP_FILE="$work/clock" FAKETIME_NO_CACHE=1 \
		FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 TZ=UTC \
		"$bin/pg_ctl" -s -w -D "$work/data" -l "$work/server.log" start ||
		{ cat "$work/server.log" >&2; die "the server does not start"; }
}

# restart_at SPEC
restart_at()
{
	local pid

	pid=$(head -n 1 "$work/data/postmaster.pid")
	stop_server
	as_user rm -f "/dev/shm/faketime_shm_$pid" "/dev/shm/sem.faketime_sem_$pid"
	set_clock "$1"
	start_with_clock
}

# stay_down: a server that has died does not start again as if nothing had been.
stay_down()
{
	as_user tee -a "$work/data/postgresql.conf" >/dev/null <<<'restart_after_crash = off'
}

without_timers
set_clock +0s
start_server 32MB
stop_server
stay_down
start_with_clock
sql <<-'SQL'
	CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
	ALTER ROLE regress_monitor SET search_path = public, ids;
	CREATE DATABASE shop;
	CREATE DATABASE office;
	CREATE DATABASE other;
	ALTER DATABASE shop SET seqid.shards = 5;
	\c shop
	CREATE EXTENSION seqid;
	GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO regress_monitor;
	\c office
	CREATE SCHEMA ids;
	CREATE EXTENSION seqid SCHEMA ids;
	GRANT USAGE ON SCHEMA ids TO regress_monitor;
SQL

# configure NAME VALUE
configure()
{
	sql -d shop -c "LOAD 'seqid'" -c "ALTER SYSTEM SET $1 = '$2'" -c "SELECT pg_reload_conf()" >/dev/null
}

exporter=127.0.0.1:$(free_ports 1)
env DATA_SOURCE_NAME="user=regress_monitor host=$work dbname=shop sslmode=disable" \
	"$tools/prometheus-postgres-exporter" --web.listen-address="$exporter" \
	--extend.query-path="$top/examples/monitoring/queries.yaml" \
	--auto-discover-databases --include-databases=office >"$work/exporter.log" 2>&1 &
pids+=($!)

prometheus=127.0.0.1:$(free_ports 1)
cat >"$work/prometheus.yml" <<-CONF
	global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
	rule_files: ['$top/examples/monitoring/alerts.yaml']
	scrape_configs:
	  - job_name: postgres
	    static_configs: [{targets: ['$exporter']}]
CONF
"$tools/prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" \
	--web.listen-address="$prometheus" --log.level=warn >"$work/prometheus.log" 2>&1 &
pids+=($!)

scrape()
{
	curl -sS --max-time 20 "http://$exporter/metrics" >"$work/metrics" 2>/dev/null
}

# metric NAME [LABEL="VALUE"]: what was scraped last; nothing if it is not there.
metric()
{
	awk -v name="$1" -v label="${2:-}" '
		{ n = $1; sub(/\{.*/, "", n) }
		n == name && (label == "" || index($0, label)) { print $NF }' "$work/metrics"
}

# raised SINCE: the alerts whose expressions are true now, in the order of the
# alphabet; fails until the exporter has been scraped since that time.
raised()
{
	python3 - "http://$prometheus/api/v1/" "$1" <<-'PYTHON' 2>"$work/raised.log"
		import json, sys, urllib.parse, urllib.request

		def ask(path):
		    with urllib.request.urlopen(sys.argv[1] + path, timeout=10) as answer:
		        return json.load(answer)["data"]

		def results(query):
		    return ask("query?query=" + urllib.parse.quote(query))["result"]

		if not results("timestamp(up == 1) > " + sys.argv[2]):
		    sys.exit(1)
		rules = [r for g in ask("rules")["groups"] for r in g["rules"]]
		print(*sorted(r["name"] for r in rules if results(r["query"])))
	PYTHON
}

# raises WHAT ALERT...: whether these come, and no others.  A scrape may have seen one
# half of a change, so there is time to settle.
raises()
{
	local what=$1 since=$EPOCHREALTIME expected seen
	shift

	expected=$*
	for _ in $(seq 480); do
		seen=$(raised "$since") || seen="Prometheus does not answer"
		[ "$seen" != "$expected" ] || break
		sleep 0.25
	done
	check "$what" "$expected" "$seen"
}

# until_true COMMAND...: within two minutes, or more if it takes long.
until_true()
{
	for _ in $(seq 480); do
		! "$@" || return 0
		sleep 0.25
	done
	return 1
}

is_scraped()
{
	scrape && [ -n "$(metric seqid_shard_number)" ] && [ -n "$(metric seqid_database_years_left 'datname="office"')" ]
}

has_answered()
{
	[ -n "$(curl -sS "http://$prometheus/api/v1/query?query=seqid_shard_number" 2>/dev/null | grep '"metric":{')" ]
}

draw='SELECT snowflake_nextval(), comb_uuid()'

# As a reader does, whose last horizon is soon too old.
ask()
{
	sql -d shop -c "CALL seqid.horizon()" >/dev/null
}

#
# A server that is well
#
until_true is_scraped || { cat "$work/exporter.log" >&2; die "the exporter does not answer"; }
sql -d shop -c "$draw" -c "SELECT snowflake53_nextval(7)" -c "CALL seqid.horizon()" >/dev/null
scrape

# in_shop WHAT METRIC EXPECTED: exactly
in_shop()
{
	check "$1" "$3" "$(metric "$2" 'datname="shop"')"
}

# lies METRIC LABEL LOW HIGH: a value between these.
lies()
{
	check "$1 is from $3 to $4" t \
		"$(value "SELECT coalesce(nullif('$(metric "$1" "$2")', '')::float8 BETWEEN $3 AND $4, false)")"
}

in_shop 'the extension is there' seqid_extension_installed 1
in_shop 'the shard in effect' seqid_shard_number 5
in_shop 'it is allowed' seqid_shard_allowed 1
in_shop 'one shard is listed' seqid_shard_listed 1
in_shop 'none of these is refused' seqid_shard_refused 0
in_shop 'no transaction holds the horizon' seqid_horizon_holders_transactions 0
in_shop 'so none is old' seqid_horizon_holders_oldest_seconds 0
in_shop 'no earlier life left a mark' seqid_database_floor_ahead_seconds 0
in_shop 'nobody waits for a standby' seqid_database_waiting_for_standby 0
in_shop 'marks written, as SQL tells' seqid_database_marks_written_total \
	"$(sql -d shop -Atc 'SELECT marks_written FROM seqid.stat_database')"
check 'no shard is set for the other database' '' "$(metric seqid_shard_number 'datname="office"')"
check 'and nobody has asked for its horizon' '' "$(metric seqid_horizon_age_seconds 'datname="office"')"
check 'a database without seqid is no subject' '' "$(metric seqid_extension_installed 'datname="other"')"
check 'shards that have issued snowflakes' 1 "$(metric seqid_shards_issuing 'layout="snowflake"')"
check 'and snowflake53s' 1 "$(metric seqid_shards_issuing 'layout="snowflake53"')"
check 'no regression of the clock' 0 "$(metric seqid_shards_clock_regressions_total 'layout="snowflake"')"
check 'the limit of seqid.max_clock_regression' 10 "$(metric seqid_server_max_clock_regression_seconds)"
check 'all settings in the files can be read' 0 "$(metric seqid_file_settings_unreadable)"
check 'timeline' 1 "$(metric seqid_server_timeline)"
check 'not preloaded' 0 "$(metric seqid_server_preloaded)"
check 'each query has been answered' 0 "$(metric pg_exporter_last_scrape_error)"
lies seqid_database_mark_age_seconds 'datname="shop"' -2 60
lies seqid_database_combs_ahead_seconds 'datname="shop"' 0 2
lies seqid_database_years_left 'datname="shop"' 50 69
lies seqid_horizon_age_seconds 'datname="shop"' -2 60
lies seqid_horizon_told_timestamp_seconds 'datname="shop"' 1.7e9 4e9
lies seqid_shards_ahead_seconds 'layout="snowflake"' 0 2
lies seqid_shards_waits_total 'layout="snowflake"' 0 1000
lies seqid_server_start_time_seconds '' 1.7e9 4e9
check 'each metric is in the documentation' '' \
	"$(sed -n 's/^\(seqid_[a-z_0-9]*\).*/\1/p' "$work/metrics" | sort -u | missing_in_page)"
check 'series do not grow with the shards' "$(grep -c '^seqid_' "$work/metrics")" \
	"$(sql -d shop -c 'SELECT count(snowflake_nextval(g)) FROM generate_series(100, 899) g' >/dev/null
		scrape; grep -c '^seqid_' "$work/metrics")"

until_true has_answered || { cat "$work/prometheus.log" >&2; die "Prometheus does not scrape"; }
raises 'no alert while all is well'

#
# Troubles
#
configure seqid.allowed_shards 6
raises 'a shard outside the allowed list' SeqidListedShardRefused SeqidShardRefused
configure seqid.allowed_shards '3, 4 - 9'
raises 'allowed again'

# A list that ALTER SYSTEM would not take.  The setting does not show it.
sql -d shop -c "ALTER SYSTEM RESET seqid.allowed_shards" >/dev/null
as_user tee -a "$work/data/postgresql.conf" >/dev/null <<<"seqid.allowed_shards = '5, x'"
sql -c "SELECT pg_reload_conf()" >/dev/null
ask
raises 'a list that cannot be read' SeqidSettingUnreadable
check 'no shard is allowed in a new session' refused "$(sql -d shop -Atc "$draw" 2>/dev/null || echo refused)"
as_user sed -i "s/'5, x'/'5, 7'/" "$work/data/postgresql.conf"
sql -c "SELECT pg_reload_conf()" >/dev/null
ask
raises 'it can be read again'

# A session that holds the horizon while ten minutes go by.
coproc holder { pg psql -XqAt -d shop 2>&1; }
holder_in=${holder[1]}
echo "BEGIN; SELECT snowflake_nextval() > 0;" >&"$holder_in"
read -r _ <&"${holder[0]}"
set_clock +10m
raises 'a transaction holds the horizon' SeqidHorizonHeld SeqidHorizonStale
echo "ROLLBACK;" >&"$holder_in"
raises 'it has ended, and nobody asks' SeqidHorizonStale
sql -d shop -c "$draw" -c "CALL seqid.horizon()" >/dev/null
raises 'somebody asks again'

# Who draws waits with the mark for a standby that is not there.
configure synchronous_standby_names nobody
set_clock +20m
echo "SELECT snowflake_nextval() > 0;" >&"$holder_in"
is_waiting()
{
	[ "$(value "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")" = 1 ]
}
until_true is_waiting || die "the session does not wait for the standby"
set_clock +22m
raises 'the mark is stuck' SeqidHorizonStale SeqidMarkStuck
sql -d shop -c "ALTER SYSTEM RESET synchronous_standby_names" -c "SELECT pg_reload_conf()" >/dev/null
read -r _ <&"${holder[0]}"
sql -d shop -c "$draw" -c "CALL seqid.horizon()" >/dev/null
raises 'the mark advances'

# The clock is set back by more than the limit, and snowflakes are refused.
set_clock +0s
check 'a snowflake is refused' refused "$(sql -d shop -Atc "$draw" 2>/dev/null || echo refused)"
raises 'the clock was set back' SeqidClockSetBack SeqidIdsNearRefusal SeqidKeysAheadOfClock
exec {holder_in}>&-
wait "$holder_PID" 2>/dev/null || true

# The floor of the next life.
restart_at +0s
raises 'a mark of an earlier life is ahead, and nobody asks any more' SeqidHorizonStale SeqidMarkAheadOfClock
set_clock +1h
sql -d shop -c "$draw" >/dev/null
raises 'the clock has caught up' SeqidHorizonStale
ask
raises 'somebody asks'

set_clock '@2090-01-01 00:00:00'
raises 'the end of the 41 bits comes near' SeqidHorizonStale SeqidYearsLeft
set_clock +1h
ask
raises 'the clock is right again'

sql -d shop -c "ALTER SEQUENCE seqid.clock_mark RENAME TO mislaid"
raises 'the mark is missing' SeqidCannotDraw
sql -d shop -c "SELECT seqid.repair_mark()" >/dev/null
ask
raises 'the mark is there again'

# Without the right to read the files, the others are answered.
sql -d shop -c "REVOKE EXECUTE ON FUNCTION pg_show_all_file_settings() FROM regress_monitor"
is_refused()
{
	scrape && [ "$(metric pg_exporter_last_scrape_error)" = 1 ]
}
until_true is_refused || true
check 'a query that the role may not ask is told of' 1 "$(metric pg_exporter_last_scrape_error)"
check 'and has no answer' '' "$(metric seqid_file_settings_unreadable)"
in_shop 'the others have' seqid_shard_number 5
check 'also of the server' 1 "$(metric seqid_server_timeline)"
sql -d shop -c "GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO regress_monitor"

# A standby is asked the same.
as_user touch "$work/data/standby.signal"
restart_at +1h
is_standby()
{
	scrape && [ "$(metric seqid_shard_number 'datname="shop"')" = NaN ] &&
		[ "$(metric pg_exporter_last_scrape_error)" = 0 ]
}
until_true is_standby || true
check 'a standby has no shard yet' NaN "$(metric seqid_shard_number 'datname="shop"')"
in_shop 'and would have one that is allowed' seqid_shard_refused 0
raises 'no alert of a standby'
check 'each query has been answered' 0 "$(metric pg_exporter_last_scrape_error)"
check 'no process of the server has died' no "$(server_has_died && echo yes || echo no)"

finish
