#!/usr/bin/env bash
# test.sh: builds seqid with warnings as errors and runs its tests.
#
# The tests run as an ordinary user in servers of their own, below a temporary
# directory.  Missing packages are installed by apt, as root or through sudo.
# PG_MAJOR=N picks a version of PostgreSQL that is installed or that apt offers.
# The exit status is 0 if every suite passed.
set -euo pipefail

usage='usage: scripts/test.sh [--quick] [SUITE...]

  --quick    compile with gcc only and without bitcode
  SUITE      regress, isolation, tap, upgrade, stops: these five by default.
             upgrade replaces the library and the script under running sessions;
             stops holds sessions between two accesses to shared memory.
             Any folder of t/ that has a file "packages" is a suite too.
  SEQID_MINUTES, SEQID_SEED, PROVE_TESTS, PACKAGES
             length and seed of random runs; the files that prove runs; packages to
             install besides'

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
packages=()
choose_major
for suite in "${suites[@]}"; do
	case $suite in
		regress | isolation | tap | upgrade | stops) ;;
		*)
			[ -f "$top/t/$suite/packages" ] || wrong_usage
			packages+=($(sed "s/#.*//; s/\$PG_MAJOR/$PG_MAJOR/" "$top/t/$suite/packages"))
			;;
	esac
done

make_work_directory
need_package_lists
need_packages gcc make clang libc6-dev "postgresql-$PG_MAJOR" "postgresql-server-dev-$PG_MAJOR" \
	libipc-run-perl perl faketime "${packages[@]}" ${PACKAGES:-}
private_postgres
copy_sources
give_to_user

# Warnings that the server's own headers cause, and options that clang does not know.
gcc_warnings="-Wall -Wextra -Werror -Wno-unused-parameter"
clang_warnings="$gcc_warnings -Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes"

# build COMPILER WARNINGS
build()
{
	say "building with $1 for PostgreSQL $PG_MAJOR"
	as_user make -s -C "$work/source" PG_CONFIG="$pg_config" clean &&
		as_user make -s -C "$work/source" PG_CONFIG="$pg_config" CC="$1" PG_CFLAGS="$2" all install
}

# installcheck ARGUMENT...: runs suites; empty lists leave the others out.
installcheck()
{
	as_user make -s -C "$work/source" PG_CONFIG="$pg_config" PROVE_FLAGS="${PROVE_FLAGS:---timer --jobs 2}" \
		installcheck "$@"
}

# tap FILES: runs TAP tests only, those of $PROVE_TESTS if it is set.
tap()
{
	installcheck REGRESS= ISOLATION= TAP_TESTS=1 PROVE_TESTS="${PROVE_TESTS:-$1}"
}

run_suite()
{
	local server=EXTRA_REGRESS_OPTS=--temp-instance=./tmp_check

	case $1 in
		regress) installcheck ISOLATION= "$server --temp-config=$work/defaults.conf" ;;
		isolation) installcheck REGRESS= "$server --temp-config=$work/defaults.conf" ;;
		tap) tap '' ;;
		stops)
			build gcc "$gcc_warnings -DSEQID_TEST_STOPS -DDATABASE_STATES=8" &&
				installcheck REGRESS= ISOLATION="horizon_stops intern_stops" "$server" &&
				tap 't/stops/*.pl' &&
				build gcc "$gcc_warnings"
			;;
		*) tap "t/$1/*.pl" ;;
	esac
}

# A TAP file that dies says why in its log only, and its servers in theirs.
show_reasons()
{
	local log server

	cat "$work"/source/regression.diffs "$work"/source/output_iso/regression.diffs 2>/dev/null || true
	for log in $(grep -lE 'not ok| at t/.* line [0-9]+' "$work"/source/tmp_check/log/regress_log_* 2>/dev/null); do
		echo "== ${log##*/}"
		tail -n 20 "$log"
		# Its servers; polls repeat one statement.
		for server in "${log%/*}/${log##*/regress_log_}"_*.log; do
			[ ! -e "$server" ] || { echo "== ${server##*/}"; grep -vE 'LOG:  statement:|STATEMENT:' "$server" | tail -n 20 || true; }
		done
	done
}

[ ${#compilers[@]} = 1 ] || build clang "$clang_warnings"
build gcc "$gcc_warnings"
# make installcheck tests servers with default settings, where pg_regress would allow
# prepared transactions.
echo 'max_prepared_transactions = 0' >"$work/defaults.conf"
# Users get a library in which no test can stop a session.
symbols=$(nm -D "$work/source/seqid.so")
[[ $symbols == *seqid_horizon* && $symbols != *pg_advisory* ]] || die "seqid.so takes advisory locks"

failed=()
for suite in "${suites[@]}"; do
	say "running $suite tests"
	began=$SECONDS
	# Bash ignores set -e in a command whose status is tested.
	run_suite "$suite" && outcome=passed || { outcome=FAILED; failed+=("$suite"); }
	[ $outcome = passed ] || show_reasons
	say "$suite: $outcome, $((SECONDS - began)) s"
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
echo "passed: ${suites[*]}"
