# contended: eight clients at once, each drawing 1,000 keys a transaction; and how
# long one who asks for one id waits among twelve who take whole milliseconds of
# his shard, a block of 4,096 ids each time.

# round_contended_keys ROUND: what each subject gives in a second.
round_contended_keys()
{
	local subject call

	while IFS='|' read -r subject call; do
		is_there "$subject" || continue
		progress "contended: $1: $subject"
		keep contended "$subject" 'keys/s' \
			"$(run_pgbench "$(script contended "SELECT count($call) FROM (SELECT generate_series(1, 1000) AS g) v;")" \
				-c 8 -j 2 -T "$seconds" | awk '{ print $1 * 1000 }')"
	done < <(
		cat <<-'LIST'
			the query alone|int8abs(g)
			nextval|nextval('sequence_plain')
			nextval, CACHE 1000|nextval('sequence_cached')
			snowflake, 8 shards|snowflake_nextval(:client_id)
			snowflake, 1 shard|snowflake_nextval(5)
			snowflake53, 8 shards|snowflake53_nextval(:client_id)
			comb|comb_uuid()
			uuid_time|uuid_time_nextval()
			random|gen_random_uuid()
		LIST
		[ "$has_uuidv7" = f ] || echo "core uuidv7|uuidv7()"
		peer_calls
	)
}

# round_contended_wait ROUND SUBJECT CLIENTS: a caller of one id among so many.  He
# is measured three times as long as others, as he makes few calls.
round_contended_wait()
{
	local subject=$2 clients=$3 hammer

	progress "contended: $1: $subject"
	if [ "$clients" -gt 0 ]; then
		pg pgbench -n -f "$(script hammer "SELECT snowflake_nextblock(5, 4096);")" \
			-c "$clients" -j 2 -T $((seconds * 3 + 2)) >"$work/hammer.out" 2>&1 &
		hammer=$!
		until [ "$(value "SELECT count(*) = $clients FROM pg_stat_activity WHERE query LIKE 'SELECT snowflake_nextblock%'")" = t ]; do
			kill -0 "$hammer" 2>/dev/null || { cat "$work/hammer.out" >&2; die "pgbench failed"; }
		done
	fi
	run_pgbench "$(script wait "SELECT snowflake_nextval(5);")" \
		-c 1 -T $((seconds * 3)) -l --log-prefix="$work/pgbench_log" >/dev/null
	keep_percentiles contended "$subject" 0.5 0.9 0.99 0.999
	[ "$clients" = 0 ] || wait "$hammer" || { cat "$work/hammer.out" >&2; die "pgbench failed"; }
}

part_contended()
{
	local round build

	for round in $(seq "$rounds"); do
		for build in $builds; do
			use_build "$build"
			round_contended_keys "round $round of $rounds, $build build"
			round_contended_wait "round $round of $rounds, $build build" "one id, alone" 0
			round_contended_wait "round $round of $rounds, $build build" "one id, 12 clients take blocks" 12
		done
	done
	use_build this
	progress_end
	collect_against contended

	sql <<-'SQL'
		\echo
		\echo 'contended: million keys a second, 8 clients, 1,000 keys a transaction'
		SELECT subject, round((median / 1e6)::numeric, 2) AS median,
		       round((smallest / 1e6)::numeric, 2) AS smallest, round((largest / 1e6)::numeric, 2) AS largest
		  FROM median WHERE part = 'contended' AND metric = 'keys/s' ORDER BY n;
		\echo 'contended: microseconds of a call of snowflake_nextval(5), as pgbench sees it'
		SELECT subject, max(median) FILTER (WHERE metric = 'p0.5') AS "50 %",
		       max(median) FILTER (WHERE metric = 'p0.9') AS "90 %",
		       max(median) FILTER (WHERE metric = 'p0.99') AS "99 %",
		       max(median) FILTER (WHERE metric = 'p0.999') AS "99.9 %"
		  FROM median WHERE part = 'contended' AND metric <> 'keys/s' GROUP BY subject ORDER BY min(n);
	SQL
	[ "$builds" != this ] || return 0
	sql <<-'SQL'
		\echo 'contended: this build against the other; keys a second, and percentiles of microseconds'
		SELECT subject, metric, round(t.median) AS "this", round(a.median) AS against,
		       round((t.median / nullif(a.median, 0))::numeric, 2) AS ratio
		  FROM median t JOIN median a USING (subject, metric)
		 WHERE t.part = 'contended' AND a.part = 'against contended' ORDER BY t.n;
	SQL
}
