# outbox: eight clients insert into a table that a reader polls every 10 ms, by one
# method at a time; with and without another transaction that writes to another
# table and stays open.  How long after its commit a row is seen, how many rows never
# are, and what it costs the writers.  A transaction thinks before and after its
# insert, 0 to 4 ms each time, and one in a hundred is rolled back.
#
# Methods: a reader that goes by the horizon of the sequence; by that of seqid's keys; by
# a column of transaction ids and pg_snapshot_xmin(); by the greatest id, where a lock
# lets one writer in at a time; one that stops at a gap until the row behind it is a
# second old; logical decoding that is polled; and by the greatest id, without a lock,
# which misses rows.

# Lines 'subject|method|with the open transaction too', which is then 'subject, open'.
outbox_subjects()
{
	cat <<-'LIST'
		no reader|none|f
		sequence_horizon|sequence|t
		horizon|horizon|t
		xid column|xid|t
		writers' lock|lock|t
		gap timer|gaps|t
		decoding|decoding|t
		max(id)|max|f
	LIST
}

create_outbox()
{
	sql <<-'SQL'
		CREATE TABLE unrelated (n int);
		CREATE UNLOGGED TABLE seen (id bigint, at timestamptz);

		CREATE PROCEDURE make_outbox(method text) LANGUAGE plpgsql AS $$
		BEGIN
			SET LOCAL client_min_messages = warning;
			DROP TABLE IF EXISTS outbox;
			TRUNCATE seen;
			CREATE TABLE outbox (id bigserial PRIMARY KEY, made timestamptz NOT NULL DEFAULT clock_timestamp(),
			                     payload text NOT NULL DEFAULT 'something that has happened');
			IF method = 'xid' THEN
				ALTER TABLE outbox ADD xid xid8 NOT NULL DEFAULT pg_current_xact_id();
				CREATE INDEX ON outbox (xid, id);
			END IF;
			IF method = 'sequence' THEN
				ALTER TABLE outbox ALTER id SET DEFAULT settled_nextval('outbox_id_seq');
			END IF;
			COMMIT;
			IF method = 'decoding' THEN
				PERFORM pg_create_logical_replication_slot('outbox', 'test_decoding');
			END IF;
		END
		$$;

		-- Each poll is a statement with a snapshot of its own, after that of the horizon.
		CREATE PROCEDURE poll_outbox(method text, seconds float8) LANGUAGE plpgsql AS $$
		DECLARE
			until timestamptz := clock_timestamp() + seconds * interval '1 second';
			last bigint := 0;
			last_xid xid8 := '0';
			bound record;
		BEGIN
			WHILE clock_timestamp() < until LOOP
				IF method = 'sequence' THEN
					EXECUTE $call$ CALL seqid.sequence_horizon('outbox_id_seq') $call$ INTO bound;
					INSERT INTO seen SELECT id, clock_timestamp() FROM outbox
					 WHERE id > last AND id <= bound.value ORDER BY id;
					last := bound.value;
				ELSIF method = 'horizon' THEN
					EXECUTE 'CALL seqid.horizon()' INTO bound;
					WITH read AS (
						INSERT INTO seen SELECT id, clock_timestamp() FROM outbox
						 WHERE id > last AND id < bound.snowflake ORDER BY id RETURNING id)
					SELECT coalesce(max(id), last) INTO last FROM read;
				ELSIF method = 'xid' THEN
					WITH read AS (
						SELECT id, xid FROM outbox
						 WHERE (xid, id) > (last_xid, last) AND xid < pg_snapshot_xmin(pg_current_snapshot())
						 ORDER BY xid, id),
					kept AS (INSERT INTO seen SELECT id, clock_timestamp() FROM read)
					SELECT id, xid INTO last, last_xid
					  FROM (SELECT id, xid FROM read UNION ALL SELECT last, last_xid) r
					 ORDER BY xid DESC, id DESC LIMIT 1;
				ELSIF method IN ('lock', 'max') THEN
					WITH read AS (
						INSERT INTO seen SELECT id, clock_timestamp() FROM outbox
						 WHERE id > last ORDER BY id RETURNING id)
					SELECT coalesce(max(id), last) INTO last FROM read;
				ELSIF method = 'gaps' THEN
					WITH unread AS (
						SELECT id, made, lag(id, 1, last) OVER (ORDER BY id) AS before
						  FROM outbox WHERE id > last),
					read AS (
						INSERT INTO seen SELECT id, clock_timestamp() FROM unread
						 WHERE id < coalesce((SELECT min(id) FROM unread
						                       WHERE id > before + 1 AND made > clock_timestamp() - interval '1 second'),
						                     9223372036854775807)
						 ORDER BY id RETURNING id)
					SELECT coalesce(max(id), last) INTO last FROM read;
				ELSIF method = 'decoding' THEN
					INSERT INTO seen SELECT substring(data FROM 'id\[bigint\]:(\d+)')::bigint, clock_timestamp()
					  FROM pg_logical_slot_get_changes('outbox', NULL, NULL)
					 WHERE data LIKE 'table public.outbox: INSERT:%';
				END IF;
				COMMIT;
				PERFORM pg_sleep(0.01);
			END LOOP;
		END
		$$;
	SQL
}

