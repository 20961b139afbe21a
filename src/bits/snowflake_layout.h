/*
 * snowflake_layout.h
 *	  The layouts of snowflake ids.
 *
 * From the top, an id has the fields
 *
 *	 0 | milliseconds since an epoch | shard | sequence
 *
 * Each layout is a constant, so that the compiler can fold computations with it.  All
 * functions take and return milliseconds since 1970, not since the epoch.  A tick of a shard's
 * counter contains the time and the sequence number of an id; see tick.h.
 *
 * Callers must check ranges before they compose an id.
 */
#ifndef SEQID_SNOWFLAKE_LAYOUT_H
#define SEQID_SNOWFLAKE_LAYOUT_H

#include "postgres.h"

#include "bits/tick.h"

typedef struct SnowflakeLayout
{
	const char *name;			/* prefix of the SQL function names */
	int			number;			/* index in snowflake_layouts */
	int64		epoch_unix_ms;	/* first millisecond that an id can contain */
	int			time_bits;
	int			shard_bits;
	int			sequence_bits;
	int			first_word;		/* see SNOWFLAKE_WORDS */
} SnowflakeLayout;

/* 64 bits; the epoch is 2023-01-01 00:00:00 UTC. */
#define SNOWFLAKE_64_SHARDS	(1 << 10)
static const SnowflakeLayout snowflake_64 = {
	.name = "snowflake",
	.number = 0,
	.epoch_unix_ms = INT64CONST(1672531200000),
	.time_bits = 41,
	.shard_bits = 10,
	.sequence_bits = 12,
	.first_word = 0
};

/* 53 bits, which a double precision number represents exactly; the same epoch. */
#define SNOWFLAKE_53_SHARDS	(1 << 5)
static const SnowflakeLayout snowflake_53 = {
	.name = "snowflake53",
	.number = 1,
	.epoch_unix_ms = INT64CONST(1672531200000),
	.time_bits = 41,
	.shard_bits = 5,
	.sequence_bits = 7,
	.first_word = SNOWFLAKE_64_SHARDS
};

#define SNOWFLAKE_LAYOUTS	2
static const SnowflakeLayout *const snowflake_layouts[SNOWFLAKE_LAYOUTS] = {
	&snowflake_64, &snowflake_53
};

/* Number of shards of the layout that has the most. */
#define SNOWFLAKE_MAX_SHARDS	SNOWFLAKE_64_SHARDS

/* Number of counters of all layouts together.  Those of a layout begin at its first_word. */
#define SNOWFLAKE_WORDS			(SNOWFLAKE_64_SHARDS + SNOWFLAKE_53_SHARDS)

/* The last millisecond that an id can contain. */
static inline int64
snowflake_last_ms(const SnowflakeLayout *layout)
{
	return layout->epoch_unix_ms + (INT64CONST(1) << layout->time_bits) - 1;
}

static inline int64
snowflake_max_shard(const SnowflakeLayout *layout)
{
	return (INT64CONST(1) << layout->shard_bits) - 1;
}

static inline int64
snowflake_max_sequence(const SnowflakeLayout *layout)
{
	return (INT64CONST(1) << layout->sequence_bits) - 1;
}

static inline int64
snowflake_max_id(const SnowflakeLayout *layout)
{
	return (int64) ((UINT64CONST(1) << (layout->time_bits + layout->shard_bits +
										layout->sequence_bits)) - 1);
}

static inline int64
snowflake_id(const SnowflakeLayout *layout, int64 unix_ms, int64 shard, int64 sequence)
{
	return (unix_ms - layout->epoch_unix_ms) << (layout->shard_bits + layout->sequence_bits) |
		shard << layout->sequence_bits |
		sequence;
}

static inline int64
snowflake_id_unix_ms(const SnowflakeLayout *layout, int64 id)
{
	return layout->epoch_unix_ms + (id >> (layout->shard_bits + layout->sequence_bits));
}

static inline int64
snowflake_id_shard(const SnowflakeLayout *layout, int64 id)
{
	return (id >> layout->sequence_bits) & snowflake_max_shard(layout);
}

static inline int64
snowflake_id_sequence(const SnowflakeLayout *layout, int64 id)
{
	return id & snowflake_max_sequence(layout);
}

static inline int64
snowflake_of_tick(const SnowflakeLayout *layout, int64 tick, int64 shard)
{
	return snowflake_id(layout, tick_ms(layout->sequence_bits, tick), shard,
						tick_fraction(layout->sequence_bits, tick));
}

#endif							/* SEQID_SNOWFLAKE_LAYOUT_H */
