/*
 * comb_codec.c
 *	  Takes COMBs apart, puts them together, and reorders their bytes.
 *
 * Pure functions of their arguments, which may stand in indexes, generated
 * columns and constraints.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "fmgr.h"
#include "keys/comb_check.h"
#include "pg/pg_epoch.h"
#include "pg/text_input.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/*
 * SQL Server compares the bytes of a uniqueidentifier, as printed, in this
 * order: source_to_mssql[k] is the place that counts k-th.
 */
static const uint8 source_to_mssql[UUID_LEN] = {
	10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0
};

/* 32 digits, a hyphen after every four of them but the last, and braces. */
#define UUID_TEXT_MAX_BYTES	(32 + 7 + 2)

static TimestampTz
comb_time(const pg_uuid_t *id)
{
	return pg_time_of_unix_us(comb_tick_us(comb_tick(seqid_checked_comb(id))));
}

/*
 * comb_uuid_timestamp(id uuid) returns timestamptz
 *	  Its time, to the microsecond.  22023 if it is not a COMB.
 */
PG_FUNCTION_INFO_V1(comb_uuid_timestamp);
Datum
comb_uuid_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(comb_time(PG_GETARG_UUID_P(0)));
}

/*
 * comb_uuid_timestamp_text(id text) returns timestamptz
 *	  The same of a COMB that is written as text, for programs that have keys as
 *	  text only.  22P02 if it is no UUID.
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
 * comb_uuid_first(created_at timestamptz) returns uuid
 *	  The smallest COMB of that microsecond.  22003 for a time that the format
 *	  cannot tell.
 */
PG_FUNCTION_INFO_V1(comb_uuid_first);
Datum
comb_uuid_first(PG_FUNCTION_ARGS)
{
	int64		tick = seqid_checked_comb_tick(PG_GETARG_TIMESTAMPTZ(0));

	PG_RETURN_UUID_P(uuid_store(palloc(UUID_LEN), comb_compose(tick, 0)));
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
	int64		tick;

	(void) seqid_checked_comb_tick(time);

	/*
	 * The tick before that in which the next microsecond begins.  There is no
	 * overflow: of the very last microsecond this is COMB_MAX_TICK.
	 */
	tick = comb_tick_of_us(time - UNIX_EPOCH_PG_US + 1) - 1;
	PG_RETURN_UUID_P(uuid_store(palloc(UUID_LEN), comb_compose(tick, COMB_RANDOM_MASK)));
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
