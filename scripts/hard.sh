#!/usr/bin/env bash
# hard.sh: builds and checks seqid in ways that are harder than a compiler.
#
#   asan       the regression tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   threads    the lock-free parts in threads, under ThreadSanitizer; see
#              verify/threads/threads.c
#   coverage   lines of src/ that regression and isolation tests do not reach, by
#              file; with --tap also those of TAP, which takes many minutes
#   tidy       clang-tidy; .clang-tidy says what is left out, and why
#   cppcheck   cppcheck; scripts/hard/cppcheck-exceptions
#
# Installs from apt what is missing (as root, or through sudo). Prints what was found,
# and ends with 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

usage='usage: scripts/hard.sh [--tap] [PART...]

  PART   asan, threads, coverage, tidy or cppcheck; all by default
  --tap  coverage of the TAP tests as well'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/hard/sanitized.sh"
. "$top/scripts/hard/threads.sh"

all=(asan threads coverage tidy cppcheck)
tap=no
if [ "${1:-}" = --tap ]; then
	tap=yes
	shift
fi
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=("${all[@]}")
for part in "${parts[@]}"; do
	[[ " ${all[*]} " == *" $part "* ]] || wrong_usage
done

make_work_directory
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
}

part_threads()
{
	local scenario

	choose_addresses
	build_machine
	build_right
	for scenario in ids steady lives starts horizon team; do
		check_threads $scenario 1 turns
		check_threads $scenario 1 free
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
	. "$top/scripts/isolationtester.sh"
	local pgxs=$work/server/usr/lib/postgresql/$PG_MAJOR/lib/pgxs/src/test/isolation
	[ -x "$pgxs/isolationtester" ] || install_isolationtester "$pgxs"
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
	for version in 13 15 17 18; do
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
