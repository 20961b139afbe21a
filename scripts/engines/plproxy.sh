# plproxy.sh: rows and terms on several servers, by PL/Proxy.
#
# A router hashes a key to a server by jump_hash, so that a further server takes its
# share of keys and moves no other.  A dictionary on several servers has a part of
# the ids on each, apart by the step of its sequence.

plproxy_packages()
{
	echo "postgresql-$PG_MAJOR-plproxy"
}

plproxy_run()
{
	local n

	for n in 0 1 2 3; do
		make_server server$n "seqid.shards = '4$n'"
		sql server$n <<-SQL
			CREATE TABLE customer (key bigint PRIMARY KEY, id bigint DEFAULT snowflake_nextval(), name text);
			CREATE FUNCTION customer_put(key bigint, name text) RETURNS bigint LANGUAGE sql AS
			    'INSERT INTO customer (key, name) VALUES (\$1, \$2) RETURNING id';
			CREATE FUNCTION customer_get(key bigint) RETURNS text LANGUAGE sql AS
			    'SELECT name FROM customer WHERE customer.key = \$1';
			SELECT intern_create('uris');
			-- nextval - 1 is the id: server n has n, n + 16, n + 32, ...
			ALTER SEQUENCE uris_id_seq INCREMENT BY 16 RESTART WITH $((n + 1));
			CREATE FUNCTION uri_ids(terms text[]) RETURNS TABLE (term text, id bigint) LANGUAGE sql AS
			    'SELECT * FROM unnest(\$1, intern_ids(''uris'', \$1))';
			CREATE FUNCTION uri_term(id bigint) RETURNS text LANGUAGE sql AS 'SELECT intern_term(''uris'', \$1)';
		SQL
	done >/dev/null
	make_server router
	make_router
	hash_rows
	intern_terms
	grow_to_four
}

# modular_mapping: else PL/Proxy wants a power of two, and takes the last bits.
make_router()
{
	sql router <<-SQL
		CREATE EXTENSION plproxy;
		CREATE SERVER shop FOREIGN DATA WRAPPER plproxy OPTIONS (modular_mapping '1',
		    p0 'dbname=postgres host=$place/server0',
		    p1 'dbname=postgres host=$place/server1',
		    p2 'dbname=postgres host=$place/server2');
	SQL
	sql router <<-'SQL'
		CREATE USER MAPPING FOR postgres SERVER shop OPTIONS (user 'postgres');
		-- As many as the cluster has at this time.
		CREATE FUNCTION servers() RETURNS int STABLE LANGUAGE sql AS $$
		    SELECT count(*)::int FROM pg_foreign_server, unnest(srvoptions) option
		     WHERE srvname = 'shop' AND option ~ '^p[0-9]+='
		$$;
		CREATE FUNCTION customer_put(key bigint, name text) RETURNS bigint LANGUAGE plproxy AS $$
		    CLUSTER 'shop';
		    RUN ON jump_hash(key, servers());
		$$;
		CREATE FUNCTION customer_get(key bigint) RETURNS text LANGUAGE plproxy AS $$
		    CLUSTER 'shop';
		    RUN ON jump_hash(key, servers());
		$$;
		-- SPLIT: each server gets the terms that are its own, all servers at once.
		CREATE FUNCTION uri_server(term text) RETURNS int STABLE LANGUAGE sql AS
		    'SELECT jump_hash_text($1, servers())';
		CREATE FUNCTION uri_ids(terms text[]) RETURNS TABLE (term text, id bigint) LANGUAGE plproxy AS $$
		    CLUSTER 'shop';
		    SPLIT terms;
		    RUN ON uri_server(terms);
		$$;
		-- The server that assigned an id is in its remainder by the step.
		CREATE FUNCTION uri_term(id bigint) RETURNS text LANGUAGE plproxy AS $$
		    CLUSTER 'shop';
		    RUN ON mod(id, 16);
		$$;
	SQL
}

# every_server QUERY: the answers of all four, a line each.
every_server()
{
	local n

	for n in 0 1 2 3; do
		sql server$n -c "$1"
	done
}

hash_rows()
{
	local seen

	sql router -c "SELECT count(customer_put(key, 'customer ' || key)) FROM generate_series(1, 3000) key" >/dev/null
	seen=$(every_server "SELECT count(*) FROM customer" | xargs)
	check "three servers: a third of 3000 rows on each" "$seen" fair_thirds $seen
	seen=$(every_server 'SELECT DISTINCT snowflake_shard(id) FROM customer' | xargs)
	check "the default is evaluated on the server that has the row" "shards $seen" [ "$seen" = "40 41 42" ]
	check_sql router "each row is found" t \
		"SELECT bool_and(customer_get(key) = 'customer ' || key) FROM generate_series(1, 3000) key"
}

