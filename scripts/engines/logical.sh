# logical.sh: three servers that write one table, and replicate it to each other.
#
# Each has shards of its own, so no row that arrives meets a key that is there.  A
# row must not go round for ever: from 16 on a subscription says so (origin = none);
# on 15 each server publishes the rows of its own shards, which the key tells.

logical_packages()
{
	echo faketime
}

logical_run()
{
	local n other

	for n in 1 2 3; do
		make_writer "$n" "${n}0" "${n}7"
	done
	for n in 1 2 3; do
		for other in 1 2 3; do
			[ $n = $other ] || subscribe $n $other
		done
	done

	insert_at_once
	insert_in_turn 1 60
	check_tables "clocks in step" 9060
	check_disorder "clocks in step" 1 60 0 0

	# Its ids are behind its clock only once that has come past its last life.
	stop_server writer3
	as_user tee "$place/clock" >/dev/null <<<-2s
	start_server writer3 $(clock_variables "$place/clock")
	wait_for "writer3 goes by its clock" is_true writer3 \
		'SELECT snowflake_nextval() > 0 AND clock_floor < clock_timestamp() FROM seqid.stat_database'
	insert_at_once
	insert_in_turn 61 120
	check_tables "one clock 2 s slow" 18120
	# Less by what passes between two rows, at its shortest.
	check_disorder "one clock 2 s slow" 61 120 1000 2100

	check "no server told of a conflict" "$(count_conflicts) in the logs" [ "$(count_conflicts)" = 0 ]
}

# make_writer NUMBER FIRST_SHARD LAST_SHARD
make_writer()
{
	local filter="WHERE ((id >> 12) & 1023 BETWEEN $2 AND $3)"

	[ "$PG_MAJOR" -lt 16 ] || filter=
	make_server "writer$1" 'wal_level = logical' "seqid.shards = '$2-$3'" "seqid.allowed_shards = '$2-$3'"
	sql "writer$1" <<-SQL
		CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), writer int, n int);
		CREATE PUBLICATION orders FOR TABLE orders $filter;
	SQL
}

# subscribe SUBSCRIBER PUBLISHER
subscribe()
{
	local options="copy_data = false"

	[ "$PG_MAJOR" -lt 16 ] || options="$options, origin = none"
	sql "writer$1" -c "SET client_min_messages = warning" -c "CREATE SUBSCRIPTION from_$2_to_$1
		CONNECTION 'host=$place/writer$2 dbname=postgres user=postgres' PUBLICATION orders WITH ($options)"
}

# Two sessions of each server, 1500 rows each.
insert_at_once()
{
	local n job jobs=()

	for n in 1 2 3 1 2 3; do
		sql writer$n -c "DO \$\$ BEGIN
			FOR i IN 1..30 LOOP
				INSERT INTO orders (writer) SELECT $n FROM generate_series(1, 50);
				COMMIT;
			END LOOP;
		END \$\$" &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do
		wait "$job"
	done
}

# insert_in_turn FIRST LAST: one row after the other; n tells the true order.
insert_in_turn()
{
	local i

	for i in $(seq "$1" "$2"); do
		sql writer$((i % 3 + 1)) -c "INSERT INTO orders (writer, n) VALUES ($((i % 3 + 1)), $i)"
	done
}

# check_tables WHEN ROWS: all rows arrive at all servers, and are the same ones.
check_tables()
{
	local n seen

	for n in 1 2 3; do
		wait_for "writer$n has all rows" is_true writer$n "SELECT count(*) = $2 FROM orders"
	done
	seen=$(for n in 1 2 3; do
		sql writer$n -c "SELECT count(DISTINCT id), md5(string_agg(id || ' ' || writer, ',' ORDER BY id)) FROM orders"
	done | sort -u)
	check "$1: three servers have the same rows" "${seen%%|*} ids" [ "${seen%%|*}" = "$2" ]
	check_sql writer1 "$1: each row has a shard of its writer" 0 \
		'SELECT count(*) FROM orders WHERE snowflake_shard(id) / 10 <> writer'
}

# check_disorder WHEN FIRST LAST LEAST MOST: by how many milliseconds one of these
# rows is of an earlier time, by its id, than one that was inserted before it.
check_disorder()
{
	local seen

	seen=$(sql writer1 -c "
		SELECT max(before - at)::int FROM (
			SELECT id >> 22 AS at, max(id >> 22) OVER (ORDER BY n) AS before
			  FROM orders WHERE n BETWEEN $2 AND $3) v")
	check "$1: order by id is order by time, but for that" "$seen ms apart" \
		[ "$seen" -ge "$4" -a "$seen" -le "$5" ]
}

count_conflicts()
{
	cat "$place"/writer?.log | grep -c 'duplicate key\|conflict' || true
}
