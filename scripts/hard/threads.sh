# threads.sh: seqid's lock-free parts in threads, under ThreadSanitizer; see
# verify/threads/threads.c.  To be sourced, by bash, after lib.sh.
#
# As with the models: seqid as it is must pass, and in each of the copies that are broken
# on purpose the fault must be found, otherwise the check could not.

threads_sources=(server/shared_state.c server/wall_clock.c clock/clock_mark.c
	clock/settled_horizon.c clock/shard_clock.c clock/transaction_slot.c)

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
		-I"$top/verify/threads/server" -I"$top/verify/threads" "$@" \
		-isystem "$include" -c -o "$object" "$source"
}

# The program, without any backend.
build_machine()
{
	local directory=$work/machine file
	mkdir "$directory"
	compile_threads "$top/verify/threads/turns.c" "$directory/turns.o"
	for file in memory server threads; do
		compile_threads "$top/verify/threads/$file.c" "$directory/$file.o" \
			-fsanitize=thread -I"$top/src"
	done
	gcc -fsanitize=thread -rdynamic -o "$work/threads" "$directory"/*.o -ldl -lpthread
}

# build_backends DIRECTORY OPTION...: of the sources in its src/, but for those whose objects
# are there, a library for each thread.  A copy each, as the loader takes a file that it
# has for the same library.
build_backends()
{
	local directory=$1 file object number jobs=()
	shift
	for file in "$top/verify/threads/backend.c" "${threads_sources[@]/#/$directory/src/}"; do
		object=$directory/$(basename "$file" .c).o
		[ ! -e "$object" ] || continue
		compile_threads "$file" "$object" -I"$directory/src" \
			-fsanitize=thread -Dclock_gettime=machine_clock_gettime "$@" &
		jobs+=($!)
	done
	for number in "${jobs[@]}"; do
		wait "$number" || die "the backend does not build"
	done
	gcc -shared -fsanitize=thread -Wl,-z,lazy -Wl,-Bsymbolic -o "$directory/backend.so" "$directory"/*.o
	for number in 0 1 2 3 4 5 6 7; do
		cp "$directory/backend.so" "$directory/backend-$number.so"
	done
}

# run_threads DIRECTORY SCENARIO SEED turns|free
run_threads()
{
	TSAN_OPTIONS="halt_on_error=1 exitcode=66" timeout 300 "${addresses[@]}" \
		"$work/threads" "$2" "$3" "$4" "$1"/backend-?.so
}

# A copy of seqid as it is.
build_right()
{
	mkdir "$work/right"
	cp -r "$top/src" "$work/right/src"
	build_backends "$work/right"
}

# check_threads SCENARIO SEED turns|free
check_threads()
{
	local log=$work/threads.log status=0
	run_threads "$work/right" "$@" >"$log" 2>&1 || status=$?
	[ $status = 0 ] || cat "$log" >&2
	verdict $status "threads: $1, seed $2, $3: $(tail -n 1 "$log")"
}

# check_broken SCENARIO WORDS NAME FILE COMMAND...: sed's COMMANDs break the FILE of a copy,
# each of them, and WORDS of what was found must be in what the scenario says, by one of
# ten seeds.  (For most of the faults that is the first.)
check_broken()
{
	local scenario=$1 words=$2 name=$3 file=$4 log=$work/threads.log seed status command
	local directory=$work/$name
	shift 4
	mkdir "$directory"
	cp -r "$top/src" "$directory/src"
	for command in "$@"; do
		cp "$directory/src/$file" "$directory/before"
		sed -i -E "$command" "$directory/src/$file"
		! cmp -s "$directory/src/$file" "$directory/before" ||
			die "$name: nothing in src/$file is as \"$command\" expects"
	done
	# Of what is in a header, nothing can be taken over.
	if [[ $file = *.c ]]; then
		cp "$work"/right/*.o "$directory"
		rm "$directory/$(basename "$file" .c).o"
	fi
	build_backends "$directory" -w

	for seed in 1 2 3 4 5 6 7 8 9 10; do
		status=0
		run_threads "$directory" "$scenario" $seed turns >"$log" 2>&1 || status=$?
		[ $status = 0 ] || break
	done
	if [ $status != 0 ] && grep -q "$words" "$log"; then
		verdict 0 "threads: $name is found by $scenario, seed $seed: $(grep -m 1 "$words" "$log")"
	else
		cat "$log" >&2
		verdict 1 "threads: $name is not found by $scenario"
	fi
	rm -rf "$directory"
}

# What each is, is in threads.c.
check_all_broken()
{
	local shard_clock=clock/shard_clock mark=clock/clock_mark.c state=server/shared_state.c
	local slot=clock/transaction_slot.c horizon=clock/settled_horizon.c
	local missed='missed\|below the horizon'

	check_broken ids above CLAIM_IN_TWO_STEPS $shard_clock.h \
		's/return (pg_atomic_compare_exchange_u64\(word, last,)/return pg_atomic_read_u64(word) == *last ? (pg_atomic_write_u64(word, (uint64) (first + *reserved - 1)), true) : \1/'
	check_broken ids 'data race' PLAIN_READ_OF_WORD $shard_clock.h \
		's/= pg_atomic_read_u64\(word\);/= word->value;/'
	check_broken steady 'clock behind' CLOCK_BEFORE_WORD $shard_clock.c \
		's/^\t\tuint64\t\tlast = pg_atomic_read_u64/\t\tint64\t\tclock_ms = seqid_layout_clock_ms(layout);\n&/' \
		'/^\t\tint64\t\tclock_ms;$/d' '/^\t\tclock_ms = /d'

	check_broken lives 'within the durable mark' KEY_BEFORE_MARK $mark \
		'/^\t\tseqid_make_wal_durable\(mark.lsn\);/d'
	check_broken lives above NO_FLOOR $mark '/^\t\tseqid_atomic_raise\(&database->floor_ms/d'
	check_broken lives 'data race' PAGE_WITHOUT_LOCK $mark \
		'/LockBuffer\(buffer, BUFFER_LOCK_SHARE\)/,/BUFFER_LOCK_UNLOCK/ { /LockBuffer/d }'

	check_broken starts 'data race' PLACE_NO_WRITE_BARRIER $state '/^\t+pg_write_barrier\(\);/d'
	check_broken starts 'data race' PLACE_NO_READ_BARRIER $state '/^\t+pg_read_barrier\(\);/d'
	check_broken ids 'data race' OWNER_INITIALIZED_AGAIN $state \
		's/^(\t+)init_database_state\(place\);/&\n\1pg_atomic_init_u32(\&place->database, InvalidOid);/'

	check_broken horizon "$missed" CLAIM_BEFORE_SLOT $shard_clock.h \
		'/^\tseqid_list_transaction\(\);/d' 's/^\treturn first;$/\tseqid_list_transaction();\n&/'
	check_broken horizon "$missed" NO_SECOND_LOOK $slot \
		's/floor_ms = pg_atomic_read_u64\(raised_ms\);/floor_ms = listed_ms;/'
	check_broken horizon "$missed" NO_BARRIER $slot '/^\t\tpg_memory_barrier\(\);/d'
	check_broken horizon "$missed" READER_NO_BARRIER $horizon '/^\tpg_memory_barrier\(\);/d'
	check_broken horizon "$missed" READER_LOOKS_FIRST $horizon \
		's/^\tseqid_atomic_raise\(&database->raised_ms/\tint64 early = seqid_earliest_listed_ms(INT64_MAX);\n&/' \
		's/settled_ms = seqid_earliest_listed_ms\(settled_ms\);/settled_ms = Min(settled_ms, early);/'
	check_broken horizon 'data race' PLAIN_SLOT $slot \
		's/while \(!pg_atomic_compare_exchange_u64\(slot, &found,/while (slot->value = (/' \
		's/^(\t+ *slot_compose\(\*listed_ms, lxid\))\)\);/\1), false);/'
	check_broken team 'go back' NOT_KEPT $horizon \
		'/^\tseqid_atomic_raise\(&database->told_ms/d' '/^\tsettled_ms = .*told_ms\);/d'
}
