# patroni.sh: failovers of three servers under Patroni, with etcd.
#
# A client draws from whichever server gives ids, and writes down each.  Where a
# failover loses WAL, or the old primary goes on, one fixed shard has to repeat
# ids: a trial in which it does not has seen nothing, and fails.  A list of shards,
# and a synchronous standby, must not repeat any.
#
# Each trial has servers of its own.  They reach each other through cables, which
# can be cut, and the new primary's clock can be slow: by more than a failover takes,
# so that it begins where its mark is, which the lost WAL was beyond.

patroni_packages()
{
	echo patroni etcd-server python3-etcd python3-psycopg2 python3 faketime
}

nodes="node1 node2 node3"

patroni_run()
{
	start_etcd
	trial "asynchronous, WAL lost, 30 s slow" async -30s '5' lose_wal yes
	trial "asynchronous, WAL lost, 30 s slow" async -30s '16-31' lose_wal no
	trial "asynchronous, Patroni stopped" async '' '5' stop_patroni yes
	trial "asynchronous, Patroni stopped" async '' '16-31' stop_patroni no
	trial "synchronous, Patroni stopped, 6 s slow" sync -6s '5' stop_patroni no
	trial "synchronous, Patroni and server stopped, 6 s slow" sync -6s '5' stop_both no
}

#
# etcd, with the interface that Debian 12's Patroni needs: by the newer one (etcd3)
# a leader that was stopped and goes on takes the lock back.
#
start_etcd()
{
	local ports

	ports=($(free_ports 2))
	etcd_port=${ports[0]}
	spawn etcd etcd --enable-v2 --data-dir "$place/etcd" --name only \
		--listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
		--listen-peer-urls "http://127.0.0.1:${ports[1]}" \
		--initial-advertise-peer-urls "http://127.0.0.1:${ports[1]}" \
		--initial-cluster "only=http://127.0.0.1:${ports[1]}"
	wait_for "etcd answers" etcd_answers
}

etcd_answers()
{
	python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$etcd_port/v2/keys/', timeout=2)"
}

#
# Nodes
#

