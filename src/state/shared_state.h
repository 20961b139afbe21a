/*
 * shared_state.h
 *	  The counters of shards, which all backends of the server share.
 *
 * The struct in shared memory lasts for a server lifetime.  A restart creates a new
 * one, and so does the crash of any backend.  It contains atomics that only ever
 * increase, so no lock protects it.  Every backend that generates snowflakes writes it.
 */
#ifndef SEQID_SHARED_STATE_H
#define SEQID_SHARED_STATE_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "pg/segment.h"
#include "port/atomics.h"
#include "storage/spin.h"

/*
 * Increase the number when SharedState or DynamicState changes, or when sessions use
 * them in another way: libraries that differ in this must not share memory.
 */
#ifndef SHARED_STATE_VERSION
#define SHARED_STATE_VERSION 13
#endif

#define SHARED_STATE_LINE_SIZE	64
#define SHARED_STATE_LINE_WORDS (SHARED_STATE_LINE_SIZE / sizeof(pg_atomic_uint64))

/* Rare events of a shard, for statistics. */
typedef struct ShardEvents
{
	pg_atomic_uint64 waits;		/* for a millisecond; lock-free */
	pg_atomic_uint64 clock_regressions; /* clock was behind; lock-free */
} ShardEvents;

typedef struct SharedState
{
	SegmentHandle dynamic_state;	/* see database_state.h */
	SegmentHandle followed_sequences;	/* see followed_sequence.h */
	slock_t		backfill_lock;	/* see snowflake_backfill.c */
	char		padding[SHARED_STATE_LINE_SIZE - 2 * sizeof(SegmentHandle) - sizeof(slock_t)];

	/*
	 * The counters of all shards of all layouts: the last tick (see tick.h)
	 * that was reserved, 0 for none.  Lock-free; only ever increases.  Find a
	 * shard's word with seqid_shard_tick().
	 */
	pg_atomic_uint64 shard_ticks[SNOWFLAKE_WORDS];

	/* Find those of a shard with seqid_shard_events(). */
	ShardEvents shard_events[SNOWFLAKE_WORDS];

	/*
	 * The tick to which a shard's counter was raised for existing rows, 0 for
	 * none.  The counter equals it until a tick is reserved.  Written under
	 * backfill_lock.  Find a shard's word with seqid_backfilled_tick().
	 */
	pg_atomic_uint64 backfilled_ticks[SNOWFLAKE_WORDS];
} SharedState;

/* Use seqid_shared_state(); NULL until this process has attached. */
extern SharedState *seqid_attached_state;

/* Whether this process had the library from shared_preload_libraries. */
extern bool seqid_preloaded;

/* Called from _PG_init.  Reserves room for the state if the library is preloaded. */
extern void seqid_reserve_shared_state(void);

/*
 * Maps the state into this process, and creates it in the first call of a server
 * lifetime.  Takes a lock.  Raises insufficient_resources errors if there is no room,
 * object_not_in_prerequisite_state if this server lifetime uses the state of another
 * version of the library.
 */
extern SharedState *seqid_attach_shared_state(void);

static inline SharedState *
seqid_shared_state(void)
{
	if (likely(seqid_attached_state != NULL))
		return seqid_attached_state;
	return seqid_attach_shared_state();
}

/*
 * The counter of a shard, which must be one of the layout's.
 *
 * Shards are usually numbered 0, 1, 2 and so on.  Counters of consecutive shards are in
 * consecutive cache lines, and each line has the counters of eight shards.  So shards 0
 * to 127 of 1024 never write the same line, and the array has 8 kB instead of 64 kB.
 * The 32 shards of snowflake53 share four lines, but a shard has at most 128,000
 * ids a second, which does not keep a line busy.
 */
static inline pg_atomic_uint64 *
seqid_shard_tick(SharedState *state, const SnowflakeLayout *layout, int shard)
{
	uint32		lines = (uint32) (snowflake_max_shard(layout) + 1) / SHARED_STATE_LINE_WORDS;
	uint32		line = (uint32) shard % lines;
	uint32		word = (uint32) shard / lines;

	return &state->shard_ticks[layout->first_word + line * SHARED_STATE_LINE_WORDS + word];
}

static inline ShardEvents *
seqid_shard_events(SharedState *state, const SnowflakeLayout *layout, int shard)
{
	return &state->shard_events[layout->first_word + shard];
}

static inline pg_atomic_uint64 *
seqid_backfilled_tick(SharedState *state, const SnowflakeLayout *layout, int shard)
{
	return &state->backfilled_ticks[layout->first_word + shard];
}

/* Raises a value that only ever increases. */
static inline void
seqid_atomic_raise(pg_atomic_uint64 *value, uint64 at_least)
{
	uint64		current = pg_atomic_read_u64(value);

	while (current < at_least &&
		   !pg_atomic_compare_exchange_u64(value, &current, at_least))
		;
}

#endif							/* SEQID_SHARED_STATE_H */
