/*
 * shard_clock.h
 *	  Hands out the ticks of a shard, none of them twice.
 */
#ifndef SEQID_SHARD_CLOCK_H
#define SEQID_SHARD_CLOCK_H

#include "postgres.h"

#include "snowflake_layout.h"

/*
 * Reserves a run of consecutive ticks, all of one millisecond, and returns
 * the first; *reserved is how many the caller may use, at least at_least and
 * at most at_most.  Every tick is greater than all that any backend reserved
 * for that shard before.
 *
 * 0 <= shard < SHARED_STATE_SHARDS, 1 <= at_least <= at_most, and at_least is
 * no more than a millisecond holds.
 *
 * Takes no lock, but about twice a second one backend raises the durable mark:
 * that writes and flushes WAL.  When the current millisecond is used up it waits,
 * interruptibly, for the next: for longer only if others take that too.
 * Raises object_not_in_prerequisite_state when the
 * clock is too far behind the shard's last tick or before the epoch, and the
 * errors of seqid_look_at_mark() for the durable mark;
 * sequence_generator_limit_exceeded when the layout's time is over.
 */
extern int64 seqid_reserve_ticks(const SnowflakeLayout *layout, int shard,
								 int at_least, int at_most, int *reserved);

#endif							/* SEQID_SHARD_CLOCK_H */
