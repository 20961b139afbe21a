/*
 * shard_clock.h
 *	  Hands out the ticks of a shard, none of them twice.
 *
 * What is done for every id is here, and always inlined, so that a constant
 * layout and a constant number of ticks fold away; what keeps it right, and all
 * that is rare, is in shard_clock.c.
 */
#ifndef SEQID_SHARD_CLOCK_H
#define SEQID_SHARD_CLOCK_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "clock/clock_mark.h"
#include "clock/transaction_slot.h"
#include "pg/wall_clock.h"
#include "port/atomics.h"
#include "state/shared_state.h"

/* Milliseconds since the layout's epoch; negative before it. */
static inline int64
seqid_layout_clock_ms(const SnowflakeLayout *layout)
{
	return wall_clock_read_ms() - layout->epoch_unix_ms;
}

/*
 * The first tick that a run of at_least may start with: not before the clock,
 * above the floor of this backend's keys, after the last tick, and in a
 * millisecond with enough room.
 */
static inline int64
seqid_next_run(const SnowflakeLayout *layout, int64 last, int64 clock_ms,
			   int at_least)
{
	int64		floor_ms = seqid_key_floor_ms - layout->epoch_unix_ms;
	int64		start_ms = Max(clock_ms, floor_ms + 1);
	int64		first = Max(last + 1, snowflake_first_tick(layout, start_ms));

	if (unlikely(snowflake_tick_room(layout, first) < at_least))
		first = snowflake_first_tick(layout, snowflake_tick_ms(layout, first) + 1);
	return first;
}

/* Moves the word from last past the run; false if another backend was first. */
static inline bool
seqid_claim_run(const SnowflakeLayout *layout, pg_atomic_uint64 *word, uint64 *last,
				int64 first, int at_most, int *reserved)
{
	*reserved = (int) Min((int64) at_most, snowflake_tick_room(layout, first));
	return pg_atomic_compare_exchange_u64(word, last,
										  (uint64) (first + *reserved - 1));
}

/*
 * The rare case: the millisecond is used up, the clock was set back, or it is
 * out of the layout's range.  To be called by what follows.
 */
extern int64 seqid_reserve_ahead_of_clock(const SnowflakeLayout *layout,
										  pg_atomic_uint64 *word, int shard,
										  int at_least, int at_most, int *reserved);

static pg_attribute_always_inline int64
seqid_reserve_uncovered(const SnowflakeLayout *layout, int shard,
						int at_least, int at_most, int *reserved)
{
	pg_atomic_uint64 *word = seqid_shard_tick(seqid_shared_state(), layout, shard);
	uint64		last = pg_atomic_read_u64(word);

	for (;;)
	{
		int64		clock_ms = seqid_layout_clock_ms(layout);
		int64		first = seqid_next_run(layout, (int64) last, clock_ms, at_least);

		/* One comparison for both ends of the layout's time. */
		if (unlikely(snowflake_tick_ms(layout, first) != clock_ms ||
					 (uint64) clock_ms > (uint64) snowflake_max_ms(layout)))
			return seqid_reserve_ahead_of_clock(layout, word, shard,
												at_least, at_most, reserved);

		if (likely(seqid_claim_run(layout, word, &last, first, at_most, reserved)))
			return first;
	}
}

/*
 * Reserves a run of consecutive ticks, all of one millisecond, and returns
 * the first; *reserved is how many the caller may use, at least at_least and
 * at most at_most.  Every tick is greater than all that any backend reserved
 * for that shard before.
 *
 * shard is one of the layout's, 1 <= at_least <= at_most, and at_least is
 * no more than a millisecond holds.
 *
 * Takes no lock, but about twice a second one backend raises the durable mark:
 * that writes and flushes WAL.  When the current millisecond is used up it waits,
 * interruptibly, for the next: for longer only if others take that too.
 * Raises object_not_in_prerequisite_state when the
 * clock is too far behind the shard's last tick or before the epoch, and the
 * errors of seqid_advance_mark() for the durable mark;
 * sequence_generator_limit_exceeded when the layout's time is over.
 */
static pg_attribute_always_inline int64
seqid_reserve_ticks(const SnowflakeLayout *layout, int shard,
					int at_least, int at_most, int *reserved)
{
	int64		first;
	int64		unix_ms;

	seqid_register_writer();

	/*
	 * The second turn, if there is one, is above the floor that the first
	 * learned of; what was reserved in the first is a gap.
	 */
	do
	{
		first = seqid_reserve_uncovered(layout, shard, at_least, at_most, reserved);
		unix_ms = snowflake_tick_ms(layout, first) + layout->epoch_unix_ms;
	} while (unlikely(!seqid_cover_with_mark(unix_ms)));

	return first;
}

#endif							/* SEQID_SHARD_CLOCK_H */
