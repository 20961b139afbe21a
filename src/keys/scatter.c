/*
 * scatter.c
 *	  One sequence that behaves as many small ones.
 *
 * What is durable, permission-checked and cached is the sequence; this file
 * only sends its values apart, see scatter_permutation.h.
 */
#include "postgres.h"

#include "bits/scatter_permutation.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "keys/scatter.h"

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
				 errdetail("A scattered id is never negative.")));
	return id;
}

int64
seqid_scatter_next(Oid sequence, int prefix_bits, bool check_permissions)
{
	int64		value = nextval_internal(sequence, check_permissions);

	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("sequence value %lld cannot be scattered", (long long) value),
				 errdetail("Values are scattered from 1 upwards."),
				 errhint("Use an ascending sequence that starts at 1.")));

	return scatter_id(value - 1, prefix_bits);
}

/*
 * scatter_nextval(sequence regclass, prefix_bits int) returns bigint
 *	  The id for the sequence's next value.  22023 unless prefix_bits is
 *	  between 0 and 32; 2200H for a value below 1, which a descending sequence
 *	  may have; errors of nextval.
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
 *	  Which of the small sequences the id is of, 0 to 2^prefix_bits - 1.
 *	  22003 if id is negative, 22023 unless prefix_bits is between 0 and 32.
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
 *	  The id's value within its small sequence, from 0.  Errors as above.
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
 *	  How many ids of the sequence came before this one, its value less 1.
 *	  Errors as above.
 */
PG_FUNCTION_INFO_V1(scatter_ordinal);
Datum
scatter_ordinal(PG_FUNCTION_ARGS)
{
	int64		id = checked_id(PG_GETARG_INT64(0));
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64(scatter_id_ordinal(id, prefix_bits));
}
