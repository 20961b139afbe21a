/*
 * wall_clock.h
 *	  The wall clock, and waiting for it to move on.
 */
#ifndef SEQID_WALL_CLOCK_H
#define SEQID_WALL_CLOCK_H

#include <time.h>

#define WALL_NS_PER_MS	1000000
#define WALL_NS_PER_US	1000
#define WALL_US_PER_MS	1000
#define WALL_MS_PER_S	1000

typedef struct WallTime
{
	int64		unix_ms;		/* whole milliseconds since 1970 */
	int32		ns;				/* the rest, 0 .. WALL_NS_PER_MS - 1 */
} WallTime;

static inline WallTime
wall_clock_read(void)
{
	struct timespec now;
	WallTime	result;

	/* Cannot fail, because the clock exists and the pointer is valid. */
	(void) clock_gettime(CLOCK_REALTIME, &now);
	result.unix_ms = (int64) now.tv_sec * WALL_MS_PER_S + now.tv_nsec / WALL_NS_PER_MS;
	result.ns = (int32) (now.tv_nsec % WALL_NS_PER_MS);
	return result;
}

static inline int64
wall_clock_read_ms(void)
{
	return wall_clock_read().unix_ms;
}

/*
 * Waiting.  The clock can be set between any two readings, also between the reading on which a
 * caller decides to wait, from_ms, and the first one here.
 *
 * Invariant: no call sleeps for the length of a clock step, no matter when the step happens.
 * A nap begins only while the clock shows from_ms or later, so that it is no longer than the
 * few milliseconds that the caller decided to wait.  No nap begins after these milliseconds,
 * and two more, have passed according to a clock that cannot be set.
 *
 * Both functions sleep and can be cancelled, so no LWLock or spinlock must be held.
 *
 * The first one sleeps until the clock no longer shows the millisecond from_ms, or stands
 * still.
 */
extern void seqid_wait_for_tick(int64 from_ms);

/*
 * Sleeps until the clock shows until_ms, a few milliseconds after from_ms.  Returns
 * false if the clock was set back, or stands still.  A clock that was found standing
 * still is not waited for again until it moves.
 */
extern bool seqid_wait_until(int64 from_ms, int64 until_ms);

#endif							/* SEQID_WALL_CLOCK_H */
