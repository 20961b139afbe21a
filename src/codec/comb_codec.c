/*
 * comb_codec.c
 *	  Decodes COMBs, composes bounds, and reorders bytes; see comb_layout.h for the
 *	  layout.
 *
 * The functions depend on their arguments only.  They can be used in indexes, generated
 * columns, CHECK constraints and partition bounds.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "codec/comb_check.h"
#include "fmgr.h"
#include "pg/pg_epoch.h"
#include "pg/text_input.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/*
 * The order in which SQL Server compares the bytes of a uniqueidentifier in its text form:
 * source_to_mssql[0] is the position of the most significant byte.
 */
static const uint8 source_to_mssql[UUID_LEN] = {
	10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0
};

/* 32 digits, 7 hyphens between groups of four, and a pair of braces. */
#define UUID_TEXT_MAX_BYTES	(32 + 7 + 2)

static TimestampTz
comb_time(const pg_uuid_t *id)
{
	return pg_time_of_unix_us(comb_tick_us(comb_tick(seqid_checked_comb(id))));
}

/*
 * comb_uuid_timestamp(id uuid) returns timestamptz
 *	  Returns the time of a COMB, in microseconds.
 *	  Errors: 22023 if the UUID is not a COMB.
 */
PG_FUNCTION_INFO_V1(comb_uuid_timestamp);
Datum
comb_uuid_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(comb_time(PG_GETARG_UUID_P(0)));
}

/*
 * comb_uuid_timestamp_text(id text) returns timestamptz
 *	  Returns the time of a COMB in text form, in microseconds.  It is meant for programs
 *	  that have keys as text only.
 *	  Errors: 22P02 if the text is not a UUID; 22023 if the UUID is not a COMB.
 */
PG_FUNCTION_INFO_V1(comb_uuid_timestamp_text);
Datum
comb_uuid_timestamp_text(PG_FUNCTION_ARGS)
{
	text	   *input = seqid_short_text(PG_GETARG_DATUM(0), UUID_TEXT_MAX_BYTES, "uuid");
	char	   *written = text_to_cstring(input);

	PG_RETURN_TIMESTAMPTZ(comb_time(DatumGetUUIDP(DirectFunctionCall1(uuid_in, CStringGetDatum(written)))));
}

/*
 * The smallest or the largest COMB of a microsecond.  A time before 1970 gives the smallest
 * of all COMBs, a time after the last one the largest.
 */
static UuidHalves
bound_comb(TimestampTz time, bool largest)
{
	int64		us;

	if (time < UNIX_EPOCH_PG_US)
		return comb_compose(0, 0);
	if (time > pg_time_of_unix_us(COMB_MAX_UNIX_MS * COMB_US_PER_MS + 999))
		return comb_compose(COMB_MAX_TICK, COMB_RANDOM_MASK);

	us = time - UNIX_EPOCH_PG_US;

	/*
	 * The last tick is the one before that in which the next microsecond
	 * begins.
	 */
	return largest ? comb_compose(comb_tick_of_us(us + 1) - 1, COMB_RANDOM_MASK) :
		comb_compose(comb_tick_of_us(us), 0);
}

/*
 * comb_uuid_first(at timestamptz) returns uuid
 *	  The smallest COMB of that microsecond.  A time out of range gives the smallest or the
 *	  largest of all COMBs.
 */
PG_FUNCTION_INFO_V1(comb_uuid_first);
Datum
comb_uuid_first(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(uuid_store(palloc(UUID_LEN), bound_comb(PG_GETARG_TIMESTAMPTZ(0), false)));
}

/*
 * comb_uuid_last(at timestamptz) returns uuid
 *	  The largest COMB of that microsecond.  A time out of range gives the smallest or the
 *	  largest of all COMBs.
 */
PG_FUNCTION_INFO_V1(comb_uuid_last);
Datum
comb_uuid_last(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(uuid_store(palloc(UUID_LEN), bound_comb(PG_GETARG_TIMESTAMPTZ(0), true)));
}

/*
 * comb_uuid_is_valid(id uuid) returns boolean
 *	  Returns true if the UUID is of version 7 and variant 10.
 */
PG_FUNCTION_INFO_V1(comb_uuid_is_valid);
Datum
comb_uuid_is_valid(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_is_valid(uuid_halves(PG_GETARG_UUID_P(0))));
}

/*
 * comb_uuid_to_mssql(id uuid) returns uuid
 *	  Returns a UUID with the bytes of the argument in another order.  SQL Server sorts
 *	  the results as PostgreSQL sorts the arguments.
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
 *	  The inverse of comb_uuid_to_mssql().
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
