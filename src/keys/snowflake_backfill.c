/*
 * snowflake_backfill.c
 *	  Snowflake ids for rows that were there before them.
 *
 * Nobody issued these: they are composed from the times of the rows, one after the
 * other in their order, in a shard that no server issues from.  That alone
 * keeps them apart from those that are drawn; what was drawn of a shard in the past,
 * by whom, is known to nobody.  So a shard that this server may issue is refused, and
 * one that it is known to have issued.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "fmgr.h"
#include "keys/snowflake_sql.h"
#include "server/guc.h"
#include "server/pg_epoch.h"
#include "server/shared_state.h"
#include "server/wall_clock.h"
#include "utils/timestamp.h"
#include "windowapi.h"

/* How far a statement has come. */
typedef struct Backfill
{
	int64		last_tick;		/* the last that was given to a row */
	int64		last_ms;		/* the time of that row */
} Backfill;

/* Times before the epoch count as its first millisecond. */
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
	return created_at < epoch ? 0 : (created_at - epoch) / 1000;
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

	return snowflake_first_tick(layout, snowflake_id_ms(layout, after)) +
		snowflake_id_sequence(layout, after);
}

/* The tick of the next row; a millisecond that is full overflows into the next. */
static int64
next_tick(const SnowflakeLayout *layout, Backfill *backfill, int64 ms)
{
	int64		tick = Max(backfill->last_tick + 1, snowflake_first_tick(layout, ms));

	if (ms < backfill->last_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows are not in the order of their times"),
				 errhint("Write OVER (ORDER BY created_at), without PARTITION BY.")));
	if (snowflake_tick_ms(layout, tick) > snowflake_max_ms(layout))
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("time of %s ids is used up", layout->name)));

	backfill->last_tick = tick;
	backfill->last_ms = ms;
	return tick;
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
 *	  millisecond or, where the rows before have used that up, a later one.  They are above after,
 *	  if that is not NULL.  NULL for a row without a time.  22023 for a time in the
 *	  future, for rows that are not in the order of their times, for a shard out of
 *	  range and an after of another shard; 55000 for a shard that this server may issue.
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

	/* No row is looked at again, so none has to be kept. */
	WinSetMarkPosition(window, WinGetCurrentPosition(window));

	if (no_time || no_shard)
		PG_RETURN_NULL();
	check_nobody_issues(layout, shard);
	if (state == NULL)
		state = begin_backfill(fcinfo, no_after ? -1 :
							   tick_of_last(layout, DatumGetInt64(after), shard));

	PG_RETURN_INT64(snowflake_tick_id(layout,
									  next_tick(layout, state,
												created_ms(layout, DatumGetTimestampTz(created_at))),
									  shard));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_backfill, backfill, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_backfill, backfill, snowflake_53);
