# percall: what one call costs, in one session, over a trivial function called in
# the same query.  A shard has 4,096 ids a millisecond, so the calls go over all
# of them; what one shard can do is part limit.  All shards of snowflake53 together
# have no more than that, so its query is slowed down by a hash, and so is the
# trivial one that it is compared with.
#
# The difference of two measurements is small against what a busy machine does to
# each, so there are many short rounds, and it is taken in each of them.

percall_subjects()
{
	cat <<-'LIST'
		trivial|int8abs(g)
		trivial of a shard|int8abs(g & 1023)
		trivial, slow|int4abs((g & 31) + 0 * length(md5(g::text)))
		clock read|clock_timestamp()
		nextval|nextval('sequence_plain')
		settled|seqid.settled('sequence_plain')
		nextval, CACHE 1000|nextval('sequence_cached')
		snowflake|snowflake_nextval(g & 1023)
		snowflake53|snowflake53_nextval((g & 31) + 0 * length(md5(g::text)))
		scatter|scatter_nextval('sequence_plain')
		comb|comb_uuid()
		uuid_time|uuid_time_nextval()
		uuid_sequence|uuid_sequence_nextval('sequence_plain')
		random|gen_random_uuid()
	LIST
	[ "$has_uuidv7" = f ] || echo "core uuidv7|uuidv7()"
	peer_calls
}

round_percall()
{
	local subject call

	while IFS='|' read -r subject call; do
		is_there "$subject" || continue
		time_query percall "$subject" \
			"SELECT count($call) FROM (SELECT generate_series(1, CALLS) AS g) v" $((size * 2000 + 50000))
	done < <(percall_subjects)
}

part_percall()
{
	local round build times=$((rounds * 4))

	for round in $(seq $times); do
		for build in $builds; do
			progress "percall: round $round of $times: $build build"
			use_build "$build"
			round_percall
		done
	done
	use_build this
	progress_end
	collect_against percall

	sql <<-'SQL'
		\echo
		\echo 'percall: nanoseconds a call, over a trivial function in the same query'
		CREATE VIEW percall_net AS
		WITH round AS (
			SELECT *, row_number() OVER (PARTITION BY part, subject ORDER BY n) AS round
			  FROM result WHERE part IN ('percall', 'against percall') AND metric = 'ns'
		), net AS (
			SELECT r.n, r.part, r.subject, r.figure - t.figure AS net
			  FROM round r JOIN round t
			    ON t.part = r.part AND t.round = r.round
			   AND t.subject = CASE r.subject WHEN 'snowflake' THEN 'trivial of a shard'
			                                     WHEN 'snowflake53' THEN 'trivial, slow' ELSE 'trivial' END
			 WHERE r.subject NOT LIKE 'trivial%'
		)
		SELECT min(n) AS n, part, subject, percentile_cont(0.5) WITHIN GROUP (ORDER BY net) AS net,
		       min(net) AS smallest, max(net) AS largest
		  FROM net GROUP BY part, subject;
		CREATE VIEW percall AS SELECT * FROM percall_net WHERE part = 'percall';
		SELECT subject, round(net) AS "net ns", round(smallest) AS smallest, round(largest) AS largest,
		       round((net / (SELECT net FROM percall WHERE subject = 'nextval'))::numeric, 2) AS "of nextval",
		       round((net / (SELECT net FROM percall WHERE subject = 'random'))::numeric, 3) AS "of random",
		       round((net / (SELECT net FROM percall WHERE subject = 'core uuidv7'))::numeric, 3) AS "of core uuidv7"
		  FROM percall ORDER BY n;
	SQL
	[ "$builds" != this ] || return 0
	sql <<-'SQL'
		\echo
		\echo 'percall: net nanoseconds a call, this build against the other'
		SELECT subject, round(t.net) AS "this", round(a.net) AS against,
		       round((t.net / nullif(a.net, 0))::numeric, 2) AS ratio
		  FROM percall t JOIN percall_net a USING (subject)
		 WHERE a.part = 'against percall' ORDER BY t.n;
	SQL
}
