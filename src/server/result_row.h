/*
 * result_row.h
 *	  Rows of functions that have OUT parameters.
 */
#ifndef SEQID_RESULT_ROW_H
#define SEQID_RESULT_ROW_H

#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"

static inline TupleDesc
seqid_result_descriptor(FunctionCallInfo fcinfo)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(tupdesc);
}

static inline Datum
seqid_result_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	return HeapTupleGetDatum(heap_form_tuple(seqid_result_descriptor(fcinfo),
											 values, nulls));
}

/* At the first call of a function that returns a set, of at most max_calls rows. */
static inline void
seqid_begin_rows(FunctionCallInfo fcinfo, uint64 max_calls)
{
	FuncCallContext *funcctx = SRF_FIRSTCALL_INIT();
	MemoryContext old = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);

	funcctx->tuple_desc = seqid_result_descriptor(fcinfo);
	MemoryContextSwitchTo(old);
	funcctx->max_calls = max_calls;
}

#endif							/* SEQID_RESULT_ROW_H */
