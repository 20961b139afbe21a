# outbox: eight clients insert into a table that a reader polls every 10 ms, by one
# method at a time: alone; beside another transaction that writes to another table and
# stays open; and beside one that inserts a row and stays open for 5 s.  How long after
# its commit a row is seen, how many rows never are, and what it costs the writers.  A
# transaction thinks before and after its insert, 0 to 4 ms each time, and one in a
# hundred is rolled back.
#
# A reader is a client, pgbench, which continues after the last row of the table seen.
# Methods: seqid.settled() in a statement, in a view, with PREPARE, with a generic plan,
# under REPEATABLE READ and with a new connection for each poll; the CALLs; the bound in
# SQL, of examples/outbox/settled.sql; a column of transaction ids below
# pg_snapshot_xmin(), and one with snapshots that a ticker stores every 50 ms; the
# greatest id, where a lock lets one writer in at a time; one that stops at a gap until
# the row behind it is a second old; logical decoding that is polled; and the greatest
# id without a lock, which misses rows.
#
# Then the CPU of a look, and of a row in a sequential scan.

# Lines 'subject|method|situations': alone, another's transaction, a writer that is slow.
outbox_subjects()
{
	cat <<-'LIST'
		no reader|none|alone
		settled|settled|alone open slow
		settled, view|view|alone open
		settled, PREPARE|prepared|alone
		settled, generic plan|generic|alone
		settled, REPEATABLE READ|repeatable|alone open
		settled, new connections|connections|alone open
		sequence_horizon|sequence|alone open slow
		horizon|horizon|alone open
		pg_locks in SQL|locks|alone open slow
		xid column|xid|alone open slow
		ticker|ticker|alone open
		writers' lock|lock|alone open slow
		gap timer|gaps|alone open slow
		decoding|decoding|alone open
		max(id)|max|alone
	LIST
}

create_outbox()
{
	sql <<-'SQL'
		CREATE TABLE unrelated (n int);
		CREATE UNLOGGED TABLE seen (id bigint, at timestamptz, xid xid8);
		CREATE INDEX ON seen (id);
		CREATE INDEX ON seen (xid);
		CREATE UNLOGGED TABLE tick (newest pg_snapshot, read pg_snapshot, before pg_snapshot);

		CREATE PROCEDURE make_outbox(method text) LANGUAGE plpgsql AS $$
		BEGIN
			SET LOCAL client_min_messages = warning;
			DROP TABLE IF EXISTS outbox CASCADE;
			TRUNCATE seen, tick;
			INSERT INTO tick VALUES ('1:1:', '1:1:', '1:1:');
			CREATE TABLE outbox (id bigserial PRIMARY KEY, made timestamptz NOT NULL DEFAULT clock_timestamp(),
			                     payload text NOT NULL DEFAULT 'something that has happened');
			IF method IN ('xid', 'ticker') THEN
				ALTER TABLE outbox ADD xid xid8 NOT NULL DEFAULT pg_current_xact_id();
				CREATE INDEX ON outbox (xid, id);
			ELSIF method = 'horizon' THEN
				ALTER TABLE outbox ALTER id SET DEFAULT snowflake_nextval(5);
			ELSIF method = 'view' THEN
				CREATE VIEW settled_outbox AS SELECT * FROM outbox WHERE id < (SELECT seqid.settled('outbox_id_seq'));
			END IF;
			COMMIT;
			IF method = 'decoding' THEN
				PERFORM pg_create_logical_replication_slot('outbox', 'test_decoding');
			END IF;
		END
		$$;

		-- Keeps the CPU of a look, in microseconds.
		CREATE PROCEDURE time_looks(subject text, statement text) LANGUAGE plpgsql AS $$
		DECLARE
			until timestamptz := clock_timestamp() + interval '3 seconds';
			cpu float8 := cpu_seconds();
			looks bigint := 0;
		BEGIN
			WHILE clock_timestamp() < until LOOP
				EXECUTE statement;
				COMMIT;
				looks := looks + 1;
			END LOOP;
			INSERT INTO result (part, subject, metric, figure)
			VALUES ('outbox looks', subject, 'µs', (cpu_seconds() - cpu) * 1e6 / looks);
			COMMIT;
		END
		$$;
	SQL
	sql -f "$top/examples/outbox/settled.sql"
}

