#!/usr/bin/env bash
# intern.sh: measures interning against the statement that one writes by hand.
#
# Terms are AT-URIs of 70 bytes, in batches of 1, 100, 1000 and 10,000 from 1, 2
# and 4 clients, each batch a transaction that is flushed.  Both tables begin with
# a million terms (200,000 with --quick).  By hand means a table with a bigserial, INSERT
# ... ON CONFLICT DO NOTHING and a join for the ids; from PostgreSQL 19 on, ON CONFLICT
# DO SELECT, which returns the ids.  The INSERT alone, which returns no ids, is shown as
# well.
set -euo pipefail

usage='usage: bench/intern.sh [--quick] [--rounds N] [--terms N] [--out DIRECTORY]

  --quick   a minute: one round, fewer terms
  --rounds  rounds of each measurement, in turn (3); medians are shown
  --terms   how many a measurement interns (100000)
  --out     where intern.tsv goes (bench/out)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/bench/lib.sh"

rounds=3
terms=100000
first_terms=1000000
out=$top/bench/out
command="bench/intern.sh${*:+ $*}"
while [ $# -gt 0 ]; do
	case $1 in
		--quick) rounds=1 terms=20000 first_terms=200000 ;;
		--rounds) rounds=${2:?}; shift ;;
		--terms) terms=${2:?}; shift ;;
		--out) out=$(realpath -m "${2:?}"); shift ;;
		*) wrong_usage ;;
	esac
	shift
done

make_work_directory
build_seqid
start_server 1GB
create_results
echo "$(machine); $command"

progress "filling the dictionaries"
sql -v first_terms="$first_terms" <<-'SQL' >/dev/null
	CREATE FUNCTION uri(n bigint) RETURNS text LANGUAGE sql AS $$
		SELECT 'at://did:plc:' || left(md5(n::text), 24) || '/app.bsky.feed.post/' ||
		       left(md5((-n)::text), 13)
	$$;
	SELECT intern_create('dictionary');
	CREATE TABLE by_hand (id bigserial PRIMARY KEY, term text COLLATE "C" NOT NULL UNIQUE);
	CREATE TABLE insert_alone (LIKE by_hand INCLUDING ALL);
	CREATE SEQUENCE insert_alone_seq;
	ALTER TABLE insert_alone ALTER id SET DEFAULT nextval('insert_alone_seq');
	SELECT current_setting('server_version_num')::int >= 190000 AS has_do_select \gset
	\if :has_do_select
	CREATE FUNCTION by_hand_ids(terms text[]) RETURNS bigint[] LANGUAGE sql AS $$
		WITH h AS (
			INSERT INTO by_hand (term) SELECT DISTINCT unnest(terms)
			ON CONFLICT (term) DO SELECT RETURNING id, term
		)
		SELECT array_agg(h.id ORDER BY t.n)
		  FROM unnest(terms) WITH ORDINALITY AS t (term, n) JOIN h USING (term)
	$$;
	\else
	CREATE FUNCTION by_hand_ids(terms text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO by_hand (term) SELECT unnest(terms) ON CONFLICT DO NOTHING;
		RETURN (SELECT array_agg(h.id ORDER BY t.n)
		          FROM unnest(terms) WITH ORDINALITY AS t (term, n) JOIN by_hand h USING (term));
	END
	$$;
	\endif
	SELECT count(intern_ids('dictionary', terms))
	  FROM (SELECT array_agg(uri(n)) AS terms FROM generate_series(1, :first_terms) n GROUP BY n % 100) v;
	INSERT INTO by_hand (term) SELECT term FROM dictionary ORDER BY random();
	INSERT INTO insert_alone (term) SELECT term FROM dictionary ORDER BY random();
	CREATE TABLE batch (n int, terms text[]);
	ALTER TABLE batch ALTER terms SET STORAGE EXTERNAL;
	VACUUM ANALYZE;
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
		                                ELSE 1 + (n * 7919 + :next) % :first END))
		  FROM generate_series(0, :count - 1) n GROUP BY n / :size;
		SET client_min_messages = warning;
		DROP INDEX IF EXISTS batch_n;
		CREATE INDEX batch_n ON batch (n);
		VACUUM ANALYZE batch;
	SQL
	next_term=$((next_term + count))
}

# Terms a second of one subject; each client has its own batches.
measure()
{
	local subject=$1 size=$2 clients=$3 count=$4 call

	case $subject in
		seqid) call="cardinality(intern_ids('dictionary', terms))" ;;
		'by hand') call="cardinality(by_hand_ids(terms))" ;;
	esac
	{
		printf '%s\n' '\set i :i + 1' "\\set n :client_id * $((count / size / clients)) + :i - 1"
		if [ "$subject" = "INSERT alone" ]; then
			echo "INSERT INTO insert_alone (term) SELECT unnest(terms) FROM batch WHERE n = :n ON CONFLICT DO NOTHING;"
		else
			echo "SELECT $call FROM batch WHERE n = :n;"
		fi
	} >"$work/intern.pgbench"
	run_pgbench "$work/intern.pgbench" -M prepared -D i=0 -c "$clients" -j 2 \
		-t $((count / size / clients)) | awk -v size="$size" '{ print $1 * size }'
}

for round in $(seq "$rounds"); do
	for size in 1 100 1000 10000; do
		for clients in 1 2 4; do
			# As many as fill the clients' batches, and fewer where each costs a flush.
			count=$terms
			[ "$size" != 1 ] || count=$((terms / 5))
			[ $((count / size)) -ge $((clients * 2)) ] || count=$((size * clients * 2))
			count=$((count / (size * clients) * size * clients))
			for what in new known; do
				make_batches $what "$size" $count
				for subject in seqid "by hand" "INSERT alone"; do
					progress "round $round of $rounds: batches of $size, $clients clients, $what: $subject"
					keep "$what" "$subject" "$size/$clients" "$(measure "$subject" "$size" "$clients" $count)"
				done
			done
		done
	done
done
progress_end

sql <<-'SQL'
	\echo
	\echo 'terms a second; ratios to by hand, and to the INSERT alone, which returns no ids'
	SELECT s.part AS terms, split_part(s.metric, '/', 1)::int AS batch, split_part(s.metric, '/', 2)::int AS clients,
	       round(s.median) AS seqid, round(h.median) AS "by hand", round(i.median) AS "INSERT alone",
	       round((s.median / h.median)::numeric, 2) AS ratio, round((s.median / i.median)::numeric, 2) AS "to INSERT"
	  FROM median s JOIN median h USING (part, metric) JOIN median i USING (part, metric)
	 WHERE s.subject = 'seqid' AND h.subject = 'by hand' AND i.subject = 'INSERT alone'
	 ORDER BY s.part DESC, 2, 3;
SQL
mkdir -p "$out"
sql -c "COPY (SELECT part, subject, metric, rounds, median, smallest, largest FROM median ORDER BY n)
        TO STDOUT (FORMAT csv, DELIMITER E'\t', HEADER)" >"$out/intern.tsv"
