/*
 * shard_list.h
 *	  A list of shards such as "3, 16-31".
 */
#ifndef SEQID_SHARD_LIST_H
#define SEQID_SHARD_LIST_H

#include "postgres.h"

#include "bits/snowflake_layout.h"

#define SHARD_LIST_SHARDS	SNOWFLAKE_MAX_SHARDS

typedef struct ShardSet
{
	uint64		bits[SHARD_LIST_SHARDS / 64];
} ShardSet;

typedef struct ShardList
{
	ShardSet	set;
	bool		repeats;		/* does it name a shard twice? */
	int			count;			/* without repetitions */
	uint16		shards[SHARD_LIST_SHARDS];	/* in the order of the list */
} ShardList;

/* 0 <= shard < SHARD_LIST_SHARDS */
static inline bool
shard_set_has(const ShardSet *set, int shard)
{
	return (set->bits[shard / 64] >> (shard % 64)) & 1;
}

/* A shard of the list that is not in the set, -1 if there is none. */
extern int	seqid_shard_not_in_set(const ShardList *list, const ShardSet *set);

/*
 * Reads numbers and ranges of numbers with commas between them into *list.  On
 * failure returns false and tells where, a pointer into the text, and why, a
 * phrase to follow what is found there.
 */
extern bool seqid_parse_shard_list(const char *text, ShardList *list,
								   const char **where, const char **why);

#endif							/* SEQID_SHARD_LIST_H */
