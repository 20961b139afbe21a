/*
 * snowflake_codec.c
 *	  Takes snowflake ids apart and puts them together.
 *
 * Pure functions of their arguments: they may stand in indexes, generated
 * columns, CHECK constraints and partition bounds.  See snowflake_layout.h
 * for the bits.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "fmgr.h"
#include "funcapi.h"
#include "keys/snowflake_shard.h"
#include "server/pg_epoch.h"
#include "utils/timestamp.h"

static const SnowflakeLayout *const layout = &snowflake_64;

static void
check_sequence(int32 sequence)
{
	if (sequence < 0 || sequence > snowflake_max_sequence(layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sequence %d is out of range", sequence),
				 errdetail("A sequence must be between 0 and %d.",
						   (int) snowflake_max_sequence(layout))));
}

/* Every bigint but the negative ones is a snowflake. */
static int64
checked_id(int64 id)
{
	if (id < 0 || id > snowflake_max_id(layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("snowflake id %lld is out of range", (long long) id),
				 errdetail("A snowflake id is never negative.")));
	return id;
}

/* The layout's millisecond that a time falls into. */
static int64
checked_ms(TimestampTz time)
{
	TimestampTz first = pg_time_of_unix_ms(layout->epoch_unix_ms);
	TimestampTz last = first + snowflake_max_ms(layout) * 1000 + 999;

	/* Also refuses the infinities, which are the extremes of int64. */
	if (time < first || time > last)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is out of range for a snowflake id: \"%s\"",
						timestamptz_to_str(time)),
				 errdetail("A snowflake id can tell times from %s to %s.",
						   seqid_utc_text(layout->epoch_unix_ms),
						   seqid_utc_text(layout->epoch_unix_ms + snowflake_max_ms(layout)))));
	return (time - first) / 1000;
}

static TimestampTz
id_timestamp(int64 id)
{
	return pg_time_of_unix_ms(layout->epoch_unix_ms + snowflake_id_ms(layout, id));
}

/*
 * snowflake_timestamp(id bigint) returns timestamptz
 *	  The millisecond in which the id was issued.  22003 if id is negative.
 */
PG_FUNCTION_INFO_V1(snowflake_timestamp);
Datum
snowflake_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(id_timestamp(checked_id(PG_GETARG_INT64(0))));
}

/*
 * snowflake_shard(id bigint) returns int
 *	  The shard that issued the id, 0 to 1023.  22003 if id is negative.
 */
PG_FUNCTION_INFO_V1(snowflake_shard);
Datum
snowflake_shard(PG_FUNCTION_ARGS)
{
	int64		id = checked_id(PG_GETARG_INT64(0));

	PG_RETURN_INT32((int32) snowflake_id_shard(layout, id));
}

/*
 * snowflake_sequence(id bigint) returns int
 *	  The id's number within its millisecond and shard, 0 to 4095.  22003 if
 *	  id is negative.
 */
PG_FUNCTION_INFO_V1(snowflake_sequence);
Datum
snowflake_sequence(PG_FUNCTION_ARGS)
{
	int64		id = checked_id(PG_GETARG_INT64(0));

	PG_RETURN_INT32((int32) snowflake_id_sequence(layout, id));
}

/*
 * snowflake_parts(id bigint) returns (created_at, shard, sequence)
 *	  The three parts as one row.  22003 if id is negative.
 */
PG_FUNCTION_INFO_V1(snowflake_parts);
Datum
snowflake_parts(PG_FUNCTION_ARGS)
{
	int64		id = checked_id(PG_GETARG_INT64(0));
	TupleDesc	tupdesc;
	Datum		values[3];
	bool		nulls[3] = {false, false, false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	values[0] = TimestampTzGetDatum(id_timestamp(id));
	values[1] = Int32GetDatum((int32) snowflake_id_shard(layout, id));
	values[2] = Int32GetDatum((int32) snowflake_id_sequence(layout, id));

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  values, nulls)));
}

/*
 * snowflake_make(created_at timestamptz, shard int, sequence int) returns bigint
 *	  The id with these parts; the time is cut to the millisecond.  22003 for
 *	  a time out of range, 22023 for a shard or a sequence.
 */
PG_FUNCTION_INFO_V1(snowflake_make);
Datum
snowflake_make(PG_FUNCTION_ARGS)
{
	int64		ms = checked_ms(PG_GETARG_TIMESTAMPTZ(0));
	int32		shard = PG_GETARG_INT32(1);
	int32		sequence = PG_GETARG_INT32(2);

	seqid_check_shard(layout, shard);
	check_sequence(sequence);
	PG_RETURN_INT64(snowflake_compose(layout, ms, shard, sequence));
}

/*
 * snowflake_first(created_at timestamptz) returns bigint
 *	  The smallest id of that millisecond.  22003 for a time out of range.
 */
PG_FUNCTION_INFO_V1(snowflake_first);
Datum
snowflake_first(PG_FUNCTION_ARGS)
{
	int64		ms = checked_ms(PG_GETARG_TIMESTAMPTZ(0));

	PG_RETURN_INT64(snowflake_compose(layout, ms, 0, 0));
}

/*
 * snowflake_last(created_at timestamptz) returns bigint
 *	  The largest id of that millisecond.  22003 for a time out of range.
 */
PG_FUNCTION_INFO_V1(snowflake_last);
Datum
snowflake_last(PG_FUNCTION_ARGS)
{
	int64		ms = checked_ms(PG_GETARG_TIMESTAMPTZ(0));

	PG_RETURN_INT64(snowflake_compose(layout, ms,
									  snowflake_max_shard(layout),
									  snowflake_max_sequence(layout)));
}
