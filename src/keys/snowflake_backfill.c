/*
 * snowflake_backfill.c
 *	  Generates snowflake ids for existing rows.
 *
 * These ids are composed from the times of the rows, in the order of the rows.  Only the shard
 * keeps them apart from other ids, because there is no record of the ids that a shard issued
 * in the past.  Therefore the function refuses a shard whose ids this server is allowed to
 * issue, or has issued since it started.
 *
 * The server can issue ids of the shard later, with the clock set back: a statement that began
 * before the shard was removed from seqid.allowed_shards can still issue them, and the shard
 * can be added to the list again.  Two invariants make these ids greater than those of rows:
 *
 * 1. The counter of the shard is raised to the tick of an id before the id is returned.  A
 *	  second word contains the value that backfills have left in the counter.  The two are
 *	  equal until a generator reserves a tick, so a backfill can follow another backfill, but
 *	  not a generator.
 *
 * 2. The durable mark covers the id, so keys of the next server lifetime are later.
 *
 * The function returns an id only after its millisecond has passed, so the counter is
 * not raised beyond the clock.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "clock/clock_mark.h"
#include "codec/snowflake_sql.h"
#include "fmgr.h"
#include "pg/pg_epoch.h"
#include "pg/wall_clock.h"
#include "state/guc.h"
#include "state/server_shard.h"
#include "state/shared_state.h"
#include "utils/timestamp.h"
#include "windowapi.h"

/* State of one statement. */
typedef struct Backfill
{
	int64		last_tick;		/* tick of the previous row's id */
	int64		last_ms;		/* time of the previous row */
} Backfill;

/* The time in milliseconds since 1970.  A time before the epoch counts as the epoch. */
static int64
created_ms(const SnowflakeLayout *layout, TimestampTz created_at)
{
	TimestampTz epoch = pg_time_of_unix_ms(layout->epoch_unix_ms);
	TimestampTz now = pg_time_of_unix_ms(wall_clock_read_ms() + 1);

	if (created_at >= now)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp is in the future: \"%s\"",
						timestamptz_to_str(created_at))));
	return layout->epoch_unix_ms + (Max(created_at, epoch) - epoch) / 1000;
}

static void
check_not_allowed(const SnowflakeLayout *layout, int64 shard)
{
	seqid_check_shard(layout, shard);
	seqid_require_settings();

	/* A session's own value, or an invalid one in the file, does not count. */
	if (seqid_allowed_shards_refused())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d cannot be used for existing rows", (int) shard),
				 errdetail("The value that was set for \"seqid.allowed_shards\" is not valid, or was not set in the configuration file, so any shard can be in use."),
				 errhint("Set \"seqid.allowed_shards\" in postgresql.conf only, to a list such as '0-30, 32-1023', then run SELECT pg_reload_conf() and connect again.")));
	if (shard_set_has(seqid_allowed_shard_set, (int) shard))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d cannot be used for existing rows", (int) shard),
				 errdetail("\"seqid.allowed_shards\" is \"%s\", so this server can issue the same ids to new rows.",
						   seqid_allowed_shards),
				 errhint("Reserve a shard for existing rows, for example 31: set seqid.allowed_shards = '0-30, 32-1023' in postgresql.conf on every server, and run SELECT pg_reload_conf().")));
}

/*
 * Invariant 1.  The compare-and-exchange fails if a generator has moved the counter.  The
 * lock keeps other backfills from finding one word raised and the other not.
 */
static void
raise_counter(const SnowflakeLayout *layout, int64 shard, int64 tick)
{
	SharedState *state = seqid_shared_state();
	pg_atomic_uint64 *counter = seqid_shard_tick(state, layout, (int) shard);
	pg_atomic_uint64 *backfilled = seqid_backfilled_tick(state, layout, (int) shard);
	uint64		last;
	uint64		raised;
	bool		unused;

	SpinLockAcquire(&state->backfill_lock);
	last = pg_atomic_read_u64(backfilled);
	raised = Max(last, (uint64) tick);
	unused = pg_atomic_compare_exchange_u64(counter, &last, raised);
	if (unused)
		pg_atomic_write_u64(backfilled, raised);
	SpinLockRelease(&state->backfill_lock);

	if (!unused)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d has issued ids since the server started", (int) shard),
				 errdetail("Ids for existing rows could be the same."),
				 errhint("Pass a shard that has never issued ids.")));
}

/* Returns the tick of the id that the first id of the statement must follow. */
static int64
tick_of_last(const SnowflakeLayout *layout, int64 after, int64 shard)
{
	if (snowflake_id_shard(layout, seqid_checked_id(layout, after)) != shard)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s id %lld is not of shard %d",
						layout->name, (long long) after, (int) shard),
				 errdetail("It is an id of shard %d.",
						   (int) snowflake_id_shard(layout, after)),
				 errhint("Pass the last id that the previous statement generated, and the same shard.")));

	return tick_of_ms(layout->sequence_bits, snowflake_id_unix_ms(layout, after)) +
		snowflake_id_sequence(layout, after);
}

