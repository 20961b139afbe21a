# chroot.sh: Debian's releases in chroots.  To be sourced after lib.sh.
#
# They are kept in $cache for the next time; SEQID_CACHE names another place.
# DEBIAN_MIRROR names another mirror.  Needs debootstrap, and root or sudo.

cache=${SEQID_CACHE:-/var/cache/seqid-matrix}

# need_emulation ARCHITECTURE: makes this machine run the programs of Debian's
# ARCHITECTURE, which is its own or arm64.  The kernel keeps the emulator open, so a
# chroot needs no copy of it.
need_emulation()
{
	local formats=/proc/sys/fs/binfmt_misc

	[ "$1" != "$(dpkg --print-architecture)" ] || return 0
	need_packages qemu-user-static binfmt-support
	[ -e $formats/register ] || as_root mount -t binfmt_misc binfmt_misc $formats ||
		die "the kernel cannot emulate $1: no binfmt_misc"
	[ -e $formats/qemu-aarch64 ] || as_root update-binfmts --enable qemu-aarch64 ||
		die "the kernel cannot emulate $1: no qemu-aarch64 in $formats"
}

# make_chroot SUITE DIRECTORY [ARCHITECTURE]: only a complete chroot gets the directory's
# name.  The suite experimental is sid with experimental as a second source.  An
# ARCHITECTURE that is not the machine's needs need_emulation first.
make_chroot()
{
	local suite=$1 directory=$2 architecture=${3:-} base=${1/experimental/sid}

	[ ! -d "$directory" ] || return 0
	say "making a chroot of Debian $suite${architecture:+, $architecture}"
	as_root rm -rf "$directory.new" || return 1
	as_root mkdir -p "$cache" || return 1
	as_root debootstrap --variant=minbase ${architecture:+--arch="$architecture"} "$base" "$directory.new" \
		${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/debootstrap.log" 2>&1 </dev/null ||
		{ tail -n 20 "$work/debootstrap.log" >&2; return 1; }

	# Installing PostgreSQL must not start a server.  The lists of sid are good for a week; a
	# mirror may be older than that.
	as_root sh -ec 'cd "$1"
		printf "#!/bin/sh\nexit 101\n" >usr/sbin/policy-rc.d
		chmod 755 usr/sbin/policy-rc.d
		echo "Acquire::Check-Valid-Until \"false\";" >etc/apt/apt.conf.d/90seqid' sh "$directory.new" || return 1
	# The PostgreSQL to come, its libraries included, is in experimental.
	[ "$suite" = "$base" ] ||
		add_release experimental sid "$directory.new" a=experimental src:postgresql-19 500 || return 1
	as_root mv "$directory.new" "$directory"
}

# The release of Debian that has a version of PostgreSQL.
declare -A release=([15]=bookworm [17]=trixie [18]=sid [19]=experimental)

# version_chroot VERSION[/ARCHITECTURE]: makes the chroot for a version of PostgreSQL; sets
# $directory.
version_chroot()
{
	local suite=${release[${1%/*}]} architecture=

	directory=$cache/$suite
	if [[ $1 == */* ]]; then
		architecture=${1#*/}
		directory+=-$architecture
		need_emulation "$architecture" || return 1
	fi
	make_chroot "$suite" "$directory" "$architecture" || return 1
	# What the release does not have, such as the PostgreSQL 15 that pg_upgrade begins with
	[ "${1%/*}" = 15 ] || add_release bookworm "${suite/experimental/sid}" "$directory" n=bookworm '*' 100
}

# add_release RELEASE SUITE DIRECTORY PIN PACKAGES PRIORITY: apt takes packages from another
# release than the chroot's own.
add_release()
{
	local sources=$3/etc/apt/sources.list.d/$1.list

	[ ! -e "$sources" ] || return 0
	printf '%s\n' "Package: $5" "Pin: release $4" "Pin-Priority: $6" |
		as_root tee "$3/etc/apt/preferences.d/$1" >/dev/null || return 1
	sed "s/ $2 / $1 /" "$3/etc/apt/sources.list" | as_root tee "$sources.new" >/dev/null || return 1
	as_root mv "$sources.new" "$sources" || return 1
	in_chroot "$3" apt-get update -qq </dev/null
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
