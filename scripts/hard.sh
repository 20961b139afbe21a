#!/usr/bin/env bash
# hard.sh: builds and checks seqid in ways that are harder than a compiler.
#
#   asan       the regression tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   valgrind   the tests of codecs and interning under valgrind's memcheck, and the
#              arithmetic of src/bits/ with inputs at random
#   threads    the lock-free parts in threads, under ThreadSanitizer; see
#              t/models/threads/threads.c
#   coverage   lines of src/ that regression and isolation tests do not reach, by
#              file; with --tap also those of TAP, which takes many minutes
#   tidy       clang-tidy; .clang-tidy says what is left out, and why
#   cppcheck   cppcheck; scripts/hard/cppcheck-exceptions
#
# The first three prove themselves with defects that are planted in copies, see
# scripts/hard/defects.sh and threads.sh.
#
# Installs from apt what is missing (as root, or through sudo). Prints what was found,
# and ends with 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

usage='usage: scripts/hard.sh [--tap] [PART...]

  PART   asan, valgrind, threads, coverage, tidy or cppcheck; all by default
  --tap  coverage of the TAP tests as well'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/hard/sanitized.sh"
. "$top/scripts/hard/memcheck.sh"
. "$top/scripts/hard/defects.sh"
. "$top/scripts/hard/threads.sh"

all=(asan valgrind threads coverage tidy cppcheck)
tap=no
parts=()
for part in "$@"; do
	if [ "$part" = --tap ]; then
		tap=yes
	else
		[[ " ${all[*]} " == *" $part "* ]] || wrong_usage
		parts+=("$part")
	fi
done
[ ${#parts[@]} -gt 0 ] || parts=("${all[@]}")

make_work_directory
# In place of the one that only removes the directory.
clean_up()
{
	trap '' INT TERM
	stop_server immediate || true
	rm -rf "$work"
}

need_package_lists
choose_major
need_packages gcc make libc6-dev "postgresql-$PG_MAJOR" "postgresql-server-dev-$PG_MAJOR"
include=$("/usr/lib/postgresql/$PG_MAJOR/bin/pg_config" --includedir-server)
passed=0
failed=0

# verdict STATUS WHAT: counts it.
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

# Each part that needs a server has one of its own.
fresh_server()
{
	rm -rf "$work/server" "$work/source"
	private_postgres
	copy_sources
	give_to_user
}

# start_server COMMAND...: a server with an empty cluster, its program run by the
# command. What it does by itself would take most of the time of slow tools; and
# compiled queries are the server's, not ours.
start_server()
{
	rm -rf "$work/data"
	as_user "$bin/initdb" -A trust -N -E UTF8 --no-locale -D "$work/data" >"$work/initdb.log" 2>&1 ||
		{ cat "$work/initdb.log" >&2; die "no cluster"; }
	as_user tee -a "$work/data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$work'
		authentication_timeout = 600
		fsync = off
		autovacuum = off
		jit = off
		wal_level = minimal
		max_wal_senders = 0
		max_worker_processes = 0
		max_logical_replication_workers = 0
		max_parallel_workers_per_gather = 0
	CONF
	(cd "$work" && "$@" "$bin/postgres" -D "$work/data") >"$work/server.log" 2>&1 &
	server=$!
	await_server
}

# Also after a backend crashed.
await_server()
{
	local until=$((SECONDS + 300))

	until sql -c '' >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] && kill -0 $server 2>/dev/null ||
			{ cat "$work/server.log" >&2; die "no server"; }
		sleep 0.2
	done
}

# stop_server MODE
stop_server()
{
	[ -e "$work/data/postmaster.pid" ] || return 0
	(cd / && as_user "$bin/pg_ctl" -s -w -t 120 -m "$1" -D "$work/data" stop) >/dev/null 2>&1
}

sql()
{
	as_user "$bin/psql" -X -q -h "$work" -d postgres "$@"
}

# The first pattern is of 15 and before, the second of 16 and later.
count_tests()
{
	local log=$1 line

	while read -r line; do
		case $line in
			*FAILED* | 'not ok'*) verdict 1 "$line" ;;
			*) verdict 0 "$line" ;;
		esac
	done < <(grep -E '^(test .* \.\.\. (ok|FAILED)|(not )?ok [0-9])' "$log")
}

# ------------------------------------------------------------------------
# Sanitizers
# ------------------------------------------------------------------------

part_asan()
{
	local log=$work/asan.log status=0

	fresh_server
	build_sanitized
	sanitized make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no \
		ISOLATION= TAP_TESTS= installcheck >"$log" 2>&1 || status=$?
	[ $status = 0 ] || cat "$log" "$work/source/regression.diffs" >&2 || true
	count_tests "$log"
	verdict $status "asan: the suite ends"
	show_findings "$work/source/log/postmaster.log" && verdict 0 "asan: no findings" || verdict 1 "asan: findings"
	asan_finds_defects
}

# Each call ends its backend, and the server begins again.
asan_finds_defects()
{
	local call

	plant_defects
	build_sanitized
	start_server sanitized
	sql -c "CREATE EXTENSION seqid"
	for call in "base62_encode(-1)" "tenant_key_pack(9223372036854775807, 1)"; do
		await_server
		sql -c "SELECT $call" >/dev/null 2>&1 || true
	done
	stop_server immediate
	show_findings "$work/server.log" >"$work/findings.asan" 2>&1 || true
	found "asan: finds planted defects" "$work/findings.asan" \
		"stack-buffer-overflow.*base62_write" "tenant_key.c:.*runtime error: left shift"
}

# ------------------------------------------------------------------------
# Valgrind
# ------------------------------------------------------------------------

