#!/usr/bin/env bash
# image.sh: builds images with buildah, and tries them in chroots; see scripts/chroot.sh.
#
# For a version of PostgreSQL, the image is examples/cnpg/Containerfile.  The library is built on
# sid and must not need a newer glibc than Debian 13 has.  The suite prefix runs with the
# contents of the image, and with those of a later release in their place.  On a processor
# that qemu emulates, which is slow, a server generates a key.
# server is examples/container/Containerfile: a server starts in it and generates a key.
# Needs root, or sudo.  The exit status is 0 if every image passed.
set -euo pipefail

usage='usage: scripts/image.sh [--keep DIRECTORY] [IMAGE...]

  IMAGE   18, 19, 18/arm64, 19/arm64 or server; 18, 18/arm64, 19 and server by default
  --keep  a directory for the images: archives of OCI layouts, one for each version, with
          all its processors'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/chroot.sh"

take_keep "$@"
images=("${arguments[@]}")
[ ${#images[@]} -gt 0 ] || images=(18 18/arm64 19 server)
for image in "${images[@]}"; do
	[[ $image =~ ^(1[89](/arm64)?|server)$ ]] || wrong_usage
done

make_work_directory
need_package_lists
need_packages debootstrap util-linux buildah
version=$(seqid_version)
copy_sources
cp -r "$work/source" "$work/next"

# A later release, whose update changes a comment.
(
	cd "$work/next"
	sed -i "s/\"version\": \".*\"/\"version\": \"999.0.0\"/" META.json
	sed -i "s/^DATA = .*/& seqid--${version%.*}--999.0.sql/" Makefile
	sed -i "s/^default_version = .*/default_version = '999.0'/" seqid.control
	echo "COMMENT ON EXTENSION seqid IS 'a later release';" >"seqid--${version%.*}--999.0.sql"
)

key='SELECT snowflake_shard(snowflake_nextval(5)), library FROM seqid.stat_server'

# Storage of our own, without a service or a registry.
buildah()
{
	as_root env BUILDAH_ISOLATION=chroot buildah \
		--storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"
}

# build_files SOURCES: has make install fill a directory; sets $files.
build_files()
{
	files=$directory/usr/src/files
	as_root rm -rf "$directory/usr/src/seqid" "$files"
	as_root cp -r "$1" "$directory/usr/src/seqid"
	in_chroot "$directory" sh -euc "
		apt-get install -y -qq --no-install-recommends gcc make libc6-dev \
			postgresql-$major postgresql-server-dev-$major
		cd /usr/src/seqid
		make -s -j 2 with_llvm=no PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config \
			datadir=/usr/src/files/share pkglibdir=/usr/src/files/lib all install
		strip --strip-unneeded /usr/src/files/lib/seqid.so
		objdump -T /usr/src/files/lib/seqid.so | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1 |
			sed 'p; s/.*/GLIBC_2.41/' | sort -VC
		cp LICENSE /usr/src/files" >"$work/log" 2>&1 </dev/null || { tail -n 50 "$work/log" >&2; return 1; }
}

# build_image SOURCES NAME: adds the image of this processor to the list NAME, and copies its
# contents, as they are mounted, into the chroot.
build_image()
{
	local container

	build_files "$1" || return 1
	buildah build -q --format oci --arch "$architecture" --manifest "$2" -f "$1/examples/cnpg/Containerfile" \
		--build-arg VERSION="$version" --build-arg PG_MAJOR="$major" \
		--build-arg DEBIAN="${release[$major]/experimental/sid}" "$files" >"$work/id" || return 1
	container=$(buildah from --arch "$architecture" "$2") || return 1
	as_root cp -r "$(buildah mount "$container")" "$directory/usr/src/images/${1##*/}"
}

try_volume()
{
	local major=${1%/*} architecture=$(dpkg --print-architecture) directory files

	[[ $1 != */* ]] || architecture=${1#*/}
	version_chroot "$1" || return 1
	as_root rm -rf "$directory/usr/src/images" || return 1
	as_root mkdir "$directory/usr/src/images" || return 1
	[[ $1 == */* ]] || build_image "$work/next" "next:$1" || return 1
	build_image "$work/source" "seqid:$version-$major" || return 1
	if [[ $1 == */* ]]; then
		in_chroot "$directory" pg_virtualenv -v "$major" -t \
			-o 'extension_control_path=$system:/usr/src/images/source/share' \
			-o 'dynamic_library_path=$libdir:/usr/src/images/source/lib' \
			psql -XAtqc 'CREATE EXTENSION seqid' -c "$key" postgres </dev/null | grep -Fx "5|$version"
		return
	fi
	in_chroot "$directory" PG_MAJOR="$major" SEQID_IMAGES="/usr/src/images/source /usr/src/images/next" \
		sh -c 'cd /usr/src/seqid && scripts/test.sh --quick prefix' </dev/null
}

# The base is Debian as debootstrap makes it, where users have Debian's image.
try_server()
{
	local directory=$cache/bare-trixie container

	make_chroot trixie "$directory" || return 1
	container=$(buildah from scratch) || return 1
	buildah add -q "$container" "$directory" / >"$work/id" || return 1
	buildah commit -q "$container" localhost/debian >"$work/id" || return 1
	buildah build -q --format oci --build-arg BASE=localhost/debian -t "seqid-server:$version" \
		-f "$work/source/examples/container/Containerfile" "$work/source" >"$work/log" 2>&1 ||
		{ tail -n 50 "$work/log" >&2; return 1; }
	container=$(buildah from "seqid-server:$version") || return 1
	[ "$(buildah run "$container" -- sh -euc '
		# A start that is killed after initdb must not leave an incomplete server.
		printf "#!/bin/sh\n/usr/lib/postgresql/bin/initdb \"\$@\"\nkill -9 \$PPID\n" >/tmp/initdb
		chmod +x /tmp/initdb
		! PATH=/tmp:$PATH start >/dev/null 2>&1
		start >/dev/null 2>&1 &
		until pg_isready -q; do sleep 1; done
		psql -XAtqc "$1"
		pg_ctl -s -m immediate stop' sh "$key")" = "5|$version" ]
}

failed=()
for image in "${images[@]}"; do
	say "image $image"
	case $image in
		server) try_server ;;
		*) try_volume "$image" ;;
	esac || failed+=("$image")
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"

if [ -n "$keep" ]; then
	as_root mkdir -p "$keep"
	for major in $(printf '%s\n' "${images[@]%/*}" | grep -vx server | sort -u); do
		buildah manifest push -q --all "seqid:$version-$major" "oci-archive:$keep/seqid-$version-$major.tar"
	done
fi
echo "passed: ${images[*]}"
