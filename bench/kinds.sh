# kinds.sh: the kinds of keys that are compared, and tables of them.

# Peers, in schemas of their own: extension, schema, the kind's name, type, and a
# call.  pgEdge's snowflake prescribes its schema, and has a sequence of its own.
peers()
{
	cat <<-'LIST'
		sequential_uuids|peer_sequential_uuids|peer time|uuid|peer_sequential_uuids.uuid_time_nextval()
		sequential_uuids|peer_sequential_uuids|peer sequence|uuid|peer_sequential_uuids.uuid_sequence_nextval('sequence_uuid')
		pg_uuidv7|peer_pg_uuidv7|peer uuidv7|uuid|peer_pg_uuidv7.uuid_generate_v7()
		snowflake|snowflake|peer snowflake|bigint|snowflake.nextval()
	LIST
}

create_peers()
{
	local extension schema name type call

	# It issues nothing without a node; to the others this means nothing.
	sql -c "ALTER DATABASE postgres SET snowflake.node = 1"
	: >"$work/peers"
	while IFS='|' read -r extension schema name type call; do
		[ "$(value "SELECT count(*) FROM pg_available_extensions WHERE name = '$extension'")" = 1 ] || continue
		if ! sql >"$work/peer.log" 2>&1 <<-SQL; then
			SET client_min_messages = warning;
			CREATE SCHEMA IF NOT EXISTS $schema;
			CREATE EXTENSION IF NOT EXISTS $extension SCHEMA $schema;
			SELECT $call;
		SQL
			say "$extension is installed and cannot be used: $(head -n 1 "$work/peer.log")"
			continue
		fi
		printf '%s|%s|%s\n' "$name" "$type" "$call" >>"$work/peers"
	done < <(peers)
}

# Their calls, as lines 'subject|call'.
peer_calls()
{
	cut -d '|' -f 1,3 "$work/peers"
}

create_kinds()
{
	local name type call

	sql <<-'SQL'
		CREATE SEQUENCE sequence_plain;
		CREATE SEQUENCE sequence_cached CACHE 1000;
		CREATE SEQUENCE sequence_uuid;
		CREATE SEQUENCE sequence_order;
		CREATE TABLE kind (n serial, name text, type text, key text);
		INSERT INTO kind (name, type, key) VALUES
			('bigserial', 'bigint', 'nextval(''sequence_plain'')'),
			('cached', 'bigint', 'nextval(''sequence_cached'')'),
			('snowflake', 'bigint', 'snowflake_nextval(5)'),
			('comb', 'uuid', 'comb_uuid()'),
			('uuid_time', 'uuid', 'uuid_time_nextval()'),
			('uuid_sequence', 'uuid', 'uuid_sequence_nextval(''sequence_uuid'')'),
			('random', 'uuid', 'gen_random_uuid()');
		INSERT INTO kind (name, type, key)
		SELECT 'core uuidv7', 'uuid', 'uuidv7()' WHERE to_regprocedure('pg_catalog.uuidv7()') IS NOT NULL;
		-- An index as a table grows.
		CREATE TABLE growth (
			part text, kind text, rows bigint, density float8, fragmentation float8, index_size bigint
		);

		-- Fills a table with one kind of key and keeps what it took.
		CREATE FUNCTION fill(part text, kind text, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			started timestamptz;
			wal_start pg_lsn;
			seconds float8;
			wal float8;
		BEGIN
			EXECUTE (SELECT format('CREATE TABLE filled (id %s PRIMARY KEY DEFAULT %s, n int)', type, key)
			           FROM kind WHERE name = fill.kind);
			started := clock_timestamp();
			wal_start := pg_current_wal_insert_lsn();
			EXECUTE format('INSERT INTO filled (n) SELECT generate_series(1, %s)', wanted);
			seconds := extract(epoch FROM clock_timestamp() - started);
			wal := pg_current_wal_insert_lsn() - wal_start;
			INSERT INTO result (part, subject, metric, figure)
			SELECT fill.part, fill.kind, v.metric, v.figure
			  FROM pgstatindex('filled_pkey') s,
			       LATERAL (VALUES ('rows/s', wanted / seconds), ('WAL bytes/row', wal / wanted),
			                       ('index bytes/row', s.index_size / wanted::float8),
			                       ('density', s.avg_leaf_density),
			                       ('fragmentation', s.leaf_fragmentation)) v (metric, figure);
			DROP TABLE filled;
		END
		$$;
		CREATE FUNCTION filled(part text)
		RETURNS TABLE (kind text, "rows/s" numeric, smallest numeric, largest numeric,
		               "WAL bytes/row" numeric, "index bytes/row" numeric,
		               "leaf density %" numeric, "fragmentation %" numeric)
		LANGUAGE sql AS $$
			SELECT subject, round(max(median) FILTER (WHERE metric = 'rows/s')),
			       round(max(smallest) FILTER (WHERE metric = 'rows/s')),
			       round(max(largest) FILTER (WHERE metric = 'rows/s')),
			       round(max(median) FILTER (WHERE metric = 'WAL bytes/row')),
			       round(max(median) FILTER (WHERE metric = 'index bytes/row')::numeric, 1),
			       round(max(median) FILTER (WHERE metric = 'density')::numeric, 2),
			       round(max(median) FILTER (WHERE metric = 'fragmentation')::numeric, 2)
			  FROM median m WHERE m.part = filled.part GROUP BY subject ORDER BY min(n)
		$$;
	SQL
	create_peers
	while IFS='|' read -r name type call; do
		sql -v name="$name" -v type="$type" -v call="$call" <<-'SQL'
			INSERT INTO kind (name, type, key) VALUES (:'name', :'type', :'call');
		SQL
	done <"$work/peers"
	has_uuidv7=$(value "SELECT to_regprocedure('pg_catalog.uuidv7()') IS NOT NULL")
}
