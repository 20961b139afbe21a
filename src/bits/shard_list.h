/*
 * shard_list.h
 *	  A list of shards, such as "3, 16-31".
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
	bool		repeats;		/* does the text contain a shard twice? */
	int			count;			/* number of different shards */
	uint16		shards[SHARD_LIST_SHARDS];	/* in the order of the text */
} ShardList;

/* shard must be from 0 to SHARD_LIST_SHARDS - 1. */
static inline bool
shard_set_has(const ShardSet *set, int shard)
{
	return (set->bits[shard / 64] >> (shard % 64)) & 1;
}

/* Returns a shard of the list that is not in the set, or -1 if there is none. */
extern int	seqid_shard_not_in_set(const ShardList *list, const ShardSet *set);

/*
 * Parses numbers and ranges, separated by commas, into *list.  If the text is not valid,
 * returns false, and sets *where to the invalid part of the text and *why to a phrase that
 * completes a sentence about this part.
 */
extern bool seqid_parse_shard_list(const char *text, ShardList *list,
								   const char **where, const char **why);

#endif							/* SEQID_SHARD_LIST_H */
