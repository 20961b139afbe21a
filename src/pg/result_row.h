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

static inline Datum
seqid_result_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}

#endif							/* SEQID_RESULT_ROW_H */
