/*
 * sequential_uuid.c
 *	  UUIDs in blocks: a common prefix that moves on, and random bits.
 *
 * Within a block inserts are random, but a block is small enough to stay in
 * memory; the prefix wraps around, so that pages emptied by deletes are used
 * again.  The prefix bits are those of the extension sequential_uuids 1.0.3
 * for the same arguments, so that it can be replaced under a live table:
 *
 *	 prefix_bits = max(1, ceil(log2(blocks))), rounded up to whole bytes
 *	 size = max(1, block size * blocks / 2^prefix_bits)
 *	 block = (value / size) mod 2^prefix_bits
 *
 * So blocks that are fewer than their prefix could number become smaller
 * instead: the wrap-around comes after block size * blocks values all the
 * same.
 */
#include "postgres.h"

#include "bits/uuid_bits.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "pg/entropy.h"
#include "pg/wall_clock.h"
#include "port/pg_bitutils.h"

/* At most 32, as there are fewer than 2^31 blocks. */
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

	/* Shifting the block to the top cuts it to its prefix: the mod above. */
	halves.high = block << (64 - bits) | halves.high >> bits;
	return uuid_store(palloc(UUID_LEN), uuid_stamp(halves, 4));
}

/*
 * uuid_sequence_nextval(sequence regclass, block_size int, block_count int) returns uuid
 *	  A UUID in the block of the sequence's next value.  22023 unless both
 *	  numbers are positive; errors of nextval.
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
				 errdetail("A block size must be positive.")));
	if (block_count < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block count %d is out of range", block_count),
				 errdetail("A block count must be positive.")));

	/* Wraps around at the smallest bigint, which a sequence may return. */
	value = (int64) ((uint64) nextval_internal(sequence, true) - 1);

	PG_RETURN_UUID_P(uuid_in_block(value, block_size, block_count));
}

/*
 * uuid_time_nextval(interval_length int, interval_count int) returns uuid
 *	  A UUID in the block of the current interval, whose length is in seconds.
 *	  22023 unless both numbers are positive.
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
				 errdetail("An interval must last at least one second.")));
	if (interval_count < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("interval count %d is out of range", interval_count),
				 errdetail("An interval count must be positive.")));

	PG_RETURN_UUID_P(uuid_in_block(wall_clock_read_ms() / WALL_MS_PER_S,
								   interval_length, interval_count));
}
