/*
 * jump_hash.h
 *	  Consistent hashing of a key to a bucket.
 *
 * Source: John Lamping and Eric Veach, "A Fast, Minimal Memory, Consistent Hash
 * Algorithm", 2014.  If the number of buckets grows from n to n + 1, then 1 / (n + 1) of
 * the keys move, all of them to the new bucket.
 */
#ifndef SEQID_JUMP_HASH_H
#define SEQID_JUMP_HASH_H

#include "postgres.h"

/*
 * Returns the bucket of a key, 0 to buckets - 1.  buckets must be positive.  The loop
 * runs about ln(buckets) times, which is 22 for the largest number of buckets.
 */
static inline int32
jump_hash_bucket(uint64 key, int32 buckets)
{
	int64		bucket = -1;
	int64		next = 0;

	while (next < buckets)
	{
		bucket = next;
		key = key * UINT64CONST(2862933555777941757) + 1;
		next = (int64) ((bucket + 1) *
						((double) (INT64CONST(1) << 31) / (double) ((key >> 33) + 1)));
	}
	return (int32) bucket;
}

#endif							/* SEQID_JUMP_HASH_H */
