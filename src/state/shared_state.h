/*
 * shared_state.h
 *	  The counters of shards, which all backends of the server share.
 *
 * The struct lasts for a server lifetime: a restart creates a new one, and so does the
 * crash of any backend.
 */
#ifndef SEQID_SHARED_STATE_H
#define SEQID_SHARED_STATE_H

#include "bits/snowflake_layout.h"
#include "pg/segment.h"
#include "port/atomics.h"
#include "storage/spin.h"

/* Increase this when SharedState or DynamicState changes, or how sessions use them. */
#ifndef SHARED_STATE_VERSION
#define SHARED_STATE_VERSION 15
#endif

#define SHARED_STATE_LINE_SIZE	64
#define SHARED_STATE_LINE_WORDS (SHARED_STATE_LINE_SIZE / sizeof(pg_atomic_uint64))

/* Rare events of a shard, for statistics; lock-free. */
typedef struct ShardEvents
{
	pg_atomic_uint64 waits;		/* calls that waited for a millisecond */
	pg_atomic_uint64 clock_regressions; /* clock was behind */
} ShardEvents;

typedef struct SharedState
{
	SegmentHandle dynamic_state;	/* see database_state.h */
	SegmentHandle followed_sequences;	/* see followed_sequence.h */
	slock_t		backfill_lock;	/* see snowflake_backfill.c */
	char		padding[SHARED_STATE_LINE_SIZE - 2 * sizeof(SegmentHandle) - sizeof(slock_t)];

	/*
	 * The counters of all shards of all layouts: the last tick (see tick.h)
	 * that was reserved, 0 for none.  Lock-free; they only ever increase.
	 */
	pg_atomic_uint64 shard_ticks[SNOWFLAKE_WORDS];

	ShardEvents shard_events[SNOWFLAKE_WORDS];

	/*
	 * The tick to which a backfill raised a shard's counter, 0 for none.  The
	 * counter equals it until a tick is reserved.  Written under
	 * backfill_lock.
	 */
	pg_atomic_uint64 backfilled_ticks[SNOWFLAKE_WORDS];
} SharedState;

/* Called from _PG_init.  Reserves room for the state if the library is preloaded. */
extern void seqid_reserve_shared_state(void);
extern bool seqid_preloaded;

/*
 * The state, which the first call maps or creates.  That takes a lock, and raises
 * insufficient_resources errors if there is no room, object_not_in_prerequisite_state if
 * this server lifetime uses the state of another version of the library.
 */
extern SharedState *seqid_attached_state;
extern SharedState *seqid_attach_shared_state(void);

static inline SharedState *
seqid_shared_state(void)
{
	if (likely(seqid_attached_state != NULL))
		return seqid_attached_state;
	return seqid_attach_shared_state();
}

/*
 * For statistics: the state, or NULL if this server lifetime uses that of another version of
 * the library.
 */
extern SharedState *seqid_find_shared_state(void);

/*
 * The counter of a shard, which must be one of the layout's.
 *
 * Counters of consecutive shards are in consecutive cache lines, and each line contains those
 * of eight shards.  So no two of the shards 0 to 127 share a line, and the array takes 8 kB
 * instead of 64 kB.  The 32 shards of snowflake53 share four lines, but a shard generates at
 * most 128,000 ids per second, which does not keep a line busy.
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
