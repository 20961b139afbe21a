/*
 * sequential_uuid.c
 *	  Generates sequential UUIDs: a block number, followed by random bits.
 *
 * UUIDs of one block go to random places in an index, but only on few pages, which stay in
 * memory.  The block number wraps around, so that index pages whose rows were deleted are used
 * again.  The layout is that of the extension sequential_uuids 1.0.3 for the same arguments,
 * so that seqid can replace it:
 *
 *	 prefix_bits = max(1, ceil(log2(block_count))), rounded up to whole bytes
 *	 size = max(1, block_size * block_count / 2^prefix_bits)
 *	 block = (value / size) mod 2^prefix_bits
 *
 * The prefix can have more values than block_count.  Blocks are then smaller than block_size,
 * so that they wrap around after about block_size * block_count values, unless the division
 * rounds the size down by much, or the size is less than 1.
 */
#include "postgres.h"

#include "bits/uuid_bits.h"
#include "fmgr.h"
#include "pg/entropy.h"
#include "pg/sequence_page.h"
#include "pg/wall_clock.h"
#include "port/pg_bitutils.h"

/* Returns at most 32, because there are fewer than 2^31 blocks. */
static int
prefix_bits(int32 block_count)
{
	int			bits = 1;

	if (block_count > 2)
		bits = pg_leftmost_one_pos32((uint32) block_count - 1) + 1;
	return TYPEALIGN(8, bits);
}

static pg_uuid_t *
uuid_in_block(int64 value, int32 block_size, int32 block_count)
{
	int			bits = prefix_bits(block_count);
	int64		size = Max(1, ((int64) block_size * block_count) >> bits);
	uint64		block = (uint64) (value / size);
	uint64		random[2];

	seqid_random_bytes(random, sizeof(random));

	/* The shift drops the high bits of the block number, which is the mod. */
	return uuid_store(palloc(UUID_LEN),
					  uuid_stamp(block << (64 - bits) | random[0] >> bits, random[1], 4));
}

static int32
checked_positive(int32 value, const char *what, const char *rule)
{
	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s %d is out of range", what, value),
				 errdetail("%s", rule)));
	return value;
}

/* A UUID in the block of the sequence's next value minus 1.  22023 for an invalid block. */
PG_FUNCTION_INFO_V1(uuid_sequence_nextval);
Datum
uuid_sequence_nextval(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	int32		block_size = checked_positive(PG_GETARG_INT32(1), "block size",
											  "The block size must be positive.");
	int32		block_count = checked_positive(PG_GETARG_INT32(2), "block count",
											   "The block count must be positive.");

	/* A sequence can return the smallest bigint, so subtract as uint64. */
	int64		value = (int64) ((uint64) seqid_durable_nextval(sequence, true) - 1);

	PG_RETURN_UUID_P(uuid_in_block(value, block_size, block_count));
}

/* A UUID in the block of the current interval, whose length is in seconds. */
PG_FUNCTION_INFO_V1(uuid_time_nextval);
Datum
uuid_time_nextval(PG_FUNCTION_ARGS)
{
	int32		interval_length = checked_positive(PG_GETARG_INT32(0), "interval length",
												   "The interval length is in seconds and must be positive.");
	int32		interval_count = checked_positive(PG_GETARG_INT32(1), "interval count",
												  "The interval count must be positive.");

	PG_RETURN_UUID_P(uuid_in_block(wall_clock_read_ms() / WALL_MS_PER_S,
								   interval_length, interval_count));
}
