/*
 * scatter.c
 *	  Generates scattered ids: one sequence behaves like many small ones.
 *
 * PostgreSQL's sequence provides durability, permissions and caching.  This file only
 * permutes its values; see scatter_permutation.h for the layout.
 */
#include "postgres.h"

#include "bits/scatter_permutation.h"
#include "fmgr.h"
#include "keys/scatter.h"
#include "pg/sequence_page.h"

int
seqid_checked_prefix_bits(int32 prefix_bits)
{
	if (prefix_bits < 0 || prefix_bits > SCATTER_MAX_PREFIX_BITS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of prefix bits %d is out of range", prefix_bits),
				 errdetail("A prefix must have between 0 and %d bits.",
						   SCATTER_MAX_PREFIX_BITS)));
	return prefix_bits;
}

static int64
checked_id(int64 id)
{
	if (id < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("scattered id %lld is out of range", (long long) id),
				 errdetail("A scattered id must not be negative.")));
	return id;
}

int64
seqid_scatter_next(Oid sequence, int prefix_bits, bool check_permissions)
{
	int64		value = seqid_durable_nextval(sequence, check_permissions);

	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("sequence value %lld cannot be scattered", (long long) value),
				 errdetail("Only values of 1 or more can be scattered."),
				 errhint("Use an ascending sequence that starts at 1.")));

	return scatter_id(value - 1, prefix_bits);
}

/* The next value of a sequence, scattered.  22023 for prefix_bits, 2200H for a value below 1. */
PG_FUNCTION_INFO_V1(scatter_nextval);
Datum
scatter_nextval(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64(seqid_scatter_next(sequence, prefix_bits, true));
}

/* Defines an SQL function of (id bigint, prefix_bits int). */
#define SCATTER_FUNCTION(name, result) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) \
	{ \
		int64		id = checked_id(PG_GETARG_INT64(0)); \
		int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1)); \
		\
		PG_RETURN_INT64(result(id, prefix_bits)); \
	} \
	extern Datum name(PG_FUNCTION_ARGS)

SCATTER_FUNCTION(scatter_prefix, scatter_id_prefix);
SCATTER_FUNCTION(scatter_value, scatter_id_value);
SCATTER_FUNCTION(scatter_ordinal, scatter_id_ordinal);
