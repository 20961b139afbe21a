#!/usr/bin/env bash
# indent.sh: formats the C sources as PostgreSQL formats its own.
set -euo pipefail

usage='usage: scripts/indent.sh'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"

[ $# = 0 ] || wrong_usage
make_work_directory
need_package_lists
need_packages pg-bsd-indent

# The options that PostgreSQL's pgindent uses.
options="-bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12 -nfc1 -i4 -l79
	-lp -lpl -nip -npro -sac -tpg -ts4"

for file in "$top"/src/*.c "$top"/src/*/*.[ch]; do
	formatted=$work/$(basename "$file")
	# shellcheck disable=SC2086 -- the options are words
	pg_bsd_indent $options -U"$top/typedefs.list" <"$file" >"$formatted"
	cmp -s "$file" "$formatted" && continue
	say "formatting ${file#"$top"/}"
	cat "$formatted" >"$file"
done
