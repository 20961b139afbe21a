#!/usr/bin/env bash
# draw.sh: draws the pictures of results anew, without measuring.
set -euo pipefail

usage='usage: bench/draw.sh [DIRECTORY]

  DIRECTORY  where bench/run.sh has written results.tsv, growth.tsv and machine.txt,
             and where the pictures go (bench/out)'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/bench/plots.sh"

[ $# -le 1 ] && [ "${1:-}" != --help ] || wrong_usage
out=$(realpath -m "${1:-$top/bench/out}")
[ -f "$out/results.tsv" ] || die "$out has no results.tsv"

make_work_directory
need_package_lists
need_packages gnuplot-nox
draw_plots
