#!/usr/bin/env bash
# demo.sh: shows what seqid's keys do to a table, on real rows and at size.
#
# Installs from apt what is missing (as root, or through sudo), builds, starts
# a server of its own below a temporary directory, and removes that when it
# ends, also on Ctrl-C; the packages stay.  Other servers of the machine are not
# touched.  (Debian's PostgreSQL packages set up a server of their own when they
# are installed; this is not it.)
set -euo pipefail

usage='usage: scripts/demo.sh [--rows N]

  --rows  for each kind of key (300000)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/server.sh"

rows=300000
while [ $# -gt 0 ]; do
	case $1 in
		--rows)
			[ $# -ge 2 ] || wrong_usage
			rows=$2
			shift 2 ;;
		--rows=*)
			rows=${1#--rows=}
			shift ;;
		*) wrong_usage ;;
	esac
done
case $rows in
	'' | *[!0-9]* | 0* | ??????????*) die "--rows needs a number from 1 to 999999999" ;;
esac

make_work_directory

build_seqid
say "starting a server of its own"
start_server 128MB

#
# A first table, with real rows
#
say ""
say "--- A first table: the packages that apt knows, keyed by snowflakes"
apt-cache dumpavail | awk '
	# One line a package; COPY needs its escape character doubled.
	function put() {
		if (name != "") printf "%s\t%s\t%s\t%s\n", name, version, section, summary
		name = version = section = summary = ""
	}
	{ gsub(/\\/, "\\\\"); gsub(/\t/, " ") }
	/^Package: /     { put(); name = substr($0, 10) }
	/^Version: /     { version = substr($0, 10) }
	/^Section: /     { section = substr($0, 10) }
	/^Description: / { summary = substr($0, 14) }
	END              { put() }' >"$work/packages.tsv"

sql -c "CREATE EXTENSION seqid; CREATE EXTENSION pgstattuple"
sql -a <<-SQL
	CREATE TABLE package (
	    id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	    name text NOT NULL, version text, section text, summary text
	);
	SELECT clock_timestamp() AS before \gset
	\copy package (name, version, section, summary) FROM 'packages.tsv'
	SELECT clock_timestamp() AS after \gset

	-- by time: the key is its own index on when a row came
	SELECT count(*) AS loaded FROM package
	 WHERE id BETWEEN snowflake_first(:'before') AND snowflake_last(:'after');

	-- by id
	SELECT id AS some_id FROM package ORDER BY id OFFSET 1000 LIMIT 1 \gset
	SELECT id, name, left(summary, 50) AS summary FROM package WHERE id = :some_id;

	-- decoded
	SELECT name, id, p.* FROM package, LATERAL snowflake_parts(id) p ORDER BY id LIMIT 4;
SQL

#
# Each kind of key
#
say ""
say "--- $rows rows for each kind of key, inserted in turn, a tenth at a time"
sql <<-SQL
	CREATE TABLE kind (n serial, name text, type text, key text);
	INSERT INTO kind (name, type, key) VALUES
	    ('bigserial', 'bigint', 'nextval(''sequence_bigserial'')'),
	    ('snowflake', 'bigint', 'snowflake_nextval(5)'),
	    ('comb', 'uuid', 'comb_uuid()'),
	    ('random', 'uuid', 'gen_random_uuid()');
	INSERT INTO kind (name, type, key)
	SELECT 'core uuidv7', 'uuid', 'uuidv7()' WHERE to_regprocedure('pg_catalog.uuidv7()') IS NOT NULL;

	CREATE SEQUENCE sequence_bigserial;
	SELECT format('CREATE TABLE %I (id %s PRIMARY KEY DEFAULT %s, n int)', name, type, key)
	  FROM kind ORDER BY n \gexec

	CREATE TABLE part (kind text, seconds float8, wal_bytes numeric);
	CREATE FUNCTION add_rows(kind text, wanted bigint) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		started timestamptz := clock_timestamp();
		wal_start pg_lsn := pg_current_wal_insert_lsn();
	BEGIN
		EXECUTE format('INSERT INTO %I (n) SELECT generate_series(1, %s)', kind, wanted);
		INSERT INTO part VALUES (kind, extract(epoch FROM clock_timestamp() - started),
		                         pg_current_wal_insert_lsn() - wal_start);
	END
	\$\$;
	CHECKPOINT;
