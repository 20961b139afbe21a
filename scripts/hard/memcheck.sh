# memcheck.sh: seqid under valgrind's memcheck. To be sourced, by bash, after lib.sh.
#
# Debian's server is not built for it, and does not tell it what palloc() does. So
# memcheck knows of variables on the stack whether they were set, of memory whether it
# was set since malloc() gave it, and its ends; but an allocation of up to 8 kB is a piece
# of a larger block, of whose ends it does not know, and which remains set when it is
# freed and given again. What runs over a short text or array is not seen in a server
# by this tool or any other; where src/bits/ does it, rooms_under_memcheck sees it,
# as texts have buffers of their own there.
#
# All that memcheck says counts, wherever it is found, since a value that was not set
# goes a long way; scripts/hard/memcheck-exceptions has what the server itself does.

memcheck_options="--quiet --num-callers=30 --suppressions=$top/scripts/hard/memcheck-exceptions"

# What no test takes, be the machine as busy as it may.
memcheck_limit=1500

# t/fuzz/rooms.c, with inputs that are the same each time.
rooms_under_memcheck()
{
	gcc -O1 -g -std=gnu11 -I"$work/source/src" -I"$include" -D_GNU_SOURCE -o "$work/rooms" \
		"$work/source/t/fuzz/rooms.c" "$top/scripts/hard/inputs.c" "$work/source/src/bits/shard_list.c"
	# shellcheck disable=SC2086 -- the options are words
	timeout "$memcheck_limit" valgrind $memcheck_options --leak-check=full --error-exitcode=9 \
		"$work/rooms" 100000
}

# Into the private server. -O1, so that lines are those of the source, nearly.
build_for_memcheck()
{
	as_user make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no COPT="-O1 -g" \
		all install >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; die "seqid does not build"; }
}

# Leaves out of the copy's test of interning, and of what is expected, where 90 dictionaries
# are made and dropped, which takes longer than all else. Comments are in both.
shorten_interning()
{
	local file

	for file in "$work/source/sql/intern.sql" "$work/source/expected/intern.out"; do
		sed -i '/^-- The recipe: for all pairs/,/^-- Fewer bits need/{/^-- Fewer/!d}' "$file"
		! grep -q scattered_again "$file" || die "scripts/hard/memcheck.sh does not fit $file any more"
	done
}

# under_memcheck COMMAND...: runs a server, as the user; each process writes its findings to a
# file of its own.
under_memcheck()
{
	rm -rf "$work/memcheck"
	mkdir "$work/memcheck"
	give_to_user
	# shellcheck disable=SC2086 -- the options are words
	as_user valgrind $memcheck_options --trace-children=yes --log-file="$work/memcheck/%p" "$@"
}

# memcheck_lane DATABASE TEST...: runs the tests one after the other. The output is in
# $work/DATABASE.log, the status in $work/DATABASE.status.
memcheck_lane()
{
	local database=$1 log=$work/$1.log status=0

	shift
	mkdir "$work/$database"
	give_to_user
	as_user timeout "$memcheck_limit" \
		"$(dirname "$("$pg_config" --pgxs)")/../test/regress/pg_regress" --bindir="$bin" \
		--inputdir="$work/source" --outputdir="$work/$database" \
		--host="$work" --dbname="$database" "$@" >"$log" 2>&1 || status=$?
	[ $status != 124 ] || say "the tests of $database did not end within $memcheck_limit s"
	[ $status = 0 ] || cat "$log" "$work/$database/regression.diffs" >&2 || true
	echo $status >"$work/$database.status"
}

# Without the numbers of processes; separated by empty lines.
memcheck_findings()
{
	cat "$work"/memcheck/* | sed 's/^==[0-9]*== \{0,1\}//'
}
