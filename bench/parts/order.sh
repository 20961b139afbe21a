# order: eight clients insert at the same time.  How many keys are smaller than
# the one before, in the order of a global sequence that is drawn just before the
# key; and what becomes of the index as the table grows.  Half the rounds will do.

part_order()
{
	local round kind step steps=8 insert times=$(((rounds + 1) / 2))

	for round in $(seq $times); do
		while IFS= read -r kind; do
			progress "order: round $round of $times: $kind"
			sql -v kind="$kind" <<-'SQL' >/dev/null
				SELECT format('CREATE TABLE ordered (n bigint DEFAULT nextval(''sequence_order''), id %s PRIMARY KEY DEFAULT %s)',
				              type, key) FROM kind WHERE name = :'kind' \gexec
			SQL
			insert=$(script order "INSERT INTO ordered SELECT FROM generate_series(1, 100);")
			for step in $(seq $steps); do
				run_pgbench "$insert" -c 8 -j 2 -t $((size * 50 / steps / 8 + 1)) >/dev/null
				sql -v kind="$kind" <<-'SQL'
					INSERT INTO growth SELECT 'order', :'kind', (SELECT count(*) FROM ordered),
					       avg_leaf_density, leaf_fragmentation, index_size FROM pgstatindex('ordered_pkey');
				SQL
			done
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
