/*
 * key_run.c
 *	  Set-returning generators.
 */
#include "postgres.h"

#include "funcapi.h"
#include "keys/key_run.h"
#include "miscadmin.h"

int64
seqid_checked_count(int64 count)
{
	if (count < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count %lld is out of range", (long long) count),
				 errdetail("A count must not be negative.")));
	return count;
}

static KeyRun *
begin_run(FuncCallContext *context, const SnowflakeLayout *layout, int shard, int64 count)
{
	KeyRun	   *run = MemoryContextAllocZero(context->multi_call_memory_ctx,
											 sizeof(KeyRun));

	run->layout = layout;
	run->shard = shard;
	run->wanted = count;
	run->run_size = 1;
	return run;
}

/*
 * Each run is twice as long as the one before, so that at most half of the reserved ticks
 * are wasted.  Otherwise a caller that repeatedly requests many keys, but fetches one,
 * would use up ticks that other sessions need.
 */
static void
reserve_more(KeyRun *run, const KeyRunKind *kind)
{
	CHECK_FOR_INTERRUPTS();
	run->next_tick = kind->reserve(run->layout, run->shard,
								   (int) Min(run->wanted, run->run_size), &run->reserved);
	run->wanted -= run->reserved;
	run->run_size = Min(run->run_size * 2, kind->max_run_size);
}

Datum
seqid_next_of_run(FunctionCallInfo fcinfo, const KeyRunKind *kind,
				  const SnowflakeLayout *layout, int shard, int64 count)
{
	FuncCallContext *context;
	KeyRun	   *run;

	if (SRF_IS_FIRSTCALL())
	{
		context = SRF_FIRSTCALL_INIT();
		context->user_fctx = begin_run(context, layout, shard, count);
	}

	context = SRF_PERCALL_SETUP();
	run = context->user_fctx;

	if (run->reserved == 0)
	{
		if (run->wanted == 0)
			SRF_RETURN_DONE(context);
		reserve_more(run, kind);
	}

	run->reserved--;
	SRF_RETURN_NEXT(context, kind->key(run->layout, run->shard, run->next_tick++));
}
