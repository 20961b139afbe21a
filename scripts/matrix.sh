#!/usr/bin/env bash
# matrix.sh: runs every test on several versions of PostgreSQL.
#
# Each version comes from the release of Debian that has it, in a chroot.  debootstrap
# makes the chroot (about two minutes), which is kept for the next time in SEQID_CACHE
# or /var/cache/seqid-matrix.  DEBIAN_MIRROR names another mirror.  Needs root, or
# sudo.  (pg_virtualenv -a runs the installed versions, and no release of Debian has
# more than one.)
#
# Ends with a line 'PostgreSQL 17.x: N passed, N failed' for each version; the
# exit status is 0 if none failed and none was missing.
set -euo pipefail

usage="usage: scripts/matrix.sh [--run COMMAND] [VERSION...]

  VERSION  15, 17, 18 or 19; all by default.  15/arm64 is the regression and isolation
           tests on arm64, which qemu emulates on other machines
  --run    another command than scripts/test.sh, from the top of the sources, as in
           scripts/matrix.sh --run 'bench/run.sh percall' 18"

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/chroot.sh"

run=
if [ "${1:-}" = --run ]; then
	[ $# -ge 2 ] || wrong_usage
	run=$2
	shift 2
fi
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(15 17 18 19)

suite_of()
{
	case ${1%/arm64} in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo sid ;;
		19) echo experimental ;;
		*) wrong_usage ;;
	esac
}

for version in "${versions[@]}"; do
	suite_of "$version" >/dev/null
done

# Runs the suites of one version; its closing line goes to $work/results.
test_version()
{
	local version=${1%/*} architecture= suites=() suite directory log result name
	suite=$(suite_of "$version")
	directory=$cache/$suite
	log=$work/$version.log
	if [ "$1" != "$version" ]; then
		architecture=${1#*/}
		suites=(--quick regress isolation)
		directory+=-$architecture
		need_emulation "$architecture"
	fi

	if ! make_chroot "$suite" "$directory" "$architecture"; then
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
	say "testing PostgreSQL $1"
	in_chroot "$directory" PG_MAJOR="$version" /usr/src/seqid/scripts/test.sh "${suites[@]}" \
		>"$log" 2>&1 </dev/null && status=0 || status=$?

	name=$(in_chroot "$directory" "/usr/lib/postgresql/$version/bin/postgres" --version 2>/dev/null |
		sed -n 's/^postgres (PostgreSQL) \([0-9a-z.]*\).*/\1/p') || true
	result=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1) || true
	echo "PostgreSQL ${name:-$version}${architecture:+ on $architecture}: ${result:-0 passed, 1 failed (the tests did not run)}" >>"$work/results"
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
