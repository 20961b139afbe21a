/*
 * comb_codec.c
 *	  Decodes COMBs, composes bounds, and reorders bytes; see comb_layout.h for the
 *	  layout.
 *
 * The functions depend only on their arguments, so they can be used in indexes, generated
 * columns, CHECK constraints and partition bounds.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "codec/comb_codec.h"
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

#define COMB_FIRST_TIME	UNIX_EPOCH_PG_US
#define COMB_LAST_TIME	(UNIX_EPOCH_PG_US + COMB_MAX_UNIX_US)

char	   *
seqid_uuid_text(const pg_uuid_t *uuid)
{
	return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(uuid)));
}

int64
seqid_checked_comb(const pg_uuid_t *uuid)
{
	uint128		comb = uuid_number(uuid);

	if (!uuid_has_version(comb, COMB_VERSION))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uuid %s is not a COMB", seqid_uuid_text(uuid)),
				 errdetail("A COMB is a UUID of version 7 and variant 10.")));
	return comb_tick(comb);
}

int64
seqid_checked_comb_time(TimestampTz time)
{
	/* The infinities are out of range, too: they are the extremes of int64. */
	if (time < COMB_FIRST_TIME || time > COMB_LAST_TIME)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is out of range for a COMB: \"%s\"",
						timestamptz_to_str(time)),
				 errdetail("A COMB can contain times from %s to %s.",
						   seqid_utc_text(0), seqid_utc_text(COMB_MAX_UNIX_MS))));
	return comb_tick_of_us(time - UNIX_EPOCH_PG_US);
}

static TimestampTz
comb_time(const pg_uuid_t *id)
{
	return pg_time_of_unix_us(comb_tick_us(seqid_checked_comb(id)));
}

/* The time of a COMB, in microseconds. */
PG_FUNCTION_INFO_V1(comb_uuid_timestamp);
Datum
comb_uuid_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(comb_time(PG_GETARG_UUID_P(0)));
}

/* The same for a COMB in text form, for programs that have keys only as text. */
PG_FUNCTION_INFO_V1(comb_uuid_timestamp_text);
Datum
comb_uuid_timestamp_text(PG_FUNCTION_ARGS)
{
	text	   *input = seqid_short_text(PG_GETARG_DATUM(0), UUID_TEXT_MAX_BYTES, "uuid");
	char	   *written = text_to_cstring(input);

	PG_RETURN_TIMESTAMPTZ(comb_time(DatumGetUUIDP(DirectFunctionCall1(uuid_in, CStringGetDatum(written)))));
}

/* If the time is out of range, returns the smallest or the largest possible COMB. */
static Datum
bound_comb(TimestampTz time, bool largest)
{
	uint128		comb;

	if (time < COMB_FIRST_TIME)
		comb = comb_compose(0, 0);
	else if (time > COMB_LAST_TIME)
		comb = comb_compose(COMB_MAX_TICK, COMB_RANDOM_MASK);
	else
		comb = (largest ? comb_last_of_us : comb_first_of_us) (time - UNIX_EPOCH_PG_US);
	return UUIDPGetDatum(uuid_store(palloc(UUID_LEN), comb));
}

/* The smallest COMB of a microsecond. */
PG_FUNCTION_INFO_V1(comb_uuid_first);
Datum
comb_uuid_first(PG_FUNCTION_ARGS)
{
	return bound_comb(PG_GETARG_TIMESTAMPTZ(0), false);
}

/* The largest COMB of a microsecond. */
PG_FUNCTION_INFO_V1(comb_uuid_last);
Datum
comb_uuid_last(PG_FUNCTION_ARGS)
{
	return bound_comb(PG_GETARG_TIMESTAMPTZ(0), true);
}

/* Whether a UUID has the version 7 and the variant of RFC 9562. */
PG_FUNCTION_INFO_V1(comb_uuid_is_valid);
Datum
comb_uuid_is_valid(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(uuid_has_version(uuid_number(PG_GETARG_UUID_P(0)), COMB_VERSION));
}

/*
 * A UUID with the bytes of the argument in another order.  SQL Server sorts the results as
 * PostgreSQL sorts the arguments.
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

/* The inverse of comb_uuid_to_mssql(). */
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
