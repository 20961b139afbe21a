#!/usr/bin/env bash
# hard.sh: builds and checks seqid in ways that are harder than a compiler.
#
#   asan       the regression tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   tidy       clang-tidy; .clang-tidy says what is left out, and why
#   cppcheck   cppcheck; scripts/hard/cppcheck-exceptions
#
# Installs from apt what is missing (as root, or through sudo). Prints what was found,
# and ends with 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

usage='usage: scripts/hard.sh [PART...]

  PART  asan, tidy or cppcheck; all by default'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/hard/sanitized.sh"

all=(asan tidy cppcheck)
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

# ------------------------------------------------------------------------
# Without running it
# ------------------------------------------------------------------------

part_tidy()
{
	local log=$work/tidy.log status=0

	need_packages clang-tidy
	cd "$top"
	printf '%s\n' src/*.c src/*/*.c | xargs -P "$(nproc)" -I{} \
		sh -c 'clang-tidy -quiet "$1" -- -Isrc -I"$2" -D_GNU_SOURCE 2>/dev/null || echo "$1: failed"' \
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
