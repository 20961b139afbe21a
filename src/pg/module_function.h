/*
 * module_function.h
 *	  SQL functions of this library.
 *
 * The owner of a schema can create functions in it, or rename the schema.  So a function is
 * this library's only if its C function is.
 */
#ifndef SEQID_MODULE_FUNCTION_H
#define SEQID_MODULE_FUNCTION_H

#include "postgres.h"

#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

/* Whether SQL calls the C function by that OID. */
static inline bool
is_function(Oid oid, PGFunction function)
{
	FmgrInfo	info;

	fmgr_info(oid, &info);
	return info.fn_addr == function;
}

/* The function of two arguments with that name, or InvalidOid if it is not this library's. */
static inline Oid
find_function(Oid schema, const char *name, Oid type, Oid second_type, PGFunction function)
{
	Oid			types[] = {type, second_type};
	Oid			oid = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
									  PointerGetDatum(buildoidvector(types, lengthof(types))),
									  ObjectIdGetDatum(schema));

	return OidIsValid(oid) && is_function(oid, function) ? oid : InvalidOid;
}

#endif							/* SEQID_MODULE_FUNCTION_H */
