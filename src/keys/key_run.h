/*
 * key_run.h
 *	  Sets of keys, for the generators that return them.
 *
 * Ticks are reserved in runs, as rows are fetched: a cursor that is never fetched
 * to its end uses up few, and one that is fetched late gets ticks of that time.
 */
#ifndef SEQID_KEY_RUN_H
#define SEQID_KEY_RUN_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "fmgr.h"

/* What is left of the keys that a call asked for. */
typedef struct KeyRun
{
	const SnowflakeLayout *layout;	/* NULL for COMBs */
	int			shard;
	int64		wanted;			/* not yet reserved */
	int			run_size;		/* how many are reserved next, at most */
	int			reserved;		/* reserved, but not yet returned */
	int64		next_tick;		/* the first of these */
} KeyRun;

/* What differs between the generators. */
typedef struct KeyRunKind
{
	/* Reserves from 1 to at_most consecutive ticks and returns the first. */
	int64		(*reserve) (const SnowflakeLayout *layout, int shard,
							int at_most, int *reserved);

	/* The key of a tick, which leaves now. */
	Datum		(*key) (const SnowflakeLayout *layout, int shard, int64 tick);

	/* How many are reserved at a time, at most. */
	int			max_run_size;
} KeyRunKind;

/* A count that is not negative; otherwise 22023. */
extern int64 seqid_checked_count(int64 count);

/*
 * What a set-returning function returns: the next of count keys.  To be called
 * with the same arguments each time.
 */
extern Datum seqid_next_of_run(FunctionCallInfo fcinfo, const KeyRunKind *kind,
							   const SnowflakeLayout *layout, int shard, int64 count);

#endif							/* SEQID_KEY_RUN_H */
