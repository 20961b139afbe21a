/*
 * snowflake_layout.h
 *	  The layouts of snowflake ids.
 *
 * From the top, an id has the fields
 *
 *	 0 | milliseconds since an epoch | shard | sequence
 *
 * A constant of type SnowflakeLayout defines the epoch and the width of each field.
 * Every function here takes a layout; the compiler computes with its constants.  Array
 * sizes, limits and numbers in messages are derived from the layouts as well.
 *
 * A tick is an id without its shard: milliseconds << sequence_bits | sequence.  The last
 * tick of a millisecond plus 1 is the first tick of the next, so a shard can simply
 * count its ticks.
 *
 * These functions do not check ranges.  Callers must do so before they compose an id.
 */
#ifndef SEQID_SNOWFLAKE_LAYOUT_H
#define SEQID_SNOWFLAKE_LAYOUT_H

#include "postgres.h"

typedef struct SnowflakeLayout
{
	const char *name;			/* prefix of the SQL function names */
	int			number;			/* index in snowflake_layouts */
	int64		epoch_unix_ms;	/* milliseconds from 1970 to the epoch */
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

/*
 * Number of shards of all layouts.  Each has a counter of its own, because layouts differ
 * in the width of a tick.  The counters of a layout begin at its first_word.
 */
#define SNOWFLAKE_WORDS			(SNOWFLAKE_64_SHARDS + SNOWFLAKE_53_SHARDS)

static inline int64
snowflake_max_ms(const SnowflakeLayout *layout)
{
	return (INT64CONST(1) << layout->time_bits) - 1;
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
snowflake_compose(const SnowflakeLayout *layout,
				  int64 ms, int64 shard, int64 sequence)
{
	return ms << (layout->shard_bits + layout->sequence_bits) |
		shard << layout->sequence_bits |
		sequence;
}

static inline int64
snowflake_id_ms(const SnowflakeLayout *layout, int64 id)
{
	return id >> (layout->shard_bits + layout->sequence_bits);
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

/*
 * Returns the first tick of a millisecond.  The result is defined for any ms, but only
 * meaningful if ms is in range.
 */
static inline int64
snowflake_first_tick(const SnowflakeLayout *layout, int64 ms)
{
	return (int64) ((uint64) ms << layout->sequence_bits);
}

static inline int64
snowflake_tick_ms(const SnowflakeLayout *layout, int64 tick)
{
	return tick >> layout->sequence_bits;
}

/* Returns the number of ticks from this one to the end of its millisecond. */
static inline int64
snowflake_tick_room(const SnowflakeLayout *layout, int64 tick)
{
	int64		max_sequence = snowflake_max_sequence(layout);

	return max_sequence + 1 - (tick & max_sequence);
}

static inline int64
snowflake_tick_id(const SnowflakeLayout *layout, int64 tick, int64 shard)
{
	return snowflake_compose(layout,
							 snowflake_tick_ms(layout, tick),
							 shard,
							 tick & snowflake_max_sequence(layout));
}

#endif							/* SEQID_SNOWFLAKE_LAYOUT_H */
