#!/usr/bin/env bash
# matrix.sh: runs every test on several versions of PostgreSQL.
#
# (pg_virtualenv -a runs the versions that are installed, and no release of Debian
# has more than one.)  Each comes from the release that ships it, in a chroot
# that debootstrap makes (about two minutes) and that is kept for the next
# time, in SEQID_CACHE or /var/cache/seqid-matrix.  DEBIAN_MIRROR names another
# mirror.  Needs root, or sudo.
#
# Ends with a line 'PostgreSQL 17.x: N passed, N failed' for each version; the
# exit status is 0 if none failed and none was missing.
set -euo pipefail

usage="usage: scripts/matrix.sh [--run COMMAND] [VERSION...]

  VERSION  13, 15, 17 or 18; all by default
  --run    another command than scripts/test.sh, from the top of the sources, as in
           scripts/matrix.sh --run 'bench/run.sh percall' 18"

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"

run=
if [ "${1:-}" = --run ]; then
	[ $# -ge 2 ] || wrong_usage
	run=$2
	shift 2
fi
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(13 15 17 18)
cache=${SEQID_CACHE:-/var/cache/seqid-matrix}

suite_of()
{
	case $1 in
		13) echo bullseye ;;
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo sid ;;
		*) wrong_usage ;;
	esac
}

for version in "${versions[@]}"; do
	suite_of "$version" >/dev/null
done

# make_chroot SUITE DIRECTORY: only a complete one gets the directory's name.
make_chroot()
{
	local suite=$1 directory=$2

	[ ! -d "$directory" ] || return 0
	say "making a chroot of Debian $suite"
	as_root rm -rf "$directory.new" || return 1
	as_root mkdir -p "$cache" || return 1
	if ! as_root debootstrap --variant=minbase "$suite" "$directory.new" \
		${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/debootstrap.log" 2>&1 </dev/null; then
		tail -n 20 "$work/debootstrap.log" >&2
		return 1
	fi

	# Installing PostgreSQL must not start a server.
	printf '#!/bin/sh\nexit 101\n' |
		as_root tee "$directory.new/usr/sbin/policy-rc.d" >/dev/null || return 1
	as_root chmod 755 "$directory.new/usr/sbin/policy-rc.d" || return 1
	# The lists of sid are good for a week; a mirror may be older than that.
	echo 'Acquire::Check-Valid-Until "false";' |
		as_root tee "$directory.new/etc/apt/apt.conf.d/90seqid" >/dev/null || return 1
	as_root mv "$directory.new" "$directory"
}

# in_chroot DIRECTORY COMMAND...: with mounts and processes that end with it.
in_chroot()
{
	local directory=$1
	shift

	as_root unshare --mount --pid --fork --kill-child sh -c '
		set -e
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/dev/shm"
		cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
		exec chroot "$root" "$@"' sh "$directory" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
		TERM="${TERM:-dumb}" "$@"
}

# Runs the suites of one version; its closing line goes to $work/results.
test_version()
{
	local version=$1 suite directory log result name
	suite=$(suite_of "$version")
	directory=$cache/$suite
	log=$work/$version.log

	if ! make_chroot "$suite" "$directory"; then
		echo "PostgreSQL $version: 0 passed, 1 failed (Debian $suite could not be fetched)" >>"$work/results"
		return 1
	fi

	# The caller looks at the status, so set -e is of no help here.
	as_root rm -rf "$directory/usr/src/seqid" || return 1
	as_root cp -r "$work/source" "$directory/usr/src/seqid" || return 1
	if [ -n "$run" ]; then
		say "running $run with PostgreSQL $version"
		in_chroot "$directory" PG_MAJOR="$version" sh -c "cd /usr/src/seqid && $run" </dev/null
		return
	fi
	say "testing PostgreSQL $version"
	in_chroot "$directory" PG_MAJOR="$version" /usr/src/seqid/scripts/test.sh \
		>"$log" 2>&1 </dev/null && status=0 || status=$?

	name=$(in_chroot "$directory" "/usr/lib/postgresql/$version/bin/postgres" --version 2>/dev/null |
		sed -n 's/^postgres (PostgreSQL) \([0-9.]*\).*/\1/p') || true
	result=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1) || true
	echo "PostgreSQL ${name:-$version}: ${result:-0 passed, 1 failed (the tests did not run)}" >>"$work/results"
	[ $status = 0 ] || { cat "$log"; return 1; }
}

make_work_directory

need_package_lists
need_packages debootstrap util-linux
copy_sources
failed=0
for version in "${versions[@]}"; do
	test_version "$version" || failed=1
done
[ -n "$run" ] || cat "$work/results"
exit $failed
