# limit: how near one shard comes to the 4,096 ids a millisecond of its format,
# and how much of a core the session takes for that.

part_limit()
{
	local round ids=$((size * 80000)) query

	query=$(script limit "SELECT count(snowflake_nextval(5)) FROM (SELECT generate_series(1, 10000)) v;")
	for round in $(seq "$rounds"); do
		progress "limit: round $round of $rounds"
		time_query limit "snowflake_nextvals(5, n)" \
			"SELECT count(*) FROM (SELECT snowflake_nextvals(5, CALLS)) v" $ids
		time_query limit "n times snowflake_nextval(5)" \
			"SELECT count(snowflake_nextval(5)) FROM (SELECT generate_series(1, CALLS)) v" $ids
		time_query limit "n / 4096 times snowflake_nextblock(5, 4096)" \
			"SELECT count(snowflake_nextblock(5, 4096)) FROM (SELECT generate_series(1, CALLS / 4096)) v" $ids
		keep limit "4 clients, snowflake_nextval(5)" ns \
			"$(run_pgbench "$query" -c 4 -j 2 -T "$seconds" | awk '{ print 1e9 / ($1 * 10000) }')"
	done
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'limit: ids of one shard, in per cent of the 4,096,000 a second that it has'
		SELECT m.subject, round((1e9 / m.median / 40960)::numeric, 1) AS "% of the limit",
		       round((1e9 / m.largest / 40960)::numeric, 1) AS smallest,
		       round(c.median) AS "% of a core"
		  FROM median m
		  LEFT JOIN median c ON c.part = 'limit' AND c.subject = m.subject AND c.metric = '% of a core'
		 WHERE m.part = 'limit' AND m.metric = 'ns' ORDER BY m.n;
	SQL
}
