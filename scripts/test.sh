#!/usr/bin/env bash
# test.sh: builds seqid with warnings as errors and runs every test.
#
# Installs from apt what is missing (as root, or through sudo); runs the tests
# as an ordinary user in servers of their own.  PG_MAJOR=N picks a version of
# PostgreSQL that is installed or that apt offers.  The last line is
# 'N passed, N failed'; the exit status is 0 if none failed.
#
# (pg_buildext installcheck tells the server that it makes where the extension is;
# the servers that our suites make for themselves would not find it.)
set -euo pipefail

usage='usage: scripts/test.sh [--quick] [SUITE...]

  --quick  builds with gcc only, and without bitcode: for an emulated processor
  SUITE  regress, isolation, tap, upgrade or stops; all by default.  upgrade replaces
         the library and the script under running sessions; stops is of a library
         that tests can hold up between two accesses to shared memory, see
         src/pg/test_stop.h, and that has entries for eight databases'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"

compilers=(clang gcc)
if [ "${1:-}" = --quick ]; then
	compilers=(gcc)
	export MAKEFLAGS=with_llvm=no
	shift
fi
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(regress isolation tap upgrade stops)
for suite in "${suites[@]}"; do
	case $suite in
		regress | isolation | tap | upgrade | stops) ;;
		*) wrong_usage ;;
	esac
done
# The library with the stops comes after the one that the others are to test.
mapfile -t suites < <(printf '%s\n' "${suites[@]}" | sed '/^stops$/d'
	printf '%s\n' "${suites[@]}" | sed -n '/^stops$/p' | uniq)

make_work_directory

need_package_lists
choose_major
need_packages gcc make clang libc6-dev "postgresql-$PG_MAJOR" \
	"postgresql-server-dev-$PG_MAJOR" libipc-run-perl perl faketime
private_postgres
copy_sources
give_to_user
passed=0
failed=0

# count_results LOG PASS-PATTERN FAIL-PATTERN: adds the lines that match.  (What
# prove says at its end is how many tests were run, and not how many failed.)
count_results()
{
	local ok bad

	ok=$(grep -cE "$2" "$1" || true)
	bad=$(grep -cE "$3" "$1" || true)
	passed=$((passed + ok))
	failed=$((failed + bad))
}

# Warnings the server's own headers cause, and options clang does not know.
gcc_warnings="-Wall -Wextra -Werror -Wno-unused-parameter"
clang_warnings="$gcc_warnings -Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes"

# build COMPILER WARNINGS
build()
{
	local compiler=$1 warnings=$2

	[[ " ${compilers[*]} " == *" $compiler "* ]] || return 0

	say "building with $compiler for PostgreSQL $PG_MAJOR"
	if as_user make -s -C "$work/source" PG_CONFIG="$pg_config" clean &&
		as_user make -s -C "$work/source" PG_CONFIG="$pg_config" \
			CC="$compiler" PG_CFLAGS="$warnings" all install; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		return 1
	fi
}

# The library that users install has no place where a test can stop it.
check_without_stops()
{
	local symbols

	symbols=$(nm -D "$work/source/seqid.so")
	if [[ $symbols != *seqid_horizon* || $symbols == *pg_advisory* ]]; then
		say "seqid.so takes advisory locks, as it does for tests only"
		failed=$((failed + 1))
		return 1
	fi
	passed=$((passed + 1))
}

# A library of a release to come, whose shared memory is of another version.
build_next()
{
	say "building one whose shared memory is of another version"
	as_user cp -r "$work/source" "$work/next" &&
		as_user make -s -C "$work/next" PG_CONFIG="$pg_config" with_llvm=no clean &&
		as_user make -s -C "$work/next" PG_CONFIG="$pg_config" with_llvm=no \
			SEQID_VERSION=999.0.0 PG_CFLAGS="$gcc_warnings -DSHARED_STATE_VERSION=999" all ||
		{ failed=$((failed + 1)); return 1; }
}

# Suites are chosen by emptying the lists of the others.
run_suite()
{
	local suite=$1 log=$work/$1.log status=0 only

	case $suite in
		upgrade) build_next || return 0 ;;
		stops) build gcc "$gcc_warnings -DSEQID_TEST_STOPS -DDATABASE_STATES=8" || return 0 ;;
	esac

	case $suite in
		regress) only=(ISOLATION= TAP_TESTS=) ;;
		isolation) only=(REGRESS= TAP_TESTS=) ;;
		tap) only=(REGRESS= ISOLATION=) ;;
		upgrade) only=(REGRESS= ISOLATION= PROVE_TESTS="t/upgrade/*.pl") ;;
		stops) only=(REGRESS= ISOLATION=horizon_stops PROVE_TESTS="t/stops/*.pl") ;;
	esac

	say "running $suite tests"
	as_user env SEQID_NEXT_LIBRARY="$work/next/seqid.so" \
		make -s -C "$work/source" PG_CONFIG="$pg_config" "${only[@]}" \
		PROVE_FLAGS='--verbose --merge' installcheck >"$log" 2>&1 || status=$?

	case $suite in
		# 'test name ... ok 12 ms' up to 15, TAP since 16
		regress | isolation)
			count_results "$log" '^(test .* \.\.\. ok|ok [0-9])' \
				'^(test .* \.\.\. FAILED|not ok [0-9])' ;;
		tap | upgrade)
			count_results "$log" '^ok [0-9]' '^not ok [0-9]' ;;
		stops)
			count_results "$log" '^(test .* \.\.\. ok|ok [0-9])' \
				'^(test .* \.\.\. FAILED|not ok [0-9])' ;;
	esac

	if [ $status != 0 ]; then
		cat "$log"
		cat "$work"/source/regression.diffs "$work"/source/output_iso/regression.diffs \
			2>/dev/null || true
		# A suite that broke off need not have printed a failure.
		grep -qE '\.\.\. FAILED|^not ok' "$log" || failed=$((failed + 1))
	else
		grep -E '^(test |ok |t/.*\.\. *$)' "$log" || true
	fi
}

if build clang "$clang_warnings" && build gcc "$gcc_warnings" &&
	check_without_stops; then
	for suite in "${suites[@]}"; do
		run_suite "$suite"
	done
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 3 ]
