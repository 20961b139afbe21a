# transaction: what a transaction costs that draws keys: the first of them lists it,
# for those who read by the horizon.  A procedure commits after each draw; net is over
# one that calls a trivial function, and the later keys are those of a transaction
# that draws ten.  And the same in eight sessions at once.

transaction_subjects()
{
	cat <<-'LIST'
		no key|PERFORM int8abs(i)
		one snowflake|PERFORM snowflake_nextval(i & 1023)
		one comb|PERFORM comb_uuid()
		one nextval|PERFORM nextval('sequence_plain')
		ten calls, no key|PERFORM int8abs(i), int8abs(i), int8abs(i), int8abs(i), int8abs(i), int8abs(i), int8abs(i), int8abs(i), int8abs(i), int8abs(i)
		ten combs|PERFORM comb_uuid(), comb_uuid(), comb_uuid(), comb_uuid(), comb_uuid(), comb_uuid(), comb_uuid(), comb_uuid(), comb_uuid(), comb_uuid()
	LIST
}

create_transaction()
{
	local subject statement

	while IFS='|' read -r subject statement; do
		sql <<-SQL
			CREATE PROCEDURE "transact $subject" (transactions bigint) LANGUAGE plpgsql AS \$\$
			BEGIN
				FOR i IN 1 .. transactions LOOP
					$statement;
					COMMIT;
				END LOOP;
			END
			\$\$;
		SQL
	done < <(transaction_subjects)
}

# round_transaction CALLS: one session, after a few calls that do not count.
round_transaction()
{
	local subject statement

	while IFS='|' read -r subject statement; do
		is_there "$subject" || continue
		keep transaction "$subject" ns "$(sql -At <<-SQL
			CALL "transact $subject"($1 / 10);
			SELECT clock_timestamp() AS started \gset
			CALL "transact $subject"($1);
			SELECT extract(epoch FROM clock_timestamp() - :'started') * 1e9 / $1;
		SQL
		)"
	done < <(transaction_subjects)
}

# round_transactions_at_once CALLS: eight sessions, each a shard of its own.
round_transactions_at_once()
{
	local subject statement tps

	while IFS='|' read -r subject statement; do
		tps=$(run_pgbench "$(script transaction "CALL \"transact $subject\"($1);")" -c 8 -j 2 -t 4)
		keep transaction "$subject, 8 sessions" ns "$(awk -v tps="$tps" -v n="$1" 'BEGIN { print 1e9 / (tps * n) }')"
	done < <(transaction_subjects | head -n 3)
}

part_transaction()
{
	local round build times=$((rounds * 4)) calls=$((size * 1000))

	for build in $builds; do
		use_build "$build"
		create_transaction
	done
	for round in $(seq $times); do
		for build in $builds; do
			progress "transaction: round $round of $times: $build build"
			use_build "$build"
			round_transaction "$calls"
			round_transactions_at_once $((calls / 10))
		done
	done
	use_build this
	progress_end
	collect_against transaction

	sql <<-'SQL'
		\echo
		\echo 'transaction: nanoseconds a transaction, with its commit; of 8 sessions, the machine''s'
		SELECT t.subject, round(t.median) AS "this", round(t.smallest) AS smallest, round(t.largest) AS largest,
		       round(a.median) AS against, round(a.smallest) AS "against, smallest",
		       round((t.median - a.median)::numeric, 1) AS difference
		  FROM median t LEFT JOIN median a ON a.part = 'against transaction' AND a.subject = t.subject
		 WHERE t.part = 'transaction' ORDER BY t.n;
	SQL
}
