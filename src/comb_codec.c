/*
 * comb_codec.c
 *	  Takes COMBs apart, puts them together, and reorders their bytes.
 *
 * All but comb_uuid_at() and comb_uuid_validate() are pure functions of their
 * arguments and may stand in indexes, generated columns and constraints.
 */
#include "postgres.h"

#include "comb_layout.h"
#include "entropy.h"
#include "fmgr.h"
#include "guc.h"
#include "pg_epoch.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "wall_clock.h"

/*
 * SQL Server compares the bytes of a uniqueidentifier, as printed, in this
 * order: source_to_mssql[k] is the place that counts k-th.
 */
static const uint8 source_to_mssql[UUID_LEN] = {
	10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0
};

static void
report_not_a_comb(const pg_uuid_t *uuid)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("uuid %s is not a COMB",
					DatumGetCString(DirectFunctionCall1(uuid_out,
														UUIDPGetDatum(uuid)))),
			 errdetail("A COMB is a UUID of version 7 and variant 10.")));
}

static UuidHalves
checked_comb(const pg_uuid_t *uuid)
{
	UuidHalves	halves = uuid_halves(uuid);

	if (!comb_is_valid(halves))
		report_not_a_comb(uuid);
	return halves;
}

static int64
checked_tick(TimestampTz time)
{
	int64		first = UNIX_EPOCH_PG_US;
	int64		last = first + COMB_MAX_UNIX_MS * COMB_US_PER_MS + 999;

	/* Also refuses the infinities, which are the extremes of int64. */
	if (time < first || time > last)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is out of range for a COMB: \"%s\"",
						timestamptz_to_str(time)),
				 errdetail("A COMB can tell times from 1970-01-01 00:00:00 UTC to the year 10889.")));
	return comb_tick_of_us(time - first);
}

/*
 * comb_uuid_at(created_at timestamptz) returns uuid
 *	  A COMB with that time and random bits behind it.  22003 for a time that
 *	  the format cannot tell.
 */
PG_FUNCTION_INFO_V1(comb_uuid_at);
Datum
comb_uuid_at(PG_FUNCTION_ARGS)
{
	int64		tick = checked_tick(PG_GETARG_TIMESTAMPTZ(0));
	uint64		random;

	seqid_random_bytes(&random, sizeof(random));
	PG_RETURN_UUID_P(uuid_from_halves(comb_compose(tick, random)));
}

/*
 * comb_uuid_timestamp(id uuid) returns timestamptz
 *	  Its time, to the microsecond.  22023 if it is not a COMB.
 */
PG_FUNCTION_INFO_V1(comb_uuid_timestamp);
Datum
comb_uuid_timestamp(PG_FUNCTION_ARGS)
{
	UuidHalves	halves = checked_comb(PG_GETARG_UUID_P(0));

	PG_RETURN_TIMESTAMPTZ(pg_time_of_unix_us(comb_tick_us(comb_tick(halves))));
}

/*
 * comb_uuid_first(created_at timestamptz) returns uuid
 *	  The smallest COMB of that microsecond.  22003 for a time that the format
 *	  cannot tell.
 */
PG_FUNCTION_INFO_V1(comb_uuid_first);
Datum
comb_uuid_first(PG_FUNCTION_ARGS)
{
	int64		tick = checked_tick(PG_GETARG_TIMESTAMPTZ(0));

	PG_RETURN_UUID_P(uuid_from_halves(comb_compose(tick, 0)));
}

/*
 * comb_uuid_last(created_at timestamptz) returns uuid
 *	  The largest COMB of that microsecond.  22003 for a time that the format
 *	  cannot tell.
 */
PG_FUNCTION_INFO_V1(comb_uuid_last);
Datum
comb_uuid_last(PG_FUNCTION_ARGS)
{
	TimestampTz time = PG_GETARG_TIMESTAMPTZ(0);
	int64		tick = checked_tick(time);
	int64		us = time - UNIX_EPOCH_PG_US;

	/*
	 * The tick before that in which the next microsecond begins.  There is no
	 * overflow: of the very last microsecond this is COMB_MAX_TICK.
	 */
	tick = comb_tick_of_us(us + 1) - 1;
	PG_RETURN_UUID_P(uuid_from_halves(comb_compose(tick, COMB_RANDOM_MASK)));
}

/*
 * comb_uuid_is_valid(id uuid) returns boolean
 *	  Whether it is a UUID of version 7 and variant 10.
 */
PG_FUNCTION_INFO_V1(comb_uuid_is_valid);
Datum
comb_uuid_is_valid(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_is_valid(uuid_halves(PG_GETARG_UUID_P(0))));
}

/*
 * comb_uuid_validate(id uuid) returns uuid
 *	  The argument.  22023 if it is not a COMB, or if its time is ahead of the
 *	  clock by more than seqid.max_clock_regression.
 */
PG_FUNCTION_INFO_V1(comb_uuid_validate);
Datum
comb_uuid_validate(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);
	int64		tick = comb_tick(checked_comb(uuid));
	int64		ahead_ms = comb_tick_ms(tick) - wall_clock_read_ms();

	if (ahead_ms > seqid_max_clock_regression_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uuid %s is from the future",
						DatumGetCString(DirectFunctionCall1(uuid_out,
															UUIDPGetDatum(uuid)))),
				 errdetail("Its time is %lld ms ahead of the clock, and at most %.0f ms are allowed.",
						   (long long) ahead_ms,
						   seqid_max_clock_regression_ms)));
	PG_RETURN_UUID_P(uuid);
}

/*
 * comb_uuid_to_mssql(id uuid) returns uuid
 *	  The UUID that SQL Server sorts where PostgreSQL sorts the argument.
 */
PG_FUNCTION_INFO_V1(comb_uuid_to_mssql);
Datum
comb_uuid_to_mssql(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *source = PG_GETARG_UUID_P(0);
	pg_uuid_t  *mssql = palloc(UUID_LEN);

	for (int k = 0; k < UUID_LEN; k++)
		mssql->data[source_to_mssql[k]] = source->data[k];
	PG_RETURN_UUID_P(mssql);
}

/*
 * comb_uuid_from_mssql(id uuid) returns uuid
 *	  The inverse of comb_uuid_to_mssql.
 */
PG_FUNCTION_INFO_V1(comb_uuid_from_mssql);
Datum
comb_uuid_from_mssql(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *mssql = PG_GETARG_UUID_P(0);
	pg_uuid_t  *source = palloc(UUID_LEN);

	for (int k = 0; k < UUID_LEN; k++)
		source->data[k] = mssql->data[source_to_mssql[k]];
	PG_RETURN_UUID_P(source);
}
