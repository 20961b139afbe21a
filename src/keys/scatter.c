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
#include "pg/durable_sequence.h"

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

/*
 * scatter_nextval(sequence regclass, prefix_bits int) returns bigint
 *	  Returns the scattered id of the sequence's next value.
 *	  Errors: 22023 if prefix_bits is not between 0 and 32; 2200H if the value is less
 *	  than 1; all errors of nextval().
 */
PG_FUNCTION_INFO_V1(scatter_nextval);
Datum
scatter_nextval(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64(seqid_scatter_next(sequence, prefix_bits, true));
}

/*
 * scatter_prefix(id bigint, prefix_bits int) returns bigint
 *	  Returns the number of the small sequence, 0 to 2^prefix_bits - 1.
 *	  Errors: 22003 if the id is negative; 22023 if prefix_bits is not between 0 and 32.
 */
PG_FUNCTION_INFO_V1(scatter_prefix);
Datum
scatter_prefix(PG_FUNCTION_ARGS)
{
	int64		id = checked_id(PG_GETARG_INT64(0));
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64(scatter_id_prefix(id, prefix_bits));
}

/*
 * scatter_value(id bigint, prefix_bits int) returns bigint
 *	  Returns the value of the id within its small sequence, counted from 0.
 *	  Errors: those of scatter_prefix().
 */
PG_FUNCTION_INFO_V1(scatter_value);
Datum
scatter_value(PG_FUNCTION_ARGS)
{
	int64		id = checked_id(PG_GETARG_INT64(0));
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64(scatter_id_value(id, prefix_bits));
}

/*
 * scatter_ordinal(id bigint, prefix_bits int) returns bigint
 *	  Returns the value of the sequence for which the id was generated, minus 1.
 *	  Errors: those of scatter_prefix().
 */
PG_FUNCTION_INFO_V1(scatter_ordinal);
Datum
scatter_ordinal(PG_FUNCTION_ARGS)
{
	int64		id = checked_id(PG_GETARG_INT64(0));
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64(scatter_id_ordinal(id, prefix_bits));
}
