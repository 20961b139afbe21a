# dump.sh: a dump of a table whose default is settled_nextval.
set -eu

psql -Xq <<-'SQL'
	CREATE TABLE events (id bigserial PRIMARY KEY, item text);
	ALTER TABLE events ALTER id SET DEFAULT settled_nextval('events_id_seq');
	INSERT INTO events (item) VALUES ('a'), ('b');
	CREATE DATABASE shop_test;
SQL
pg_dump -Fc >dump
pg_restore -d shop_test dump
export PGDATABASE=shop_test
next=$(psql -XqAt -c "INSERT INTO events (item) VALUES ('c') RETURNING id" -c "CALL seqid.sequence_horizon('events_id_seq')")
[ "${next%|*|*}" = "3
3" ] && echo "ok the restored table goes on, with its horizon" || echo "not ok the restored table goes on: $next"
PGDATABASE=postgres psql -Xq -d shop -c 'DROP DATABASE shop_test'
echo end
