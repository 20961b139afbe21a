/*
 * comb.c
 *	  Generates COMBs: UUIDs of version 7 that ascend across all backends of a database.
 *
 * The counter of a database, in shared memory, makes the times of COMBs unique and ascending
 * within a server lifetime; see counter.c.  The random bits after the time make COMBs unique
 * beyond that, across restarts, standbys, databases and servers.
 *
 * The counter does not have a limit: if the clock is set back, COMBs continue from the last
 * one, ahead of the clock.  The lead is measured in whole milliseconds.  COMBs that are
 * generated within 61 ns of each other are some ticks ahead of the clock, but need not wait.
 *
 * After a restart or a promotion COMBs start above the durable mark, so their order survives
 * it.  A standby cannot write the mark, so its COMBs are in order only within one server
 * lifetime.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "clock/counter.h"
#include "codec/comb_codec.h"
#include "fmgr.h"
#include "keys/key_run.h"
#include "pg/entropy.h"
#include "state/database_state.h"
#include "state/guc.h"
#include "utils/timestamp.h"

/*
 * Largest run of comb_uuids().  Other backends reserve later ticks before the keys of a
 * run are returned, so a run must be short: 256 ticks are 16 us.
 */
#define COMB_RUN_TICKS 256

static inline Datum
comb_at_tick(int64 tick)
{
	uint64		random;

	seqid_random_bytes(&random, sizeof(random));
	return UUIDPGetDatum(uuid_store(palloc(UUID_LEN), comb_compose(tick, random)));
}

/* The next COMB. */
PG_FUNCTION_INFO_V1(comb_uuid);
Datum
comb_uuid(PG_FUNCTION_ARGS)
{
	int			reserved;

	return comb_at_tick(seqid_reserve_ticks(NULL, 0, 1, 1, &reserved));
}

/* The next COMBs, as many as the argument says. */
PG_FUNCTION_INFO_V1(comb_uuids);
Datum
comb_uuids(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	KeyRun	   *run;

	if (SRF_IS_FIRSTCALL())
		key_run_begin(fcinfo, PG_GETARG_INT64(0));
	context = SRF_PERCALL_SETUP();
	run = context->user_fctx;
	if (run->reserved == 0)
	{
		if (run->wanted == 0)
			SRF_RETURN_DONE(context);
		run->next_tick = seqid_reserve_ticks(NULL, 0, 1, key_run_size(run, COMB_RUN_TICKS),
											 &run->reserved);
		run->wanted -= run->reserved;
	}
	SRF_RETURN_NEXT(context, comb_at_tick(key_run_next(run)));
}

/* A COMB with a time, to the microsecond, and random bits. */
PG_FUNCTION_INFO_V1(comb_uuid_at);
Datum
comb_uuid_at(PG_FUNCTION_ARGS)
{
	return comb_at_tick(seqid_checked_comb_time(PG_GETARG_TIMESTAMPTZ(0)));
}

/* Makes all later COMBs of this database greater than a COMB, which it returns. */
PG_FUNCTION_INFO_V1(comb_uuid_witness);
Datum
comb_uuid_witness(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);
	int64		tick = seqid_checked_comb(uuid);
	int64		ms = tick_ms(COMB_FRACTION_BITS, tick);
	int64		lead_ms = ms - wall_clock_read_ms();

	seqid_require_settings();
	if (lead_ms > seqid_max_lead_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uuid %s is in the future", seqid_uuid_text(uuid)),
				 errdetail("Its time is %lld ms ahead of the clock, and \"seqid.max_lead\" is %.0f ms.",
						   (long long) lead_ms, seqid_max_lead_ms),
				 errhint("Compare the clocks of this server and of the server that generated the UUID.")));

	seqid_atomic_raise(&seqid_database_state()->comb.tick, (uint64) tick);
	(void) seqid_cover_with_mark(ms);
	PG_RETURN_UUID_P(uuid);
}