SQL

kinds=$(value "SELECT name FROM kind ORDER BY n")
for round in 1 2 3 4 5 6 7 8 9 10; do
	wanted=$((rows * round / 10 - rows * (round - 1) / 10))
	[ -t 2 ] || progress "inserting, round $round of 10"
	while IFS= read -r kind; do
		[ ! -t 2 ] || progress "inserting, round $round of 10: $kind"
		sql -At -c "SELECT add_rows('$kind', $wanted)" >/dev/null
	done <<<"$kinds"
done
progress_end

sql <<-SQL
	\pset footer off
	\pset border 0
	SELECT k.name AS "key kind",
	       round($rows / sum(p.seconds)) AS "rows/s",
	       pg_size_pretty(pg_relation_size(format('%I', k.name || '_pkey'))) AS "index size",
	       s.avg_leaf_density AS "leaf density %",
	       s.leaf_fragmentation AS "fragmentation %",
	       round(sum(p.wal_bytes) / $rows) AS "WAL bytes/row"
	  FROM kind k JOIN part p ON p.kind = k.name,
	       LATERAL pgstatindex(format('%I', k.name || '_pkey')) s
	 GROUP BY k.n, k.name, s.avg_leaf_density, s.leaf_fragmentation
	 ORDER BY k.n;

	\qecho Some of these keys, decoded
	SELECT 'snowflake' AS "key kind", id::text AS key,
	       format('%s, shard %s, sequence %s', p.created_at, p.shard, p.sequence) AS "what it contains"
	  FROM (SELECT id FROM snowflake ORDER BY id DESC LIMIT 2) v, LATERAL snowflake_parts(id) p
	 UNION ALL
	SELECT 'comb', id::text, comb_uuid_timestamp(id)::text
	  FROM (SELECT id FROM comb ORDER BY id DESC LIMIT 2) v;
SQL

#
# Blocks that wrap around
#
say ""
say "--- Old rows are deleted, but for one in twenty: the index after $((rows / 10 * 12)) rows"
sql <<-SQL
	CREATE SEQUENCE sequence_blocks;
	CREATE TABLE deleting (n serial, name text, type text, key text);
	INSERT INTO deleting (name, type, key) VALUES
	    ('snowflake', 'bigint', 'snowflake_nextval(5)'),
	    ('comb', 'uuid', 'comb_uuid()'),
	    ('uuid_sequence', 'uuid', 'uuid_sequence_nextval(''sequence_blocks'', greatest(1, $rows / 40), 16)');
	SELECT format('CREATE TABLE %I (n bigserial, id %s PRIMARY KEY DEFAULT %s)', 'deleting_' || name, type, key)
	  FROM deleting ORDER BY n \gexec
SQL
# Sixteen blocks, of which four are filled in a round, come again every four rounds.
kinds=$(value "SELECT name FROM deleting ORDER BY n")
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
	progress "inserting and deleting, round $round of 12"
	while IFS= read -r kind; do
		sql <<-SQL
			INSERT INTO deleting_$kind SELECT FROM generate_series(1, $rows / 10);
			DELETE FROM deleting_$kind WHERE n <= $rows / 10 * ($round - 2) AND n > $rows / 10 * ($round - 3) AND n % 20 <> 0;
			VACUUM deleting_$kind;
		SQL
	done <<<"$kinds"
done
progress_end
sql <<-SQL
	\pset footer off
	\pset border 0
	SELECT name AS "key kind", pg_size_pretty(s.index_size) AS "index size", s.avg_leaf_density AS "leaf density %"
	  FROM deleting, LATERAL pgstatindex(format('deleting_%s_pkey', name)) s ORDER BY n;
SQL
