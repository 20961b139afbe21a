/*
 * key_run.h
 *	  Set-returning generators.
 *
 * They reserve ticks in runs while rows are fetched.  A cursor that is not fetched to its
 * end wastes few ticks, and a row that is fetched later has a later time.
 */
#ifndef SEQID_KEY_RUN_H
#define SEQID_KEY_RUN_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "fmgr.h"

/* State of one call of a set-returning generator. */
typedef struct KeyRun
{
	const SnowflakeLayout *layout;	/* NULL for COMBs */
	int			shard;
	int64		wanted;			/* not yet reserved */
	int			run_size;		/* how many are reserved next, at most */
	int			reserved;		/* reserved, but not yet returned */
	int64		next_tick;		/* the first of these */
} KeyRun;

/* One kind of generator. */
typedef struct KeyRunKind
{
	/* Reserves from 1 to at_most consecutive ticks and returns the first. */
	int64		(*reserve) (const SnowflakeLayout *layout, int shard,
							int at_most, int *reserved);

	/* Composes the key of a tick, when the key is returned. */
	Datum		(*key) (const SnowflakeLayout *layout, int shard, int64 tick);

	/* Largest size of a run. */
	int			max_run_size;
} KeyRunKind;

/* Returns the count.  Raises invalid_parameter_value if it is negative. */
extern int64 seqid_checked_count(int64 count);

/*
 * Implements a set-returning function: returns the next of count keys.  The arguments
 * must be the same in each call for a set.
 */
extern Datum seqid_next_of_run(FunctionCallInfo fcinfo, const KeyRunKind *kind,
							   const SnowflakeLayout *layout, int shard, int64 count);

#endif							/* SEQID_KEY_RUN_H */
