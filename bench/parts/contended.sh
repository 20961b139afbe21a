# contended: eight clients at once, each drawing 1,000 keys a transaction.

part_contended()
{
	local round subject call

	for round in $(seq "$rounds"); do
		while IFS='|' read -r subject call; do
			progress "contended: round $round of $rounds: $subject"
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
				comb|comb_uuid()
				uuid_time|uuid_time_nextval()
				random|gen_random_uuid()
			LIST
			[ "$has_uuidv7" = f ] || echo "core uuidv7|uuidv7()"
			peer_calls
		)
	done
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'contended: million keys a second, 8 clients, 1,000 keys a transaction'
		SELECT subject, round((median / 1e6)::numeric, 2) AS median,
		       round((smallest / 1e6)::numeric, 2) AS smallest, round((largest / 1e6)::numeric, 2) AS largest
		  FROM median WHERE part = 'contended' ORDER BY n;
	SQL
}
