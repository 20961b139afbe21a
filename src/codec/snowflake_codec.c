/*
 * snowflake_codec.c
 *	  Decodes and composes snowflake ids; see snowflake_layout.h for the layouts.
 *
 * The functions depend on their arguments only.  They can be used in indexes, generated
 * columns, CHECK constraints and partition bounds.
 *
 * Each function exists for each layout.  The comments describe snowflake_*;
 * snowflake53_* has the limits of its own layout, which are shards 0 to 31, sequences
 * 0 to 127 and ids 0 to 2^53 - 1.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "codec/snowflake_sql.h"
#include "fmgr.h"
#include "pg/pg_epoch.h"
#include "pg/result_row.h"
#include "utils/timestamp.h"

static void
check_sequence(const SnowflakeLayout *layout, int32 sequence)
{
	if (sequence < 0 || sequence > snowflake_max_sequence(layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sequence %d is out of range", sequence),
				 errdetail("A sequence of %s ids must be between 0 and %d.",
						   layout->name, (int) snowflake_max_sequence(layout))));
}

/* The millisecond since 1970 that a time falls into. */
static int64
checked_ms(const SnowflakeLayout *layout, TimestampTz time)
{
	TimestampTz first = pg_time_of_unix_ms(layout->epoch_unix_ms);
	TimestampTz last = pg_time_of_unix_ms(snowflake_last_ms(layout)) + 999;

	/* The infinities are out of range, too: they are the extremes of int64. */
	if (time < first || time > last)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is out of range for a %s id: \"%s\"",
						layout->name, timestamptz_to_str(time)),
				 errdetail("A %s id can contain times from %s to %s.",
						   layout->name,
						   seqid_utc_text(layout->epoch_unix_ms),
						   seqid_utc_text(snowflake_last_ms(layout)))));
	return layout->epoch_unix_ms + (time - first) / 1000;
}

static TimestampTz
id_timestamp(const SnowflakeLayout *layout, int64 id)
{
	return pg_time_of_unix_ms(snowflake_id_unix_ms(layout, id));
}

/*
 * snowflake_timestamp(id bigint) returns timestamptz
 *	  Returns the time of an id, in milliseconds.
 *	  Errors: 22003 if the id is negative.
 */
static pg_attribute_always_inline Datum
get_timestamp(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	PG_RETURN_TIMESTAMPTZ(id_timestamp(layout, seqid_checked_id(layout, PG_GETARG_INT64(0))));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_timestamp, get_timestamp, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_timestamp, get_timestamp, snowflake_53);

/*
 * snowflake_shard(id bigint) returns int
 *	  Returns the shard of an id, 0 to 1023.
 *	  Errors: 22003 if the id is negative.
 */
static pg_attribute_always_inline Datum
get_shard(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	int64		id = seqid_checked_id(layout, PG_GETARG_INT64(0));

	PG_RETURN_INT32((int32) snowflake_id_shard(layout, id));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_shard, get_shard, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_shard, get_shard, snowflake_53);

/*
 * snowflake_parts(id bigint) returns (created_at, shard, sequence)
 *	  Returns the time in milliseconds, the shard and the sequence of an id as a row.
 *	  Errors: 22003 if the id is negative.
 */
static pg_attribute_always_inline Datum
get_parts(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	int64		id = seqid_checked_id(layout, PG_GETARG_INT64(0));
	Datum		values[3];
	bool		nulls[3] = {false};

	values[0] = TimestampTzGetDatum(id_timestamp(layout, id));
	values[1] = Int32GetDatum((int32) snowflake_id_shard(layout, id));
	values[2] = Int32GetDatum((int32) snowflake_id_sequence(layout, id));
	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_parts, get_parts, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_parts, get_parts, snowflake_53);

/*
 * snowflake_make(at timestamptz, shard bigint, sequence int) returns bigint
 *	  Returns the id with this time, truncated to the millisecond, shard and sequence.
 *	  Errors: 22003 if the time is not between 2023-01-01 and 2092-09-06; 22023 if the
 *	  shard is not between 0 and 1023, or the sequence not between 0 and 4095.
 */
static pg_attribute_always_inline Datum
make_id(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	int64		ms = checked_ms(layout, PG_GETARG_TIMESTAMPTZ(0));
	int64		shard = PG_GETARG_INT64(1);
	int32		sequence = PG_GETARG_INT32(2);

	seqid_check_shard(layout, shard);
	check_sequence(layout, sequence);
	PG_RETURN_INT64(snowflake_id(layout, ms, shard, sequence));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_make, make_id, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_make, make_id, snowflake_53);

/*
 * The id of a time with a shard and a sequence.  A time before the layout begins gives the
 * smallest of all ids, a time after its end the largest.
 */
static pg_attribute_always_inline int64
bound_id(const SnowflakeLayout *layout, TimestampTz time, int64 shard, int64 sequence)
{
	TimestampTz first = pg_time_of_unix_ms(layout->epoch_unix_ms);

	if (time < first)
		return 0;
	if (time >= pg_time_of_unix_ms(snowflake_last_ms(layout) + 1))
		return snowflake_max_id(layout);
	return snowflake_id(layout, layout->epoch_unix_ms + (time - first) / 1000, shard, sequence);
}

/*
 * snowflake_first(at timestamptz) returns bigint
 *	  The smallest id of that millisecond.  A time out of range gives the smallest or the
 *	  largest of all ids.
 */
static pg_attribute_always_inline Datum
first_id(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	PG_RETURN_INT64(bound_id(layout, PG_GETARG_TIMESTAMPTZ(0), 0, 0));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_first, first_id, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_first, first_id, snowflake_53);

/*
 * snowflake_last(at timestamptz) returns bigint
 *	  The largest id of that millisecond.  A time out of range gives the smallest or the
 *	  largest of all ids.
 */
static pg_attribute_always_inline Datum
last_id(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	PG_RETURN_INT64(bound_id(layout, PG_GETARG_TIMESTAMPTZ(0),
							 snowflake_max_shard(layout), snowflake_max_sequence(layout)));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_last, last_id, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_last, last_id, snowflake_53);
