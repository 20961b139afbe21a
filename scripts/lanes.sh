# lanes.sh: runs two lists of commands at once.  To be sourced, by bash, from the top.
#
# Most tests wait, for servers and clocks, more than they compute.  A lane goes on after
# a command that failed, so that one run shows all there is to mend.  The last lines are
# each command, its outcome and its seconds.

. scripts/lib.sh
make_work_directory
# Fetched once, before both lanes need them.
need_package_lists
need_packages perl git codespell

# Each lane is a process group, so that a script that is stopped stops all of it.
set -m
groups=()
stop_lanes()
{
	[ ${#groups[@]} = 0 ] || kill -TERM -- "${groups[@]/#/-}" 2>/dev/null || true
	clean_up
}
trap stop_lanes EXIT

# lane NAME COMMAND...
lane()
{
	local command began outcome

	for command in "${@:2}"; do
		began=$SECONDS
		echo "== $command"
		if bash -c "$command"; then outcome=ok; else outcome=FAILED; fi
		printf '%-7s %5d s  %s\n' $outcome $((SECONDS - began)) "$command" >>"$work/results"
	done
}

# run_lanes LIST LIST: the names of two arrays of commands.
run_lanes()
{
	local name

	for name in "$@"; do
		local -n list=$name
		lane "$name" "${list[@]}" >"$work/$name.log" 2>&1 </dev/null &
		groups+=($!)
	done
	wait
	groups=()
	for name in "$@"; do
		cat "$work/$name.log"
	done
	cat "$work/results"
	! grep -q ^FAILED "$work/results" || die "some command failed"
	echo "all passed in $((SECONDS / 60)) minutes"
}