/* Returns the tick of the next row.  A full millisecond continues in the next one. */
static int64
next_tick(const SnowflakeLayout *layout, Backfill *backfill, int64 ms)
{
	int64		tick = Max(backfill->last_tick + 1, tick_of_ms(layout->sequence_bits, ms));

	if (ms < backfill->last_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows are not in the order of their times"),
				 errdetail("A row follows one whose time is %lld ms later.",
						   (long long) (backfill->last_ms - ms)),
				 errhint("Order the window by the expression that is passed as created_at, and do not use PARTITION BY.")));
	if (tick_ms(layout->sequence_bits, tick) > snowflake_last_ms(layout))
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("time of %s ids is used up", layout->name),
				 errdetail("The last time that a key can contain is %s.",
						   seqid_utc_text(snowflake_last_ms(layout)))));

	backfill->last_tick = tick;
	backfill->last_ms = ms;
	return tick;
}

/*
 * Refuses an "after" that would give a row the time of much later rows.  The last rows of the
 * previous statement can have used up their millisecond, so the first id can be a bit late.
 */
static void
check_first_tick(const SnowflakeLayout *layout, int64 tick, int64 ms)
{
	int64		later_ms = tick_ms(layout->sequence_bits, tick) - ms;

	if (later_ms > seqid_max_lead_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row is %lld ms older than the id passed as \"after\"",
						(long long) later_ms),
				 errdetail("Its id would contain the time of that id, and \"seqid.max_lead\" limits the difference to %.0f ms.",
						   seqid_max_lead_ms),
				 errhint("Generate ids in the order of the rows' times, or pass another shard for these rows.")));
}

/*
 * Waits until the clock is past the millisecond, and returns the time of the clock.  The wait
 * has a limit, because the clock might have been set back, and "after" can be a future id.
 */
static int64
wait_until_past(const SnowflakeLayout *layout, int64 shard, int64 ms)
{
	for (;;)
	{
		int64		unix_ms = wall_clock_read_ms();
		int64		lead_ms = ms - unix_ms;

		if (lead_ms < 0)
			return unix_ms;
		if (lead_ms > seqid_max_lead_ms)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("clock is %lld ms behind the next %s id of shard %d",
							(long long) lead_ms, layout->name, (int) shard),
					 errdetail("The id of an existing row must be in the past, and \"seqid.max_lead\" limits the wait to %.0f ms.",
							   seqid_max_lead_ms),
					 errhint("Check the clock and the id passed as \"after\", then try again.")));
		seqid_wait_for_tick(unix_ms);
	}
}

/* The state lives as long as the statement, because a new partition must not start again. */
static Backfill *
begin_backfill(FunctionCallInfo fcinfo, int64 last_tick)
{
	Backfill   *backfill = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Backfill));

	backfill->last_tick = last_tick;
	backfill->last_ms = 0;
	fcinfo->flinfo->fn_extra = backfill;
	return backfill;
}

/*
 * Returns ids in the order of the rows, from (created_at timestamptz, shard bigint, after
 * bigint).  A row whose time or shard is NULL gets NULL.
 */
SNOWFLAKE_FUNCTIONS(snowflake_backfill, snowflake53_backfill)
{
	WindowObject window = PG_WINDOW_OBJECT();
	bool		no_time;
	bool		no_shard;
	bool		no_after;
	Datum		created_at = WinGetFuncArgCurrent(window, 0, &no_time);
	int64		shard = DatumGetInt64(WinGetFuncArgCurrent(window, 1, &no_shard));
	Datum		after = WinGetFuncArgCurrent(window, 2, &no_after);
	Backfill   *state = fcinfo->flinfo->fn_extra;
	bool		first = state == NULL;
	int64		ms;
	int64		now_ms;
	int64		tick;

	/* The executor need not keep rows that this function has seen. */
	WinSetMarkPosition(window, WinGetCurrentPosition(window));

	if (no_time || no_shard)
		PG_RETURN_NULL();
	seqid_prevent_during_recovery("issue snowflake ids");
	check_not_allowed(layout, shard);
	if (first)
		state = begin_backfill(fcinfo, no_after ? -1 :
							   tick_of_last(layout, DatumGetInt64(after), shard));
	ms = created_ms(layout, DatumGetTimestampTz(created_at));
	tick = next_tick(layout, state, ms);
	if (first)
		check_first_tick(layout, tick, ms);
	now_ms = wait_until_past(layout, shard, tick_ms(layout->sequence_bits, tick));
	raise_counter(layout, shard, tick);

	/*
	 * Invariant 2.  Covering only the time of the id could write the mark for
	 * each row.  Whether the floor is higher does not matter.
	 */
	(void) seqid_cover_with_mark(now_ms);
	PG_RETURN_INT64(snowflake_of_tick(layout, tick, shard));
}
