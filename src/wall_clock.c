/*
 * wall_clock.c
 *	  Waiting for the wall clock to move on.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "wall_clock.h"

/*
 * One nap is enough unless a signal cuts it short.  The bound is there for
 * a clock that stands still, which must not hang anybody.
 */
#define MAX_NAPS 4

void
seqid_wait_for_tick(int64 unix_ms)
{
	for (int nap = 0; nap < MAX_NAPS; nap++)
	{
		WallTime	now;

		CHECK_FOR_INTERRUPTS();

		now = wall_clock_read();
		if (now.unix_ms != unix_ms)
			break;

		/* Round up: a nap that ends too early would need another. */
		pg_usleep((WALL_NS_PER_MS - now.ns) / WALL_NS_PER_US + 1);
	}
}
