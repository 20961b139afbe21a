#!/usr/bin/env bash
# intern.sh: measures interning against the best statements that a user writes.
#
# Terms are AT-URIs of 70 bytes.  Each batch is a transaction that is flushed.  By hand
# means a table with a bigserial and a unique B-tree:
#   new    a sorted INSERT ... ON CONFLICT DO NOTHING RETURNING, and a search for the terms
#          that it did not return; from PostgreSQL 19 on, ON CONFLICT DO SELECT
#   known  a join
#   load   COPY, then CREATE INDEX; for seqid, COPY to a staging table, then intern_ids()
#          in batches of 10,000
# Figures are net of reading the batch, but for the time that 999 of 1,000 batches stay
# below.  CPU time is that of all server processes.
set -euo pipefail

usage='usage: bench/intern.sh [--quick] [--rounds N] [--terms N] [--first N] [--load N] [--sizes LIST]
                       [--clients LIST] [--buffers SIZE] [--out DIRECTORY]

  --quick   a minute: one round, fewer terms
  --rounds  rounds of each measurement, in turn (3); medians are shown
  --terms   how many a measurement interns (100000)
  --first   how many both tables have at the beginning (2000000)
  --load    how many are loaded into empty tables (1000000; 0: none)
  --sizes   of the batches ("1 100 1000 10000")
  --clients numbers of clients ("1 2 4")
  --buffers shared_buffers (2GB)
  --out     where intern.tsv goes (bench/out)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/bench/lib.sh"

rounds=3
terms=100000
first_terms=2000000
load_terms=1000000
sizes="1 100 1000 10000"
clients_list="1 2 4"
buffers=2GB
out=$top/bench/out
command="bench/intern.sh${*:+ $*}"
while [ $# -gt 0 ]; do
	case $1 in
		--quick) rounds=1 terms=20000 first_terms=200000 load_terms=100000 ;;
		--rounds) rounds=${2:?}; shift ;;
		--terms) terms=${2:?}; shift ;;
		--first) first_terms=${2:?}; shift ;;
		--load) load_terms=${2:?}; shift ;;
		--sizes) sizes=${2:?}; shift ;;
		--clients) clients_list=${2:?}; shift ;;
		--buffers) buffers=${2:?}; shift ;;
		--out) out=$(realpath -m "${2:?}"); shift ;;
		*) wrong_usage ;;
	esac
	shift
done

make_work_directory
build_seqid
start_server "$buffers"
create_results
echo "$(machine); $command"

