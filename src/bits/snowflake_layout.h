/*
 * snowflake_layout.h
 *	  The bits of a snowflake id.
 *
 * From the top: 0 | milliseconds since an epoch | shard | sequence.  How many
 * bits each part has, and which epoch, is the constant SnowflakeLayout that
 * every function here takes; with a constant argument the compiler folds it
 * away.  Another layout is another constant.  Everything that depends on a width or
 * on the epoch, be it an array's size or a number in a message, is derived from it.
 *
 * A "tick" is an id without its shard, milliseconds << sequence_bits |
 * sequence: one more than the last tick of a millisecond is the first of the
 * next, so that the ticks of a shard are simply counted up.
 *
 * Nothing here checks a range; callers do, before they compose.
 */
#ifndef SEQID_SNOWFLAKE_LAYOUT_H
#define SEQID_SNOWFLAKE_LAYOUT_H

#include "postgres.h"

typedef struct SnowflakeLayout
{
	const char *name;			/* what its functions begin with */
	int			number;			/* its place in snowflake_layouts */
	int64		epoch_unix_ms;	/* millisecond 0, counted from 1970 */
	int			time_bits;
	int			shard_bits;
	int			sequence_bits;
	int			first_word;		/* see SNOWFLAKE_WORDS */
} SnowflakeLayout;

/* 64 bits, milliseconds since 2023-01-01 00:00:00 UTC. */
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

/* The same in 53 bits, which a double precision number holds exactly. */
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

/* For what is done for all of them. */
#define SNOWFLAKE_LAYOUTS	2
static const SnowflakeLayout *const snowflake_layouts[SNOWFLAKE_LAYOUTS] = {
	&snowflake_64, &snowflake_53
};

/* The most shards that any layout has. */
#define SNOWFLAKE_MAX_SHARDS	SNOWFLAKE_64_SHARDS

/*
 * The shards of all layouts, which have a word each: ticks of different layouts
 * must not meet in one.  The words of a layout begin at its first_word.
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

/* The first tick of a millisecond; defined, if useless, for any ms. */
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

/* How many ticks are left in the tick's millisecond, itself included. */
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
