/*
 * comb_layout.h
 *	  The layout of a COMB, a UUID of version 7 (RFC 9562, section 5.7).
 *
 *	  48 bits	milliseconds since 1970
 *	   4 bits	version, 0111
 *	  12 bits	fraction of the millisecond, upper part
 *	   2 bits	variant, 10
 *	   2 bits	fraction, lower part
 *	  60 bits	random
 *
 * The 14 bits of fraction count steps of 61 ns, a millisecond divided by 2^14.  RFC 9562
 * describes them in section 6.2, method 3.  A tick contains only the time:
 * milliseconds << 14 | fraction; see tick.h.
 */
#ifndef SEQID_COMB_LAYOUT_H
#define SEQID_COMB_LAYOUT_H

#include "postgres.h"

#include "bits/tick.h"
#include "bits/uuid_bits.h"

#define COMB_VERSION			7
#define COMB_FRACTION_BITS		14
#define COMB_LOW_FRACTION_BITS	2
#define COMB_RANDOM_BITS		60

#define COMB_MAX_UNIX_MS	((INT64CONST(1) << 48) - 1)
#define COMB_MAX_TICK		((INT64CONST(1) << (48 + COMB_FRACTION_BITS)) - 1)
#define COMB_RANDOM_MASK	((UINT64CONST(1) << COMB_RANDOM_BITS) - 1)

#define COMB_US_PER_MS		1000
#define COMB_MAX_UNIX_US	(COMB_MAX_UNIX_MS * COMB_US_PER_MS + COMB_US_PER_MS - 1)

/* The tick in which a microsecond begins; unix_us must not be negative. */
static inline int64
comb_tick_of_us(int64 unix_us)
{
	return tick_of_ms(COMB_FRACTION_BITS, unix_us / COMB_US_PER_MS) |
		((unix_us % COMB_US_PER_MS) << COMB_FRACTION_BITS) / COMB_US_PER_MS;
}

/*
 * Returns the last microsecond that begins in the tick or before it.  This is the inverse of
 * comb_tick_of_us(), because a microsecond lasts 16.384 ticks, so that different microseconds
 * begin in different ticks.
 */
static inline int64
comb_tick_us(int64 tick)
{
	int64		fraction = tick_fraction(COMB_FRACTION_BITS, tick);

	return tick_ms(COMB_FRACTION_BITS, tick) * COMB_US_PER_MS +
		(((fraction + 1) * COMB_US_PER_MS - 1) >> COMB_FRACTION_BITS);
}

/* Composes a COMB from a tick and the lower 60 bits of random. */
static inline uint128
comb_compose(int64 tick, uint64 random)
{
	uint64		high = (uint64) (tick >> COMB_FRACTION_BITS) << 16 |
	((uint64) (tick >> COMB_LOW_FRACTION_BITS) & 0xFFF);
	uint64		low = ((uint64) tick & 3) << COMB_RANDOM_BITS | (random & COMB_RANDOM_MASK);

	return uuid_stamp(high, low, COMB_VERSION);
}

/* The smallest COMB of a microsecond. */
static inline uint128
comb_first_of_us(int64 unix_us)
{
	return comb_compose(comb_tick_of_us(unix_us), 0);
}

/* The largest one.  Its tick precedes the tick in which the next microsecond begins. */
static inline uint128
comb_last_of_us(int64 unix_us)
{
	return comb_compose(comb_tick_of_us(unix_us + 1) - 1, COMB_RANDOM_MASK);
}

/* Returns the tick of a valid COMB. */
static inline int64
comb_tick(uint128 comb)
{
	uint64		high = (uint64) (comb >> 64);

	return (int64) (high >> 16) << COMB_FRACTION_BITS |
		(int64) (high & 0xFFF) << COMB_LOW_FRACTION_BITS |
		(int64) ((uint64) comb >> COMB_RANDOM_BITS & 3);
}

#endif							/* SEQID_COMB_LAYOUT_H */
