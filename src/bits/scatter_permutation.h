/*
 * scatter_permutation.h
 *	  The layout of a scattered id.
 *
 *	 0 | prefix (prefix_bits) | value (63 - prefix_bits)
 *
 * A count n, which must not be negative, becomes an id of one of 2^prefix_bits small
 * sequences.  The low prefix_bits of n choose the sequence.  They are reversed, so that
 * consecutive counts are far apart.  The other bits of n are the value.  Each small
 * sequence therefore counts 0, 1, 2, ..., and all grow evenly.
 *
 * prefix_bits is from 0 to 32.  Different counts have different ids.  If prefix_bits is
 * 0, there is one sequence, and the id equals the count.
 */
#ifndef SEQID_SCATTER_PERMUTATION_H
#define SEQID_SCATTER_PERMUTATION_H

#include "postgres.h"

#define SCATTER_MAX_PREFIX_BITS 32

static inline int64
scatter_low_bits(int64 n, int bits)
{
	return (int64) ((uint64) n & ((UINT64CONST(1) << bits) - 1));
}

/* Reverses the bits of a value that has 0 to 32 bits.  It is its own inverse. */
static inline int64
scatter_reverse(int64 value, int bits)
{
	uint32		v = (uint32) value;

	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0F0F0F0F) | (v & 0x0F0F0F0F) << 4;
	v = (v >> 8 & 0x00FF00FF) | (v & 0x00FF00FF) << 8;
	v = v >> 16 | v << 16;
	return (int64) ((uint64) v >> (32 - bits));
}

static inline int64
scatter_id(int64 n, int prefix_bits)
{
	int64		prefix = scatter_reverse(scatter_low_bits(n, prefix_bits), prefix_bits);

	return prefix << (63 - prefix_bits) | n >> prefix_bits;
}

static inline int64
scatter_id_prefix(int64 id, int prefix_bits)
{
	return id >> (63 - prefix_bits);
}

static inline int64
scatter_id_value(int64 id, int prefix_bits)
{
	return scatter_low_bits(id, 63 - prefix_bits);
}

/* Returns the count of an id: the inverse of scatter_id(). */
static inline int64
scatter_id_ordinal(int64 id, int prefix_bits)
{
	return scatter_id_value(id, prefix_bits) << prefix_bits |
		scatter_reverse(scatter_id_prefix(id, prefix_bits), prefix_bits);
}

#endif							/* SEQID_SCATTER_PERMUTATION_H */
