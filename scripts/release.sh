#!/usr/bin/env bash
# release.sh: whether all that tells the version and the date of a release agrees.
#
# META.json has the version, and CHANGELOG.md the date: the Makefile and through it the
# library derive theirs, the others are checked here.  Prints what is wrong, and
# 'N passed, N failed'.
set -euo pipefail

usage='usage: scripts/release.sh [--final]

  --final  for what is to be released: dated, and stable'

cd "$(dirname "$0")/.."
. scripts/lib.sh

final=no
case ${*:-} in
	'') ;;
	--final) final=yes ;;
	*) wrong_usage ;;
esac

passed=0
failed=0

# check NAME COMMAND...: what it prints is what is wrong.
check()
{
	local name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		echo "not ok $name"
		failed=$((failed + 1))
	fi
}

# same EXPECTED ACTUAL
same()
{
	[ "$1" = "$2" ] || { echo "$2 instead of $1"; return 1; }
}

version=$(sed -n '/"version"/{s/[^:]*: *"//; s/".*//p; q}' META.json)
# 1.0.2 has the script of 1.0.
script=${version%.*}
changelog=$(sed -n '/^## /{s/^## //p; q}' CHANGELOG.md)
date=$(sed -n 's/.*(\(.*\))$/\1/p' <<<"$changelog")

each_script_is_installed()
{
	local name

	for name in seqid--*.sql; do
		grep -E '^DATA|^	seqid--' Makefile | grep -qF "$name" ||
			{ echo "the Makefile does not install $name"; return 1; }
	done
}

# What was released as stable is frozen.
released_scripts_are_unchanged()
{
	local tag name

	for tag in $(git tag --list 'v*' 2>/dev/null); do
		git show "$tag:META.json" | grep -q '"release_status": *"stable"' || continue
		for name in $(git ls-tree --name-only "$tag" | grep '^seqid--.*\.sql$'); do
			git show "$tag:$name" | cmp -s - "$name" ||
				{ echo "$name is not what $tag has"; return 1; }
		done
	done
}

# A script to the new version from each old one.
each_version_has_a_way()
{
	local name from

	for name in seqid--*.sql; do
		from=${name#seqid--}
		from=${from%.sql}
		[[ $from == *--* || $from == "$script" ]] || [ -e "seqid--$from--$script.sql" ] ||
			{ echo "seqid--$from--$script.sql is missing"; return 1; }
	done
}

# pg_buildext makes it for the release of Debian that it runs in.
debian_control_is_made()
{
	local major

	major=$(sed -n 's/^Package: postgresql-\([0-9]*\)-seqid$/\1/p' debian/control)
	sed "s/PGVERSION/$major/g" debian/control.in | diff -u - debian/control
}

check 'META.json is as PGXN wants it' perl scripts/pgxn_meta.pl META.json
check 'META.json has one version' same "$version $version" \
	"$(sed -n '/"meta-spec"/,$d; s/.*"version": *"\(.*\)".*/\1/p' META.json | xargs)"
check 'seqid.control' same "$script" "$(sed -n "s/^default_version = '\(.*\)'/\1/p" seqid.control)"
check 'the script of the version' test -f "seqid--$script.sql"
check 'scripts are installed' each_script_is_installed
check 'released scripts are frozen' released_scripts_are_unchanged
check 'updates from released versions' each_version_has_a_way
check 'CHANGELOG.md has the version' same "$version" "${changelog%% *}"
check 'debian/changelog has the version' same "$version" \
	"$(sed -n '1s/^seqid (\(.*\)-[^-]*) .*/\1/p' debian/changelog)"
check 'debian/control is made of debian/control.in' debian_control_is_made

# Until it is released, the changelog has no date, and whoever packages it some other.
if [ $final = yes ] || [ "$date" != unreleased ]; then
	check 'META.json is stable' same '"stable"' "$(sed -n 's/.*"release_status": *\(".*"\).*/\1/p' META.json)"
	check 'CHANGELOG.md has a date' same "$date" "$(date -u -d "$date" +%F 2>&1)"
	check 'debian/changelog has the date' same "$date" \
		"$(date -u -d "$(sed -n '/^ -- /{s/.*>  //p; q}' debian/changelog)" +%F)"
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
