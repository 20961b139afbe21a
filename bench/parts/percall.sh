# percall: what one call costs, in one session, over a trivial function called in
# the same query.  A shard has 4,096 ids a millisecond, so the calls go over all
# of them; what one shard can do is part limit.
#
# The difference of two measurements is small against what a busy machine does to
# each, so there are many short rounds, and it is taken in each of them.

percall_subjects()
{
	cat <<-'LIST'
		trivial|int8abs(g)
		trivial of a shard|int4abs(g & 1023)
		clock read|clock_timestamp()
		nextval|nextval('sequence_plain')
		nextval, CACHE 1000|nextval('sequence_cached')
		snowflake|snowflake_nextval(g & 1023)
		scatter|scatter_nextval('sequence_plain')
		comb|comb_uuid()
		uuid_time|uuid_time_nextval()
		uuid_sequence|uuid_sequence_nextval('sequence_plain')
		random|gen_random_uuid()
	LIST
	[ "$has_uuidv7" = f ] || echo "core uuidv7|uuidv7()"
	peer_calls
}

part_percall()
{
	local round subject call times=$((rounds * 4))

	for round in $(seq $times); do
		progress "percall: round $round of $times"
		while IFS='|' read -r subject call; do
			time_query percall "$subject" \
				"SELECT count($call) FROM (SELECT generate_series(1, CALLS) AS g) v" $((size * 2000 + 50000))
		done < <(percall_subjects)
	done
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'percall: nanoseconds a call, over a trivial function in the same query'
		CREATE VIEW percall AS
		WITH round AS (
			SELECT *, row_number() OVER (PARTITION BY subject ORDER BY n) AS round
			  FROM result WHERE part = 'percall' AND metric = 'ns'
		), net AS (
			SELECT r.n, r.subject, r.figure - t.figure AS net
			  FROM round r JOIN round t
			    ON t.round = r.round
			   AND t.subject = CASE r.subject WHEN 'snowflake' THEN 'trivial of a shard' ELSE 'trivial' END
			 WHERE r.subject NOT LIKE 'trivial%'
		)
		SELECT min(n) AS n, subject, percentile_cont(0.5) WITHIN GROUP (ORDER BY net) AS net,
		       min(net) AS smallest, max(net) AS largest
		  FROM net GROUP BY subject;
		SELECT subject, round(net) AS "net ns", round(smallest) AS smallest, round(largest) AS largest,
		       round((net / (SELECT net FROM percall WHERE subject = 'nextval'))::numeric, 2) AS "of nextval",
		       round((net / (SELECT net FROM percall WHERE subject = 'random'))::numeric, 3) AS "of random",
		       round((net / (SELECT net FROM percall WHERE subject = 'core uuidv7'))::numeric, 3) AS "of core uuidv7"
		  FROM percall ORDER BY n;
	SQL
}
