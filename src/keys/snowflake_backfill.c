/*
 * snowflake_backfill.c
 *	  Snowflake ids for rows that were there before them.
 *
 * No shard clock issues these ids.  They are composed from the times of the rows, in
 * the order of the rows, in a shard that no server issues ids of.  The shard is what
 * keeps them apart from issued ids, and no record exists of the ids that a shard issued
 * in the past.  So the function refuses a shard that this server can issue, and one
 * that it has issued since it was started.
 *
 * A session can still issue ids of the shard in a statement that began before the
 * shard was taken out of the setting.  The function returns no id whose millisecond has
 * not passed, so that at least the ids that such a statement issues later are different.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "fmgr.h"
#include "keys/snowflake_sql.h"
#include "pg/pg_epoch.h"
#include "pg/wall_clock.h"
#include "state/guc.h"
#include "state/shared_state.h"
#include "utils/timestamp.h"
#include "windowapi.h"

/* How far a statement has come. */
typedef struct Backfill
{
	int64		last_tick;		/* the last that was given to a row */
	int64		last_ms;		/* the time of that row */
} Backfill;

/* The millisecond since 1970; times before the epoch count as its first one. */
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
check_nobody_issues(const SnowflakeLayout *layout, int32 shard)
{
	pg_atomic_uint64 *word;

	seqid_check_shard(layout, shard);
	seqid_require_settings();
	if (shard_set_has(seqid_allowed_shard_set, shard))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d is one that this server may issue", shard),
				 errdetail("Ids for old rows could be the same as ids that it has issued, or will."),
				 errhint("Take a shard out of \"seqid.allowed_shards\" on every server, as in '0-30, 32-1023', reload, and name that shard.")));

	word = seqid_shard_tick(seqid_shared_state(), layout, shard);
	if (pg_atomic_read_u64(word) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d has issued ids since the server was started", shard),
				 errdetail("Ids for old rows could be the same."),
				 errhint("Take a shard that has never issued any.")));
}

/* Where a statement begins: above the last id of the one before, if there was any. */
static int64
tick_of_last(const SnowflakeLayout *layout, int64 after, int32 shard)
{
	if (snowflake_id_shard(layout, seqid_checked_id(layout, after)) != shard)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s id %lld is not one of shard %d",
						layout->name, (long long) after, shard)));

	return tick_of_ms(layout->sequence_bits, snowflake_id_unix_ms(layout, after)) +
		snowflake_id_sequence(layout, after);
}

/* The tick of the next row; a millisecond that is full overflows into the next. */
static int64
next_tick(const SnowflakeLayout *layout, Backfill *backfill, int64 ms)
{
	int64		tick = Max(backfill->last_tick + 1, tick_of_ms(layout->sequence_bits, ms));

	if (ms < backfill->last_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows are not in the order of their times"),
				 errhint("Write OVER (ORDER BY created_at), without PARTITION BY.")));
	if (tick_ms(layout->sequence_bits, tick) > snowflake_last_ms(layout))
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("time of %s ids is used up", layout->name)));

	backfill->last_tick = tick;
	backfill->last_ms = ms;
	return tick;
}

/*
 * Waits until the clock is past a millisecond; see above.  A statement is never more
 * than a millisecond ahead of the clock, unless the clock was set back or the caller
 * named an id from the future.  So the wait has a limit.  Each nap lasts a millisecond at
 * most, so that the wait notices a step of the clock.
 */
static void
wait_until_past(const SnowflakeLayout *layout, int32 shard, int64 ms)
{
	for (;;)
	{
		int64		unix_ms = wall_clock_read_ms();
		int64		ahead_ms = ms - unix_ms;

		if (ahead_ms < 0)
			return;
		if (ahead_ms > seqid_max_clock_regression_ms)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("clock is %lld ms behind the next %s id of shard %d",
							(long long) ahead_ms, layout->name, shard),
					 errdetail("An id for an old row must be of a time that has passed, and the call waits for at most %.0f ms.",
							   seqid_max_clock_regression_ms),
					 errhint("Correct the clock, wait until it has caught up, or raise \"seqid.max_clock_regression\".")));
		seqid_wait_for_tick(unix_ms);
	}
}

/* Of the statement, not of a partition: that would begin anew. */
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
 * snowflake_backfill(created_at timestamptz, shard int, after bigint) returns bigint
 *	  A window function: ids in the order of the rows, each of the row's
 *	  millisecond or, where the rows before have used that up, a later one.  They are
 *	  above after, if that is not NULL, and their milliseconds have passed: a call waits
 *	  for that.  NULL for a row without a time.  22023 for a time in the future, for
 *	  rows that are not in the order of their times, for a shard out of range and an
 *	  after of another shard; 55000 for a shard that this server may issue, and if the
 *	  wait would be longer than seqid.max_clock_regression.
 */
static Datum
backfill(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	WindowObject window = PG_WINDOW_OBJECT();
	bool		no_time;
	bool		no_shard;
	bool		no_after;
	Datum		created_at = WinGetFuncArgCurrent(window, 0, &no_time);
	int32		shard = DatumGetInt32(WinGetFuncArgCurrent(window, 1, &no_shard));
	Datum		after = WinGetFuncArgCurrent(window, 2, &no_after);
	Backfill   *state = fcinfo->flinfo->fn_extra;
	int64		tick;

	/* No row is looked at again, so none has to be kept. */
	WinSetMarkPosition(window, WinGetCurrentPosition(window));

	if (no_time || no_shard)
		PG_RETURN_NULL();
	check_nobody_issues(layout, shard);
	if (state == NULL)
		state = begin_backfill(fcinfo, no_after ? -1 :
							   tick_of_last(layout, DatumGetInt64(after), shard));

	tick = next_tick(layout, state, created_ms(layout, DatumGetTimestampTz(created_at)));
	wait_until_past(layout, shard, tick_ms(layout->sequence_bits, tick));
	PG_RETURN_INT64(snowflake_of_tick(layout, tick, shard));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_backfill, backfill, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_backfill, backfill, snowflake_53);
