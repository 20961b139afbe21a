# order: eight clients insert at the same time.  How many keys are smaller than
# the one before, in the order of a global sequence that is drawn just before the
# key; and what the index is like then.  Half the rounds will do.

part_order()
{
	local round kind insert times=$(((rounds + 1) / 2))

	for round in $(seq $times); do
		while IFS= read -r kind; do
			progress "order: round $round of $times: $kind"
			sql -v kind="$kind" <<-'SQL' >/dev/null
				SELECT format('CREATE TABLE ordered (n bigint DEFAULT nextval(''sequence_order''), id %s PRIMARY KEY DEFAULT %s)',
				              type, key) FROM kind WHERE name = :'kind' \gexec
			SQL
			insert=$(script order "INSERT INTO ordered SELECT FROM generate_series(1, 100);")
			run_pgbench "$insert" -c 8 -j 2 -t $((size * 50 / 8 + 1)) >/dev/null
			sql -v kind="$kind" <<-'SQL'
				INSERT INTO result (part, subject, metric, figure)
				SELECT 'order', :'kind', metric, figure
				  FROM (SELECT 100.0 * count(*) FILTER (WHERE id < previous) / count(*) AS misordered
				          FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM ordered) v) o,
				       pgstatindex('ordered_pkey') s,
				       LATERAL (VALUES ('misordered', o.misordered), ('density', s.avg_leaf_density),
				                       ('fragmentation', s.leaf_fragmentation)) v (metric, figure);
				DROP TABLE ordered;
			SQL
		done < <(value "SELECT name FROM kind ORDER BY n")
	done
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'order: 8 clients inserting, 100 rows a transaction'
		SELECT subject AS kind, round(max(median) FILTER (WHERE metric = 'misordered')::numeric, 3) AS "misordered %",
		       round(max(median) FILTER (WHERE metric = 'density')::numeric, 2) AS "leaf density %",
		       round(max(median) FILTER (WHERE metric = 'fragmentation')::numeric, 2) AS "fragmentation %"
		  FROM median WHERE part = 'order' GROUP BY subject ORDER BY min(n);
	SQL
}
