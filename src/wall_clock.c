/*
 * wall_clock.c
 *	  Waiting for the wall clock to move on.
 */
#include "postgres.h"

#include "compat.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "wall_clock.h"

/* After that much real time, a clock that shows no progress stands still. */
#define STANDSTILL_US 2000

static uint32 wait_event = 0;

void
seqid_wait_for_tick(int64 unix_ms)
{
	instr_time	start;
	instr_time	waited;

	if (wait_event == 0)
		wait_event = compat_wait_event("SeqidNextMillisecond");
	INSTR_TIME_SET_CURRENT(start);

	/*
	 * A nap ends early whenever a signal arrives, and other sessions can send
	 * us as many as they like (NOTIFY does): so it is time that counts, of a
	 * clock that nobody can set, and not naps.
	 */
	for (;;)
	{
		WallTime	now = wall_clock_read();

		if (now.unix_ms != unix_ms)
			break;

		INSTR_TIME_SET_CURRENT(waited);
		INSTR_TIME_SUBTRACT(waited, start);
		if (INSTR_TIME_GET_MICROSEC(waited) >= STANDSTILL_US)
			break;

		CHECK_FOR_INTERRUPTS();

		/* Round up: a nap that ends too early would need another. */
		pgstat_report_wait_start(wait_event);
		pg_usleep((WALL_NS_PER_MS - now.ns) / WALL_NS_PER_US + 1);
		pgstat_report_wait_end();
	}
}
