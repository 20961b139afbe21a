#!/usr/bin/env bash
# verify.sh [MODEL]: checks the models in verify/ with spin, or one of them.
#
# The models of what seqid does must have no fault in any of their states, and in
# each of the broken ones spin must find the assertion that fails, or the cycle in
# which nothing advances: otherwise the check could not. Ends with a line
# 'N passed, N failed'.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"

make_work_directory
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

need_package_lists
need_packages gcc libc6-dev spin

only=${1:-}
passed=0
failed=0

# check EXPECTED MODEL NAME DEFINE...: EXPECTED is none, or a word of the assertion
# that spin must find to fail, or "acceptance cycle". With PROGRESS among the
# defines it looks for such cycles, in which each process is fair.
check()
{
	local expected=$1 model=$2 name=$3 directory errors states
	local compile=-DSAFETY run=
	shift 3
	[ -z "$only" ] || [ "$only" = "$model" ] || return 0

	case " $* " in
		*" PROGRESS "*) compile=-DNFAIR=3 run="-a -f" ;;
	esac
	name="$model, $name"
	directory=$(mktemp -d "$work/XXXXXX")
	cd "$directory"
	spin -a "${@/#/-D}" "$top/verify/$model.pml" >spin.log 2>&1 &&
		gcc -O2 -w $compile -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c >>spin.log 2>&1 ||
		{ cat spin.log >&2; die "the model does not compile"; }
	./pan -m1000000 -w26 $run >pan.log 2>&1 || true
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
	elif [ "$expected" != none ] && ! grep -qE "^pan:1: (assertion violated .*)?$expected" pan.log; then
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

check none horizon "two backends, a worker, PREPARE" WORKERS=1 PREPARES=1
check none horizon "two backends, PREPARE, a crash" PREPARES=1 CRASHES=1
check none horizon "one backend, a worker, PREPARE, a crash" \
	BACKENDS=1 WORKERS=1 PREPARES=1 CRASHES=1
check none horizon "the same, SETTLED" \
	BACKENDS=1 WORKERS=1 PREPARES=1 CRASHES=1 SETTLED STRICT
check none horizon "two readers, a crash" BACKENDS=1 READERS=2 CRASHES=1
check none horizon "an lxid that comes again" AGAIN WORKERS=1
check none horizon "it advances, a worker" PROGRESS WORKERS=1
check none horizon "it advances, PREPARE" PROGRESS PREPARES=1
for variant in CLAIM_BEFORE_SLOT NO_BARRIER READER_NO_BARRIER CLEAR_BEFORE_VISIBLE; do
	check promised horizon "$variant" "$variant"
done
check promised horizon HAND_OVER_AT_END HAND_OVER_AT_END WORKERS=1
for variant in LAPSE_BEFORE_LOCK RELEASE_BEFORE_VISIBLE LOCKS_BEFORE_SLOTS; do
	check promised horizon "$variant" "$variant" PREPARES=1
done
check promised horizon BELIEVE_LEFTOVER BELIEVE_LEFTOVER AGAIN
check promised horizon TOLD_BEFORE_DURABLE TOLD_BEFORE_DURABLE CRASHES=1 MAY_GO_BACK
check unseen horizon READ_WITH_OLD_SNAPSHOT READ_WITH_OLD_SNAPSHOT
check before horizon SLOT_WITHOUT_FLOOR SLOT_WITHOUT_FLOOR CRASHES=1
check before horizon "STRICT without SETTLED" STRICT PREPARES=1 CRASHES=1
check "acceptance cycle" horizon TOLD_IN_SLOT TOLD_IN_SLOT PROGRESS

echo "$passed passed, $failed failed"
[ $failed = 0 ]
