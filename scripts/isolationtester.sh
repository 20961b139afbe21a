# isolationtester.sh: isolation tests for versions whose packages lack them.
#
# To be sourced after lib.sh.  Debian's postgresql-server-dev-13 ships
# pg_regress but not isolationtester; its source package has it.

# install_isolationtester DIRECTORY: builds the two programs and puts them there.
install_isolationtester()
{
	local built=/var/cache/seqid-isolationtester/$PG_MAJOR

	if [ ! -x "$built/isolationtester" ]; then
		need_packages bison flex dpkg-dev
		say "building isolationtester from the source package of PostgreSQL $PG_MAJOR"
		[ -e /etc/apt/sources.list.d/seqid-source.list ] || add_source_list
		mkdir "$work/postgres-source"
		(
			cd "$work/postgres-source"
			apt-get source -qq "postgresql-$PG_MAJOR"
			cd "postgresql-$PG_MAJOR"-*/
			./configure --quiet --without-readline --without-zlib
			make -s -C src/test/isolation all
			as_root mkdir -p "$built"
			as_root cp src/test/isolation/isolationtester \
				src/test/isolation/pg_isolation_regress "$built/"
		) >"$work/isolationtester.log" 2>&1 ||
			{ cat "$work/isolationtester.log" >&2; die "could not build isolationtester"; }
	fi
	mkdir -p "$1"
	cp "$built/isolationtester" "$built/pg_isolation_regress" "$1/"
}

# The source packages of where binary packages come from: lists of one line each, and
# those of a paragraph.
add_source_list()
{
	local list

	for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ ! -f "$list" ] || sed -n 's/^deb /deb-src /p' "$list"
	done | as_root tee /etc/apt/sources.list.d/seqid-source.list >/dev/null
	for list in /etc/apt/sources.list.d/*.sources; do
		[ ! -f "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list"
		echo
	done | as_root tee /etc/apt/sources.list.d/seqid-source.sources >/dev/null
	as_root apt-get update -qq >"$work/apt.log" 2>&1
}
