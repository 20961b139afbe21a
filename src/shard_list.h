/*
 * shard_list.h
 *	  A list of shards such as "3, 16-31", as a set of bits.
 */
#ifndef SEQID_SHARD_LIST_H
#define SEQID_SHARD_LIST_H

#include "postgres.h"

#include "snowflake_layout.h"

#define SHARD_LIST_SHARDS	SNOWFLAKE_MAX_SHARDS

typedef struct ShardSet
{
	uint64		bits[SHARD_LIST_SHARDS / 64];
} ShardSet;

/* 0 <= shard < SHARD_LIST_SHARDS */
static inline bool
shard_set_has(const ShardSet *set, int shard)
{
	return (set->bits[shard / 64] >> (shard % 64)) & 1;
}

/*
 * Reads numbers and ranges of numbers with commas between them into *set.  On
 * failure returns false and tells where, a pointer into the list, and why, a
 * phrase to follow the text found there.
 */
extern bool seqid_parse_shard_list(const char *list, ShardSet *set,
								   const char **where, const char **why);

#endif							/* SEQID_SHARD_LIST_H */
