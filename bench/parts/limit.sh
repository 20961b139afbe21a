# limit: how near one shard comes to the ids a millisecond of its format, 4,096 of
# snowflake and 128 of snowflake53, and how much of a core the session takes for that.

part_limit()
{
	local round ids=$((size * 80000)) ids53=$((size * 2500)) query query53

	query53=$(script limit53 "SELECT count(snowflake53_nextval(5)) FROM (SELECT generate_series(1, 10000)) v;")
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
		time_query limit "snowflake53_nextvals(5, n)" \
			"SELECT count(*) FROM (SELECT snowflake53_nextvals(5, CALLS)) v" $ids53
		time_query limit "n times snowflake53_nextval(5)" \
			"SELECT count(snowflake53_nextval(5)) FROM (SELECT generate_series(1, CALLS)) v" $ids53
		keep limit "4 clients, snowflake53_nextval(5)" ns \
			"$(run_pgbench "$query53" -c 4 -j 2 -T "$seconds" | awk '{ print 1e9 / ($1 * 10000) }')"
	done
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'limit: ids of one shard, in per cent of the 4,096,000 a second that it has, or 128,000'
		SELECT m.subject, round((1e9 / m.median / l.per_cent)::numeric, 1) AS "% of the limit",
		       round((1e9 / m.largest / l.per_cent)::numeric, 1) AS smallest,
		       round(c.median) AS "% of a core"
		  FROM median m
		 CROSS JOIN LATERAL (SELECT CASE WHEN m.subject LIKE '%snowflake53%' THEN 1280 ELSE 40960 END AS per_cent) l
		  LEFT JOIN median c ON c.part = 'limit' AND c.subject = m.subject AND c.metric = '% of a core'
		 WHERE m.part = 'limit' AND m.metric = 'ns' ORDER BY m.n;
	SQL
}