fair_thirds()
{
	[ "$1" -gt 900 ] && [ "$2" -gt 900 ] && [ "$3" -gt 900 ] && [ "$4" = 0 ]
}

# The same terms from two sessions at once.
intern_terms()
{
	local n job jobs=() seen

	for n in 1 2; do
		sql router -c "SELECT id, term FROM uri_ids((SELECT array_agg('at://did:plc:' || t) FROM generate_series(1, 3000) t))
			ORDER BY 1" >"$place/ids$n" &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do
		wait "$job"
	done
	seen=$(wc -l <"$place/ids1")
	check "interning: two sessions get the same ids" "$seen ids" cmp "$place/ids1" "$place/ids2"
	seen=$(cut -d '|' -f 1 "$place/ids1" | sort -u | wc -l)
	check "interning: no two terms have one id, over three servers" "$seen ids" [ "$seen" = 3000 ]
	seen=$(every_server "SELECT string_agg(DISTINCT (id % 16)::text, ',') FROM uris" | xargs)
	check "interning: an id tells its server" "id % 16 = $seen" [ "$seen" = "0 1 2" ]
	seen=$(every_server "SELECT max(id) < 48 * count(*) FROM uris HAVING count(*) > 0" | xargs)
	check "interning: ids are dense but for the step" "$seen" [ "$seen" = "t t t" ]
	check_terms "three servers"

	sql router -c 'BEGIN' -c "SELECT * FROM uri_ids('{rolled back}')" -c 'ROLLBACK' >/dev/null
	seen=$(every_server "SELECT count(*) FROM uris WHERE term = 'rolled back'" | grep -c 1 || true)
	check "interning: a term stays if the caller rolls back" "$seen" [ "$seen" = 1 ]
}

# check_terms WHEN: from term to id as they were in the beginning, and back.
check_terms()
{
	sql router -c "SELECT id, term FROM uri_ids((SELECT array_agg('at://did:plc:' || t) FROM generate_series(1, 3000) t))
		ORDER BY 1" >"$place/ids"
	check "interning, $1: each term has the id that it had" "$(wc -l <"$place/ids") ids" cmp "$place/ids" "$place/ids1"
	sed 's/|.*//' "$place/ids1" | sql router -c 'CREATE TEMP TABLE asked (id bigint)' -c '\copy asked FROM pstdin' \
		-c "SELECT id, uri_term(id) FROM asked ORDER BY 1" >"$place/terms"
	check "interning, $1: each id has its term" "$(wc -l <"$place/terms") terms" cmp "$place/terms" "$place/ids1"
}

# Rows move.  Terms are copied: where an id was assigned it is still asked for.
grow_to_four()
{
	local n moved seen

	moved=$(for n in 0 1 2; do
		sql server$n -c 'SELECT key FROM customer WHERE jump_hash(key, 4) <> jump_hash(key, 3)'
	done | wc -l)
	seen=$(every_server 'SELECT count(*) FROM customer WHERE jump_hash(key, 4) NOT IN (jump_hash(key, 3), 3)' | xargs)
	check "growing to four moves about a quarter of the rows" "$moved of 3000" [ "$moved" -gt 675 -a "$moved" -lt 825 ]
	check "all of them to the new server" "$seen to others" [ "$seen" = "0 0 0 0" ]
	for n in 0 1 2; do
		sql server$n -c 'COPY (DELETE FROM customer WHERE jump_hash(key, 4) = 3 RETURNING *) TO STDOUT' |
			sql server3 -c 'COPY customer FROM STDIN'
		sql server$n -c 'COPY (SELECT id, term FROM uris WHERE jump_hash_text(term, 4) = 3) TO STDOUT' |
			sql server3 -c 'COPY uris (id, term) FROM STDIN'
	done
	sql router -c "ALTER SERVER shop OPTIONS (ADD p3 'dbname=postgres host=$place/server3')"

	check_sql router "four servers: each row is found" t \
		"SELECT bool_and(customer_get(key) = 'customer ' || key) FROM generate_series(1, 3000) key"
	check_sql router "four servers: a new row of the new server has its shard" 43 \
		"SELECT snowflake_shard(customer_put((SELECT min(key) FROM generate_series(3001, 4000) key
		                                       WHERE jump_hash(key, 4) = 3), 'new'))"
	check_terms "four servers"
	check_sql router "interning, four servers: new terms collide with none" 1000 \
		"SELECT count(DISTINCT id) FROM uri_ids((SELECT array_agg('at://did:plc:new' || t) FROM generate_series(1, 1000) t))"
	seen=$(every_server 'SELECT id FROM uris' | sort | uniq -d | wc -l)
	check "interning, four servers: two have an id only for a copied term" "$seen copies" \
		[ "$seen" = "$(sql server3 -c 'SELECT count(*) FROM uris WHERE id % 16 <> 3')" ]
}
