#!/bin/sh
# build.sh: in a chroot, builds the packages of /build/seqid-*/, those of a later
# revision too, and lets lintian look at them; then installs /build/seqid.zip as users
# of PGXN do.
#
# Prints a line 'ok ...' or 'not ok ...' for each step; what is built is in
# /build/first and /build/second.
set -eu

export DEBIAN_FRONTEND=noninteractive
cd /build/seqid-*/

# step NAME COMMAND...: what it says is shown if it fails.
step()
{
	name=$1
	shift
	if "$@" >/build/log 2>&1 </dev/null; then
		echo "ok $name"
	else
		tail -n 60 /build/log
		echo "not ok $name"
		exit 1
	fi
}

# keep DIRECTORY: puts away what was built.
keep()
{
	mkdir "/build/$1"
	mv /build/*.deb /build/*.changes /build/*.buildinfo "/build/$1"
}

step 'package lists' apt-get update -qq
step 'build-essential and lintian' \
	apt-get install -y -qq --no-install-recommends build-essential lintian
step 'build dependencies' apt-get build-dep -y -qq --no-install-recommends .

# The release has its own version of PostgreSQL.
step 'debian/control' pg_buildext updatecontrol
step 'dpkg-buildpackage' dpkg-buildpackage -us -uc
keep first
cp /build/*.dsc /build/*.tar.* /build/first

step 'lintian without errors' lintian --allow-root --fail-on error /build/first/*.changes
sed 's/^/  /' /build/log

version=$(dpkg-parsechangelog -S Version)
{
	printf 'seqid (%s) unstable; urgency=medium\n\n  * Built to be upgraded to.\n\n' "${version%-*}-99"
	printf ' -- %s  %s\n\n' "$(dpkg-parsechangelog -S Maintainer)" "$(date -R)"
	cat debian/changelog
} >/build/changelog
mv /build/changelog debian/changelog
step 'dpkg-buildpackage of a later revision' dpkg-buildpackage -us -uc -b
keep second

step "PGXN's client" apt-get install -y -qq --no-install-recommends pgxnclient postgresql
step 'pgxn install' pgxn install --yes /build/seqid.zip
step 'pgxn load' pg_virtualenv -t sh -c '
	pgxn load --yes -d postgres /build/seqid.zip
	test "$(psql -XAtqc "SELECT library FROM seqid.version()" postgres)" = "$1"' sh "${version%-*}"
