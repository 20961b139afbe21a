#!/usr/bin/env bash
# matrix.sh: runs tests on several versions of PostgreSQL.
#
# Each version comes from the release of Debian that has it, in a chroot that debootstrap
# makes (about two minutes) and that stays for the next time, see scripts/chroot.sh.
# Needs root, or sudo.  (No release of Debian has two versions for pg_virtualenv -a.)
# The exit status is 0 if every version passed.
set -euo pipefail

usage="usage: scripts/matrix.sh [--run COMMAND] [VERSION...]

  VERSION  15, 17, 18 or 19; all by default.  VERSION/arm64 is Debian's arm64, which qemu
           emulates on other machines
  --run    a command to run at the top of the sources, for example
           scripts/matrix.sh --run 'bench/run.sh percall' 18;
           scripts/test.sh --quick regress isolation by default"

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/chroot.sh"

run='scripts/test.sh --quick regress isolation'
if [ "${1:-}" = --run ]; then
	[ $# -ge 2 ] || wrong_usage
	run=$2
	shift 2
fi
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(15 17 18 19)

for version in "${versions[@]}"; do
	[ -n "${release[${version%/arm64}]:-}" ] || wrong_usage
done

# Bash ignores set -e in a command whose status is tested.
test_version()
{
	local directory

	version_chroot "$1" || return 1
	as_root rm -rf "$directory/usr/src/seqid" || return 1
	as_root cp -r "$work/source" "$directory/usr/src/seqid" || return 1
	in_chroot "$directory" PG_MAJOR="${1%/*}" SEQID_MINUTES="${SEQID_MINUTES:-1}" \
		PROVE_TESTS="${PROVE_TESTS:-}" sh -c "cd /usr/src/seqid && $run" </dev/null
}

make_work_directory
need_package_lists
need_packages debootstrap util-linux
copy_sources
failed=()
for version in "${versions[@]}"; do
	say "PostgreSQL $version: $run"
	test_version "$version" || failed+=("$version")
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
echo "passed: ${versions[*]}"