# Two lanes, each with a database of its own, as one would take too long; and a
# limit that only what hangs would reach.
part_valgrind()
{
	local status=0 interning lane

	need_packages valgrind
	fresh_server
	rooms_under_memcheck >"$work/rooms.findings" 2>&1 || { cat "$work/rooms.findings" >&2; status=1; }
	verdict $status "valgrind: the arithmetic"

	build_for_memcheck
	shorten_interning
	start_server under_memcheck
	memcheck_lane interning install intern &
	interning=$!
	memcheck_lane codecs install vectors snowflake_codec snowflake53_codec comb_codec scatter \
		tenant_key bitpack jump_hash textcodec shard_registry extremes || true
	wait $interning || true
	for lane in interning codecs; do
		count_tests "$work/$lane.log"
		verdict "$(cat "$work/$lane.status")" "valgrind: $lane ends"
	done
	stop_server fast && status=0 || status=1
	verdict $status "valgrind: the server ends"
	memcheck_findings >"$work/findings.memcheck"
	[ ! -s "$work/findings.memcheck" ] || { cat "$work/findings.memcheck" >&2; status=1; }
	verdict $status "valgrind: no findings"
	memcheck_finds_defects
}

memcheck_finds_defects()
{
	plant_defects
	rooms_under_memcheck >"$work/findings.rooms" 2>&1 || true
	found "valgrind: finds planted defects of the arithmetic" "$work/findings.rooms" \
		"Invalid read.*base62_read"

	build_for_memcheck
	start_server under_memcheck
	sql >/dev/null <<-SQL
		CREATE EXTENSION seqid;
		SELECT jump_hash(1, 100);
		SELECT crockford32_encode('00000000-0000-0000-0000-000000000000') = repeat('0', 26);
		SELECT intern_create('words');
		SELECT intern_ids('words', ARRAY(SELECT n::text FROM generate_series(1, 2000) n));
	SQL
	stop_server immediate
	memcheck_findings >"$work/findings.memcheck"
	found "valgrind: finds planted defects" "$work/findings.memcheck" \
		"depends on uninitialised.*jump_hash_bucket" "depends on uninitialised.*texteq" "Invalid write.*intern_ids"
}

part_threads()
{
	local seed

	choose_addresses
	build_machine
	build_right
	for seed in 1 2 3 4 5; do
		check_threads $seed
	done
	check_all_broken
}

# ------------------------------------------------------------------------
# Coverage
# ------------------------------------------------------------------------

part_coverage()
{
	local log=$work/coverage.log status=0 tests=(TAP_TESTS=)

	[ $tap = no ] || tests=()
	fresh_server
	give_to_user
	as_user make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no \
		COPT="-O0 --coverage" all install >"$log" 2>&1 ||
		{ cat "$log" >&2; die "seqid does not build for coverage"; }
	as_user make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no \
		"${tests[@]}" installcheck >"$log" 2>&1 || status=$?
	[ $status = 0 ] || cat "$log" >&2
	verdict $status "coverage: the tests pass"

	cd "$work/source"
	as_user sh -c 'for f in $(find src -name "*.gcda"); do gcov -p -o "$(dirname $f)" "$f"; done' \
		>"$work/gcov.log" 2>&1
	# A line of a header is reached if it is in any of the files that include it.
	awk -F: '
		function trim(s) { gsub(/ /, "", s); return s }
		{ count = trim($1); line = trim($2) + 0 }
		line == 0 && $3 == "Source" { file = $4; sub(/^\.\//, "", file); sub(/^.*src\//, "src/", file) }
		line > 0 && count != "-" && file ~ /^src\// {
			seen[file, line] = 1
			if (count !~ /^[#=]/) hit[file, line] = 1
			if (line > last[file]) last[file] = line
		}
		END {
			for (file in last) {
				missed = ""; n = all = 0
				for (l = 1; l <= last[file]; l++) {
					if (!((file, l) in seen)) continue
					all++
					if (!((file, l) in hit)) { n++; missed = missed " " l }
				}
				total += all; out += n
				printf "%-36s %4d of %4d%s\n", file, all - n, all, (n ? "; not" missed : "")
			}
			printf "%-36s %4d of %4d lines reached\n", "~all", total - out, total
		}' *.gcov | sort
}

# ------------------------------------------------------------------------
# Without running it
# ------------------------------------------------------------------------

part_tidy()
{
	local log=$work/tidy.log status=0

	need_packages clang-tidy
	cd "$top"
	printf '%s\n' src/*.c src/*/*.c | xargs -P "$(nproc)" -I{} \
		sh -c 'clang-tidy -quiet "$1" -- -Isrc -I"$2" -D_GNU_SOURCE -DSEQID_VERSION="\"x\"" 2>/dev/null || echo "$1: failed"' \
		tidy {} "$include" >"$log" || status=$?
	[ ! -s "$log" ] || { cat "$log" >&2; status=1; }
	verdict $status "tidy: $(ls src/*.c src/*/*.c | wc -l) files"
}

# By version, as what is compiled differs. It reads no header of the server's, which
# would take an hour.
part_cppcheck()
{
	local version status

	need_packages cppcheck
	cd "$top"
	for version in 15 16 17 18 19; do
		status=0
		cppcheck -q -j "$(nproc)" --enable=warning,style,performance,portability \
			--library=gnu --library=posix -Isrc -DPG_VERSION_NUM=${version}0000 \
			--suppressions-list=scripts/hard/cppcheck-exceptions \
			--error-exitcode=1 src >&2 || status=$?
		verdict $status "cppcheck: as for $version"
	done
}

for part in "${parts[@]}"; do
	say "== $part"
	"part_$part"
done

echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
