/*
 * shared_state.h
 *	  What the generators of all backends agree on.
 *
 * One struct in shared memory, alive as long as the server: a restart, and
 * the crash of any backend, start it anew.  It holds atomics that only ever
 * increase, and what is set once when it is created; no lock protects it.
 */
#ifndef SEQID_SHARED_STATE_H
#define SEQID_SHARED_STATE_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "port/atomics.h"

#define SHARED_STATE_DATABASES	64
#define SHARED_STATE_LINE_SIZE	64
#define SHARED_STATE_LINE_WORDS (SHARED_STATE_LINE_SIZE / sizeof(pg_atomic_uint64))

/* Rare events of a shard, for statistics. */
typedef struct ShardCounters
{
	pg_atomic_uint64 waits;		/* lock-free; for the next millisecond */
	pg_atomic_uint64 clock_regressions; /* lock-free; clock found behind */
} ShardCounters;

/*
 * What the databases do not share: a mark that one of them has, or a clock that
 * was wrong while only one of them drew keys, is no business of the others.
 */
typedef struct DatabaseState
{
	/*
	 * The last COMB tick handed out, 0 for none.  Lock-free; only ever
	 * increases.  Every backend that draws COMBs writes this line, so nothing
	 * else lives on it.
	 */
	pg_atomic_uint64 comb_tick;
	char		comb_padding[SHARED_STATE_LINE_SIZE - sizeof(pg_atomic_uint64)];

	/*
	 * The highest mark that an earlier life of the server left in the
	 * database, in milliseconds since 1970.  Lock-free; only ever increases.
	 */
	pg_atomic_uint64 floor_ms;

	/* The highest mark of this life.  Lock-free; only ever increases. */
	pg_atomic_uint64 highest_mark_ms;

	/* How often the mark was raised.  Lock-free. */
	pg_atomic_uint64 marks_written;

	/*
	 * The file of the mark whose creation is known to be durable, 0 for none.
	 * Lock-free; see clock_mark.c.
	 */
	pg_atomic_uint64 durable_file;

	/*
	 * No transaction that lists itself from now on draws a key which tells an
	 * earlier time, in milliseconds since 1970; never 0.  Lock-free; only
	 * ever increases, and never beyond a durable mark.  See
	 * transaction_slot.c.
	 */
	pg_atomic_uint64 raised_ms;

	/*
	 * No key of this life tells an earlier time, 0 for not known yet.
	 * Lock-free; set once, before the first key of the life is handed out.
	 */
	pg_atomic_uint64 first_ms;

	/* The last settled horizon, 0 for none.  Lock-free; only ever increases. */
	pg_atomic_uint64 told_ms;

	/*
	 * Whose it is, InvalidOid for nobody's yet.  Set under
	 * AddinShmemInitLock, read without; that of a database which exists
	 * stays, so that who has found his place may keep its address.
	 */
	pg_atomic_uint32 database;
	char		padding[SHARED_STATE_LINE_SIZE - 7 * sizeof(uint64) - sizeof(uint32)];
} DatabaseState;

typedef struct SharedState
{
	/*
	 * The number of this life of the server: random, not 0, set when the
	 * struct is created.  See clock_mark.c.
	 */
	uint64		life;

	/*
	 * Has a database found no place?  Protected by AddinShmemInitLock; only
	 * ever becomes true.
	 */
	bool		overflown;

	/*
	 * The handle of the segment with the transactions' slots, 0 for none yet.
	 * Before 17 set under AddinShmemInitLock; from then on it only tells that
	 * there is one.
	 */
	pg_atomic_uint32 slots_handle;
	char		life_padding[SHARED_STATE_LINE_SIZE - sizeof(uint64) - 2 * sizeof(uint32)];

	/*
	 * The last tick (see snowflake_layout.h) that each shard of each layout
	 * handed out, 0 for none.  Lock-free; only ever increases.  Find a
	 * shard's word with seqid_shard_tick().
	 */
	pg_atomic_uint64 shard_ticks[SNOWFLAKE_WORDS];

	/* Find a shard's with seqid_shard_counters(). */
	ShardCounters shard_counters[SNOWFLAKE_WORDS];

	/*
	 * Find that of this database with seqid_database_state().  The last one
	 * serves all databases that found no place: what is kept there is the
	 * highest of them all.
	 */
	DatabaseState databases[SHARED_STATE_DATABASES + 1];
} SharedState;

/* Use seqid_shared_state(); NULL until this process has attached. */
extern SharedState *seqid_attached_state;

/* Use seqid_database_state(); NULL until this backend has found its place. */
extern DatabaseState *seqid_attached_database;

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

/* Where databases are that found no place of their own. */
static inline DatabaseState *
seqid_overflow_place(SharedState *state)
{
	return &state->databases[SHARED_STATE_DATABASES];
}

/*
 * Finds this database's place in the shared state, or takes one that is free.
 * Takes a lock if it is the first to look for it; errors of
 * seqid_attach_shared_state().
 */
extern DatabaseState *seqid_attach_database(void);

static inline DatabaseState *
seqid_database_state(void)
{
	if (likely(seqid_attached_database != NULL))
		return seqid_attached_database;
	return seqid_attach_database();
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
