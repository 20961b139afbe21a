/*
 * tick.h
 *	  A tick: one value of a counter, milliseconds since 1970 << bits | fraction.
 *
 * The fraction of a snowflake's tick is its sequence, that of a COMB's tick a part of
 * the millisecond.  One more than the last tick of a millisecond is the first tick of
 * the next one, so a counter only has to count.
 */
#ifndef SEQID_TICK_H
#define SEQID_TICK_H

#include "postgres.h"

/* The first tick of a millisecond; shifts any value without undefined behavior. */
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

/* How many ticks are left in the millisecond of this one, which counts too. */
static inline int64
tick_room(int bits, int64 tick)
{
	return (INT64CONST(1) << bits) - tick_fraction(bits, tick);
}

#endif							/* SEQID_TICK_H */
