/*
 * key_run.h
 *	  Set-returning generators.
 *
 * They reserve ticks in runs, while rows are fetched.  Therefore a cursor that is not fetched
 * to its end wastes few ticks, and a row that is fetched later has a later time.
 */
#ifndef SEQID_KEY_RUN_H
#define SEQID_KEY_RUN_H

#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"

/* State of one call, in user_fctx. */
typedef struct KeyRun
{
	int64		wanted;			/* not yet reserved */
	int			size;			/* most ticks that are reserved next */
	int			reserved;		/* reserved, but not yet returned */
	int64		next_tick;		/* the first of these */
} KeyRun;

/* Raises invalid_parameter_value if the count is negative. */
static inline void
key_run_begin(FunctionCallInfo fcinfo, int64 count)
{
	FuncCallContext *context;
	KeyRun	   *run;

	if (count < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count %lld is out of range", (long long) count),
				 errdetail("A count must not be negative.")));
	context = SRF_FIRSTCALL_INIT();
	run = MemoryContextAllocZero(context->multi_call_memory_ctx, sizeof(KeyRun));
	run->wanted = count;
	run->size = 1;
	context->user_fctx = run;
}

/*
 * Returns how many ticks to reserve now, at most.  Each run is twice as long as the one
 * before, so that at most half of the reserved ticks are wasted.  Otherwise a caller that
 * repeatedly requests many keys, but fetches only one, would use up ticks that others need.
 */
static inline int
key_run_size(KeyRun *run, int max_size)
{
	int			size = (int) Min(run->wanted, run->size);

	CHECK_FOR_INTERRUPTS();
	run->size = Min(run->size * 2, max_size);
	return size;
}

/* Returns the tick of the next key. */
static inline int64
key_run_next(KeyRun *run)
{
	run->reserved--;
	return run->next_tick++;
}

#endif							/* SEQID_KEY_RUN_H */
