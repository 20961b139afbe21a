#!/usr/bin/env bash
# stores.sh: measures the event stores of docs/stores.md, each as it is and with seqid, in two
# databases of one server at the same time.
set -euo pipefail

usage='usage: bench/stores.sh [DIRECTORY]

  DIRECTORY  where stores.tsv and stores.txt, the machine and the command, go (bench/out)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/bench/lib.sh"

[ $# -le 1 ] && [ "${1:-}" != --help ] || wrong_usage
out=$(realpath -m "${1:-$top/bench/out}")

make_work_directory
choose_major
mkdir -p "$out"
STORES="loader_view emmett kysely dcb" SEQID_MINUTES=0.5 PROVE_FLAGS=--verbose PROVE_TESTS=t/stores/stores.pl "$top/scripts/test.sh" --quick stores | tee "$work/log"

# What a program prints of a run, as a row.
{
	printf 'store\tkind\tbeside\tevents\tlost\tp50\tp99\n'
	sed -nE 's/^# # (.*), (stock|seqid), beside (no other|a) transaction( of )?(.*): ([0-9]+) events, .*, lost ([0-9]+), .* p50 ([0-9]+) ms, p99 ([0-9]+) ms$/\1\t\2\t\5\t\6\t\7\t\8\t\9/p' "$work/log"
} >"$out/stores.tsv"

# The server of the tests has ended.
value()
{
	"/usr/lib/postgresql/$PG_MAJOR/bin/postgres" --version | sed 's/.*) //'
}
echo "$(machine); bench/stores.sh" >"$out/stores.txt"
say "written to $out; bench/charts.pl draws docs/stores.svg of them"
