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

#include "fmgr.h"

/* State of one call of a set-returning generator. */
typedef struct KeyRun
{
	int			shard;			/* 0 for generators without shards */
	int64		wanted;			/* keys not yet reserved */
	int			run_size;		/* largest size of the next run */
	int			reserved;		/* ticks reserved but not yet returned */
	int64		next_tick;		/* first of the reserved ticks */
} KeyRun;

/* One kind of generator. */
typedef struct KeyRunKind
{
	/* Reserves 1 to at_most consecutive ticks, and returns the first. */
	int64		(*reserve) (int shard, int at_most, int *reserved);

	/* Composes the key of a tick that is returned now. */
	Datum		(*key) (int shard, int64 tick);

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
							   int shard, int64 count);

#endif							/* SEQID_KEY_RUN_H */
