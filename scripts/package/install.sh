#!/bin/sh
# install.sh: in a bare chroot, installs the packages of /packages/first, uses the
# extension, runs autopkgtest in /packages/source, upgrades to /packages/second,
# removes and purges.
#
# Prints a line 'ok ...' or 'not ok ...' for each step.
set -eu

export DEBIAN_FRONTEND=noninteractive
log=/packages/log

ok()
{
	echo "ok $*"
}

not_ok()
{
	tail -n 100 $log
	echo "not ok $*"
	exit 1
}

# step NAME COMMAND...: what it says is shown if it fails.
step()
{
	name=$1
	shift
	"$@" >$log 2>&1 </dev/null || not_ok "$name"
	ok "$name"
}

# sql STATEMENT: what it returns; 'failed' if it does not.
sql()
{
	runuser -u postgres -- psql -XAtq -d postgres -c "$1" 2>$log || echo failed
}

# is ANSWER EXPECTED NAME
is()
{
	echo "$3: $1 instead of $2" >>$log
	[ "$1" = "$2" ] || not_ok "$3"
	ok "$3"
}

package=$(cd /packages/first && echo postgresql-*-seqid_*.deb)
package=${package%%_*}
major=${package#postgresql-}
major=${major%-seqid}

# What there is besides the packages and apt's configuration.
installed()
{
	find / -xdev \( -path /packages -o -path /proc -o -path /tmp -o -path /etc/apt/apt.conf.d/90seqid \) -prune \
		-o -iname '*seqid*' -print
}

is "$(installed)" '' 'nothing of seqid is there'
step 'package lists' apt-get update -qq
step 'apt-get install' sh -c "apt-get install -y -qq --no-install-recommends /packages/first/${package}_*.deb"
step 'a server' pg_ctlcluster "$major" main start
is "$(sql 'CREATE EXTENSION seqid')" '' 'CREATE EXTENSION'
is "$(sql 'SELECT snowflake_shard(snowflake_nextval(5)), comb_uuid_is_valid(comb_uuid())')" '5|t' 'keys'
is "$(sql 'SELECT library FROM seqid.version()')" \
	"$(dpkg-query -W -f '${source:Upstream-Version}' "$package")" 'the library has the version of the package'
is "$(sql 'SELECT pg_jit_available()')" t 'the server compiles expressions'
is "$(sql 'SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SELECT sum(snowflake_sequence(n)) FROM generate_series(1, 4095) n')" \
	8386560 'with what the package has for that'
before=$(sql 'SELECT snowflake_nextval(5)')

step 'apt-get install autopkgtest' apt-get install -y -qq --no-install-recommends autopkgtest
step 'autopkgtest' \
	autopkgtest --no-built-binaries --timeout-test=2400 /packages/source -- null
grep -E '^(installcheck|tap) +PASS' $log | sort -u

step 'apt-get install of a later revision' sh -c "apt-get install -y -qq /packages/second/${package}_*.deb"
is "$(dpkg-query -W -f '${Version}' "$package" | sed 's/.*-//')" 99 'it is installed'
is "$(sql "SELECT snowflake_nextval(5) > $before, extversion FROM pg_extension WHERE extname = 'seqid'")" \
	't|1.0' 'keys go on in the running server'
step 'apt-get install --reinstall' sh -c "apt-get install -y -qq --reinstall /packages/second/${package}_*.deb"
step 'a restart' pg_ctlcluster "$major" main restart
is "$(sql "SELECT snowflake_nextval(5) > $before")" t 'keys go on after it'

is "$(sql 'DROP EXTENSION seqid')" '' 'DROP EXTENSION'
step 'apt-get remove' apt-get remove -y -qq "$package"
is "$(sql "SELECT count(*) FROM pg_available_extensions WHERE name = 'seqid'")" 0 'it is not available any more'
step 'apt-get install again' sh -c "apt-get install -y -qq /packages/second/${package}_*.deb"
step 'apt-get purge' apt-get purge -y -qq "$package"
is "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" '' 'dpkg does not know it'
step 'apt-get purge of autopkgtest' apt-get purge -y -qq autopkgtest
is "$(installed)" '' 'nothing of seqid is left'
step 'the server stops' pg_ctlcluster "$major" main stop
