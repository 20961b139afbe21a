# languages.sh: what the programs of a language need, and how they are run.  To be
# sourced by clients.sh.
#
# LANGUAGE_packages prints what comes from apt; LANGUAGE_prepare compiles, in
# $place, the copy of clients/LANGUAGE; LANGUAGE_run PROGRAM runs one.

#
# psql, and libpq in C
#

psql_packages()
{
	:
}

psql_prepare()
{
	:
}

psql_run()
{
	as_client sh "$1.sh"
}

c_packages()
{
	echo gcc libc6-dev libpq-dev
}

c_prepare()
{
	as_user gcc -Wall -Wextra -Werror -O2 -I"$(/usr/bin/pg_config --includedir)" \
		-o "$place/libpq" "$place/libpq.c" -lpq
}

c_run()
{
	as_client "./$1"
}

#
# Node.  Modules are found beside a program, so the cache is linked there.
#

node_packages()
{
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
}

# node_modules: sets $modules, where the packages are that the lock file names;
# only a complete directory gets that name.
node_modules()
{
	local lock

	lock=$(sha256sum <"$top/clients/node/package-lock.json" | cut -c 1-16)
	modules=$cache/node-$lock
	[ ! -d "$modules" ] || return 0
	as_root rm -rf "$modules.new"
	as_root mkdir -p "$modules.new"
	as_root cp "$top/clients/node/package.json" "$top/clients/node/package-lock.json" "$modules.new/"
	as_root npm ci --prefix "$modules.new" --ignore-scripts --no-audit --no-fund || return 1
	as_root mv "$modules.new" "$modules"
}

# Prisma's generator fetches engines that this client does not use, unless it is
# told that they are there.
node_prepare()
{
	node_modules || return 1
	as_user ln -sfn "$modules/node_modules" "$place/node_modules"
	as_client env PRISMA_QUERY_ENGINE_LIBRARY=/bin/true PRISMA_SCHEMA_ENGINE_BINARY=/bin/true \
		CHECKPOINT_DISABLE=1 node node_modules/prisma/build/index.js generate --schema schema.prisma
}

node_run()
{
	as_client node "$1.mjs"
}

#
# Python: Debian's own, which has Debian's modules.  (A program must not bear the
# name of the module that it imports.)
#

python_packages()
{
	echo python3-psycopg2 python3-asyncpg python3-sqlalchemy python3-django
}

python_prepare()
{
	:
}

python_run()
{
	as_client /usr/bin/python3 "${1}_client.py"
}

#
# Ruby: Debian's own, too
#

ruby_packages()
{
	echo ruby ruby-activerecord ruby-pg
}

ruby_prepare()
{
	:
}

ruby_run()
{
	as_client /usr/bin/ruby "$1.rb"
}
