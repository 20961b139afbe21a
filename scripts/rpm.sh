#!/usr/bin/env bash
# rpm.sh: builds the RPM packages with Debian's rpmbuild, and loads what they contain.
#
# packaging/seqid.spec expects PostgreSQL where PGDG's packages have it, all below one
# directory, so its pg_config is a script that says so.  The archive is the one of make
# dist, of what is committed.  This shows that the spec file is right about seqid, not that
# a system that uses RPM has what it requires.  PG_MAJOR=N picks a version of PostgreSQL.
set -euo pipefail

usage='usage: scripts/rpm.sh [--keep DIRECTORY]

  --keep   a directory for the packages'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/server.sh"

take_keep "$@"
[ ${#arguments[@]} = 0 ] || wrong_usage

make_work_directory
need_package_lists
choose_major
need_packages gcc make clang llvm libc6-dev "postgresql-$PG_MAJOR" "postgresql-server-dev-$PG_MAJOR" \
	git perl unzip rpm cpio
private_postgres

version=$(seqid_version)
pginstdir=$work/pgsql-$PG_MAJOR
mkdir -p "$work/rpm/SOURCES" "$work/unpacked" "$pginstdir/bin"
make -s -C "$top" archive ARCHIVE="$work/rpm/SOURCES/seqid-$version.zip" PG_CONFIG="$pg_config"
cat >"$pginstdir/bin/pg_config" <<CONFIG
#!/bin/sh
case \$1 in
	--bindir) echo $pginstdir/bin ;;
	--sharedir) echo $pginstdir/share ;;
	--pkglibdir) echo $pginstdir/lib ;;
	*) exec $pg_config "\$@" ;;
esac
CONFIG
chmod 755 "$pginstdir/bin/pg_config"
give_to_user

# Debian's packages are not in RPM's database.
say "building packages for PostgreSQL $PG_MAJOR"
quietly as_user env HOME="$work" rpmbuild --quiet -bb --nodeps --define "_topdir $work/rpm" \
	--define "pgmajorversion $PG_MAJOR" --define "pginstdir $pginstdir" "$top/packaging/seqid.spec"

packages=("$work"/rpm/RPMS/*/*.rpm)
for package in "${packages[@]}"; do
	say "${package##*/}"
	files=$(rpm -qlp "$package")
	printf '%s\n' "$files" | sed "s|^$pginstdir|  pginstdir|; t; s|^|  |"
	rpm2cpio "$package" | as_user cpio -idmu --quiet -D "$work/unpacked"
done
[ ${#packages[@]} = 2 ] || die "not two packages"

say "loading it"
unpacked=$work/unpacked$pginstdir
as_user cp -r "$unpacked/lib/." "$("$pg_config" --pkglibdir)"
as_user cp -r "$unpacked/share/." "$("$pg_config" --sharedir)"
start_server 128MB
sql -c 'CREATE EXTENSION seqid'
[ "$(value 'SELECT library FROM seqid.stat_server')" = "$version" ] || die "another version"
[ "$(value 'SELECT snowflake_shard(snowflake_nextval(5))')" = 5 ] || die "no key"
# The bitcode is found: a call is inlined.
[ "$(value 'SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SELECT sum(tenant_key_tenant(tenant_key_pack(g, 3))) FROM generate_series(1, 9) g')" = 45 ] ||
	die "wrong answer of a compiled expression"

if [ -n "$keep" ]; then
	mkdir -p "$keep"
	cp "${packages[@]}" "$keep"
fi
echo "passed: ${packages[*]##*/}"
