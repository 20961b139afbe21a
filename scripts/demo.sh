#!/usr/bin/env bash
# demo.sh: shows a reader that loses a row and one that does not, and what each kind of
# key does to its index.
#
# Takes about 20 seconds.  Installs from apt what is missing (as root, or through sudo),
# builds, starts a server of its own below a temporary directory, and removes that when it
# ends, also on Ctrl-C; the packages stay.  Other servers of the machine are not touched.
set -euo pipefail

usage='usage: scripts/demo.sh [FILE]

  FILE  where the picture of the leaf pages goes (demo.svg)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/server.sh"

[ $# -le 1 ] && [[ ${1:-} != -* ]] || wrong_usage
file=${1:-demo.svg}
picture=$(realpath -m "$file")

make_work_directory
build_seqid perl
say "starting a server of its own"
start_server 128MB
sql -c "CREATE EXTENSION seqid; CREATE EXTENSION pgstattuple; CREATE EXTENSION pageinspect"

# show WHO STATEMENT: the statement, and the rows that it returns.
show()
{
	local rows

	rows=$(sql -At -F ' ' -c "$2")
	printf '\n%s\n    %s\n' "$1" "$2"
	sed 's/^/      /' <<<"${rows:-(no row)}"
}

# late WHO STATEMENT: in the session of the writer that commits late.
late()
{
	printf '\n%s\n    %s\n' "$1" "$2"
	printf '%s\n' "$2" '\echo' >&"${writer[1]}"
	read -r <&"${writer[0]}"
}

coproc writer { sql; }
settled="SELECT * FROM outbox WHERE id > 1 AND id < seqid.settled('outbox_id_seq')"
echo
echo "--- A row that is committed late, and two readers that have read row 1"
sql -At >/dev/null <<-SQL
	CREATE TABLE outbox (id bigserial PRIMARY KEY, topic text);
	INSERT INTO outbox (topic) VALUES ('apples');
	$settled;
SQL
late "A writer inserts row 2, and stays open:" "BEGIN; INSERT INTO outbox (topic) VALUES ('pears');"
show "Another writer inserts row 3:" "INSERT INTO outbox (topic) VALUES ('plums') RETURNING *;"
show "The reader by max(id) continues after row 1:" "SELECT * FROM outbox WHERE id > 1;"
show "The reader of settled rows does, too:" "$settled;"
late "The first writer commits:" "COMMIT;"
show "The reader by max(id) continues after row 3, and has lost row 2:" "SELECT * FROM outbox WHERE id > 3;"
show "The reader of settled rows has lost nothing:" "$settled;"

# The sixteen blocks of a sequential UUID take the rows of four steps, and come again then.
step=15000
echo
echo "--- The index on each kind of key, after $((4 * step)) rows, and after $((8 * step)) more,"
echo "    with 19 of 20 rows deleted that are older than the last $((2 * step))"
echo
sql -v step=$step <<-'SQL'
	CREATE SEQUENCE numbers;
	CREATE SEQUENCE blocks;
	CREATE TABLE kind (n serial, key text, type text);
	INSERT INTO kind (key, type) VALUES
	    ('nextval(''numbers'')', 'bigint'),
	    ('snowflake_nextval(5)', 'bigint'),
	    ('comb_uuid()', 'uuid');
	INSERT INTO kind (key, type) SELECT 'uuidv7()', 'uuid' WHERE to_regprocedure('pg_catalog.uuidv7()') IS NOT NULL;
	INSERT INTO kind (key, type) VALUES
	    (format('uuid_sequence_nextval(''blocks'', %s, 16)', :step / 4), 'uuid'),
	    ('gen_random_uuid()', 'uuid');

	-- How full the leaf pages are, in percent, in the order of the key.
	CREATE FUNCTION leaf_pages(index text) RETURNS text LANGUAGE sql AS $$
	    WITH RECURSIVE page AS MATERIALIZED (
	        SELECT s.* FROM generate_series(1, pg_relation_size(index) / 8192 - 1) b, bt_page_stats(index, b) s
	         WHERE type = 'l'
	    ), leaf AS (
	        SELECT 1 AS n, btpo_next, free_size FROM page WHERE btpo_prev = 0
	        UNION ALL
	        SELECT n + 1, p.btpo_next, p.free_size FROM leaf JOIN page p ON p.blkno = leaf.btpo_next
	    )
	    SELECT string_agg((100 - 100 * free_size / 8152)::text, ' ' ORDER BY n) FROM leaf
	$$;
	CREATE TABLE seen AS SELECT 0 AS stage, key, s.*, '' AS pages FROM kind, pgstatindex('kind_pkey') s LIMIT 0;
	CREATE PROCEDURE look(stage int) LANGUAGE sql AS $$
	    INSERT INTO seen SELECT stage, key, s.*, leaf_pages(name)
	      FROM kind, format('%I', key || '_pkey') name, pgstatindex(name) s
	$$;

	SELECT format('CREATE TABLE %I (n serial, id %s PRIMARY KEY DEFAULT %s)', key, type, key) FROM kind \gexec
	SELECT format('INSERT INTO %I SELECT FROM generate_series(1, %s)', key, 4 * :step) FROM kind \gexec
	CALL look(1);
	SELECT statement FROM kind, generate_series(1, 8) step, LATERAL (VALUES
	    (1, format('DELETE FROM %I WHERE n <= %s AND n %% 20 <> 0', key, (step + 2) * :step)),
	    (2, format('VACUUM %I', key)),
	    (3, format('INSERT INTO %I SELECT FROM generate_series(1, %s)', key, :step))) v (n, statement)
	 ORDER BY key, step, v.n \gexec
	CALL look(2);

	\pset footer off
	\pset border 0
	SELECT key, pg_size_pretty(a.index_size) AS "index size", a.avg_leaf_density AS "full %", a.leaf_fragmentation AS "fragmentation %",
	       pg_size_pretty(b.index_size) AS "after deletes", b.avg_leaf_density AS "full %"
	  FROM kind JOIN seen a USING (key) JOIN seen b USING (key) WHERE a.stage = 1 AND b.stage = 2 ORDER BY n;
SQL

sql -At -v step=$step >"$work/pages.txt" <<-'SQL'
	SELECT format('diagram pages 760 %s "Leaf pages of the index on each kind of key"', 84 + 88 * count(*)) FROM kind;
	\qecho text 20 24 start '"Leaf pages of the index on each kind of key"' title
	\qecho text 20 42 start '"A square is a page. Pages are in the order of the key, down and then to the right."' small
	SELECT 'pages 600 6 ' || string_agg(fill::text, ' ' ORDER BY fill) FROM generate_series(0, 90, 10) fill, generate_series(1, 8);
	\qecho text 594 28 end '"0 %"' small
	\qecho text 656 28 start '"100 % full"' small
	SELECT format('text 20 70 start "after %s rows"', to_char(4 * :step, 'FM999,999'));
	SELECT format('text 280 70 start "after %s more, with 19 of 20 older rows deleted"', to_char(8 * :step, 'FM999,999'));
	SELECT format('text 20 %s start "%s" title', 10 + 88 * n, key) FROM kind;
	SELECT format(E'text %s %s start "%s, %s %% full" small\npages %s %s %s', x, 28 + 88 * n,
	              pg_size_pretty(index_size), round(avg_leaf_density), x, 36 + 88 * n, pages)
	  FROM kind JOIN seen USING (key), LATERAL (VALUES (CASE stage WHEN 1 THEN 20 ELSE 280 END)) v (x);
SQL
perl "$top/docs/diagrams/draw.pl" "$work" "$work/pages.txt"
cp "$work/pages.svg" "$picture"
echo "Keys in order fill their pages, but never the room that deleted rows leave in a page;"
echo "blocks that come again do, and random keys. If all old rows go, empty pages are used again."
echo
echo "Open $file in a browser to see the pages of these indexes."
echo "docs/tutorial.md goes on from here, and docs/choose.md says which key fits your table."