progress "filling the dictionaries"
sql -v first_terms="$first_terms" <<-'SQL' >/dev/null
	CREATE FUNCTION uri(n bigint) RETURNS text LANGUAGE sql AS $$
		SELECT 'at://did:plc:' || left(md5(n::text), 24) || '/app.bsky.feed.post/' ||
		       left(md5((-n)::text), 13)
	$$;
	SELECT intern_create('dictionary');
	INSERT INTO dictionary (term) SELECT uri(n) FROM generate_series(1, :first_terms) n;
	CREATE TABLE by_hand (id bigserial PRIMARY KEY, term text COLLATE "C" NOT NULL UNIQUE);
	INSERT INTO by_hand (term) SELECT term FROM dictionary;

	SELECT current_setting('server_version_num')::int >= 190000 AS has_do_select \gset
	\if :has_do_select
	CREATE FUNCTION by_hand_new(terms text[]) RETURNS bigint[] LANGUAGE plpgsql
	SET enable_nestloop = off AS $$
	DECLARE
		ids bigint[];
	BEGIN
		WITH h AS (
			INSERT INTO by_hand (term) SELECT DISTINCT t COLLATE "C" FROM unnest(terms) t ORDER BY 1
			ON CONFLICT (term) DO SELECT RETURNING id, term
		)
		SELECT array_agg(h.id ORDER BY n) INTO ids
		  FROM unnest(terms) WITH ORDINALITY AS t (term, n) JOIN h USING (term);
		RETURN ids;
	END
	$$;
	\else
	CREATE FUNCTION by_hand_new(terms text[]) RETURNS bigint[] LANGUAGE plpgsql
	SET enable_nestloop = off AS $$
	DECLARE
		ids bigint[];
	BEGIN
		WITH h AS (
			INSERT INTO by_hand (term) SELECT DISTINCT t COLLATE "C" FROM unnest(terms) t ORDER BY 1
			ON CONFLICT (term) DO NOTHING RETURNING id, term
		)
		SELECT array_agg(coalesce(h.id, (SELECT id FROM by_hand WHERE by_hand.term = t.term)) ORDER BY n) INTO ids
		  FROM unnest(terms) WITH ORDINALITY AS t (term, n) LEFT JOIN h USING (term);
		RETURN ids;
	END
	$$;
	\endif
	CREATE FUNCTION by_hand_known(terms text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
	BEGIN
		RETURN (SELECT array_agg(h.id ORDER BY t.n)
		          FROM unnest(terms) WITH ORDINALITY AS t (term, n) JOIN by_hand h USING (term));
	END
	$$;
	CREATE PROCEDURE intern_staged(dictionary regclass, batch int) LANGUAGE plpgsql AS $$
	DECLARE
		terms text[];
	BEGIN
		FOR i IN 0 .. (SELECT max(n) FROM staging) / batch LOOP
			SELECT array_agg(term) INTO terms FROM staging WHERE n >= i * batch AND n < (i + 1) * batch;
			PERFORM intern_ids(dictionary, terms);
			COMMIT;
		END LOOP;
	END
	$$;
	CREATE TABLE batch (n int, terms text[]);
	ALTER TABLE batch ALTER terms SET STORAGE EXTERNAL;
	VACUUM ANALYZE;
	CHECKPOINT;
SQL
next_term=$((first_terms + 1))

# The batches of a measurement, in the order in which terms came up.
make_batches()
{
	local what=$1 size=$2 count=$3

	sql -v size="$size" -v count="$count" -v next="$next_term" -v first="$first_terms" <<-SQL >/dev/null
		TRUNCATE batch;
		INSERT INTO batch
		SELECT n / :size, array_agg(uri(CASE '$what' WHEN 'new' THEN :next + n
		                                ELSE 1 + (n::bigint * 7919 + :next) % :first END))
		  FROM generate_series(0, :count - 1) n GROUP BY n / :size;
		SET client_min_messages = warning;
		DROP INDEX IF EXISTS batch_n;
		CREATE INDEX batch_n ON batch (n);
		VACUUM ANALYZE batch;
	SQL
	next_term=$((next_term + count))
}

# Seconds of CPU that server processes have used which have ended.
ended_cpu()
{
	awk '{ sub(/.*\) /, ""); print ($14 + $15) / 100 }' "/proc/$(head -n 1 "$work/data/postmaster.pid")/stat"
}

# Bytes of WAL that have been written.
wal_bytes()
{
	value "SELECT pg_current_wal_insert_lsn() - '0/0'"
}

# What a call takes: seconds a term, seconds of CPU a term, bytes of WAL a term, and the
# milliseconds that 999 of 1,000 calls stay below.  Each client has its own batches.
measure()
{
	local call=$1 size=$2 clients=$3 count=$4 cpu wal rate

	script intern "\\set i :i + 1
\\set n :client_id * $((count / size / clients)) + :i - 1
SELECT $call FROM batch WHERE n = :n;" >/dev/null
	cpu=$(ended_cpu)
	wal=$(wal_bytes)
	rate=$(run_pgbench "$work/intern.pgbench" -M prepared -D i=0 -c "$clients" -j 2 -t $((count / size / clients)) \
		-l --log-prefix="$work/pgbench_log")
	sleep 0.2
	awk -v rate="$rate" -v size="$size" -v cpu="$cpu" -v wal="$wal" -v count="$count" -v cpu_after="$(ended_cpu)" \
		-v wal_after="$(wal_bytes)" -v p999="$(cat "$work"/pgbench_log.* | sort -n -k 3 |
			awk '{ us[NR] = $3 } END { print us[int(NR * 0.999 + 0.5)] / 1000 }')" \
		'BEGIN { print 1 / (rate * size), (cpu_after - cpu) / count, (wal_after - wal) / count, p999 }'
	rm -f "$work"/pgbench_log.*
}

