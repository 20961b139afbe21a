/*
 * version.c
 *	  Which release is at work: the library of this session, and the script that made
 *	  the functions of this database.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "fmgr.h"
#include "server/result_row.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

/* The version of our row in pg_extension, which has to be there. */
static Datum
script_version(void)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum		version;
	bool		isnull;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("seqid"));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"%s\" does not exist", "seqid")));
	version = heap_getattr(tuple, Anum_pg_extension_extversion,
						   RelationGetDescr(rel), &isnull);
	Assert(!isnull);
	version = PointerGetDatum(DatumGetTextPCopy(version));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return version;
}

PG_FUNCTION_INFO_V1(seqid_version);

/* seqid_version(OUT library text, OUT script text) */
Datum
seqid_version(PG_FUNCTION_ARGS)
{
	Datum		values[2];
	bool		nulls[2] = {false};

	values[0] = CStringGetTextDatum(SEQID_VERSION);
	values[1] = script_version();

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}
