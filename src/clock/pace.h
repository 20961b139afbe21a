/*
 * pace.h
 *	  How a word in shared memory may go on while it is ahead of the clock.
 *
 * A word that has used up its millisecond goes into the next one, and that may
 * be one that the clock has not reached.  If every caller could do so at once,
 * the word would run away from the clock, and the mark after it.
 *
 * Invariant: between two steps of a word into such a millisecond, the clock
 * ticks.  A step to some millisecond is taken at clock time t, the next one by a
 * backend that saw that millisecond, at t or later, and then saw the clock tick
 * (or two milliseconds of real time pass, if the clock stands still).  So how far
 * a word is ahead does not grow, whoever calls, and however often.
 */
#ifndef SEQID_PACE_H
#define SEQID_PACE_H

#include "postgres.h"

#include "server/wall_clock.h"

/* What one call has seen; to be set to PACE_START. */
typedef struct Pace
{
	int64		seen_ms;		/* the word's millisecond, before the clock
								 * ticked */
	int			ticks;			/* that this call has waited for */
} Pace;

#define PACE_START	{.seen_ms = -1, .ticks = 0}

/* Whether the word may go from last_ms to first_ms without another tick. */
static inline bool
pace_allows(const Pace *pace, int64 last_ms, int64 first_ms)
{
	return first_ms == last_ms || pace->seen_ms == last_ms;
}

/*
 * Waits for the clock to leave clock_unix_ms, having seen the word in last_ms.
 * Can be cancelled.  The word is to be read again afterwards.
 */
static inline void
pace_wait(Pace *pace, int64 last_ms, int64 clock_unix_ms)
{
	seqid_wait_for_tick(clock_unix_ms);
	pace->seen_ms = last_ms;
	pace->ticks++;
}

#endif							/* SEQID_PACE_H */
