# stall: how long single calls take under load.  The mark is raised, and WAL
# flushed for it, about twice a second, by one session.  Only the slow ones are
# shown: pgbench looks at the clock too seldom for the others.

part_stall()
{
	local round subject query

	for round in $(seq "$rounds"); do
		while IFS='|' read -r subject query; do
			progress "stall: round $round of $rounds: $subject"
			run_pgbench "$(script stall "$query;")" -c 4 -j 4 -T "$seconds" -l --log-prefix="$work/pgbench_log" >/dev/null
			keep_percentiles stall "$subject" 0.99 0.999 0.9999 1
		done <<-'LIST'
			no function|SELECT 1
			nextval|SELECT nextval('sequence_plain')
			snowflake|SELECT snowflake_nextval(5)
			comb|SELECT comb_uuid()
			random|SELECT gen_random_uuid()
		LIST
	done
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'stall: microseconds of a statement with one call, 4 clients, as pgbench sees it'
		SELECT subject, max(median) FILTER (WHERE metric = 'p0.99') AS "99 %",
		       max(median) FILTER (WHERE metric = 'p0.999') AS "99.9 %",
		       max(median) FILTER (WHERE metric = 'p0.9999') AS "99.99 %",
		       max(median) FILTER (WHERE metric = 'p1') AS "longest"
		  FROM median WHERE part = 'stall' GROUP BY subject ORDER BY min(n);
	SQL
}
