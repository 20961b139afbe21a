/*
 * rooms.c
 *	  Fuzzes the arithmetic of src/bits/: a key that was written is read back, a key that
 *	  is read is in range, and no behavior is undefined.
 *
 * libFuzzer makes inputs.  The first byte chooses the subject.  Texts are in buffers of
 * exactly their length, so that a read beyond the end is found.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "bits/jump_hash.h"
#include "bits/scatter_permutation.h"
#include "bits/shard_list.h"
#include "bits/snowflake_layout.h"
#include "bits/text_forms.h"

/* The server's own are not linked. */
#undef fprintf
#undef sprintf

extern int	LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

#define check(condition) \
	do { if (!(condition)) { fprintf(stderr, "not so: %s\n", #condition); abort(); } } while (0)

static uint64
number_at(const uint8 *data, size_t size, size_t place)
{
	uint64		number = 0;

	if (place * 8 < size)
		memcpy(&number, data + place * 8, Min(8, size - place * 8));
	return number;
}

static uint128
large_number_at(const uint8 *data, size_t size)
{
	return (uint128) number_at(data, size, 0) << 64 | number_at(data, size, 1);
}

static void
try_base62(const uint8 *data, size_t size)
{
	char		digits[BASE62_MAX_DIGITS];
	uint128		number = large_number_at(data, size);
	uint128		max = number > PG_UINT64_MAX ? ~(uint128) 0 : PG_UINT64_MAX;
	uint128		back;
	int			count = base62_write(number, digits);
	char	   *text = malloc(size);

	check(count >= 1 && count <= BASE62_MAX_DIGITS);
	check(base62_read(digits + BASE62_MAX_DIGITS - count, count, max, &back) == TEXT_DECODED);
	check(back == number);

	memcpy(text, data, size);
	if (base62_read(text, size, max, &number) == TEXT_DECODED)
	{
		size_t		zeros = 0;

		check(number <= max);
		while (zeros + 1 < size && text[zeros] == '0')
			zeros++;
		count = base62_write(number, digits);
		check((size_t) count == size - zeros);
		check(memcmp(text + zeros, digits + BASE62_MAX_DIGITS - count, count) == 0);
	}
	free(text);
}

static void
check_crockford32(uint128 number, int count, uint128 max)
{
	char		digits[CROCKFORD32_DIGITS_128];
	uint128		back;

	crockford32_write(number, crockford32_upper, digits, count);
	check(crockford32_read(digits, count, count, max, &back) == TEXT_DECODED);
	check(back == number);
}

static void
try_crockford32(const uint8 *data, size_t size)
{
	uint128		number = large_number_at(data, size);
	uint128		max = ~(uint128) 0;
	char	   *text = malloc(size);

	check_crockford32(number, CROCKFORD32_DIGITS_128, max);
	check_crockford32((uint64) number, CROCKFORD32_DIGITS_64, PG_UINT64_MAX);
	memcpy(text, data, size);
	if (crockford32_read(text, size, CROCKFORD32_DIGITS_128, max, &number) == TEXT_DECODED)
		check_crockford32(number, CROCKFORD32_DIGITS_128, max);
	if (crockford32_read(text, size, CROCKFORD32_DIGITS_64, PG_UINT64_MAX, &number) == TEXT_DECODED)
	{
		check(number <= PG_UINT64_MAX);
		check_crockford32(number, CROCKFORD32_DIGITS_64, PG_UINT64_MAX);
	}
	free(text);
}

/* A TypeID that is read, written again, is the same text. */
static void
try_typeid(const uint8 *data, size_t size)
{
	char	   *text = malloc(size);
	char		again[TYPEID_MAX];
	size_t		prefix_length;
	uint128		uuid;

	memcpy(text, data, size);
	if (typeid_read(text, size, &prefix_length, &uuid))
	{
		check(typeid_prefix_is_valid(text, prefix_length));
		check((size_t) typeid_write(text, (int) prefix_length, uuid, again) == size);
		check(memcmp(text, again, size) == 0);
	}
	free(text);
}

/* The shards of a list that was read, written as numbers, are read as the same list. */
static void
try_shard_list(const uint8 *data, size_t size)
{
	static char again[6 * SHARD_LIST_SHARDS];
	char	   *text = malloc(size + 1);
	char	   *p = again;
	ShardList	list;
	ShardList	back;
	const char *where;
	const char *why;

	memcpy(text, data, size);
	text[size] = '\0';
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

static void
try_snowflake(const uint8 *data, size_t size)
{
	const SnowflakeLayout *layout = number_at(data, size, 1) & 1 ? &snowflake_53 : &snowflake_64;
	int64		id = (int64) number_at(data, size, 0) & snowflake_max_id(layout);
	int64		ms = snowflake_id_unix_ms(layout, id);
	int			bits = layout->sequence_bits;
	int64		shard = snowflake_id_shard(layout, id);
	int64		sequence = snowflake_id_sequence(layout, id);
	int64		tick = tick_of_ms(bits, ms) + sequence;

	check(ms >= layout->epoch_unix_ms && ms <= snowflake_last_ms(layout));
	check(shard >= 0 && shard <= snowflake_max_shard(layout));
	check(sequence >= 0 && sequence <= snowflake_max_sequence(layout));
	check(snowflake_id(layout, ms, shard, sequence) == id);
	check(snowflake_of_tick(layout, tick, shard) == id);
	check(tick_ms(bits, tick) == ms);
	check(tick_room(bits, tick) == snowflake_max_sequence(layout) + 1 - sequence);

	/* It must be defined for any value. */
	(void) tick_of_ms(bits, (int64) number_at(data, size, 1));
}

static void
try_comb(const uint8 *data, size_t size)
{
	int64		tick = (int64) number_at(data, size, 0) & COMB_MAX_TICK;
	uint128		comb = comb_compose(tick, number_at(data, size, 1));
	int64		us = comb_tick_us(tick);
	int64		room = tick_room(COMB_FRACTION_BITS, tick);
	int64		unix_ms = tick_ms(COMB_FRACTION_BITS, tick);

	check(uuid_has_version(comb, COMB_VERSION));
	check(comb_tick(comb) == tick);
	check(comb_tick_of_us(us) <= tick && comb_tick_of_us(us + 1) > tick);
	check(tick_of_ms(COMB_FRACTION_BITS, unix_ms) == tick - tick_fraction(COMB_FRACTION_BITS, tick));
	check(room >= 1 && tick_ms(COMB_FRACTION_BITS, tick + room - 1) == unix_ms);
}

static void
try_scatter(const uint8 *data, size_t size)
{
	int64		n = (int64) (number_at(data, size, 0) >> 1);
	int			bits = (int) (number_at(data, size, 1) % (SCATTER_MAX_PREFIX_BITS + 1));
	int64		id = scatter_id(n, bits);

	check(id >= 0 && scatter_id_ordinal(id, bits) == n);
	check(scatter_id(scatter_id_ordinal(n, bits), bits) == n);
	check(scatter_id_prefix(id, bits) >= 0 && scatter_id_prefix(id, bits) < INT64CONST(1) << bits);
	check(scatter_id_value(id, bits) == n >> bits);
}

/* With one more bucket, a key moves to that one or stays. */
static void
try_jump_hash(const uint8 *data, size_t size)
{
	uint64		key = number_at(data, size, 0);
	int32		buckets = (int32) (number_at(data, size, 1) % (PG_INT32_MAX - 1)) + 1;
	int32		bucket = jump_hash_bucket(key, buckets);
	int32		next = jump_hash_bucket(key, buckets + 1);

	check(bucket >= 0 && bucket < buckets);
	check(next == bucket || next == buckets);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	static void (*const subjects[]) (const uint8 *data, size_t size) = {
		try_base62, try_crockford32, try_typeid, try_shard_list, try_snowflake, try_comb, try_scatter, try_jump_hash
	};

	if (size > 0)
		subjects[data[0] % lengthof(subjects)] (data + 1, size - 1);
	return 0;
}
