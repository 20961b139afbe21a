/*
 * tick.h
 *	  A tick: one value of a counter, milliseconds since 1970 << bits | fraction.
 *
 * The fraction of a snowflake's tick is its sequence number.  The fraction of a COMB's tick is
 * a part of the millisecond.  The last tick of a millisecond plus 1 is the first tick of the
 * next one, so a counter only has to be incremented.
 */
#ifndef SEQID_TICK_H
#define SEQID_TICK_H

#include "postgres.h"

/* Returns the first tick of a millisecond.  The shift is defined for any value of unix_ms. */
static inline int64
tick_of_ms(int bits, int64 unix_ms)
{
	return (int64) ((uint64) unix_ms << bits);
}

static inline int64
tick_ms(int bits, int64 tick)
{
	return tick >> bits;
}

static inline int64
tick_fraction(int bits, int64 tick)
{
	return tick & ((INT64CONST(1) << bits) - 1);
}

/* Returns how many ticks are left in this tick's millisecond, including the tick itself. */
static inline int64
tick_room(int bits, int64 tick)
{
	return (INT64CONST(1) << bits) - tick_fraction(bits, tick);
}

#endif							/* SEQID_TICK_H */
