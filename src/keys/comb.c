/*
 * comb.c
 *	  Generates COMBs: UUIDs of version 7 that ascend over all backends of a database.
 *
 * The counter of a database, in shared memory, makes the times of COMBs unique and
 * ascending within a server lifetime; see counter.c.  The random bits behind the time
 * make COMBs unique beyond that: over restarts, standbys, databases and other servers.
 *
 * The counter has no limit: after the clock was set back, COMBs continue from the last
 * one, ahead of the clock.  It compares milliseconds.  COMBs that are generated within
 * 61 ns of each other are ahead of the clock by some ticks, and need not wait.
 *
 * After a restart or a promotion COMBs start above the durable mark, so their order
 * survives it.  A standby cannot write the mark, so its COMBs are in order within one
 * server lifetime only.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "clock/counter.h"
#include "codec/comb_check.h"
#include "fmgr.h"
#include "keys/key_run.h"
#include "pg/entropy.h"
#include "state/database_state.h"
#include "state/guc.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/*
 * Largest run of comb_uuids().  Other backends reserve later ticks before the keys of a
 * run are returned, so a run must be short: 256 ticks are 16 us.
 */
#define COMB_RUN_TICKS 256

static inline pg_uuid_t *
comb_at_tick(int64 tick)
{
	uint64		random;

	seqid_random_bytes(&random, sizeof(random));
	return uuid_store(palloc(UUID_LEN), comb_compose(tick, random));
}

/*
 * comb_uuid() returns uuid
 *	  Returns the next COMB, which is greater than all that this database generated
 *	  before.  On a standby, it is greater than all of its server lifetime.
 *	  Errors: 55000 if the mark is missing; 2200H after the year 10889, the end of the 48
 *	  bits of time.
 */
PG_FUNCTION_INFO_V1(comb_uuid);
Datum
comb_uuid(PG_FUNCTION_ARGS)
{
	int			reserved;

	PG_RETURN_UUID_P(comb_at_tick(seqid_reserve_ticks(NULL, 0, 1, 1, &reserved)));
}

static int64
reserve_run(const SnowflakeLayout *layout pg_attribute_unused(),
			int shard pg_attribute_unused(), int at_most, int *reserved)
{
	return seqid_reserve_ticks(NULL, 0, 1, at_most, reserved);
}

static Datum
key_of_run(const SnowflakeLayout *layout pg_attribute_unused(),
		   int shard pg_attribute_unused(), int64 tick)
{
	return UUIDPGetDatum(comb_at_tick(tick));
}

static const KeyRunKind comb_run = {
	.reserve = reserve_run,
	.key = key_of_run,
	.max_run_size = COMB_RUN_TICKS
};

/*
 * comb_uuids(count bigint) returns setof uuid
 *	  Returns the next count COMBs, in ascending order.  They are reserved in runs while
 *	  they are fetched.
 *	  Errors: 22023 if the count is negative; all errors of comb_uuid().
 */
PG_FUNCTION_INFO_V1(comb_uuids);
Datum
comb_uuids(PG_FUNCTION_ARGS)
{
	return seqid_next_of_run(fcinfo, &comb_run, NULL, 0,
							 seqid_checked_count(PG_GETARG_INT64(0)));
}

/*
 * comb_uuid_at(at timestamptz) returns uuid
 *	  Returns a COMB with this time, to the microsecond, and random bits.
 *	  Errors: 22003 if the time is not between 1970-01-01 and 10889-08-02.
 */
PG_FUNCTION_INFO_V1(comb_uuid_at);
Datum
comb_uuid_at(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(comb_at_tick(seqid_checked_comb_tick(PG_GETARG_TIMESTAMPTZ(0))));
}

/* Returns the tick of a COMB.  Raises 22023 if it is too far ahead of the clock. */
static int64
credible_tick(const pg_uuid_t *uuid)
{
	int64		tick = comb_tick(seqid_checked_comb(uuid));
	int64		lead_ms = tick_ms(COMB_FRACTION_BITS, tick) - wall_clock_read_ms();

	seqid_require_settings();
	if (lead_ms > seqid_max_lead_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uuid %s is in the future",
						DatumGetCString(DirectFunctionCall1(uuid_out,
															UUIDPGetDatum(uuid)))),
				 errdetail("Its time is %lld ms ahead of the clock, and \"seqid.max_lead\" is %.0f ms.",
						   (long long) lead_ms, seqid_max_lead_ms),
				 errhint("Compare the clocks of this server and of the server that generated the UUID.")));
	return tick;
}

/*
 * comb_uuid_witness(id uuid) returns uuid
 *	  Returns the argument.  All COMBs that this database generates later are greater,
 *	  also after a restart.
 *	  Errors: 22023 if it is not a COMB, or if it is ahead of the clock by more than
 *	  seqid.max_lead; 55000 if the mark is missing.
 */
PG_FUNCTION_INFO_V1(comb_uuid_witness);
Datum
comb_uuid_witness(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);
	int64		tick = credible_tick(uuid);

	seqid_atomic_raise(&seqid_database_state()->comb.tick, (uint64) tick);
	(void) seqid_cover_with_mark(tick_ms(COMB_FRACTION_BITS, tick));
	PG_RETURN_UUID_P(uuid);
}