# What a writer does, for pgbench.
outbox_script()
{
	local before=""

	[ "$1" != lock ] || before="SELECT pg_advisory_xact_lock(1);"
	script outbox "$(printf '%s\n' "\\set before random(0, 4000)" "\\set after random(0, 4000)" "\\set fate random(1, 100)" \
		"BEGIN;" "\\sleep :before us" "$before" "INSERT INTO outbox DEFAULT VALUES;" "\\sleep :after us" \
		"\\if :fate = 1" "ROLLBACK;" "\\else" "COMMIT;" "\\endif")"
}

# What a reader does, for pgbench.
reader_script()
{
	local bound="" from=outbox condition="id > :last" columns="id, clock_timestamp()"

	case $1 in
		view) from=settled_outbox ;;
		settled | prepared | generic | repeatable | connections)
			condition+=" AND id < seqid.settled('outbox_id_seq')" ;;
		sequence) bound="CALL seqid.sequence_horizon('outbox_id_seq') \\gset" condition+=" AND id < :horizon" ;;
		horizon) bound="CALL seqid.horizon() \\gset" condition+=" AND id < :snowflake" ;;
		locks) bound="SELECT settled_look('outbox_id_seq') AS bound \\gset" condition+=" AND id < :bound" ;;
		xid)
			columns+=", xid"
			condition="xid > (SELECT coalesce(max(xid), '0') FROM seen) AND xid < pg_snapshot_xmin(pg_current_snapshot())" ;;
		ticker)
			bound="UPDATE tick SET before = read, read = newest RETURNING before, read \\gset"
			condition="xid >= pg_snapshot_xmin(':before') AND xid < pg_snapshot_xmax(':read')
			  AND pg_visible_in_snapshot(xid, ':read') AND NOT pg_visible_in_snapshot(xid, ':before')" ;;
		gaps)
			from="(SELECT id, min(id) FILTER (WHERE id > before + 1 AND made > clock_timestamp() - interval '1 second') OVER () AS gap
			  FROM (SELECT id, made, lag(id, 1, :last) OVER (ORDER BY id) AS before FROM outbox WHERE id > :last) u) w"
			condition="id < coalesce(gap, 9223372036854775807)" ;;
		decoding)
			columns="substring(data FROM 'id\\[bigint\\]:(\\d+)')::bigint, clock_timestamp()"
			from="pg_logical_slot_get_changes('outbox', NULL, NULL)"
			condition="data LIKE 'table public.outbox: INSERT:%'" ;;
	esac
	script reader "$(printf '%s\n' "\\sleep 10 ms" "SELECT coalesce(max(id), 0) AS last FROM seen \\gset" \
		"$bound" "INSERT INTO seen SELECT $columns FROM $from WHERE $condition;")"
}

# run_reader METHOD SECONDS
run_reader()
{
	local protocol=simple settings="-c enable_seqscan=off" connect=""

	case $1 in
		prepared) protocol=prepared ;;
		generic) protocol=prepared settings+=" -c plan_cache_mode=force_generic_plan" ;;
		repeatable) settings+=" -c default_transaction_isolation=repeatable\\ read" ;;
		connections) connect=-C ;;
	esac
	pgoptions=$settings pg pgbench -n -f "$(reader_script "$1")" -M "$protocol" $connect -c 1 -T "$2"
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
		       (SELECT count(*) AS rows, count(*) FILTER (WHERE NOT EXISTS (SELECT FROM seen s WHERE s.id = o.id)) AS missed
		          FROM outbox o) c,
		       (SELECT count(*) - count(DISTINCT id) AS twice FROM seen) t,
		       LATERAL (VALUES ('p0.5', ms[1]), ('p0.99', ms[2]), ('rows', c.rows), ('missed', c.missed),
		                       ('twice', t.twice)) v (metric, figure)
		 WHERE figure IS NOT NULL;
	SQL
}

