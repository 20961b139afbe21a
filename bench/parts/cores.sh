# cores: so many clients insert at once, one row or 100 rows a statement, and what they
# wait for.  Nothing is flushed, so that the pages of the index and not the disk are the
# limit; with unlogged tables, WAL is none either.  A machine with few cores shows the
# shape only.  On one with 32 or more, run
#
#	bench/run.sh --clients "1 2 4 8 16 32 64" cores
#
# Wait events are samples of pg_stat_activity, every 10 ms.  A client that runs, or that
# waits for a core, has none.

create_cores()
{
	sql <<-'SQL'
		ALTER SYSTEM SET fsync = off;
		ALTER SYSTEM SET synchronous_commit = off;
		SELECT pg_reload_conf() \g /dev/null
		CREATE SEQUENCE sequence_scattered;
		CREATE TABLE wait_sample (subject text, setting text, event text, clients bigint);
		CREATE FUNCTION sample_waits(subject text, setting text, seconds float8) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			last timestamptz := clock_timestamp() + seconds * interval '1 s';
		BEGIN
			WHILE clock_timestamp() < last LOOP
				PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
				INSERT INTO wait_sample
				SELECT subject, setting, coalesce(wait_event, 'none'), count(*)
				  FROM pg_stat_activity
				 WHERE application_name = 'pgbench' AND state = 'active' AND wait_event IS DISTINCT FROM 'ClientRead'
				 GROUP BY wait_event;
			END LOOP;
		END
		$$;
	SQL
}

# Lines 'subject|type|key|hash partitions'.
cores_subjects()
{
	local n

	cat <<-'LIST'
		bigserial|bigint|nextval('sequence_plain')|0
		cached|bigint|nextval('sequence_cached')|0
		snowflake, 1 shard|bigint|snowflake_nextval(5)|0
		snowflake, a shard each|bigint|snowflake_nextval(:client_id)|0
		comb|uuid|comb_uuid()|0
		random|uuid|gen_random_uuid()|0
	LIST
	[ "$has_uuidv7" = f ] || echo "core uuidv7|uuid|uuidv7()|0"
	for n in 4 8 14; do
		echo "scatter, $n bits|bigint|scatter_nextval('sequence_scattered', $n)|0"
	done
	for n in 4 16 64; do
		echo "snowflake, $n partitions|bigint|snowflake_nextval(5)|$n"
	done
}

# measure_cores SUBJECT TYPE KEY PARTITIONS LOGGED ROWS CLIENTS
measure_cores()
{
	local setting="$5/$6/$7" insert="INSERT INTO filled SELECT $3, 1 FROM generate_series(1, $6);"
	local unlogged=${5#logged} parent=${5#logged} by_hash="" sampler
	local duration=$((seconds + $7 / 16))	# of which connecting takes a part

	[ "$6" -gt 1 ] || insert="INSERT INTO filled VALUES ($3, 1);"
	[ "$4" = 0 ] || parent="" by_hash="PARTITION BY HASH (id)"
	sql <<-SQL
		CREATE $parent TABLE filled (id $2 PRIMARY KEY, n int) $by_hash;
		SELECT 'CREATE $unlogged TABLE filled_' || i || ' PARTITION OF filled FOR VALUES WITH (MODULUS $4, REMAINDER ' || i || ')'
		  FROM generate_series(0, $4 - 1) i \gexec
		ALTER SEQUENCE sequence_scattered RESTART;
	SQL
	sql -c "SELECT sample_waits('$1', '$setting', $duration)" >/dev/null &
	sampler=$!
	keep cores "$1" "rows/s/$setting" "$(run_pgbench "$(script cores "$insert")" -M prepared \
		-c "$7" -j "$(nproc)" -T "$duration" | awk -v rows="$6" '{ print $1 * rows }')"
	wait "$sampler"
	sql -v subject="$1" -v setting="$setting" <<-'SQL'
		INSERT INTO result (part, subject, metric, figure)
		SELECT 'cores', :'subject', metric || '/' || :'setting', figure
		  FROM (SELECT sum(index_size) / (SELECT count(*) FROM filled) AS bytes, avg(avg_leaf_density) AS density
		          FROM pg_class, pgstatindex(oid) WHERE relkind = 'i' AND relname ~ '^filled.*_pkey$') s,
		       LATERAL (VALUES ('bytes', bytes), ('density', density)) v (metric, figure);
		DROP TABLE filled;
	SQL
}

part_cores()
{
	local round logged rows clients subject type key partitions

	create_cores
	for round in $(seq "$rounds"); do for logged in unlogged logged; do for rows in 1 100; do for clients in $clients_list; do
		while IFS='|' read -r subject type key partitions; do
			progress "cores: round $round of $rounds: $clients clients, $rows rows, $logged: $subject"
			measure_cores "$subject" "$type" "$key" "$partitions" "$logged" "$rows" "$clients"
		done < <(cores_subjects)
	done; done; done; done
	progress_end
	for logged in unlogged logged; do for rows in 1 100; do
		sql -v of="$logged/$rows" -v last="${clients_list##* }" <<-'SQL'
			\echo
			\echo 'cores: thousand rows a second by so many clients; tables and rows a statement:' :of
			SELECT subject, split_part(metric, '/', 5)::int AS clients, round(median / 1000)
			  FROM median WHERE part = 'cores' AND metric LIKE 'rows/s/' || :'of' || '/%' ORDER BY n \crosstabview
			\echo 'cores: the index, and percent of the samples that have a wait event;' :last 'clients'
			SELECT m.subject, round(max(median) FILTER (WHERE metric LIKE 'bytes%')::numeric, 1) AS "index bytes/row",
			       round(max(median) FILTER (WHERE metric LIKE 'density%')::numeric, 1) AS "leaf density %",
			       (SELECT string_agg(event || ' ' || percent, ', ' ORDER BY percent DESC)
			          FROM (SELECT event, round(100 * sum(clients) / sum(sum(clients)) OVER ()) AS percent
			                  FROM wait_sample s WHERE s.subject = m.subject AND setting = :'of' || '/' || :'last'
			                 GROUP BY event) e WHERE percent > 0) AS waits
			  FROM median m WHERE part = 'cores' AND metric LIKE '%/' || :'of' || '/' || :'last'
			 GROUP BY m.subject ORDER BY min(n);
		SQL
	done; done
	sql -c "ALTER SYSTEM RESET fsync" -c "ALTER SYSTEM RESET synchronous_commit" -c "SELECT pg_reload_conf()" >/dev/null
}
