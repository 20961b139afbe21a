#!/usr/bin/env bash
# verify.sh: checks the models in verify/ with spin.
#
# The models of what seqid does must have no fault in any of their states, and in
# each of the broken ones spin must find the assertion that fails: otherwise the
# check could not. Ends with a line 'N passed, N failed'.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"

make_work_directory
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

need_package_lists
need_packages gcc libc6-dev spin

passed=0
failed=0

# check EXPECTED MODEL NAME DEFINE...: EXPECTED is none, or a word of the assertion
# that spin must find to fail.
check()
{
	local expected=$1 model=$2 name=$3 directory errors states
	shift 3

	name="$model, $name"
	directory=$(mktemp -d "$work/XXXXXX")
	cd "$directory"
	spin -a "${@/#/-D}" "$top/verify/$model.pml" >spin.log 2>&1 &&
		gcc -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c >>spin.log 2>&1 ||
		{ cat spin.log >&2; die "the model does not compile"; }
	./pan -m1000000 -w26 >pan.log 2>&1 || true
	errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log)
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)

	# It stops at the first error; without one it must have seen everything.
	if [ -z "$errors" ] || grep -qE 'depth too small|out of memory' pan.log ||
		{ [ "$errors" = 0 ] && grep -q 'Search not completed' pan.log; }; then
		cat pan.log >&2
		say "$name: the search was not exhaustive"
		failed=$((failed + 1))
	elif [ "$expected" = none ] && [ "$errors" != 0 ]; then
		cat pan.log >&2
		say "$name: an assertion fails"
		failed=$((failed + 1))
	elif [ "$expected" != none ] && ! grep -q "assertion violated .*$expected" pan.log; then
		cat pan.log >&2
		say "$name: spin does not find the fault"
		failed=$((failed + 1))
	else
		say "$name: as expected, errors: $errors ($states states)"
		passed=$((passed + 1))
	fi
}

# All at once are more states than a machine of CI has memory for: the largest of
# these takes 3.5 GB, and on two cores two minutes.
check none seqid "two crashes, clock 0 to 3" CRASHES=2 CLOCK_MAX=3
check none seqid "two crashes, clock 0 or 1, a cancelled wait" CRASHES=2 CLOCK_MAX=1 CANCELS=1
for variant in MARK_AFTER_ID NO_FLOOR LIFE_FIRST BELIEVE_PAGE LEVEL_OF_SESSION; do
	check issued seqid "$variant" "$variant"
done

check none servers "one shard, synchronous" SYNCHRONOUS \
	PROMOTIONS=3 CRASHES=2 CLOCK_MAX=3 IDS=10
check none servers "a shard for each timeline" SHARDS=4 PROMOTIONS=3 IDS=7
check issued servers "one shard, asynchronous" SHARDS=1
check issued servers "too few shards" SHARDS=2
check issued servers "GO_BACK" SHARDS=4 GO_BACK
check received servers "MARK_DOES_NOT_WAIT" SYNCHRONOUS MARK_DOES_NOT_WAIT

echo "$passed passed, $failed failed"
[ $failed = 0 ]
