/*
 * sql_function.h
 *	  SQL functions of this library: how to recognize them, their snapshots, and their rows.
 */
#ifndef SEQID_SQL_FUNCTION_H
#define SEQID_SQL_FUNCTION_H

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "funcapi.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/*
 * Whether the SQL function with that OID calls the C function.  Its name does not show this,
 * because the owner of a schema can rename the schema and create functions in another one.
 */
static inline bool
is_function(Oid oid, PGFunction function)
{
	FmgrInfo	info;

	fmgr_info(oid, &info);
	return info.fn_addr == function;
}

/* The function with that name and two arguments, or InvalidOid if it is not this library's. */
static inline Oid
find_function(Oid schema, const char *name, Oid type, Oid second_type, PGFunction function)
{
	Oid			types[] = {type, second_type};
	Oid			oid = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
									  PointerGetDatum(buildoidvector(types, lengthof(types))),
									  ObjectIdGetDatum(schema));

	return OidIsValid(oid) && is_function(oid, function) ? oid : InvalidOid;
}

/*
 * The snapshot of the calling statement.  After a COMMIT, PL/pgSQL can check a domain before
 * the next statement has a snapshot; GetActiveSnapshot() alone would crash the server.
 */
static inline Snapshot
seqid_active_snapshot(void)
{
	EnsurePortalSnapshotExists();
	return GetActiveSnapshot();
}

/* The result row of a function that has OUT parameters. */
static inline Datum
seqid_result_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}

#endif							/* SEQID_SQL_FUNCTION_H */
