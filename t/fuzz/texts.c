/*
 * texts.c
 *	  Fuzzes the readers of texts in src/bits/: none reads beyond the end of its text, and
 *	  what was read is written again as the same text or number.
 *
 * libFuzzer makes inputs, in buffers of exactly their length, which the server's are not.
 * The first byte chooses the reader.
 */
#include "postgres.h"

#include "bits/shard_list.h"
#include "bits/text_forms.h"

/* The server's own are not linked. */
#undef fprintf
#undef sprintf

extern int	LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

#define check(condition) \
	do { if (!(condition)) { fprintf(stderr, "not so: %s\n", #condition); abort(); } } while (0)

static void
try_base62(const char *text, size_t size)
{
	char		digits[BASE62_MAX_DIGITS];
	uint128		number;

	if (base62_read(text, size, ~(uint128) 0, &number) != TEXT_DECODED)
		return;
	for (; size > 1 && *text == '0'; size--)
		text++;
	check((size_t) base62_write(number, digits) == size);
	check(memcmp(text, digits + BASE62_MAX_DIGITS - size, size) == 0);
}

static void
try_crockford32(const char *text, size_t size)
{
	char		digits[CROCKFORD32_DIGITS_128];
	int			count = size < CROCKFORD32_DIGITS_128 ? CROCKFORD32_DIGITS_64 : CROCKFORD32_DIGITS_128;
	uint128		max = ~(uint128) 0 >> (count == CROCKFORD32_DIGITS_64 ? 64 : 0);
	uint128		number;
	uint128		again;

	if (crockford32_read(text, size, count, max, &number) != TEXT_DECODED)
		return;
	crockford32_write(number, crockford32_upper, digits, count);
	check(number <= max);
	check(crockford32_read(digits, count, count, max, &again) == TEXT_DECODED && again == number);
}

static void
try_typeid(const char *text, size_t size)
{
	char		again[TYPEID_MAX];
	size_t		prefix_length;
	uint128		uuid;

	if (!typeid_read(text, size, &prefix_length, &uuid))
		return;
	check(typeid_prefix_is_valid(text, prefix_length));
	check((size_t) typeid_write(text, (int) prefix_length, uuid, again) == size);
	check(memcmp(text, again, size) == 0);
}

/* Only this text ends with a zero byte. */
static void
try_shard_list(const char *data, size_t size)
{
	static char again[6 * SHARD_LIST_SHARDS];
	char	   *text = strndup(data, size);
	char	   *p = again;
	ShardList	list;
	ShardList	back;
	const char *where;
	const char *why;

	if (!seqid_parse_shard_list(text, &list, &where, &why))
		check(where >= text && where <= text + strlen(text) && why != NULL);
	else
	{
		check(list.count >= 1 && list.count <= SHARD_LIST_SHARDS);
		for (int i = 0; i < list.count; i++)
			p += sprintf(p, "%s%d", i > 0 ? ", " : "", list.shards[i]);
		check(seqid_parse_shard_list(again, &back, &where, &why));
		check(back.count == list.count && !back.repeats);
		check(memcmp(&back.set, &list.set, sizeof(ShardSet)) == 0);
		check(seqid_shard_not_in_set(&list, &back.set) == -1);
	}
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	static void (*const readers[]) (const char *text, size_t size) = {
		try_base62, try_crockford32, try_typeid, try_shard_list
	};

	if (size > 0)
		readers[data[0] % lengthof(readers)] ((const char *) data + 1, size - 1);
	return 0;
}
