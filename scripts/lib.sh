# lib.sh: what the scripts share.  To be sourced, by bash.
#
# The scripts never install into the machine's PostgreSQL and never talk to a
# server they did not start.  They copy the server's programs into a temporary
# directory (PostgreSQL finds its files relative to where it runs) and install
# the extension there, so that they need root for apt alone.  (From 18 on, the
# setting extension_control_path can name another place for extensions; before,
# Debian's extension_destdir.)

# libpq lets PGSERVICE, PGHOSTADDR and others override what a script asks for;
# it must not end up in a server that is not its own.
for variable in "${!PG@}"; do
	[ "$variable" = PG_MAJOR ] || unset "$variable"
done
unset variable

say()
{
	printf '%s\n' "$*" >&2
}

die()
{
	say "$(basename "$0"): $*"
	exit 1
}

# wrong_usage: for a script that was called in a way that its text $usage does not
# have.
wrong_usage()
{
	say "$usage"
	exit 2
}

# take_keep ARGUMENT...: --keep DIRECTORY can come first; sets $keep and the other $arguments.
take_keep()
{
	keep=
	arguments=("$@")
	[ "${1:-}" = --keep ] || return 0
	[ $# -ge 2 ] || wrong_usage
	keep=$(realpath -m "$2")
	arguments=("${@:3}")
}

# The version of the sources
seqid_version()
{
	sed -n '/"version"/{s/[^:]*: *"//; s/".*//p; q}' "$top/META.json"
}

# quietly COMMAND...: shows what the command printed only if it fails, which ends the script.
quietly()
{
	"$@" >"$work/log" 2>&1 </dev/null || { tail -n 100 "$work/log" >&2; die failed; }
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "need root or sudo to run: $*"
	fi
}

# Runs a command as an ordinary user: PostgreSQL refuses to run as root.
as_user()
{
	if [ "$(id -u)" = 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

# The major version to use: PG_MAJOR if set, else the distribution's own.
choose_major()
{
	PG_MAJOR=${PG_MAJOR:-$(apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1)}
	[ -n "$PG_MAJOR" ] || die "cannot tell which PostgreSQL apt offers; set PG_MAJOR"
}

# need_packages PACKAGE...: installs those that are missing, quietly.
need_packages()
{
	local package installed missing=()

	# Some builds of nodejs provide npm.
	installed=$(dpkg-query -W -f '${Status}, ${Package}, ${Provides}\n' |
		sed -n 's/^install ok installed, //p' | sed 's/([^)]*)//g' | tr -d ' ' | tr , '\n')
	for package in "$@"; do
		grep -qxF "$package" <<<"$installed" || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	say "installing ${missing[*]}"
	quietly as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=900 "${missing[@]}"
}

# Without apt's lists nothing can be found; a fresh machine has none.
need_package_lists()
{
	if ! apt-cache show postgresql >/dev/null 2>&1; then
		say "fetching apt's package lists"
		quietly as_root apt-get update -qq
	fi
}

# Root owns what was made in chroots.
clean_up()
{
	rm -rf "$work" 2>/dev/null || as_root rm -rf "$work"
}

# make_work_directory: a temporary directory, $work; clean_up removes it when the
# script ends, also by a signal.
make_work_directory()
{
	work=$(mktemp -d "${TMPDIR:-/tmp}/seqid.XXXXXX")
	chmod 755 "$work"
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

# Sources, without what a build or a test may have left there.
copy_sources()
{
	mkdir "$work/source"
	(cd "$top" && tar -cf - --exclude=.git --exclude='*.o' --exclude='*.bc' \
		--exclude='*.so' --exclude=tmp_check \
		--exclude=results --exclude=output_iso .) | tar -C "$work/source" -xf -
}

# private_postgres: copies PostgreSQL $PG_MAJOR below $work; sets $pg_config.
private_postgres()
{
	local lib=usr/lib/postgresql/$PG_MAJOR share=usr/share/postgresql/$PG_MAJOR

	[ -x "/$lib/bin/postgres" ] || die "/$lib/bin/postgres is missing"
	mkdir -p "$work/server/usr/lib/postgresql" "$work/server/usr/share/postgresql"
	cp -a "/$lib" "$work/server/usr/lib/postgresql/"
	cp -a "/$share" "$work/server/usr/share/postgresql/"
	ln -s /usr/include "$work/server/usr/include"
	bin=$work/server/$lib/bin
	pg_config=$bin/pg_config
}

# Hands the work directory to the user that as_user() runs commands as.
give_to_user()
{
	[ "$(id -u)" != 0 ] || chown -R postgres "$work"
}
