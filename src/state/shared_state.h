/*
 * shared_state.h
 *	  The counters of shards, which all backends of the server share.
 *
 * One struct in shared memory that lasts for a server lifetime: a restart, and
 * the crash of any backend, create a new one.  It contains atomics that only ever
 * increase, so no lock protects it.
 */
#ifndef SEQID_SHARED_STATE_H
#define SEQID_SHARED_STATE_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "pg/segment.h"
#include "port/atomics.h"

/*
 * Change the number whenever SharedState or DynamicState changes, or what sessions
 * do with them: a library with another idea of them must not attach.
 */
#ifndef SHARED_STATE_VERSION
#define SHARED_STATE_VERSION 9
#endif

#define SHARED_STATE_LINE_SIZE	64
#define SHARED_STATE_LINE_WORDS (SHARED_STATE_LINE_SIZE / sizeof(pg_atomic_uint64))

/* Rare events of a shard, for statistics. */
typedef struct ShardCounters
{
	pg_atomic_uint64 waits;		/* lock-free; for the next millisecond */
	pg_atomic_uint64 clock_regressions; /* lock-free; clock found behind */
} ShardCounters;

typedef struct SharedState
{
	SegmentHandle dynamic_state;	/* see database_state.h */
	char		padding[SHARED_STATE_LINE_SIZE - sizeof(SegmentHandle)];

	/*
	 * The last tick (see snowflake_layout.h) that each shard of each layout
	 * handed out, 0 for none.  Lock-free; only ever increases.  Find a
	 * shard's word with seqid_shard_tick().
	 */
	pg_atomic_uint64 shard_ticks[SNOWFLAKE_WORDS];

	/* Find a shard's with seqid_shard_counters(). */
	ShardCounters shard_counters[SNOWFLAKE_WORDS];
} SharedState;

/* Use seqid_shared_state(); NULL until this process has attached. */
extern SharedState *seqid_attached_state;

/* Whether this process had the library from shared_preload_libraries. */
extern bool seqid_preloaded;

/* Called from _PG_init: sees to it that there will be room. */
extern void seqid_reserve_shared_state(void);

/*
 * Maps the state into this process, creating it if this is the server's first
 * use of seqid.  Takes a lock.  Raises insufficient_resources errors when
 * there is no room, object_not_in_prerequisite_state if this server uses that
 * of another version of the library.
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
 * The word of a layout's shard, which must be one.
 *
 * People number their shards 0, 1, 2, ...: a layout's words take an eighth as many
 * lines as it has shards, and those of neighbours are placed a line apart.  So shards
 * 0 to 127 of 1024 never write the same cache line, and the array still is 8 kB
 * instead of 64 kB.  (The 32 shards of snowflake53 have four lines, but no more than
 * 128,000 ids a second each: that keeps no line busy.)
 */
static inline pg_atomic_uint64 *
seqid_shard_tick(SharedState *state, const SnowflakeLayout *layout, int shard)
{
	uint32		lines = (uint32) (snowflake_max_shard(layout) + 1) / SHARED_STATE_LINE_WORDS;
	uint32		line = (uint32) shard % lines;
	uint32		word = (uint32) shard / lines;

	return &state->shard_ticks[layout->first_word + line * SHARED_STATE_LINE_WORDS + word];
}

static inline ShardCounters *
seqid_shard_counters(SharedState *state, const SnowflakeLayout *layout, int shard)
{
	return &state->shard_counters[layout->first_word + shard];
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
