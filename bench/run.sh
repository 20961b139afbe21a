#!/usr/bin/env bash
# run.sh: measures seqid against PostgreSQL's own functions, and against those of
# its peers that are installed.
#
# Builds seqid and starts a throwaway server of its own below a temporary
# directory, as an ordinary user; installs from apt what is missing.  PG_MAJOR=N
# picks the version of PostgreSQL.
set -euo pipefail

usage='usage: bench/run.sh [--quick] [--rounds N] [--size N] [--clients LIST]
                    [--out DIRECTORY] [--against DIRECTORY] [PART...]

  PART      percall limit contended insert cache order stall wrap outbox
            transaction; all of these by default; or cores
  --quick   five minutes instead of half an hour: fewer rounds, smaller sizes
  --rounds  rounds of each measurement, in turn (5); medians are shown
  --size    100 is a million rows, or calls, and so on in proportion
  --clients numbers of clients of the part cores ("1 2 4 8 16 32 64")
  --against sources of another build, which is measured in turn with this one
            and shown beside it; for the parts percall, contended and
            transaction
  --out     where results.tsv and the charts go (bench/out)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/bench/lib.sh"

all_parts=(percall limit contended insert cache order stall wrap outbox transaction)
parts=()
rounds=5
size=100
seconds=3
clients_list="1 2 4 8 16 32 64"
out=$top/bench/out
against=
command="bench/run.sh${*:+ $*}"

while [ $# -gt 0 ]; do
	case $1 in
		--quick) rounds=3 size=10 seconds=1 ;;
		--rounds) rounds=${2:?}; shift ;;
		--size) size=${2:?}; shift ;;
		--clients) clients_list=${2:?}; shift ;;
		--out) out=$(realpath -m "${2:?}"); shift ;;
		--against) against=$(realpath -e "${2:?}"); shift ;;
		percall | limit | contended | insert | cache | order | stall | wrap | outbox | transaction | cores) parts+=("$1") ;;
		*) wrong_usage ;;
	esac
	shift
done
[ -z "$against" ] || {
	all_parts=(percall contended transaction)
	for part in "${parts[@]}"; do
		case $part in
			percall | contended | transaction) ;;
			*) die "part $part cannot be measured against another build" ;;
		esac
	done
}
[ ${#parts[@]} -gt 0 ] || parts=("${all_parts[@]}")
shared_buffers=1GB

make_work_directory
build_seqid perl
start_server "$shared_buffers"
create_results
. "$top/bench/kinds.sh"
create_kinds
[ -z "$against" ] || prepare_against "$against"
for part in "${parts[@]}"; do
	. "$top/bench/parts/$part.sh"
done

caption="$(machine); $command"
echo "$caption"
for part in "${parts[@]}"; do
	"part_$part"
done

mkdir -p "$out"
sql -c "COPY (SELECT part, subject, metric, rounds, median, smallest, largest FROM median ORDER BY n)
        TO STDOUT (FORMAT csv, DELIMITER E'\t', HEADER)" >"$out/results.tsv"
sql -c "COPY (SELECT part, kind, rows, avg(index_size)::bigint AS index_size
                FROM growth GROUP BY part, kind, rows ORDER BY part, kind, rows)
        TO STDOUT (FORMAT csv, DELIMITER E'\t', HEADER)" >"$out/growth.tsv"
printf '%s\n' "$caption" >"$out/machine.txt"
"$top/bench/charts.pl" "$out" "$out"
say ""
say "written to $out"
