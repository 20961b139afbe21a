/*
 * pace.h
 *	  How a word in shared memory goes on while it is ahead of the clock.
 *
 * A word that has used up its millisecond goes into the next one, which the clock
 * has perhaps not reached.  If every caller could do so at once, the word would run
 * away from the clock, and the mark after it.
 *
 * Invariant: the clock ticks between two steps of a word into such a millisecond.
 * One step goes to a millisecond at clock time t.  The backend that takes the next
 * one saw the word in that millisecond, at t or later, and then saw the clock tick.
 * So the lead of a word does not grow, however many sessions call, and how often.
 *
 * A clock that is set back counts as one that ticks, because no call sleeps for the
 * length of the step.  If the clock stands still, two milliseconds of real time
 * count as a tick.
 */
#ifndef SEQID_PACE_H
#define SEQID_PACE_H

#include "postgres.h"

#include "pg/wall_clock.h"

/* What one call has seen; to be set to PACE_START. */
typedef struct Pace
{
	int64		seen_ms;		/* the word's millisecond, before the clock
								 * ticked */
	int			ticks;			/* that this call has waited for */
} Pace;

#define PACE_START	{.seen_ms = -1, .ticks = 0}

/* Whether the word can go from last_ms to first_ms without another tick. */
static inline bool
pace_allows(const Pace *pace, int64 last_ms, int64 first_ms)
{
	return first_ms == last_ms || pace->seen_ms == last_ms;
}

/*
 * Waits for the clock to leave clock_unix_ms, having seen the word in last_ms.
 * clock_unix_ms is the reading, taken after the word was read, on which the caller
 * decided to wait; see wall_clock.h.  Can be cancelled.  The caller must read the
 * word again afterwards.
 */
static inline void
pace_wait(Pace *pace, int64 last_ms, int64 clock_unix_ms)
{
	seqid_wait_for_tick(clock_unix_ms);
	pace->seen_ms = last_ms;
	pace->ticks++;
}

#endif							/* SEQID_PACE_H */
