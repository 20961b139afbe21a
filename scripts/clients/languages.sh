# languages.sh: what the programs of a language need, and how they are run.  To be
# sourced by clients.sh.
#
# LANGUAGE_packages prints what comes from apt; LANGUAGE_prepare compiles, in
# $place, the copy of examples/clients/LANGUAGE; LANGUAGE_run PROGRAM runs one.

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
	if [ "$1" = outbox ]; then
		as_client bash outbox.sh
	else
		as_client psql -X -q -f "$1.sql"
	fi
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

	lock=$(sha256sum <"$top/examples/clients/node/package-lock.json" | cut -c 1-16)
	modules=$cache/node-$lock
	[ ! -d "$modules" ] || return 0
	as_root rm -rf "$modules.new"
	as_root mkdir -p "$modules.new"
	as_root cp "$top/examples/clients/node/package.json" "$top/examples/clients/node/package-lock.json" "$modules.new/"
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
	echo python3-psycopg2 python3-asyncpg python3-sqlalchemy python3-alembic python3-django
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

#
# Java.  Hibernate 3.6 is older than the modules of Java that it reaches into.
#

java_packages()
{
	echo default-jdk-headless libpostgresql-jdbc-java libhibernate3-java libjavassist-java
}

java_class_path=$(printf ':/usr/share/java/%s.jar' postgresql hibernate-core hibernate-commons-annotations \
	geronimo-jpa_2.0_spec geronimo-jta-1.2-spec javassist antlr dom4j commons-collections3 slf4j-api slf4j-nop)

java_prepare()
{
	as_client /usr/lib/jvm/default-java/bin/javac -Xlint -cp ".$java_class_path" $(cd "$place" && echo *.java)
}

java_run()
{
	as_client /usr/lib/jvm/default-java/bin/java --add-opens java.base/java.lang=ALL-UNNAMED \
		-cp ".$java_class_path" "${1^}"
}

#
# Go: Debian's packages are sources, below /usr/share/gocode.
#

go_packages()
{
	echo golang-go golang-github-lib-pq-dev golang-github-jackc-pgx-v4-dev
}

go_prepare()
{
	local program

	for program in pq pgx; do
		as_client env GO111MODULE=off GOPATH="$work/go:/usr/share/gocode" GOCACHE="$work/go-cache" \
			/usr/bin/go build -o "$program" "$program.go" check.go snowflake.go || return 1
	done
}

go_run()
{
	as_client "./$1"
}

#
# Rust: Debian's crates, and nothing from the network.
#

rust_packages()
{
	echo cargo rustc librust-tokio-postgres-dev
}

rust_prepare()
{
	as_client env CARGO_HOME="$work/cargo" CARGO_PROFILE_DEV_DEBUG=0 RUSTC=/usr/bin/rustc /usr/bin/cargo build --offline \
		--config 'source.crates-io.replace-with="debian"' \
		--config 'source.debian.directory="/usr/share/cargo/registry"'
}

rust_run()
{
	as_client "target/debug/$1"
}
