#!/usr/bin/env bash
# indent.sh: formats the C sources as PostgreSQL formats its own.
set -euo pipefail

usage='usage: scripts/indent.sh [--check]

  --check  writes nothing: shows the differences, and ends with 1 if there are any'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"

check=no
case ${*:-} in
	'') ;;
	--check) check=yes ;;
	*) wrong_usage ;;
esac

make_work_directory
need_package_lists
need_packages pg-bsd-indent

# The options that PostgreSQL's pgindent uses.
options="-bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12 -nfc1 -i4 -l79
	-lp -lpl -nip -npro -sac -tpg -ts4"

status=0
for file in "$top"/src/*.c "$top"/src/*/*.[ch]; do
	formatted=$work/$(basename "$file")
	# shellcheck disable=SC2086 -- the options are words
	pg_bsd_indent $options -U"$top/typedefs.list" <"$file" >"$formatted"
	cmp -s "$file" "$formatted" && continue
	if [ $check = yes ]; then
		diff -u --label "$file" "$file" --label formatted "$formatted" || status=1
	else
		say "formatting ${file#"$top"/}"
		cat "$formatted" >"$file"
	fi
done
exit $status