# What a writer does, for pgbench.
outbox_script()
{
	local before="" column="" value=""

	case $1 in
		horizon) column="(id) " value="VALUES (snowflake_nextval(:client_id))" ;;
		lock) before="SELECT pg_advisory_xact_lock(1);" ;;
	esac
	script outbox "$(cat <<-SCRIPT
		\\set before random(0, 4000)
		\\set after random(0, 4000)
		\\set fate random(1, 100)
		BEGIN;
		\\sleep :before us
		$before
		INSERT INTO outbox $column${value:-DEFAULT VALUES};
		\\sleep :after us
		\\if :fate = 1
		ROLLBACK;
		\\else
		COMMIT;
		\\endif
	SCRIPT
	)"
}

# keep_seen SUBJECT: what its reader saw.
keep_seen()
{
	sql -v subject="$1" <<-'SQL'
		INSERT INTO result (part, subject, metric, figure)
		SELECT 'outbox', :'subject', metric, figure
		  FROM (SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (
		                   ORDER BY 1000 * extract(epoch FROM s.at - pg_xact_commit_timestamp(o.xmin))::float8) AS ms
		          FROM seen s JOIN outbox o USING (id)) p,
		       (SELECT count(*) AS rows, count(*) FILTER (WHERE id NOT IN (SELECT id FROM seen)) AS missed
		          FROM outbox) c,
		       (SELECT count(*) - count(DISTINCT id) AS twice FROM seen) t,
		       LATERAL (VALUES ('p0.5', ms[1]), ('p0.99', ms[2]), ('rows', c.rows), ('missed', c.missed),
		                       ('twice', t.twice)) v (metric, figure)
		 WHERE figure IS NOT NULL;
	SQL
}

# measure_outbox SUBJECT METHOD open|closed: the other transaction ends a moment after
# the writers; then the reader has three seconds to see the rest.
measure_outbox()
{
	local subject=$1 method=$2 reader="" open="" length=$((seconds * 2)) tps

	sql -c "CALL make_outbox('$method')"
	if [ "$3" = open ]; then
		sql -c "BEGIN" -c "INSERT INTO unrelated VALUES (1)" -c "SELECT pg_sleep($length + 1)" -c "COMMIT" >"$work/open.out" 2>&1 &
		open=$!
		until [ "$(value "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")" = 1 ]; do
			kill -0 "$open" 2>/dev/null || { cat "$work/open.out" >&2; die "no transaction stays open"; }
		done
	fi
	if [ "$method" != none ]; then
		pgoptions="-c enable_seqscan=off" sql -c "CALL poll_outbox('$method', $length + 4)" >"$work/reader.out" 2>&1 &
		reader=$!
	fi
	tps=$(run_pgbench "$(outbox_script "$method")" -c 8 -j 2 -T "$length")
	[ -z "$open" ] || wait "$open" || { cat "$work/open.out" >&2; die "no transaction stays open"; }
	[ -z "$reader" ] || wait "$reader" || { cat "$work/reader.out" >&2; die "the reader failed"; }
	keep outbox "$subject" tps "$tps"
	[ "$method" = none ] || keep_seen "$subject"
	[ "$method" != decoding ] || value "SELECT pg_drop_replication_slot('outbox')" >/dev/null
}

part_outbox()
{
	local round subject method both times=$(((rounds + 2) / 3)) logical

	create_outbox
	for round in $(seq $times); do
		while IFS='|' read -r subject method both; do
			progress "outbox: round $round of $times: $subject"
			logical=replica
			[ "$method" != decoding ] || logical=logical
			stop_server
			start_server "$shared_buffers -c track_commit_timestamp=on -c wal_level=$logical"
			measure_outbox "$subject" "$method" closed
			[ "$both" = f ] || measure_outbox "$subject, open" "$method" open
		done < <(outbox_subjects)
	done
	progress_end
	stop_server
	start_server "$shared_buffers"

	sql <<-'SQL'
		\echo
		\echo 'outbox: 8 clients inserting, one reader; milliseconds from a commit to when its row is seen;'
		\echo 'open: beside another transaction that stays open'
		SELECT subject, round(max(median) FILTER (WHERE metric = 'p0.5')::numeric, 1) AS "50 %",
		       round(max(median) FILTER (WHERE metric = 'p0.99')::numeric, 1) AS "99 %",
		       round(max(median) FILTER (WHERE metric = 'rows')) AS rows,
		       max(median) FILTER (WHERE metric = 'missed') AS missed,
		       max(median) FILTER (WHERE metric = 'twice') AS twice,
		       round(max(median) FILTER (WHERE metric = 'tps')) AS tps,
		       round((max(median) FILTER (WHERE metric = 'tps') /
		              (SELECT median FROM median WHERE part = 'outbox' AND subject = 'no reader' AND metric = 'tps'))::numeric, 2)
		         AS "of no reader"
		  FROM median WHERE part = 'outbox' GROUP BY subject ORDER BY min(n);
	SQL
}
