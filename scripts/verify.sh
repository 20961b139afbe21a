#!/usr/bin/env bash
# verify.sh [MODEL]: checks the models in t/models/ with spin, or one of them, and those
# of memory on arm64, t/models/litmus/, with herd7.
#
# The models of what seqid does must have no fault in any of their states, and in
# each of the broken ones spin must find the assertion that fails, or the cycle in
# which nothing advances: otherwise the check could not. Of a litmus test herd7 must say
# that its outcome never occurs, and that it does without any one of its barriers.
# MODEL is seqid, servers, horizon, sequence or litmus. Ends with a line 'N passed, N failed'.
#
# herd7 is in Debian's sid only, and runs in a chroot of that; see scripts/chroot.sh.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/chroot.sh"

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
	spin -a "${@/#/-D}" "$top/t/models/$model.pml" >spin.log 2>&1 &&
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

# litmus NAME INSTRUCTION: adds t/models/litmus/NAME.litmus, whose outcome never occurs,
# and a copy for each place where INSTRUCTION, a regular expression, is replaced by one
# that orders nothing, so that the outcome occurs.
litmus()
{
	local file=$top/t/models/litmus/$1.litmus

	cp "$file" "$work/litmus/"
	echo "$1 Never" >>"$work/litmus.expected"
	perl -0e '
		my ($directory, $name, $instruction, $file) = @ARGV;
		my %weaker = (LDAXR => "LDXR", STLXR => "STXR", STLR => "STR");
		open my $in, "<", $file or die "$file: $!";
		my $test = <$in>;
		for (my $place = 1;; $place++)
		{
			my ($found, $what, $n) = ($test, undef, 0);
			$found =~ s/ \K($instruction)(?= )/++$n == $place ? $weaker{$what = $1} \/\/ "NOP" : $1/ge;
			last if !$what && $place > 1;
			die "no $instruction in $file" unless $what;
			$found =~ s/^AArch64 \w+/$&-$place/ or die "$file has no name";
			open my $out, ">", "$directory/$name-$place.litmus" or die $!;
			print $out $found;
			print "$name-$place Sometimes without $what\n";
		}' "$work/litmus" "$1" "$2" "$file" >>"$work/litmus.expected"
}

check_litmus()
{
	local directory=$cache/sid name expected without found
	[ -z "$only" ] || [ "$only" = litmus ] || return 0

	if "$top/t/models/litmus/sources.pl"; then
		say "litmus: the tests are as the sources"
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi

	mkdir "$work/litmus"
	for name in slot entry clock ended sequence; do
		litmus $name 'DMB \w+'
	done
	litmus floor 'LDAXR|STLR'
	litmus leave STLXR

	need_packages debootstrap util-linux
	make_chroot sid "$directory" || die "Debian sid could not be fetched"
	in_chroot "$directory" sh -c 'command -v herd7 || { apt-get update -qq &&
		apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=900 herdtools7; }' \
		>"$work/apt.log" 2>&1 </dev/null ||
		{ cat "$work/apt.log" >&2; die "herd7 could not be installed"; }
	as_root rm -rf "$directory/usr/src/litmus"
	as_root cp -r "$work/litmus" "$directory/usr/src/litmus"
	in_chroot "$directory" sh -c 'herd7 /usr/src/litmus/*.litmus' >"$work/herd.log" 2>&1 </dev/null || true

	while read -r name expected without; do
		found=$(awk -v name="$name" '$1 == "Observation" && $2 == name { print $3 }' "$work/herd.log")
		if [ "$found" = "$expected" ]; then
			say "litmus, $name${without:+, $without}: as expected, $found"
			passed=$((passed + 1))
		else
			say "litmus, $name${without:+, $without}: ${found:-no verdict}, not $expected"
			failed=$((failed + 1))
		fi
	done <"$work/litmus.expected"
	[ $failed = 0 ] || cat "$work/herd.log" >&2
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

check none sequence "a reader, two crashes" CRASHES=2
check none sequence "two readers" READERS=2 LAST=2
check none sequence "two sequences" TWO
for variant in NEXTVAL_FIRST ENDS_BEFORE_VISIBLE; do
	check "value" sequence "$variant" "$variant"
done
for variant in SCAN_FIRST LATE_READ LXID_FIRST ENTRY_IS_LEFT; do
	check "horizon" sequence "$variant" "$variant"
done
check horizon sequence END_SEEN_FIRST END_SEEN_FIRST TWO
check horizon sequence NOT_DURABLE NOT_DURABLE CRASHES=1
check unseen sequence OLD_SNAPSHOT OLD_SNAPSHOT

check_litmus

echo "$passed passed, $failed failed"
[ $failed = 0 ]