# make_node NAME: its configuration, its programs and its cable.
make_node()
{
	local name=$1 ports program synchronous=false

	ports=($(free_ports 3))
	port[$name]=${ports[0]}
	[ "$mode" != sync ] || synchronous=true
	as_user mkdir -p "$place/$name/bin"
	[ "$name" = node1 ] || [ -z "$clock" ] || echo "$clock" | as_user tee "$place/$name/clock" >/dev/null
	spawn "cable-$name" python3 "$top/scripts/engines/cable.py" "${ports[1]}" "${ports[0]}"
	cable[$name]=$pid
	for program in "$bin"/*; do
		as_user ln -s "$program" "$place/$name/bin/"
	done
	as_user rm "$place/$name/bin/postgres"
	as_user tee "$place/$name/bin/postgres" >/dev/null <<-SH
		#!/bin/sh
		# The server of $name: not if the machine is broken, and by its own clock.
		[ ! -e $place/$name/broken ] || exit 1
		[ ! -e $place/$name/clock ] || export $(clock_variables "$place/$name/clock")
		exec $bin/postgres "\$@"
	SH
	as_user chmod 755 "$place/$name/bin/postgres"
	as_user tee "$place/$name/patroni.yml" >/dev/null <<-YAML
		scope: trial$trials
		name: $name
		restapi:
		  listen: 127.0.0.1:${ports[2]}
		  connect_address: 127.0.0.1:${ports[2]}
		etcd:
		  host: 127.0.0.1:$etcd_port
		bootstrap:
		  dcs:
		    ttl: 8
		    loop_wait: 1
		    retry_timeout: 3
		    primary_start_timeout: 0
		    maximum_lag_on_failover: 1000000000
		    synchronous_mode: $synchronous
		    synchronous_mode_strict: $synchronous
		    postgresql:
		      use_pg_rewind: true
		  initdb:
		    - auth: trust
		    - encoding: UTF8
		    - no-locale
		    - no-sync
		postgresql:
		  listen: 127.0.0.1:${ports[0]}
		  connect_address: 127.0.0.1:${ports[1]}
		  data_dir: $place/$name/data
		  bin_dir: $place/$name/bin
		  pgpass: $place/$name/pgpass
		  authentication:
		    superuser:
		      username: postgres
		    replication:
		      username: replicator
		  pg_hba:
		    - local all all trust
		    - host all all 127.0.0.1/32 trust
		    - host replication all 127.0.0.1/32 trust
		  parameters:
		    unix_socket_directories: $place/$name
		    shared_buffers: 16MB
		    dynamic_shared_memory_type: mmap
		    timezone: UTC
		    log_min_messages: log
		    seqid.shards: '$shards'
		    seqid.allowed_shards: '$shards'
		    seqid.max_clock_regression: 5min
	YAML
}

start_node()
{
	spawn "$1" patroni "$place/$1/patroni.yml"
	patroni[$1]=$pid
}

# node NAME QUERY: Patroni has its servers listen at ports of their own.
node()
{
	PGPORT=${port[$1]} sql "$1" -c "$2"
}

node_is()
{
	[ "$(node "$1" "$2" 2>/dev/null)" = t ]
}

is_primary()
{
	node_is "$1" 'SELECT NOT pg_is_in_recovery()'
}

start_cluster()
{
	local name

	for name in $nodes; do
		make_node "$name"
	done
	start_node node1
	wait_for "node1 is the primary" is_primary node1
	start_node node2
	start_node node3
	# A base backup streams, too, but under another name.
	wait_for "two standbys stream" node_is node1 \
		"SELECT count(*) = 2 FROM pg_stat_replication WHERE state = 'streaming' AND application_name ~ 'node'"
	[ "$mode" != sync ] || wait_for "Patroni has made one of them synchronous" node_is node1 \
		"SELECT count(*) = 1 FROM pg_stat_replication
		  WHERE sync_state = 'sync' AND current_setting('synchronous_standby_names') ~ application_name"
	node node1 'CREATE EXTENSION seqid'
}

stop_cluster()
{
	local name

	for name in $nodes; do
		kill_spawned "${patroni[$name]}" "${cable[$name]}"
		stop_server "$name"
		# What Patroni has begun may still be writing.
		as_user mv "$place/$name" "$place/$name-$trials"
	done
}

# lose_server NAME: as with the machine that it was on.  It leaves a segment behind,
# whose number is in the file of its process.
lose_server()
{
	local segment

	segment=$(awk 'NR == 7 { print $2 }' "$place/$1/data/postmaster.pid")
	as_user touch "$place/$1/broken"
	signal_server KILL "$1"
	wait_for "its processes are gone" as_user ipcrm -m "$segment"
}

#
# The client
#

start_client()
{
	ids=$place/ids$trials
	as_user mkdir "$ids"
	spawn "client$trials" python3 "$top/scripts/engines/draw.py" "$ids" \
		$(for name in $nodes; do echo "$name=$place/$name:${port[$name]}"; done)
	client=$pid
	wait_for "node1 gives ids" given_more node1 2000
}

# given NAME: how many ids the client has from it.
given()
{
	wc -l <"$ids/$1"
}

given_more()
{
	[ "$(given "$1")" -ge "$2" ]
}

# told NAME: the time that the last id from there tells (the last line may not be
# whole yet).
told()
{
	echo $(($(tail -n 2 "$ids/$1" | head -n 1 | cut -d ' ' -f 1) >> 22))
}

# How long the client got ids from both, or none: from the first of the new primary
# to the last of the old one.
overlap()
{
	local ms=$(($(tail -n 1 "$ids/node1" | cut -d ' ' -f 2) - $(head -n 1 "$ids/$new" | cut -d ' ' -f 2)))

	[ $ms -gt 0 ] && echo "$ms ms from both" || echo "$((-ms)) ms from none"
}

went_past()
{
	[ "$(told "$1")" -gt "$2" ]
}

# In all files together.
count_repeated()
{
	cut -d ' ' -f 1 "$ids"/* | sort | uniq -d | wc -l
}

#
# Faults
#

new_primary()
{
	local name

	for name in node2 node3; do
		if is_primary "$name"; then
			new=$name
			return 0
		fi
	done
	return 1
}

wait_for_failover()
{
	wait_for "another node is the primary" new_primary
	failover=$((SECONDS - fault_at))
	wait_for "$new gives ids" given_more "$new" 1
}

# The old primary's cables are cut; it gives ids for three seconds more, and is lost.
# The new one's clock has to come past them.
lose_wal()
{
	local name before

	kill_spawned "${cable[node1]}"
	wait_for "node1 is alone" node_is node1 'SELECT count(*) = 0 FROM pg_stat_replication'
	before=$(told node1)
	wait_for "node1 gives ids that nobody knows of" went_past node1 $((before + 3000))
	fault_at=$SECONDS
	lose_server node1
	wait_for_failover
	wait_for "$new comes past the ids of node1" went_past "$new" "$(told node1)"
}

# Nobody tells the old primary that there is another.
stop_patroni()
{
	fault_at=$SECONDS
	kill -STOP "${patroni[node1]}"
	wait_for_failover
	wait_for "$new gives ids for two seconds" went_past "$new" $(($(told "$new") + 2000))
	if [ "$mode" = sync ]; then
		wait_for_silence
	else
		is_primary node1
	fi
}

# A machine that stood still, and goes on while there is another primary.
stop_both()
{
	fault_at=$SECONDS
	kill -STOP "${patroni[node1]}"
	signal_server STOP node1
	wait_for_failover
	signal_server CONT node1
	wait_for_silence
	wait_for "$new gives ids for two seconds" went_past "$new" $(($(told "$new") + 2000))
	kill -CONT "${patroni[node1]}"
	wait_for "node1 is not a primary any more" steps_down node1
}

# An old primary whose synchronous standby has left waits for it with the mark.
wait_for_silence()
{
	wait_for "node1 waits for its standby" node_is node1 \
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ~ 'snowflake_nextval'"
	is_primary node1
}

steps_down()
{
	! is_primary "$1"
}

#
# trial WHAT MODE CLOCK SHARDS FAULT REPEATS: the clock is that of the standbys; the
# last is yes if ids must come twice.
#
trials=0
declare -A port cable patroni

trial()
{
	local what="$1, shards $4" mode=$2 clock=$3 shards=$4 fault=$5 repeats=$6 tries repeated seen

	for tries in 1 2 3; do
		trials=$((trials + 1))
		start_cluster
		start_client
		"$fault"
		kill_spawned "$client"
		repeated=$(count_repeated)
		seen="$repeated repeated of $(given node1) + $(given "$new"); failover in $failover s, $(overlap)"
		stop_cluster

		# Two who draw at the same time may miss each other's milliseconds by chance.
		[ $repeats = yes ] && [ "$repeated" = 0 ] || break
		say "$what: nothing was repeated, trying again ($seen)"
	done
	if [ $repeats = yes ]; then
		check "$what: must repeat" "$seen" [ "$repeated" -gt 0 ]
	else
		check "$what: none twice" "$seen" [ "$repeated" = 0 ]
	fi
}
