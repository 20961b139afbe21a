# sanitized.sh: seqid under AddressSanitizer and UndefinedBehaviorSanitizer, in a
# server that is not.  To be sourced, by bash, after lib.sh.
#
# The library is compiled with its assertions (the server's own headers have some as
# well), and without -fwrapv, so that a signed overflow is a finding: nothing of
# ours needs it to wrap around.  A finding aborts the backend, which fails its test;
# show_findings prints it.
#
# libc comes before the sanitizer: with the sanitizer in front, the server hangs as
# soon as it takes a lock inside libc, before it runs a line of ours.  So malloc() is
# libc's; but what a server works on is palloc's, pieces of larger blocks, of whose
# ends no sanitizer knows.  What is checked is the stack, what is static, and all that is
# undefined; t/fuzz/ has the arithmetic in buffers that end where they should.

sanitizers="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-wrapv
	-fno-omit-frame-pointer -O1 -g -DUSE_ASSERT_CHECKING"

# build_sanitized: into the private server of $pg_config, which the user that runs
# it must own.
build_sanitized()
{
	say "building with sanitizers for PostgreSQL $PG_MAJOR"
	gcc -O1 -shared -fPIC -o "$work/jump.so" "$top/scripts/hard/jump.c"
	mkdir -p "$work/findings"
	give_to_user
	as_user make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no clean
	as_user make -s -C "$work/source" PG_CONFIG="$pg_config" with_llvm=no \
		COPT="$(echo $sanitizers)" all install >"$work/build.log" 2>&1 ||
		{ cat "$work/build.log" >&2; die "seqid does not build with sanitizers"; }
}

# sanitized COMMAND...: runs what starts a server, as the user.
sanitized()
{
	local libc

	libc=$(gcc -print-file-name=libc.so.6)
	as_user env LD_PRELOAD="$work/jump.so $libc $(gcc -print-file-name=libasan.so)" \
		ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:verify_asan_link_order=0:log_path=$work/findings/address" \
		UBSAN_OPTIONS="print_stacktrace=1:abort_on_error=1:log_path=$work/findings/undefined" \
		"$@"
}

# show_findings SERVER_LOG: prints them; true if there are none. One of undefined
# behaviour, and an assertion, is in the server's log.
show_findings()
{
	local found=0 file

	for file in "$work"/findings/*; do
		[ -s "$file" ] || continue
		cat "$file" >&2
		found=1
	done
	! grep -E -A 30 'runtime error: |^TRAP: ' "$1" >&2 || found=1
	return $found
}
