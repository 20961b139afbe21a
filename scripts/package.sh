#!/usr/bin/env bash
# package.sh: builds the Debian packages and tries them with Debian's own tools.
#
# Each release of Debian has a clean chroot, see scripts/chroot.sh; work goes on in
# copies of it.  dpkg-buildpackage builds, lintian must find no error, autopkgtest runs
# the suites against the installed package, piuparts installs, removes and purges it.
# PGXN's client installs the archive of the release.  Needs root, or sudo.
set -euo pipefail

usage='usage: scripts/package.sh [--keep DIRECTORY] [SUITE...]

  SUITE   bookworm (PostgreSQL 15), trixie (17), sid (18) or experimental (19); the first
          two by default
  --keep  a directory for the packages, which get a directory for each suite there'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/chroot.sh"

keep=
if [ "${1:-}" = --keep ]; then
	[ $# -ge 2 ] || wrong_usage
	keep=$2
	shift 2
fi
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)

clean_up()
{
	as_root rm -rf "$work"
}

make_work_directory
need_package_lists
choose_major
need_packages debootstrap util-linux git make "postgresql-server-dev-$PG_MAJOR" piuparts
version=$(sed -n '/"version"/{s/[^:]*: *"//; s/".*//p; q}' "$top/META.json")

# put_sources DIRECTORY: as Debian has them, an archive from upstream and debian/ beside it.
put_sources()
{
	copy_sources
	as_root rm -rf "$work/source/.ci" "$work/source/.github"
	as_root mv "$work/source" "$1/seqid-$version"
	as_root tar -C "$1" --exclude=debian -czf "$1/seqid_$version.orig.tar.gz" "seqid-$version"
	make -s -C "$top" archive ARCHIVE="$work/seqid.zip" \
		PG_CONFIG="/usr/lib/postgresql/$PG_MAJOR/bin/pg_config"
	as_root mv "$work/seqid.zip" "$1"
}

# run DIRECTORY TEXT: a script of sh in a chroot.
run()
{
	say "$suite: $2"
	in_chroot "$1" DEBIAN_FRONTEND=noninteractive sh -euc "$3" >"$work/log" 2>&1 </dev/null ||
		{ tail -n 100 "$work/log" >&2; die "$suite: $2: failed"; }
}

for suite in "${suites[@]}"; do
	make_chroot "$suite" "$cache/bare-$suite" || die "Debian $suite could not be fetched"
	build=$work/$suite-build
	test=$work/$suite-test
	as_root cp -a "$cache/bare-$suite" "$build"
	as_root cp -a "$cache/bare-$suite" "$test"
	as_root mkdir "$build/build"
	put_sources "$build/build"

	# The release of Debian has its own version of PostgreSQL in debian/control.
	run "$build" 'dpkg-buildpackage' "
		apt-get update -qq
		apt-get install -y -qq --no-install-recommends build-essential lintian
		cd /build/seqid-$version
		apt-get build-dep -y -qq --no-install-recommends .
		pg_buildext updatecontrol
		dpkg-buildpackage -us -uc"
	run "$build" 'lintian' 'lintian --allow-root --fail-on error /build/*.changes'
	run "$build" 'pgxn install' "
		apt-get install -y -qq --no-install-recommends pgxnclient postgresql
		pgxn install --yes /build/seqid.zip
		pg_virtualenv -t sh -c '
			pgxn load --yes -d postgres /build/seqid.zip
			psql -XAtqc \"SELECT library FROM seqid.version()\" postgres' | grep -Fx $version"

	as_root cp -r "$build/build" "$test/build"
	run "$test" 'autopkgtest' "
		apt-get update -qq
		apt-get install -y -qq --no-install-recommends autopkgtest
		autopkgtest --timeout-test=2400 /build/*.deb /build/seqid-$version/ -- null"

	say "$suite: piuparts"
	as_root piuparts --existing-chroot "$cache/bare-$suite" --distribution "${suite/experimental/sid}" \
		--no-eatmydata --log-level error "$build"/build/postgresql-*-seqid_*.deb >"$work/log" 2>&1 </dev/null ||
		{ tail -n 100 "$work/log" >&2; die "$suite: piuparts: failed"; }

	if [ -n "$keep" ]; then
		as_root mkdir -p "$keep/$suite"
		as_root find "$build/build" -maxdepth 1 -type f -exec cp {} "$keep/$suite" \;
	fi
	as_root rm -rf "$build" "$test"
done
echo "passed: ${suites[*]}"
