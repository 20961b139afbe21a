/*
 * counter.c
 *	  Reserves ticks of a counter, each tick only once.
 *
 * A counter in shared memory contains the last tick that was reserved from it.  The backend
 * that moves the counter by compare-and-exchange owns the ticks after the old value, up to and
 * including the new one.  This alone makes ticks unique, whatever the clock does.  Every
 * backend that generates keys writes counters, and they only ever increase.
 *
 * A counter that has used up its millisecond continues in the next one, which the clock might
 * not have reached yet.  Two invariants keep the counter, and with it the mark, from running
 * ahead of the clock:
 *
 * 1. While the clock runs forward, no counter is more than queue_ms ahead of it, and no tick
 *	  is returned before the clock has reached its millisecond.
 *
 * 2. A counter that is further ahead, because the clock was set back, does not gain on the
 *	  clock, no matter how many sessions call: the clock ticks between two milliseconds that
 *	  the counter enters.  Proof: A backend moves the counter into a millisecond when the clock
 *	  shows t.  The next backend that moves the counter into a later millisecond has read the
 *	  counter after this move, that is, at t or later.  It then waited until the clock ticked.
 *
 * A step back of the clock counts as a tick, because no call sleeps for the length of the
 * step.  If the clock stands still, two milliseconds of real time count as a tick.
 *
 * By invariant 1, the next queue_ms milliseconds form a queue.  A caller that has waited n
 * milliseconds can claim a millisecond up to n ahead, so the longer it waits, the fewer
 * callers compete with it.  Without the queue, a caller that needs a single tick while others
 * take whole milliseconds would get one only by being the first when the clock ticks.
 *
 * The counter of COMBs has neither a queue nor a limit: whatever its lead, it enters later
 * milliseconds at the pace of the clock.  A witness, which only trusted roles can call, can
 * raise a counter in one step to at most seqid.max_lead ahead of the clock, and a backfill to
 * at most the time of the clock.
 *
 * Order of memory accesses: where it matters how far a counter is ahead, the clock is read
 * after the counter.  An earlier reading could be older than the last move of the counter, and
 * would show a regression that never happened.
 */
#include "postgres.h"

#include "clock/counter.h"
#include "miscadmin.h"
#include "pg/pg_epoch.h"
#include "state/guc.h"

/* What one call has seen of the clock, for invariant 2. */
typedef struct Pace
{
	int64		seen_ms;		/* the counter's millisecond before the clock
								 * ticked, -1 for none */
	int			ticks;			/* clock ticks that this call has waited for */
} Pace;

static void
check_time_left(const SnowflakeLayout *layout, int64 last_ms, int64 unix_ms)
{
	if (unix_ms > last_ms)
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 layout == NULL ? errmsg("time of COMB UUIDs is used up") :
				 errmsg("time of %s ids is used up", layout->name),
				 errdetail("The last time that a key can contain is %s.", seqid_utc_text(last_ms))));
}

static void
check_epoch(const SnowflakeLayout *layout, int64 clock_ms)
{
	if (clock_ms < layout->epoch_unix_ms)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock is before the epoch of %s ids", layout->name),
				 errdetail("The clock is %lld ms before %s.",
						   (long long) (layout->epoch_unix_ms - clock_ms),
						   seqid_utc_text(layout->epoch_unix_ms)),
				 errhint("Correct the system clock, then try again.")));
}

static void
check_lead(const SnowflakeLayout *layout, int shard, int64 lead_ms)
{
	if (lead_ms > seqid_max_lead_ms)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock is %lld ms behind the next %s id of shard %d",
						(long long) lead_ms, layout->name, shard),
				 errdetail("An id can be at most %.0f ms ahead of the clock.",
						   seqid_max_lead_ms),
				 errhint("Correct the clock, wait until it has caught up, or raise \"seqid.max_lead\".")));
}

/* How far ahead of the clock a call can claim a millisecond. */
static int64
farthest_claim_ms(Counter counter, const Pace *pace)
{
	return Min(Max(1, pace->ticks), counter.queue_ms);
}

/*
 * Waits until the clock no longer shows clock_ms, the reading on which the caller decided to
 * wait; see wall_clock.h.
 */
static void
wait_for_tick(Pace *pace, ShardEvents *events, int64 last_ms, int64 clock_ms)
{
	if (events != NULL)
		pg_atomic_fetch_add_u64(&events->waits, 1);
	seqid_wait_for_tick(clock_ms);
	pace->seen_ms = last_ms;
	pace->ticks++;
}

/*
 * Waits for a millisecond of the queue that was claimed when the clock showed clock_ms.  If it
 * does not come because the clock was set back or stands still, the limit decides whether the
 * ticks can be used.  If the wait ends with an error, the ticks are lost, which is only a gap.
 */
static void
wait_in_queue(const SnowflakeLayout *layout, int shard, ShardEvents *events,
			  int64 clock_ms, int64 first_ms)
{
	pg_atomic_fetch_add_u64(&events->waits, 1);
	if (seqid_wait_until(clock_ms, first_ms))
		return;

	pg_atomic_fetch_add_u64(&events->clock_regressions, 1);
	check_lead(layout, shard, first_ms - wall_clock_read_ms());
}

int64
seqid_reserve_slowly(const SnowflakeLayout *layout, int shard,
					 int at_least, int at_most, int *reserved)
{
	Counter		counter = counter_of(layout, shard);
	Pace		pace = {.seen_ms = -1,.ticks = 0};
	bool		behind = false; /* has this call found the clock behind? */

	for (;;)
	{
		uint64		last = pg_atomic_read_u64(counter.last_tick);
		int64		last_ms = tick_ms(counter.fraction_bits, (int64) last);
		WallTime	clock;
		int64		first;
		int64		first_ms;
		int64		lead_ms;

		/* Read the clock after the counter; see above. */
		pg_read_barrier();
		clock = wall_clock_read();

		first = counter_next_run(counter, (int64) last, clock, at_least);
		first_ms = tick_ms(counter.fraction_bits, first);
		lead_ms = first_ms - clock.unix_ms;

		if (counter.has_limit)
			check_epoch(layout, clock.unix_ms);
		check_time_left(layout, counter.last_ms, clock.unix_ms);

		/* Invariant 2. */
		if (lead_ms > farthest_claim_ms(counter, &pace) &&
			first_ms != last_ms && pace.seen_ms != last_ms)
		{
			wait_for_tick(&pace, counter.events, last_ms, clock.unix_ms);
			continue;
		}

		if (counter.has_limit && lead_ms > counter.queue_ms)
		{
			if (!behind)
				pg_atomic_fetch_add_u64(&counter.events->clock_regressions, 1);
			behind = true;
			check_lead(layout, shard, lead_ms);
		}

		/* After check_lead(), whose error helps more if the clock is wrong. */
		check_time_left(layout, counter.last_ms, first_ms);

		if (!counter_claim_run(counter, &last, first, at_most, reserved))
			continue;

		if (lead_ms > 0 && lead_ms <= counter.queue_ms)
			wait_in_queue(layout, shard, counter.events, clock.unix_ms, first_ms);
		return first;
	}
}
