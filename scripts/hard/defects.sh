# defects.sh: defects that a tool must find, or what it does not find means nothing.
# To be sourced, by bash, after lib.sh.
#
# They are planted in a copy of the sources, one in a function each. Each tool is asked for
# those that it can see.

# plant FILE EXPRESSION: changes a file of the copy, with sed; one that changes
# nothing is no defect any more.
plant()
{
	local file=$work/source/src/$1

	cp "$file" "$work/sound"
	sed -i "$2" "$file"
	! cmp -s "$file" "$work/sound" || die "scripts/hard/defects.sh does not fit $1 any more"
}

# Copies the sources again, with all of them; what was built of them has to go.
plant_defects()
{
	rm -rf "$work/source"
	copy_sources
	# base62_encode() has room for one digit less than is written (not inlined, or the sanitizer
	# of what is undefined knows the room and is the first to speak);
	plant bits/base62.h 's/^base62_write/pg_noinline &/'
	plant keys/textcodec.c '/^base62_encode/,/^}/s/digits\[BASE62_MAX_DIGITS\]/digits[BASE62_MAX_DIGITS - 1]/'
	# base62_decode() reads a byte beyond its text;
	plant bits/base62.h '/^base62_read/,/^}/s/\*id = 0;/& *(volatile const char *) (text + length);/'
	# crockford32_encode() leaves the first digit as it is;
	plant bits/crockford32.h '/^crockford32_write/,/^}/s/i >= 0/i > 0/'
	# the loop of jump_hash() begins where the stack happens to have a number;
	plant bits/jump_hash.h '/^jump_hash_bucket/,/^}/s/int64\([[:space:]]*\)next = 0/volatile int64 next/'
	# intern_ids() has no room for the last of the terms;
	plant intern/intern.c '/^intern_ids/,/^}/s/\(terms = alloc_many(parts.count\)/\1 - 1/'
	# tenant_key_pack() shifts what it has not checked.
	plant keys/tenant_key.c '/^tenant_key_pack/,/^}/s/checked_part(\(PG_GETARG_INT64(0)\),.*)/\1/'
	give_to_user
}

# found WHAT FILE PATTERN...: whether each pattern is in a finding of the file; findings are
# separated by empty lines.
found()
{
	local what=$1 file=$2 pattern missing=0

	shift 2
	for pattern in "$@"; do
		if ! awk -v RS= -v pattern="$pattern" '$0 ~ pattern { found = 1 } END { exit !found }' "$file"; then
			say "not found: $pattern"
			missing=1
		fi
	done
	[ $missing = 0 ] || cat "$file" >&2
	verdict $missing "$what"
}
