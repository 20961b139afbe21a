/*
 * sequential_uuid.c
 *	  Generates sequential UUIDs: a block number, followed by random bits.
 *
 * UUIDs of one block go to random places of an index, but to few pages, which stay in
 * memory.  The block number wraps around, so that index pages whose rows were deleted are
 * used again.  The layout is that of the extension sequential_uuids 1.0.3 for the same
 * arguments, so that seqid can replace it:
 *
 *	 prefix_bits = max(1, ceil(log2(block_count))), rounded up to whole bytes
 *	 size = max(1, block_size * block_count / 2^prefix_bits)
 *	 block = (value / size) mod 2^prefix_bits
 *
 * The prefix can have more values than block_count.  Blocks are then smaller than
 * block_size, so that they still wrap around after block_size * block_count values.
 */
#include "postgres.h"

#include "bits/uuid_bits.h"
#include "fmgr.h"
#include "pg/durable_sequence.h"
#include "pg/entropy.h"
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
	UuidHalves	halves;

	seqid_random_bytes(&halves, sizeof(halves));

	/* The shift drops the high bits of the block number, which is the mod. */
	halves.high = block << (64 - bits) | halves.high >> bits;
	return uuid_store(palloc(UUID_LEN), uuid_stamp(halves, 4));
}

/*
 * uuid_sequence_nextval(sequence regclass, block_size int, block_count int) returns uuid
 *	  Returns a UUID of version 4 in the block of the sequence's next value, minus 1.
 *	  Errors: 22023 if block_size or block_count is not positive; all errors of
 *	  nextval().
 */
PG_FUNCTION_INFO_V1(uuid_sequence_nextval);
Datum
uuid_sequence_nextval(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	int32		block_size = PG_GETARG_INT32(1);
	int32		block_count = PG_GETARG_INT32(2);
	int64		value;

	if (block_size < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block size %d is out of range", block_size),
				 errdetail("The block size must be positive.")));
	if (block_count < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block count %d is out of range", block_count),
				 errdetail("The block count must be positive.")));

	/* A sequence can return the smallest bigint: subtract without overflow. */
	value = (int64) ((uint64) seqid_durable_nextval(sequence, true) - 1);

	PG_RETURN_UUID_P(uuid_in_block(value, block_size, block_count));
}

/*
 * uuid_time_nextval(interval_length int, interval_count int) returns uuid
 *	  Returns a UUID of version 4 in the block of the current interval.  interval_length
 *	  is in seconds.
 *	  Errors: 22023 if interval_length or interval_count is not positive.
 */
PG_FUNCTION_INFO_V1(uuid_time_nextval);
Datum
uuid_time_nextval(PG_FUNCTION_ARGS)
{
	int32		interval_length = PG_GETARG_INT32(0);
	int32		interval_count = PG_GETARG_INT32(1);

	if (interval_length < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("interval length %d is out of range", interval_length),
				 errdetail("The interval length is in seconds and must be positive.")));
	if (interval_count < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("interval count %d is out of range", interval_count),
				 errdetail("The interval count must be positive.")));

	PG_RETURN_UUID_P(uuid_in_block(wall_clock_read_ms() / WALL_MS_PER_S,
								   interval_length, interval_count));
}
