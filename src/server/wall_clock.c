/*
 * wall_clock.c
 *	  Waiting for the wall clock to move on.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "server/compat.h"
#include "server/wall_clock.h"
#include "utils/wait_event.h"

/* After that much real time, a clock that shows no progress stands still. */
#define STANDSTILL_US 2000

static uint32 wait_event = 0;

/* What the clock showed when it was last found standing still, -1 for never. */
static int64 standstill_unix_ms = -1;

static void
nap(int64 us)
{
	if (wait_event == 0)
		wait_event = compat_wait_event("SeqidNextMillisecond");

	pgstat_report_wait_start(wait_event);
	pg_usleep((long) us);
	pgstat_report_wait_end();
}

/*
 * Waits until the clock shows at least until_ms, or until it was set back behind
 * from_ms, which it showed a moment ago.
 *
 * A nap ends early whenever a signal arrives, and other sessions can send us as
 * many as they like (NOTIFY does): so what counts is time, of a clock that nobody
 * can set, and not naps.
 */
static void
wait_between(int64 from_ms, int64 until_ms)
{
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

		/* Round up: a nap that ends too early would need another. */
		nap((until_ms - now.unix_ms) * WALL_US_PER_MS - now.ns / WALL_NS_PER_US + 1);
	}
}

void
seqid_wait_for_tick(int64 unix_ms)
{
	wait_between(unix_ms, unix_ms + 1);
}

bool
seqid_wait_until(int64 unix_ms)
{
	int64		from_ms = wall_clock_read_ms();

	if (from_ms < unix_ms && from_ms != standstill_unix_ms)
		wait_between(from_ms, unix_ms);
	return wall_clock_read_ms() >= unix_ms;
}
