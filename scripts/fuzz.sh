#!/usr/bin/env bash
# fuzz.sh: looks for inputs that break seqid.
#
#   rooms   libFuzzer on the arithmetic of src/bits/, see t/fuzz/rooms.c
#   calls   every function with arguments at random, see t/fuzz/calls.sql, in a server
#           whose seqid has the sanitizers; an error is right, a crash is not
#
# Installs from apt what is missing (as root, or through sudo). Prints the seed, with
# which both can be repeated, and ends with 'N passed, N failed'; the exit status is 0
# if none failed.
set -euo pipefail

usage='usage: scripts/fuzz.sh [--minutes N] [--seed N] [PART...]

  PART       rooms or calls; both by default
  --minutes  for each of them; 1 by default'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/hard/sanitized.sh"

minutes=1
seed=$((RANDOM * 30 + 1))
parts=()
while [ $# -gt 0 ]; do
	case $1 in
		--minutes) minutes=${2:-}; shift ;;
		--seed) seed=${2:-}; shift ;;
		rooms | calls) parts+=("$1") ;;
		*) wrong_usage ;;
	esac
	shift || wrong_usage
done
[[ $minutes =~ ^[1-9][0-9]*$ && $seed =~ ^[0-9]+$ ]] || wrong_usage
[ ${#parts[@]} -gt 0 ] || parts=(rooms calls)

make_work_directory
# In place of the one that only removes the directory.
clean_up()
{
	trap '' INT TERM
	if [ -e "$work/data/postmaster.pid" ]; then
		(cd / && as_user "$bin/pg_ctl" -s -m immediate -D "$work/data" stop) >/dev/null 2>&1 || true
	fi
	rm -rf "$work"
}

need_package_lists
choose_major
need_packages gcc make clang libclang-rt-dev libc6-dev "postgresql-$PG_MAJOR" \
	"postgresql-server-dev-$PG_MAJOR"
include=$("/usr/lib/postgresql/$PG_MAJOR/bin/pg_config" --includedir-server)
passed=0
failed=0
say "seed $seed"

verdict()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
		say "ok: $2"
	else
		failed=$((failed + 1))
		say "not ok: $2"
	fi
}

part_rooms()
{
	local log=$work/rooms.log status=0

	clang -g -O1 -std=gnu11 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-Wno-ignored-attributes -I"$top/src" -I"$include" -D_GNU_SOURCE \
		-o "$work/rooms" "$top/t/fuzz/rooms.c" "$top/src/bits/shard_list.c"
	mkdir "$work/corpus"
	"$work/rooms" -seed="$seed" -max_total_time=$((minutes * 60)) -max_len=128 \
		-print_final_stats=1 -artifact_prefix="$work/" "$work/corpus" >"$log" 2>&1 || status=$?
	[ $status = 0 ] || tail -n 60 "$log" >&2
	verdict $status "rooms: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
}

sql()
{
	as_user env PGOPTIONS="${pgoptions:-}" "$bin/psql" -X -q -h "$work" -d postgres "$@"
}

# A round of calls; the statements are kept if one of them breaks something.
play_round()
{
	sql -At -v ON_ERROR_STOP=1 -v seed="$1" -v count=20 -f "$top/t/fuzz/calls.sql" >"$work/calls" || return 1
	pgoptions='-c statement_timeout=100ms' sql -f "$work/calls" >"$work/output" 2>&1 || true
	calls=$((calls + $(wc -l <"$work/calls")))
	errors=$((errors + $(grep -c 'ERROR: ' "$work/output" || true)))
	! grep -qE 'exited with exit code|was terminated by signal' "$work/server.log"
}

part_calls()
{
	local round=0 calls=0 errors=0 status=0 until

	private_postgres
	copy_sources
	build_sanitized
	as_user "$bin/initdb" -A trust -N -E UTF8 --no-locale -D "$work/data" >"$work/initdb.log" 2>&1
	as_user tee -a "$work/data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$work'
		seqid.shards = '7'
	CONF
	cd "$work"
	sanitized "$bin/pg_ctl" -s -w -D "$work/data" -l "$work/server.log" start
	# What fuzz_after() does stays until the end of the transaction, and what
	# fuzz_undone() does is rolled back at once.
	sql -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION seqid' -c 'CREATE SEQUENCE fuzz_sequence' -c "SELECT intern_create('fuzz_words')" \
		-c 'CREATE SCHEMA fuzz_schema' -c "SELECT intern_create('fuzz_schema.words')" \
		-c 'CREATE FUNCTION fuzz_after(statement text, value anyelement) RETURNS anyelement LANGUAGE plpgsql AS
			$$ BEGIN EXECUTE statement; RETURN value; END $$' \
		-c 'CREATE FUNCTION fuzz_undone(statement text, value anyelement) RETURNS anyelement LANGUAGE plpgsql AS
			$$ BEGIN EXECUTE statement; RAISE SQLSTATE $a$P0001$a$; EXCEPTION WHEN OTHERS THEN RETURN value; END $$' >/dev/null

	# A slow machine takes longer, so that something was tried there, too.
	until=$((SECONDS + minutes * 60))
	while [ $SECONDS -lt $until ] || [ $calls -le 1000 ] && [ $status = 0 ]; do
		play_round $((seed + round)) || status=1
		round=$((round + 1))
	done
	if [ $status != 0 ]; then
		tail -n 60 "$work/server.log" >&2
	fi
	[ $calls -gt 1000 ] && [ $errors -lt $calls ] || status=1
	verdict $status "calls: $calls of all functions, $errors refused"
	show_findings "$work/server.log" && verdict 0 "calls: no findings" || verdict 1 "calls: findings"
}

for part in "${parts[@]}"; do
	"part_$part"
done

echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
