# threads.sh: seqid's own files in threads, under ThreadSanitizer; see
# t/models/threads/threads.c.  To be sourced, by bash, after lib.sh.
#
# As with the models: seqid as it is must pass, and in each of the copies that are
# broken on purpose the fault must be found.

threads_sources=(state/database_state.c clock/settled_horizon.c clock/transaction_slot.c)

# Where addresses are more random than ThreadSanitizer of gcc 12 can bear, it needs to
# be spared that; a container may forbid it, and then mostly needs not.
choose_addresses()
{
	addresses=()
	! setarch "$(uname -m)" -R true 2>/dev/null || addresses=(setarch "$(uname -m)" -R)
}

# compile_threads SOURCE OBJECT OPTION...
compile_threads()
{
	local source=$1 object=$2
	shift 2
	gcc -std=gnu11 -g -O1 -fPIC -Wall -Wextra -Werror -D_GNU_SOURCE \
		-I"$top/t/models/threads/server" -I"$top/t/models/threads" "$@" \
		-isystem "$include" -c -o "$object" "$source"
}

# The program, without any backend.
build_machine()
{
	local directory=$work/machine file
	mkdir "$directory"
	compile_threads "$top/t/models/threads/turns.c" "$directory/turns.o"
	for file in memory threads; do
		compile_threads "$top/t/models/threads/$file.c" "$directory/$file.o" \
			-fsanitize=thread -I"$top/src"
	done
	gcc -fsanitize=thread -rdynamic -o "$work/threads" "$directory"/*.o -ldl -lpthread
}

# build_backends DIRECTORY OPTION...: of the sources in its src/ a library for each
# thread.  A copy each, because the loader does not load a file twice.
build_backends()
{
	local directory=$1 file number
	shift
	for file in "$top/t/models/threads/backend.c" "${threads_sources[@]/#/$directory/src/}"; do
		compile_threads "$file" "$directory/$(basename "$file" .c).o" -I"$directory/src" \
			-fsanitize=thread -Dclock_gettime=machine_clock_gettime "$@"
	done
	gcc -shared -fsanitize=thread -Wl,-z,lazy -Wl,-Bsymbolic -o "$directory/backend.so" "$directory"/*.o
	for number in 0 1 2 3; do
		cp "$directory/backend.so" "$directory/backend-$number.so"
	done
}

# run_threads DIRECTORY SEED: on one processor, because one thread runs at a time.
run_threads()
{
	local processor
	processor=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
	TSAN_OPTIONS="halt_on_error=1 exitcode=66" timeout 300 "${addresses[@]}" \
		taskset -c "$processor" "$work/threads" "$2" "$1"/backend-?.so
}

# A copy of seqid as it is.
build_right()
{
	mkdir "$work/right"
	cp -r "$top/src" "$work/right/src"
	build_backends "$work/right"
}

# check_threads SEED
check_threads()
{
	local log=$work/threads.log status=0
	run_threads "$work/right" "$1" >"$log" 2>&1 || status=$?
	[ $status = 0 ] || cat "$log" >&2
	verdict $status "threads: seed $1, $(tail -n 1 "$log")"
}

# check_broken WORDS NAME FILE COMMAND...: sed's COMMANDs break the FILE of a copy, each of
# them, and one of ten seeds must end with WORDS.
check_broken()
{
	local words=$1 name=$2 file=$3 log=$work/threads.log seed status command
	local directory=$work/$name
	shift 3
	mkdir "$directory"
	cp -r "$top/src" "$directory/src"
	for command in "$@"; do
		cp "$directory/src/$file" "$directory/before"
		sed -i -E "$command" "$directory/src/$file"
		! cmp -s "$directory/src/$file" "$directory/before" ||
			die "$name: nothing in src/$file is as \"$command\" expects"
	done
	build_backends "$directory" -w

	for seed in 1 2 3 4 5 6 7 8 9 10; do
		status=0
		run_threads "$directory" $seed >"$log" 2>&1 || status=$?
		[ $status = 0 ] || break
	done
	if [ $status != 0 ] && grep -q "$words" "$log"; then
		verdict 0 "threads: $name is found, seed $seed: $(grep -m 1 "$words" "$log")"
	else
		cat "$log" >&2
		verdict 1 "threads: $name is not found"
	fi
	rm -rf "$directory"
}

check_all_broken()
{
	local state=state/database_state.c slot=clock/transaction_slot.c
	local horizon=clock/settled_horizon.c

	# A later load overtakes the store of the slot, or of the raised time.
	check_broken 'no row is below' NO_BARRIER $slot '/^\t\tpg_memory_barrier\(\);/d'
	check_broken 'no row is below' READER_NO_BARRIER $horizon '/^\tpg_memory_barrier\(\);/d'

	# An entry is found before it is initialized.
	check_broken 'data race' ENTRY_NO_WRITE_BARRIER $state '/^\tpg_write_barrier\(\);/d'
	check_broken 'data race' ENTRY_NO_READ_BARRIER $state '/^\tpg_read_barrier\(\);/d'
	check_broken 'data race' ENTRY_NO_LOCK $state '/LWLock(Acquire|Release)\(AddinShmem/d'

	# Words that others look at are written as if nobody did.
	check_broken 'data race' PLAIN_OWNER $state \
		's/pg_atomic_write_u32\(&owner->database/pg_atomic_init_u32(\&owner->database/'
	check_broken 'data race' PLAIN_SLOT $slot \
		's/pg_atomic_write_u64\(slot, (.*)\);/slot->value = \1;/'
}
