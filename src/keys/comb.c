/*
 * comb.c
 *	  Issues COMBs: UUIDs that increase over all backends of a database.
 *
 * A word in shared memory, one for each database, holds the last tick (see
 * comb_layout.h) that was handed out.  The next is the clock's, or that one plus 1
 * if the clock is not beyond it; whoever moves the word owns the ticks it passed.
 * So no two COMBs of a database and a server's life share a tick, and their order
 * is that in which they were drawn; the random bits behind the tick make them
 * unique beyond that: over restarts, standbys, databases and other servers.
 *
 * A clock that was set back costs nothing but accuracy: COMBs go on from the
 * last one.  How far they are ahead does not grow, see pace.h, whatever is drawn:
 * otherwise anybody could drive the word, and with it the durable mark, into the
 * future.  It is milliseconds that are compared: COMBs that are drawn within 61
 * ns of each other are ahead of the clock by some ticks, and need not wait.
 *
 * After a restart or a promotion they go on above the durable mark, so that
 * their order survives it; on a standby, which can log nothing, they are in order
 * within its own life.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "clock/clock_mark.h"
#include "clock/pace.h"
#include "clock/transaction_slot.h"
#include "fmgr.h"
#include "keys/comb_check.h"
#include "keys/key_run.h"
#include "pg/entropy.h"
#include "pg/pg_epoch.h"
#include "pg/wall_clock.h"
#include "port/atomics.h"
#include "state/database_state.h"
#include "state/guc.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/*
 * How many ticks comb_uuids() reserves at a time, at most.  They are handed out
 * while other backends already draw later ones, so this must not be long: 16 us.
 */
#define COMB_RUN_TICKS 256

/* The tick of a reading of the clock, 0 before 1970. */
static inline int64
tick_of_clock(WallTime now)
{
	if (unlikely(now.unix_ms < 0))
		return 0;
	return comb_tick_of_ns(Min(now.unix_ms, COMB_MAX_UNIX_MS), now.ns);
}

/* Where the ticks of this backend begin; see seqid_key_floor_ms. */
static inline int64
floor_tick(void)
{
	return comb_tick_of_ns(seqid_key_floor_ms + 1, 0);
}

/* Moves the word from last past the run; false if another backend was first. */
static inline bool
claim_run(pg_atomic_uint64 *word, uint64 *last, int64 first, int at_most,
		  int *reserved)
{
	*reserved = (int) Min((int64) at_most, comb_tick_room(first));
	return pg_atomic_compare_exchange_u64(word, last,
										  (uint64) (first + *reserved - 1));
}

/* The rare case: the word, or the floor, is in a millisecond still to come. */
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

		/* The clock must not be older than the word, as in shard_clock.c. */
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
	 * The clock is read once: who was faster has moved the word to it or past
	 * it, and the one after is ours if we are quick.
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
 * Reserves consecutive ticks of one millisecond and returns the first; *reserved
 * is how many, at least 1 and at most at_most.  Takes no lock; when a millisecond
 * is used up it waits, interruptibly, for the clock to tick.  For the durable
 * mark see clock_mark.h.
 */
static inline int64
reserve_comb_ticks(int at_most, int *reserved)
{
	int64		first;

	seqid_register_writer();
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
	return uuid_store(palloc(UUID_LEN), comb_compose(tick, random));
}

/*
 * comb_uuid() returns uuid
 *	  A COMB greater than all that any backend of the database drew before.  2200H when the
 *	  time of the format is over.
 */
PG_FUNCTION_INFO_V1(comb_uuid);
Datum
comb_uuid(PG_FUNCTION_ARGS)
{
	int			reserved;

	PG_RETURN_UUID_P(comb_at_tick(reserve_comb_ticks(1, &reserved)));
}

static int64
reserve_run(const SnowflakeLayout *layout pg_attribute_unused(),
			int shard pg_attribute_unused(), int at_most, int *reserved)
{
	return reserve_comb_ticks(at_most, reserved);
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
 *	  The next count COMBs in ascending order, none for 0.  22023 for a
 *	  negative count.
 */
PG_FUNCTION_INFO_V1(comb_uuids);
Datum
comb_uuids(PG_FUNCTION_ARGS)
{
	return seqid_next_of_run(fcinfo, &comb_run, NULL, 0,
							 seqid_checked_count(PG_GETARG_INT64(0)));
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
	int64		tick = seqid_checked_comb_tick(PG_GETARG_TIMESTAMPTZ(0));

	PG_RETURN_UUID_P(comb_at_tick(tick));
}

/* The tick of a COMB that is not from the future. */
static int64
validated_tick(const pg_uuid_t *uuid)
{
	int64		tick = comb_tick(seqid_checked_comb(uuid));
	int64		ahead_ms = comb_tick_ms(tick) - wall_clock_read_ms();

	seqid_require_settings();
	if (ahead_ms > seqid_max_clock_regression_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uuid %s is from the future",
						DatumGetCString(DirectFunctionCall1(uuid_out,
															UUIDPGetDatum(uuid)))),
				 errdetail("Its time is %lld ms ahead of the clock, and at most %.0f ms are allowed.",
						   (long long) ahead_ms,
						   seqid_max_clock_regression_ms)));
	return tick;
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

	(void) validated_tick(uuid);
	PG_RETURN_UUID_P(uuid);
}

/*
 * comb_uuid_witness(id uuid) returns uuid
 *	  The argument.  From here on, COMBs of this database are greater than it, also
 *	  after a restart.  Errors as comb_uuid_validate().
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
