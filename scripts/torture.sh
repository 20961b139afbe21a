#!/usr/bin/env bash
# torture.sh: draws keys while servers crash, clocks jump and standbys take over.
#
# usage: scripts/torture.sh [--minutes N] [--seed S]
#                           [--asynchronous [--fixed-shard] | --databases]
#
# Clients of two databases, under every synchronous_commit, write down each key
# they are given. Faults come at random: the postmaster or a backend is killed,
# the server is restarted, its clock is set, its synchronous standby is killed,
# stalls, or is promoted and a new one made. The seed is printed; with the same
# seed the same faults come in the same order. At the end prints how many keys
# were given, which faults were injected, and how many keys of each kind were given
# twice in a database; the exit status is 0 if none was. Without --minutes it takes 10.
#
# Beside them others write an outbox, and it is polled by the settled horizon, on the
# primary and on the standby: no row may be missed, come out of order, or be lost
# after it was seen, and no horizon go back. A reader who polls by the greatest id
# shows that rows can be missed: in two minutes or more he must miss some.
#
# With --asynchronous the standby is not synchronous, promotions lose WAL, and the
# old primary goes on issuing keys for a while. Then snowflake ids are drawn from the
# shard in effect of a list of 16, and must be unique over all servers. With
# --fixed-shard the list has one, and duplicates must be found: it shows that the
# search can fail.
#
# With --databases one server has 70 databases that generate keys, and others that come
# and go: they are copies of each other, and take the OIDs of those that were dropped.
# The clock also steps in the middle of calls, at a reading of one process; no call
# sleeps for the length of the step.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"

minutes=10
seed=$((RANDOM * 32768 + RANDOM))
asynchronous=0
fixed_shard=0
program=torture
usage="usage: scripts/torture.sh [--minutes N] [--seed S] [--asynchronous [--fixed-shard] | --databases]"
while [ $# -gt 0 ]; do
	case $1 in
		--minutes) minutes=${2:-}; shift ;;
		--seed) seed=${2:-}; shift ;;
		--asynchronous) asynchronous=1 ;;
		--fixed-shard) fixed_shard=1 ;;
		--databases) program=torture_databases ;;
		*) die "$usage" ;;
	esac
	shift || die "$usage"
done
[ "$fixed_shard" -le "$asynchronous" ] || die "$usage"
[ $program = torture ] || [ $asynchronous = 0 ] || die "$usage"
case $minutes,$seed in
	,* | *, | *[!0-9,]*) die "minutes and seed must be numbers" ;;
esac

make_work_directory
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

need_package_lists
choose_major
need_packages gcc make libc6-dev "postgresql-$PG_MAJOR" \
	"postgresql-server-dev-$PG_MAJOR" libipc-run-perl perl faketime
private_postgres
copy_sources
give_to_user

say "building seqid for PostgreSQL $PG_MAJOR"
as_user make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no all install

# It needs what a TAP test needs, so it is run as one.
say "torture for $minutes minutes, seed $seed"
as_user env TORTURE_MINUTES="$minutes" TORTURE_SEED="$seed" \
	TORTURE_ASYNCHRONOUS=$asynchronous TORTURE_FIXED_SHARD=$fixed_shard \
	make -s -C "$work/source" PG_CONFIG="$pg_config" REGRESS= ISOLATION= \
	PROVE_FLAGS=--verbose PROVE_TESTS="scripts/$program.pl" installcheck \
	>"$work/torture.log" 2>&1 && status=0 || status=$?

grep '^# torture: ' "$work/torture.log" | sed 's/^# torture: //' || true
[ $status = 0 ] || {
	tail -n 100 "$work/torture.log" "$work/source/tmp_check/log/regress_log_$program" >&2 || true
	die "torture failed, seed $seed"
}
