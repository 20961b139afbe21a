/*
 * wall_clock.c
 *	  Waiting for the wall clock to move on.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/wall_clock.h"
#include "portability/instr_time.h"
#include "utils/wait_event.h"

/* A clock that does not advance during this much real time counts as standing still. */
#define STANDSTILL_US 2000

/* The reading at which the clock was last found standing still, -1 for none. */
static int64 standstill_unix_ms = -1;

/*
 * Waits until the clock shows at least until_ms, or an earlier time than from_ms, because it
 * was set back.  Other sessions can end naps early by signals, for example for NOTIFY.  So
 * patience is not measured in naps, but in time, by a clock that cannot be set.
 */
static void
wait_between(int64 from_ms, int64 until_ms)
{
	static uint32 wait_event = 0;
	int64		patience_us = (until_ms - from_ms - 1) * WALL_US_PER_MS + STANDSTILL_US;
	instr_time	start;
	instr_time	waited;

	INSTR_TIME_SET_CURRENT(start);
	for (;;)
	{
		WallTime	now = wall_clock_read();

		if (now.unix_ms >= until_ms || now.unix_ms < from_ms)
			return;

		INSTR_TIME_SET_CURRENT(waited);
		INSTR_TIME_SUBTRACT(waited, start);
		if ((int64) INSTR_TIME_GET_MICROSEC(waited) >= patience_us)
		{
			standstill_unix_ms = now.unix_ms;
			return;
		}

		CHECK_FOR_INTERRUPTS();

		if (wait_event == 0)
			wait_event = compat_wait_event("SeqidNextMillisecond");
		pgstat_report_wait_start(wait_event);
		/* Round up: a nap that ends too early would need another. */
		pg_usleep((until_ms - now.unix_ms) * WALL_US_PER_MS - now.ns / WALL_NS_PER_US + 1);
		pgstat_report_wait_end();
	}
}

void
seqid_wait_for_tick(int64 from_ms)
{
	wait_between(from_ms, from_ms + 1);
}

bool
seqid_wait_until(int64 from_ms, int64 until_ms)
{
	Assert(from_ms < until_ms);

	if (from_ms != standstill_unix_ms)
		wait_between(from_ms, until_ms);
	return wall_clock_read_ms() >= until_ms;
}
