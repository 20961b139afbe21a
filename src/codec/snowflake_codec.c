/*
 * snowflake_codec.c
 *	  Decodes and composes snowflake ids; see snowflake_layout.h for the layouts.
 *
 * The functions depend only on their arguments, so they can be used in indexes, generated
 * columns, CHECK constraints and partition bounds.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "codec/snowflake_sql.h"
#include "fmgr.h"
#include "pg/pg_epoch.h"
#include "pg/sql_function.h"
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

/* Returns -1 for a time before those of a layout, 1 for a time after them, and 0 otherwise. */
static int
side_of_layout(const SnowflakeLayout *layout, TimestampTz time)
{
	if (time < pg_time_of_unix_ms(layout->epoch_unix_ms))
		return -1;
	return time >= pg_time_of_unix_ms(snowflake_last_ms(layout) + 1);
}

/* The id of a time of the layout, with a shard and a sequence. */
static int64
id_at(const SnowflakeLayout *layout, TimestampTz time, int64 shard, int64 sequence)
{
	return snowflake_id(layout, (time - UNIX_EPOCH_PG_US) / 1000, shard, sequence);
}

static TimestampTz
id_timestamp(const SnowflakeLayout *layout, int64 id)
{
	return pg_time_of_unix_ms(snowflake_id_unix_ms(layout, id));
}

/* The time of an id, in milliseconds. */
SNOWFLAKE_FUNCTIONS(snowflake_timestamp, snowflake53_timestamp)
{
	PG_RETURN_TIMESTAMPTZ(id_timestamp(layout, seqid_checked_id(layout, PG_GETARG_INT64(0))));
}

/* The shard of an id.  22003 if the layout has no such id. */
SNOWFLAKE_FUNCTIONS(snowflake_shard, snowflake53_shard)
{
	int64		id = seqid_checked_id(layout, PG_GETARG_INT64(0));

	PG_RETURN_INT32((int32) snowflake_id_shard(layout, id));
}

/* Returns (created_at timestamptz, shard int, sequence int). */
SNOWFLAKE_FUNCTIONS(snowflake_parts, snowflake53_parts)
{
	int64		id = seqid_checked_id(layout, PG_GETARG_INT64(0));
	Datum		values[3];
	bool		nulls[3] = {false};

	values[0] = TimestampTzGetDatum(id_timestamp(layout, id));
	values[1] = Int32GetDatum((int32) snowflake_id_shard(layout, id));
	values[2] = Int32GetDatum((int32) snowflake_id_sequence(layout, id));
	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/* The id with a time, which is truncated to the millisecond, a shard and a sequence. */
SNOWFLAKE_FUNCTIONS(snowflake_make, snowflake53_make)
{
	TimestampTz time = PG_GETARG_TIMESTAMPTZ(0);
	int64		shard = PG_GETARG_INT64(1);
	int32		sequence = PG_GETARG_INT32(2);

	/* The infinities are out of range, too: they are the extremes of int64. */
	if (side_of_layout(layout, time) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is out of range for a %s id: \"%s\"",
						layout->name, timestamptz_to_str(time)),
				 errdetail("A %s id can contain times from %s to %s.",
						   layout->name,
						   seqid_utc_text(layout->epoch_unix_ms),
						   seqid_utc_text(snowflake_last_ms(layout)))));
	seqid_check_shard(layout, shard);
	check_sequence(layout, sequence);
	PG_RETURN_INT64(id_at(layout, time, shard, sequence));
}

/*
 * The smallest or the largest id of a millisecond.  If the time is out of range, returns the
 * smallest or the largest possible id.
 */
static pg_attribute_always_inline int64
bound_id(const SnowflakeLayout *layout, TimestampTz time, int64 shard, int64 sequence)
{
	int			side = side_of_layout(layout, time);

	if (side != 0)
		return side < 0 ? 0 : snowflake_max_id(layout);
	return id_at(layout, time, shard, sequence);
}

/* The smallest id of a millisecond, with shard 0 and sequence number 0. */
SNOWFLAKE_FUNCTIONS(snowflake_first, snowflake53_first)
{
	PG_RETURN_INT64(bound_id(layout, PG_GETARG_TIMESTAMPTZ(0), 0, 0));
}

/* The largest id of a millisecond. */
SNOWFLAKE_FUNCTIONS(snowflake_last, snowflake53_last)
{
	PG_RETURN_INT64(bound_id(layout, PG_GETARG_TIMESTAMPTZ(0),
							 snowflake_max_shard(layout), snowflake_max_sequence(layout)));
}
