/*
 * counter.h
 *	  Reserves ticks of a counter, each tick only once.
 *
 * The life of one id:
 *
 * 1. The transaction registers as a writer, so that readers can see that it holds back the horizon.
 *	  Its keys are above the floor that it reads at that time.
 * 2. It claims the next tick by a compare-and-exchange that moves the counter to it.  This is
 *	  the tick of the clock or, if the counter has already reached that one, the tick after the
 *	  last.  A counter that is ahead of the clock advances at the pace of the clock.
 * 3. The durable mark must cover the tick before the id is returned.  If it does
 *	  not, this backend raises the mark.  If the floor turns out to be higher than
 *	  the tick, the tick is lost, which is only a gap, and step 2 is repeated.
 * 4. The generator composes the id from the tick.
 *
 * The code that runs for each id is in this file and is always inlined, so that the compiler
 * can fold a constant layout.  Everything rare is in counter.c, together with the invariants.
 */
#ifndef SEQID_COUNTER_H
#define SEQID_COUNTER_H

#include "postgres.h"

#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "bits/tick.h"
#include "clock/clock_mark.h"
#include "clock/transaction_slot.h"
#include "pg/wall_clock.h"
#include "port/atomics.h"
#include "state/database_state.h"
#include "state/shared_state.h"

/* A counter in shared memory, and the policy by which it advances. */
typedef struct Counter
{
	pg_atomic_uint64 *last_tick;	/* reserved so far, 0 for none */
	int			fraction_bits;
	bool		fraction_is_time;	/* else it counts from 0 in each ms */

	int64		first_ms;		/* first and last time of a key, in */
	int64		last_ms;		/* milliseconds since 1970 */
	int64		queue_ms;		/* how far ahead calls can claim ticks */
	bool		has_limit;		/* does seqid.max_lead limit the lead? */
	ShardEvents *events;		/* counted for statistics, unless NULL */
} Counter;

#define SHARD_QUEUE_MS	8

static pg_attribute_always_inline Counter
shard_counter(const SnowflakeLayout *layout, int shard)
{
	SharedState *state = seqid_shared_state();
	Counter		counter = {
		.last_tick = seqid_shard_tick(state, layout, shard),
		.fraction_bits = layout->sequence_bits,
		.first_ms = layout->epoch_unix_ms,
		.last_ms = snowflake_last_ms(layout),
		.queue_ms = SHARD_QUEUE_MS,
		.has_limit = true,
		.events = seqid_shard_events(state, layout, shard)
	};

	return counter;
}

/* The counter of this database for COMBs, which has neither a limit nor a queue. */
static pg_attribute_always_inline Counter
comb_counter(void)
{
	Counter		counter = {
		.last_tick = &seqid_database_state()->comb.tick,
		.fraction_bits = COMB_FRACTION_BITS,
		.fraction_is_time = true,
		.last_ms = COMB_MAX_UNIX_MS
	};

	return counter;
}

/* The counter of a layout's shard or, if the layout is NULL, of COMBs. */
static pg_attribute_always_inline Counter
counter_of(const SnowflakeLayout *layout, int shard)
{
	return layout == NULL ? comb_counter() : shard_counter(layout, shard);
}

/*
 * Returns the first tick of the next run.  It is not before the clock, is after the last tick,
 * and is above the floor of this backend's keys.  Its millisecond has at least at_least ticks
 * left.
 */
static pg_attribute_always_inline int64
counter_next_run(Counter counter, int64 last, WallTime clock, int at_least)
{
	int			bits = counter.fraction_bits;
	int64		start = tick_of_ms(bits, clock.unix_ms);
	int64		first;

	if (counter.fraction_is_time)
		start |= ((int64) clock.ns << bits) / WALL_NS_PER_MS;
	if (unlikely(clock.unix_ms <= seqid_key_floor_ms))
		start = tick_of_ms(bits, seqid_key_floor_ms + 1);

	first = Max(last + 1, start);
	if (unlikely(tick_room(bits, first) < at_least))
		first = tick_of_ms(bits, tick_ms(bits, first) + 1);
	return first;
}

/* Moves the counter to the end of the run.  Returns false if another backend was faster. */
static pg_attribute_always_inline bool
counter_claim_run(Counter counter, uint64 *last, int64 first, int at_most, int *reserved)
{
	*reserved = (int) Min((int64) at_most, tick_room(counter.fraction_bits, first));
	return pg_atomic_compare_exchange_u64(counter.last_tick, last,
										  (uint64) (first + *reserved - 1));
}

/* Called by seqid_reserve_ticks() for runs ahead of the clock, and clocks out of range. */
extern int64 seqid_reserve_slowly(const SnowflakeLayout *layout, int shard,
								  int at_least, int at_most, int *reserved);

static pg_attribute_always_inline int64
seqid_reserve_uncovered(const SnowflakeLayout *layout, int shard,
						int at_least, int at_most, int *reserved)
{
	Counter		counter = counter_of(layout, shard);
	WallTime	clock = wall_clock_read();
	uint64		last = pg_atomic_read_u64(counter.last_tick);
	int64		first;

	/*
	 * One reading of the clock is enough.  If another backend was faster, we
	 * take the clock's tick or, if the counter has passed it, the next one.
	 */
	do
	{
		first = counter_next_run(counter, (int64) last, clock, at_least);

		/* One unsigned comparison checks both ends of the range of times. */
		if (unlikely(tick_ms(counter.fraction_bits, first) != clock.unix_ms ||
					 (uint64) (clock.unix_ms - counter.first_ms) >
					 (uint64) (counter.last_ms - counter.first_ms)))
			return seqid_reserve_slowly(layout, shard, at_least, at_most, reserved);
	} while (unlikely(!counter_claim_run(counter, &last, first, at_most, reserved)));

	return first;
}

/*
 * Reserves a run of consecutive ticks, all of one millisecond, and returns the first.
 * *reserved is set to the number of ticks that the caller can use, from at_least to at_most.
 * Each tick is greater than all ticks that any backend has reserved from this counter before.
 *
 * 1 <= at_least <= at_most, and a millisecond has at_least ticks or more.
 *
 * Usually takes no lock.  About twice a second, however, one backend raises the durable mark,
 * which writes and flushes WAL.  When a millisecond is used up, the call waits for the next
 * one, and longer only if other callers compete for it.  The wait can be cancelled.
 *
 * Raises sequence_generator_limit_exceeded when the time of the keys is used up, and the
 * errors of seqid_register_writer() and seqid_advance_mark().  For a shard, it also raises
 * object_not_in_prerequisite_state if the clock is too far behind the next tick, or before the
 * first time that an id can contain.
 */
static pg_attribute_always_inline int64
seqid_reserve_ticks(const SnowflakeLayout *layout, int shard,
					int at_least, int at_most, int *reserved)
{
	int			bits = layout == NULL ? COMB_FRACTION_BITS : layout->sequence_bits;
	int64		first;

	seqid_register_writer();
	do
		first = seqid_reserve_uncovered(layout, shard, at_least, at_most, reserved);
	while (unlikely(!seqid_cover_with_mark(tick_ms(bits, first))));

	return first;
}

#endif							/* SEQID_COUNTER_H */