# measure_outbox SUBJECT METHOD SITUATION: the reader has two seconds to see the rest.
measure_outbox()
{
	local subject=$1 method=$2 background=() length=$((seconds * 2 + 1)) pid tps

	sql -c "CALL make_outbox('$method')"
	if [ "$method" = ticker ]; then
		pg pgbench -n -f "$(script ticker "\\sleep 50 ms"$'\n'"UPDATE tick SET newest = pg_current_snapshot();")" -T $((length + 2)) >/dev/null 2>&1 & background+=($!)
	fi
	if [ "$method" != none ]; then run_reader "$method" $((length + 2)) >"$work/reader.out" 2>&1 & background+=($!); fi
	case $3 in
		open) sql -c BEGIN -c "INSERT INTO unrelated VALUES (1)" -c "SELECT pg_sleep($length)" -c COMMIT >"$work/open.out" & background+=($!) ;;
		slow) sql -c BEGIN -c "SELECT pg_advisory_xact_lock(1) WHERE '$method' = 'lock'" -c "INSERT INTO outbox DEFAULT VALUES" -c "SELECT pg_sleep(least(5, $length - 1))" -c COMMIT >"$work/open.out" & background+=($!) ;;
	esac
	tps=$(run_pgbench "$(outbox_script "$method")" -c 8 -j 2 -T "$length")
	for pid in "${background[@]}"; do
		wait "$pid" || { cat "$work/reader.out" >&2; die "$subject: the reader or a transaction failed"; }
	done
	keep outbox "$subject" tps "$tps"
	[ "$method" = none ] || keep_seen "$subject"
	[ "$method" != decoding ] || value "SELECT pg_drop_replication_slot('outbox')" >/dev/null
}

# measure_looks SUBJECT CLIENTS STATEMENTS: beside clients that stay after the statements.
measure_looks()
{
	local clients=$2 pid call="CALL seqid.sequence_horizon('outbox_id_seq')"

	value "SELECT seqid.settled('outbox_id_seq')" >/dev/null
	pg pgbench -n -f "$(script idle "BEGIN; $3"$'\n''\sleep 12 s'$'\n'COMMIT\;)" -c "$clients" -t 1 >"$work/idle.out" 2>&1 & pid=$!
	until [ "$(value "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench' AND state LIKE 'idle%' AND query <> ''")" = "$clients" ]; do
		kill -0 "$pid" 2>/dev/null || die "no clients stay"
	done
	sql -c "CALL time_looks('CALL, $1', \$\$$call\$\$)"
	sql -c "CALL time_looks('settled, $1', \$\$SELECT 1 WHERE seqid.settled('outbox_id_seq') > 0\$\$)"
	wait "$pid" || { cat "$work/idle.out" >&2; die "the clients failed"; }
}

part_outbox()
{
	local round subject method situations situation name times=$(((rounds + 2) / 3)) logical bound

	create_outbox
	for round in $(seq $times); do
		while IFS='|' read -r subject method situations; do
			progress "outbox: round $round of $times: $subject"
			logical=replica
			[ "$method" != decoding ] || logical=logical
			stop_server
			start_server "$shared_buffers -c track_commit_timestamp=on -c wal_level=$logical"
			for situation in $situations; do
				name="$subject, $situation"
				measure_outbox "${name%, alone}" "$method" "$situation"
			done
		done < <(outbox_subjects)
	done
	stop_server
	start_server "$shared_buffers -c max_connections=1100"
	sql -c "CALL make_outbox('none')" -c "CREATE TABLE scanned AS SELECT g::bigint AS id FROM generate_series(1, $size * 10000) g" -c "VACUUM scanned" -c "SELECT nextval('outbox_id_seq')" >/dev/null
	progress "outbox: looks"
	measure_looks "100 connections" 100 "SELECT 1;"
	measure_looks "1,000 open writers" 1000 "SELECT nextval('outbox_id_seq');"
	for bound in "1" "seqid.settled('outbox_id_seq')" "(SELECT seqid.settled('outbox_id_seq'))"; do
		time_query "outbox scan" "$bound" "SELECT count(*) FROM scanned WHERE id < $bound" $((size * 10000))
	done
	progress_end
	stop_server
	start_server "$shared_buffers"

	sql <<-'SQL'
		\echo
		\echo 'outbox: 8 clients inserting, one reader; milliseconds from a commit to when its row is seen;'
		\echo 'open: beside a transaction of another table; slow: beside a writer that stays open for 5 s'
		SELECT subject, round(max(median) FILTER (WHERE metric = 'p0.5')::numeric, 1) AS "50 %",
		       round(max(median) FILTER (WHERE metric = 'p0.99')::numeric, 1) AS "99 %",
		       max(median) FILTER (WHERE metric = 'rows') AS rows, max(median) FILTER (WHERE metric = 'missed') AS missed,
		       max(median) FILTER (WHERE metric = 'twice') AS twice, round(max(median) FILTER (WHERE metric = 'tps')) AS tps
		  FROM median WHERE part = 'outbox' GROUP BY subject ORDER BY min(n);
		\echo 'CPU of a look in µs, and of a row in a sequential scan in ns'
		SELECT subject, metric, round(median::numeric, 1) AS figure
		  FROM median WHERE part LIKE 'outbox %' AND metric IN ('µs', 'ns') ORDER BY n;
	SQL
}
