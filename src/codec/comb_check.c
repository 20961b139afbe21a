/*
 * comb_check.c
 *	  Checks of arguments for all functions that take a COMB or its time.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "codec/comb_check.h"
#include "pg/pg_epoch.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

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

UuidHalves
seqid_checked_comb(const pg_uuid_t *uuid)
{
	UuidHalves	halves = uuid_halves(uuid);

	if (!comb_is_valid(halves))
		report_not_a_comb(uuid);
	return halves;
}

int64
seqid_checked_comb_tick(TimestampTz time)
{
	int64		first = UNIX_EPOCH_PG_US;
	int64		last = first + COMB_MAX_UNIX_MS * COMB_US_PER_MS + 999;

	/* The infinities are out of range, too: they are the extremes of int64. */
	if (time < first || time > last)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is out of range for a COMB: \"%s\"",
						timestamptz_to_str(time)),
				 errdetail("A COMB can contain times from %s to %s.",
						   seqid_utc_text(0), seqid_utc_text(COMB_MAX_UNIX_MS))));
	return comb_tick_of_us(time - first);
}
