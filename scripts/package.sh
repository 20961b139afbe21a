#!/usr/bin/env bash
# package.sh: builds the Debian packages and tries them with Debian's own tools.
#
# Each release of Debian has a clean chroot, see scripts/chroot.sh; work goes on in
# copies of it.  dpkg-buildpackage builds and tests, lintian must find no error, autopkgtest
# runs the suites against the installed package, piuparts installs, removes and purges it.
# PGXN's client installs and tests the archive of the release, and the README's lines do the
# same with nothing else on the machine.  Needs root, or sudo.
set -euo pipefail

usage='usage: scripts/package.sh [--keep DIRECTORY] [VERSION...]

  VERSION  of PostgreSQL, in the release of Debian that has it: 15 (bookworm), 17 (trixie),
           18 (sid) or 19 (experimental); 15 and 17 by default
  --keep   a directory for the packages, which get a directory for each version there'

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/lib.sh"
. "$top/scripts/chroot.sh"

take_keep "$@"
versions=("${arguments[@]}")
[ ${#versions[@]} -gt 0 ] || versions=(15 17)
for major in "${versions[@]}"; do
	[ -n "${release[$major]:-}" ] || wrong_usage
done

make_work_directory
need_package_lists
choose_major
need_packages debootstrap util-linux git make "postgresql-server-dev-$PG_MAJOR" piuparts
version=$(seqid_version)

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
	quietly in_chroot "$1" DEBIAN_FRONTEND=noninteractive sh -euc "$3"
}

# install_lines MAJOR: the lines that the README has below "Install", for a version.
install_lines()
{
	sed -n '/^## Install$/,/^```$/p' "$top/README.md" | sed "1,/^\`\`\`sh\$/d; /^\`\`\`/d; s/ postgresql postgresql-server-dev-all / postgresql-$1 postgresql-server-dev-$1 /"
}

for major in "${versions[@]}"; do
	suite=${release[$major]}
	bare=$cache/bare-$suite
	make_chroot "$suite" "$bare" || die "Debian $suite could not be fetched"
	build=$work/$suite-build
	test=$work/$suite-test
	readme=$work/$suite-readme
	for copy in "$build" "$test" "$readme"; do
		as_root cp -a "$bare" "$copy"
	done
	as_root mkdir "$build/build"
	put_sources "$build/build"

	# The release of Debian has its own version of PostgreSQL in debian/control.  Experimental
	# has one that its tools do not build for by default.
	prepare="
		export PG_SUPPORTED_VERSIONS=$major
		apt-get update -qq
		apt-get install -y -qq --no-install-recommends postgresql-$major postgresql-server-dev-$major"
	run "$build" 'dpkg-buildpackage' "$prepare build-essential lintian
		cd /build/seqid-$version
		apt-get build-dep -y -qq --no-install-recommends .
		pg_buildext updatecontrol
		grep -qx 'Package: postgresql-$major-seqid' debian/control
		dpkg-buildpackage -us -uc"
	# The maintainers have an address in Debian only, because it demands one: of the builder.
	run "$build" 'lintian' 'lintian --allow-root --fail-on error \
		--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog /build/*.changes'
	run "$build" 'pgxn install' "
		apt-get install -y -qq --no-install-recommends pgxnclient
		pgxn install --yes --pg_config /usr/lib/postgresql/$major/bin/pg_config /build/seqid.zip
		pg_virtualenv -v $major -t sh -c '
			pgxn check --pg_config /usr/lib/postgresql/$major/bin/pg_config /build/seqid.zip
			pgxn load --yes -d postgres /build/seqid.zip
			psql -XAtqc \"SELECT library FROM seqid.stat_server\" postgres' | grep -Fx $version"

	as_root cp -r "$build/build/seqid-$version" "$readme/usr/src/seqid"
	run "$readme" "the README's lines and make installcheck, twice" "
		apt-get update -qq
		cd /usr/src/seqid
		alias sudo='env ' apt-get='apt-get -y -qq'
		$(install_lines "$major")
		pg_ctlcluster $major main start
		runuser -u postgres -- createuser -s root
		# Another server of the machine can have the default port.
		export PGPORT=\$(pg_conftool -s $major main show port)
		make installcheck
		# The first run must leave nothing that a second one trips over.
		make installcheck"

	as_root cp -r "$build/build" "$test/build"
	run "$test" 'autopkgtest' "$prepare autopkgtest
		autopkgtest --timeout-test=2400 /build/*.deb /build/seqid-$version/ -- null"

	# PostgreSQL's packages need systemd, which leaves these from sid on.
	left=(--ignore=/{etc/vconsole.conf,root/.ssh/,var/{cache,lib,log}/private/})
	say "$suite: piuparts"
	quietly as_root piuparts --existing-chroot "$bare" --distribution "${suite/experimental/sid}" \
		--ignore-regexp='/var/cache/debconf/tmp.ci.*' "${left[@]}" --no-eatmydata --log-level error \
		"$build"/build/postgresql-*-seqid_*.deb

	if [ -n "$keep" ]; then
		as_root mkdir -p "$keep/$major"
		as_root find "$build/build" -maxdepth 1 -type f -exec cp {} "$keep/$major" \;
	fi
	as_root rm -rf "$build" "$test" "$readme"
done
echo "passed: ${versions[*]}"
