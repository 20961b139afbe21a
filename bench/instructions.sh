#!/usr/bin/env bash
# instructions.sh: counts the instructions of a call, with callgrind.
#
# Other than times, these do not vary: the same build gives the same figures on a
# busy machine.  A query of 12,000 calls less one of 2,000, over a trivial function
# in the same query.  What the kernel does (the mark's flush, random bytes) is not
# counted.
set -euo pipefail

usage='usage: bench/instructions.sh [CALL...]

  CALL  an expression of g, a number, as in "comb_uuid()"'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/bench/lib.sh"

case ${1:-} in
	-*) wrong_usage ;;
esac
calls=("$@")
[ ${#calls[@]} -gt 0 ] || calls=("snowflake_nextval(g & 1023)" "snowflake53_nextval(g & 31)" "comb_uuid()" "uuid_time_nextval()"
	"uuid_sequence_nextval('s')" "scatter_nextval('s')" "nextval('s')" "gen_random_uuid()")

make_work_directory
build_seqid valgrind
start_server 128MB
sql -c "CREATE EXTENSION seqid" -c "CREATE SEQUENCE s"
stop_server

# instructions CALL CALLS: of a whole session without a postmaster.
instructions()
{
	echo "SELECT count($1) FROM generate_series(1, $2) g" |
		as_user valgrind --tool=callgrind --callgrind-out-file="$work/callgrind.out" \
			--log-file="$work/callgrind.log" "$bin/postgres" --single -D "$work/data" postgres \
			>"$work/single.log" 2>&1 || { cat "$work/single.log" >&2; die "no result for $1"; }
	awk '/Collected/ { print $NF }' "$work/callgrind.log"
}

per_call()
{
	echo $((($(instructions "$1" 12000) - $(instructions "$1" 2000)) / 10000))
}

base=$(per_call "int8abs(g)")
base_shard=$(per_call "int8abs(g & 1023)")
printf '%-32s %s\n' "call" "instructions"
for call in "${calls[@]}"; do
	case $call in
		*'g & '*) less=$base_shard ;;
		*) less=$base ;;
	esac
	printf '%-32s %d\n' "$call" $(($(per_call "$call") - less))
done