measure_batches()
{
	local what=$1 size=$2 clients=$3 count=$4 subject call nothing seconds cpu wal p999 nothing_cpu

	make_batches "$what" "$size" "$count"
	read -r nothing nothing_cpu _ <<<"$(measure "cardinality(terms)" "$size" "$clients" "$count")"
	for subject in seqid "by hand"; do
		progress "round $round of $rounds: batches of $size, $clients clients, $what: $subject"
		case $subject in
			seqid) call="cardinality(intern_ids('dictionary', terms))" ;;
			*) call="cardinality(by_hand_$what(terms))" ;;
		esac
		read -r seconds cpu wal p999 <<<"$(measure "$call" "$size" "$clients" "$count")"
		keep "$what" "$subject" "terms/$size/$clients" "$(awk "BEGIN { print 1 / ($seconds - $nothing) }")"
		keep "$what" "$subject" "cpu/$size/$clients" "$(awk "BEGIN { print 1e6 * ($cpu - $nothing_cpu) }")"
		keep "$what" "$subject" "wal/$size/$clients" "$wal"
		keep "$what" "$subject" "p999/$size/$clients" "$p999"
	done
}

# A table of terms, loaded into an empty dictionary and into an empty table.
measure_load()
{
	local subject statement started before

	sql -v count="$load_terms" -v next="$next_term" <<-'SQL' >/dev/null
		DROP TABLE IF EXISTS loaded, loaded_by_hand, staging;
		CREATE TABLE staging (n bigserial, term text);
		SELECT intern_create('loaded');
		CREATE TABLE loaded_by_hand (id bigserial, term text COLLATE "C" NOT NULL);
	SQL
	sql -c "COPY (SELECT uri($next_term + n) FROM generate_series(1, $load_terms) n) TO '$work/terms'"
	next_term=$((next_term + load_terms))
	for subject in seqid "by hand"; do
		progress "round $round of $rounds: loading $load_terms terms: $subject"
		if [ "$subject" = seqid ]; then
			statement="COPY staging (term) FROM '$work/terms'; CREATE INDEX ON staging (n); ANALYZE staging; CALL intern_staged('loaded', 10000)"
		else
			statement="COPY loaded_by_hand (term) FROM '$work/terms'; ALTER TABLE loaded_by_hand ADD PRIMARY KEY (id), ADD UNIQUE (term)"
		fi
		before=$(ended_cpu)
		started=$(date +%s.%N)
		tr ';' '\n' <<<"$statement" | sed 's/$/;/' | sql >/dev/null
		sleep 0.2
		keep load "$subject" "terms/1/1" "$(awk -v count="$load_terms" "BEGIN { print count / ($(date +%s.%N) - $started) }")"
		keep load "$subject" "cpu/1/1" "$(awk -v count="$load_terms" "BEGIN { print 1e6 * ($(ended_cpu) - $before) / count }")"
	done
}

for round in $(seq "$rounds"); do
	for size in $sizes; do
		for clients in $clients_list; do
			# As many as fill the clients' batches, and fewer where each costs a flush.
			count=$terms
			[ "$size" != 1 ] || count=$((terms / 5))
			[ $((count / size)) -ge $((clients * 2)) ] || count=$((size * clients * 2))
			count=$((count / (size * clients) * size * clients))
			for what in new known; do
				measure_batches $what "$size" "$clients" $count
			done
		done
	done
	[ "$load_terms" = 0 ] || measure_load
done
progress_end

sql <<-'SQL'
	\echo
	\echo 'terms a second; microseconds of CPU and bytes of WAL a term; 999 of 1,000 batches, in milliseconds'
	SELECT s.part AS terms, split_part(s.metric, '/', 2)::int AS batch, split_part(s.metric, '/', 3)::int AS clients,
	       split_part(s.metric, '/', 1) AS figure, round(s.median::numeric, 1) AS seqid,
	       round(h.median::numeric, 1) AS "by hand", round((s.median / nullif(h.median, 0))::numeric, 2) AS ratio
	  FROM median s JOIN median h USING (part, metric)
	 WHERE s.subject = 'seqid' AND h.subject = 'by hand'
	 ORDER BY s.part DESC, 2, 3, s.n;
SQL
mkdir -p "$out"
sql -c "COPY (SELECT part, subject, metric, rounds, median, smallest, largest FROM median ORDER BY n)
        TO STDOUT (FORMAT csv, DELIMITER E'\t', HEADER)" >"$out/intern.tsv"
