#!/usr/bin/env bash
# package.sh: builds the Debian packages and tries them.
#
# For each release of Debian: builds in a clean chroot, with dpkg-buildpackage;
# lintian has to find no errors.  Then, in another bare one: installs, draws keys, runs
# autopkgtest, upgrades, removes, purges; nothing may be left.  The archive for PGXN is
# installed by its client where the packages were built.  The chroots are made by
# debootstrap (about two minutes) and kept, see scripts/chroot.sh; what is built goes
# into copies of them.  Needs root, or sudo.
#
# Ends with a line 'N passed, N failed'; the exit status is 0 if none failed.
set -euo pipefail

usage='usage: scripts/package.sh [--keep DIRECTORY] [SUITE...]

  SUITE   bookworm (PostgreSQL 15) or trixie (17); both by default
  --keep  where the packages are left, in a directory for each suite'

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
for suite in "${suites[@]}"; do
	case $suite in
		bookworm | trixie) ;;
		*) wrong_usage ;;
	esac
done

# bare_copy SUITE DIRECTORY
bare_copy()
{
	make_chroot "$1" "$cache/bare-$1" || return 1
	as_root cp -a "$cache/bare-$1" "$2"
}

# The sources as Debian has them: an archive from upstream, and debian/ beside it.
put_sources()
{
	local directory=$1

	as_root mkdir -p "$directory" || return 1
	as_root cp -r "$work/source" "$directory/seqid-$version" || return 1
	as_root tar -C "$directory" --exclude=debian --exclude=.ci --exclude=.github \
		-czf "$directory/seqid_$version.orig.tar.gz" "seqid-$version" || return 1
	as_root rm -rf "$directory/seqid-$version/.ci" "$directory/seqid-$version/.github"
}

build_packages()
{
	local suite=$1 chroot=$work/$1-build

	say "building packages for Debian $suite"
	bare_copy "$suite" "$chroot" || return 1
	put_sources "$chroot/build" || return 1
	as_root cp "$work/seqid.zip" "$chroot/build" || return 1
	in_chroot "$chroot" sh "/build/seqid-$version/scripts/package/build.sh" </dev/null
}

try_packages()
{
	local suite=$1 chroot=$work/$1-install built=$work/$1-build/build

	say "installing packages in Debian $suite"
	bare_copy "$suite" "$chroot" || return 1
	as_root mkdir "$chroot/packages" || return 1
	as_root cp -r "$built/first" "$built/second" "$chroot/packages" || return 1
	as_root cp -r "$built/seqid-$version" "$chroot/packages/source" || return 1
	in_chroot "$chroot" sh /packages/source/scripts/package/install.sh </dev/null
}

# The chroots are not needed any more, and are large.
keep_packages()
{
	local suite=$1

	if [ -n "$keep" ]; then
		as_root mkdir -p "$keep/$suite" || return 1
		as_root cp "$work/$suite-build/build/first"/* "$keep/$suite" || return 1
	fi
	as_root rm -rf "$work/$suite-build" "$work/$suite-install"
}

clean_up()
{
	as_root rm -rf "$work"
}

make_work_directory

need_package_lists
choose_major
need_packages debootstrap util-linux git make "postgresql-server-dev-$PG_MAJOR"
copy_sources
make -s -C "$top" archive PG_CONFIG="/usr/lib/postgresql/$PG_MAJOR/bin/pg_config" ARCHIVE="$work/seqid.zip"
version=$(sed -n '/"version"/{s/[^:]*: *"//; s/".*//p; q}' "$top/META.json")

log=$work/results
for suite in "${suites[@]}"; do
	# A step that fails says so; one that cannot be begun does not.
	if ! { build_packages "$suite" && try_packages "$suite" && keep_packages "$suite"; } 2>&1 |
		sed -u "s/^/$suite: /" | tee -a "$log"; then
		tail -n 1 "$log" | grep -q ': not ok ' || echo "$suite: not ok" | tee -a "$log"
	fi
done

passed=$(grep -c '^[a-z]*: ok ' "$log" || true)
failed=$(grep -c '^[a-z]*: not ok' "$log" || true)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
