/*
 * comb.c
 *	  Generates COMBs: UUIDs of version 7 that ascend over all backends of a database.
 *
 * Each database has a counter in shared memory, which contains the last tick that was
 * reserved; see comb_layout.h.  The next tick is that of the clock, or the last tick plus
 * 1 if the clock is not past it.  A backend that advances the counter owns the ticks in
 * between.  Therefore no two COMBs of a database and server lifetime have the same tick,
 * and they ascend in the order in which they were generated.  The random bits make COMBs
 * unique across server lifetimes, standbys, databases and servers.
 *
 * If the clock was set back, COMBs continue from the last one, with times ahead of the
 * clock.  Their lead must not grow: otherwise any user could move the counter, and with it
 * the mark, into the future.  pace.h explains how that is prevented.  The lead is measured
 * in whole milliseconds, so that COMBs within one millisecond need not wait.
 *
 * After a restart or a promotion COMBs start above the mark, so that they still ascend.
 * A standby cannot write WAL.  Its COMBs ascend within its server lifetime only.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "clock/clock_mark.h"
#include "clock/pace.h"
#include "clock/transaction_slot.h"
#include "fmgr.h"
#include "keys/comb_check.h"
#include "keys/key_run.h"
#include "port/atomics.h"
#include "server/database_state.h"
#include "server/entropy.h"
#include "server/guc.h"
#include "server/pg_epoch.h"
#include "server/wall_clock.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/*
 * Largest run of comb_uuids().  Other backends reserve later ticks before the keys of a
 * run are returned, so a run must be short: 256 ticks are 16 us.
 */
#define COMB_RUN_TICKS 256

/* Returns the tick of a clock reading, or 0 if that is before 1970. */
static inline int64
tick_of_clock(WallTime now)
{
	if (unlikely(now.unix_ms < 0))
		return 0;
	return comb_tick_of_ns(Min(now.unix_ms, COMB_MAX_UNIX_MS), now.ns);
}

/* Returns the first tick above the floor; see seqid_key_floor_ms. */
static inline int64
floor_tick(void)
{
	return comb_tick_of_ns(seqid_key_floor_ms + 1, 0);
}

/* Advances the counter over a run.  Returns false if another backend was faster. */
static inline bool
claim_run(pg_atomic_uint64 *word, uint64 *last, int64 first, int at_most,
		  int *reserved)
{
	*reserved = (int) Min((int64) at_most, comb_tick_room(first));
	return pg_atomic_compare_exchange_u64(word, last,
										  (uint64) (first + *reserved - 1));
}

/* Reserves ticks if the counter, or the floor, is ahead of the clock's millisecond. */
static pg_noinline int64
reserve_ahead_of_clock(pg_atomic_uint64 *word, int at_most, int *reserved)
{
	Pace		pace = PACE_START;

	for (;;)
	{
		uint64		last = pg_atomic_read_u64(word);
		int64		last_ms = comb_tick_ms((int64) last);
		WallTime	now;
		int64		clock_now;
		int64		first;

		/* The clock must be read after the counter, as in shard_clock.c. */
		pg_read_barrier();
		now = wall_clock_read();
		clock_now = tick_of_clock(now);
		first = Max((int64) last + 1, Max(clock_now, floor_tick()));

		if (first > COMB_MAX_TICK)
			ereport(ERROR,
					(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
					 errmsg("time of COMB UUIDs is used up"),
					 errdetail("The 48 bits of time end at %s.",
							   seqid_utc_text(COMB_MAX_UNIX_MS))));

		if (comb_tick_ms(first) > comb_tick_ms(clock_now) &&
			!pace_allows(&pace, last_ms, comb_tick_ms(first)))
			pace_wait(&pace, last_ms, now.unix_ms);
		else if (claim_run(word, &last, first, at_most, reserved))
			return first;
	}
}

