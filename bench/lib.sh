# lib.sh: what the benchmarks share.  To be sourced, by bash, after
# scripts/lib.sh, with $top set.
#
# A benchmark runs against a server of its own.  What it compares is measured in
# rounds, in turn (A B A B), and every figure is kept in the table result of that
# server; what is shown are medians, with the smallest and the largest figure.

. "$top/scripts/server.sh"

# progress TEXT: what is being done now; on a terminal in the place of the text
# before, until progress_end.
progress()
{
	if [ -t 2 ]; then
		printf '\r%-78s' "$1" >&2
	else
		say "$1"
	fi
}

progress_end()
{
	[ ! -t 2 ] || printf '\r%-78s\r' '' >&2
}

# The builds that are measured; with --against "this against".
builds=this

clean_up()
{
	local build

	trap '' INT TERM
	for build in $builds; do
		use_build "$build"
		stop_server immediate
	done
	use_build this
	rm -rf "$work"
}

# use_build this|against: whose server is meant from here on.  Both run all the
# time; the one that is not asked does nothing.
use_build()
{
	work=${work%/against}
	[ "$1" = this ] || work=$work/against
	bin=$work/server/usr/lib/postgresql/${PG_MAJOR:-}/bin
}

# is_there SUBJECT: whether the build in use has what it calls.
is_there()
{
	case $1 in
		settled) [ "$(value "SELECT to_regproc('seqid.settled') IS NOT NULL")" = t ] ;;
		snowflake53*) [ "$(value "SELECT to_regproc('snowflake53_currval') IS NOT NULL")" = t ] ;;
	esac
}

# prepare_against DIRECTORY: a server for the build of those sources, beside.
prepare_against()
{
	mkdir "$work/against"
	builds="this against"
	use_build against
	top=$1 build_seqid
	start_server "$shared_buffers"
	create_results
	create_kinds
	use_build this
}

# collect_against PART: brings its figures to ours, as those of 'against PART'.
collect_against()
{
	[ "$builds" != this ] || return 0
	use_build against
	sql -c "COPY (SELECT 'against ' || part, subject, metric, figure FROM result WHERE part = '$1' ORDER BY n) TO STDOUT" \
		>"$work/figures"
	use_build this
	sql -c "COPY result (part, subject, metric, figure) FROM STDIN" <"$work/against/figures"
}

# The table of figures, and what fills it.
create_results()
{
	sql <<-'SQL'
		CREATE EXTENSION seqid;
		CREATE EXTENSION pgstattuple;
		CREATE TABLE result (
			n serial, part text, subject text, metric text, figure float8
		);
		-- Medians, and how far the rounds are apart.
		CREATE VIEW median AS
		SELECT min(n) AS n, part, subject, metric, count(*) AS rounds,
		       percentile_cont(0.5) WITHIN GROUP (ORDER BY figure) AS median,
		       min(figure) AS smallest, max(figure) AS largest
		  FROM result GROUP BY part, subject, metric;
		-- Seconds of CPU that this process has used.
		CREATE FUNCTION cpu_seconds() RETURNS float8 LANGUAGE sql VOLATILE AS $$
			SELECT (stat[12]::float8 + stat[13]::float8) / 100
			  FROM string_to_array(regexp_replace(pg_read_file('/proc/self/stat', 0, 1000), '.*\) ', ''), ' ') AS stat
		$$;
		-- Runs a query of so many calls twice, and keeps what one call of the second
		-- took, in nanoseconds, and how much of a core.
		CREATE FUNCTION time_calls(part text, subject text, query text, calls bigint)
		RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			started timestamptz;
			seconds float8;
			cpu float8;
		BEGIN
			EXECUTE query;
			cpu := cpu_seconds();
			started := clock_timestamp();
			EXECUTE query;
			seconds := extract(epoch FROM clock_timestamp() - started);
			INSERT INTO result (part, subject, metric, figure) VALUES
				(part, subject, 'ns', seconds * 1e9 / calls),
				(part, subject, '% of a core', 100 * (cpu_seconds() - cpu) / seconds);
		END
		$$;
	SQL
}

# keep PART SUBJECT METRIC FIGURE
keep()
{
	sql -v part="$1" -v subject="$2" -v metric="$3" -v figure="$4" <<-'SQL'
		INSERT INTO result (part, subject, metric, figure)
		VALUES (:'part', :'subject', :'metric', :'figure');
	SQL
}

# run_pgbench SCRIPT OPTION...: transactions a second.
run_pgbench()
{
	pg pgbench -n -f "$1" "${@:2}" 2>"$work/pgbench.err" >"$work/pgbench.out" ||
		{ cat "$work/pgbench.err" "$work/pgbench.out" >&2; die "pgbench failed"; }
	sed -n 's/^tps = \([0-9.]*\) .*without initial connection.*/\1/p
		s/^tps = \([0-9.]*\) (excluding.*/\1/p' "$work/pgbench.out"
}

# keep_percentiles PART SUBJECT P...: of the microseconds that the last run of
# pgbench logged, with -l --log-prefix="$work/pgbench_log".
keep_percentiles()
{
	local part=$1 subject=$2 p
	shift 2

	cat "$work"/pgbench_log.* | awk '{ print $3 }' | sort -n >"$work/latencies"
	rm -f "$work"/pgbench_log.*
	for p in "$@"; do
		keep "$part" "$subject" "p$p" "$(awk -v p="$p" '{ us[NR] = $1 }
			END { i = int(NR * p + 0.5); if (i < 1) i = 1; print us[i] }' "$work/latencies")"
	done
}

# script NAME SQL: a file for pgbench.
script()
{
	printf '%s\n' "$2" >"$work/$1.pgbench"
	printf '%s' "$work/$1.pgbench"
}

# What the figures are of, for captions.
machine()
{
	printf '%s, %s cores, %s, PostgreSQL %s' \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -s ' ')" \
		"$(nproc)" \
		"$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)" \
		"$(value 'SHOW server_version' | cut -d ' ' -f 1)"
}

# time_query PART SUBJECT QUERY CALLS: see time_calls(); CALLS in the query stands
# for the number.
time_query()
{
	sql -v part="$1" -v subject="$2" -v query="${3//CALLS/$4}" -v calls="$4" <<-'SQL' >/dev/null
		SELECT time_calls(:'part', :'subject', :'query', :calls);
	SQL
}
