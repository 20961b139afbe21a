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

#endif							/* SEQID_RESULT_ROW_H */