static inline int64
reserve_uncovered(int at_most, int *reserved)
{
	pg_atomic_uint64 *word = &seqid_database_state()->comb.tick;
	int64		clock_now = tick_of_clock(wall_clock_read());
	uint64		last = pg_atomic_read_u64(word);
	int64		earliest = Max(clock_now, floor_tick());
	int64		first;

	/*
	 * The clock is read only once.  A faster backend has advanced the counter
	 * to that time or past it, so the next tick follows the counter.
	 */
	do
	{
		first = Max((int64) last + 1, earliest);
		if (unlikely(comb_tick_ms(first) > comb_tick_ms(clock_now)))
			return reserve_ahead_of_clock(word, at_most, reserved);
	} while (unlikely(!claim_run(word, &last, first, at_most, reserved)));

	return first;
}

/*
 * Reserves 1 to at_most consecutive ticks of one millisecond, stores their number in
 * *reserved, and returns the first.  It takes no lock.  If a millisecond is used up, it
 * waits for the next; the wait can be interrupted.  It can write WAL and flush it; see
 * clock_mark.h.
 */
static inline int64
reserve_comb_ticks(int at_most, int *reserved)
{
	int64		first;

	seqid_list_transaction();
	do
		first = reserve_uncovered(at_most, reserved);
	while (unlikely(!seqid_cover_with_mark(comb_tick_ms(first))));
	return first;
}

static inline pg_uuid_t *
comb_at_tick(int64 tick)
{
	uint64		random;

	seqid_random_bytes(&random, sizeof(random));
	return uuid_from_halves(comb_compose(tick, random));
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

	PG_RETURN_UUID_P(comb_at_tick(reserve_comb_ticks(1, &reserved)));
}

static int64
reserve_run(int shard pg_attribute_unused(), int at_most, int *reserved)
{
	return reserve_comb_ticks(at_most, reserved);
}

static Datum
key_of_run(int shard pg_attribute_unused(), int64 tick)
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
	return seqid_next_of_run(fcinfo, &comb_run, 0,
							 seqid_checked_count(PG_GETARG_INT64(0)));
}

/*
 * comb_uuid_at(created_at timestamptz) returns uuid
 *	  Returns a COMB with this time, to the microsecond, and random bits.
 *	  Errors: 22003 if the time is not between 1970-01-01 and 10889-08-02.
 */
PG_FUNCTION_INFO_V1(comb_uuid_at);
Datum
comb_uuid_at(PG_FUNCTION_ARGS)
{
	int64		tick = seqid_checked_comb_tick(PG_GETARG_TIMESTAMPTZ(0));

	PG_RETURN_UUID_P(comb_at_tick(tick));
}

/* Returns the tick of a COMB.  Raises 22023 if it is too far ahead of the clock. */
static int64
validated_tick(const pg_uuid_t *uuid)
{
	int64		tick = comb_tick(seqid_checked_comb(uuid));
	int64		ahead_ms = comb_tick_ms(tick) - wall_clock_read_ms();

	seqid_require_settings();
	if (ahead_ms > seqid_max_clock_regression_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uuid %s is in the future",
						DatumGetCString(DirectFunctionCall1(uuid_out,
															UUIDPGetDatum(uuid)))),
				 errdetail("Its time is %lld ms ahead of the clock, and \"seqid.max_clock_regression\" is %.0f ms.",
						   (long long) ahead_ms, seqid_max_clock_regression_ms),
				 errhint("Compare the clocks of this server and of the server that generated the UUID.")));
	return tick;
}

/*
 * comb_uuid_validate(id uuid) returns uuid
 *	  Returns the argument.
 *	  Errors: 22023 if it is not a COMB, or if it is ahead of the clock by more than
 *	  seqid.max_clock_regression.
 */
PG_FUNCTION_INFO_V1(comb_uuid_validate);
Datum
comb_uuid_validate(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);

	(void) validated_tick(uuid);
	PG_RETURN_UUID_P(uuid);
}

/*
 * comb_uuid_witness(id uuid) returns uuid
 *	  Returns the argument.  All COMBs that this database generates later are greater,
 *	  also after a restart.
 *	  Errors: those of comb_uuid_validate(); 55000 if the mark is missing.
 */
PG_FUNCTION_INFO_V1(comb_uuid_witness);
Datum
comb_uuid_witness(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);
	int64		tick = validated_tick(uuid);

	seqid_atomic_raise(&seqid_database_state()->comb.tick, (uint64) tick);
	(void) seqid_cover_with_mark(comb_tick_ms(tick));
	PG_RETURN_UUID_P(uuid);
}
