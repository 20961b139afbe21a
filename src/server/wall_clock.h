/*
 * wall_clock.h
 *	  The wall clock, and waiting for it to move on.
 */
#ifndef SEQID_WALL_CLOCK_H
#define SEQID_WALL_CLOCK_H

#include "postgres.h"

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

	/* Cannot fail: the clock exists and the pointer is good. */
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
 * Sleeps until the clock no longer shows the millisecond unix_ms, or until two
 * milliseconds have really passed, should it stand still.  Can be cancelled,
 * so must not be called with a lock held.
 */
extern void seqid_wait_for_tick(int64 unix_ms);

/*
 * Sleeps until the clock shows unix_ms, which is to be a few milliseconds ahead.
 * False if it does not when so much time has really passed, and two milliseconds
 * more: as it was set back, or stands still; one that was found standing still,
 * and has not moved since, is not waited for again.  Can be cancelled.
 */
extern bool seqid_wait_until(int64 unix_ms);

#endif							/* SEQID_WALL_CLOCK_H */
