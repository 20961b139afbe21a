/*
 * snowflake.c
 *	  Issues snowflake ids.
 *
 * What makes an id unique and later than the ones before is the shard's word
 * in shared memory; see shard_clock.c.  This file turns the ticks reserved
 * there into ids.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "clock/shard_clock.h"
#include "fmgr.h"
#include "funcapi.h"
#include "keys/key_run.h"
#include "keys/snowflake_shard.h"
#include "server/guc.h"
#include "server/server_shard.h"

static const SnowflakeLayout *const layout = &snowflake_64;

/* The id this session got last, -1 before the first. */
static int64 session_last_id = -1;

/* What every generator checks before it reserves ids of a shard. */
static inline void
check_may_issue(int shard)
{
	seqid_check_shard(layout, shard);
	if (unlikely(!shard_set_has(seqid_allowed_shard_set, shard)))
		seqid_report_forbidden_shard(shard);
	seqid_prevent_during_recovery();
}

/* The id of a tick, which becomes the one the session got last. */
static inline int64
issue_id(int64 tick, int shard)
{
	session_last_id = snowflake_tick_id(layout, tick, shard);
	return session_last_id;
}

static inline int64
next_id(int shard)
{
	int			reserved;

	check_may_issue(shard);
	return issue_id(seqid_reserve_ticks(layout, shard, 1, 1, &reserved), shard);
}

/*
 * snowflake_nextval(shard int) returns bigint
 *	  The next id of that shard.  22023 for a shard out of range, 25006 on a
 *	  standby, 55000 for a shard that seqid.allowed_shards does not list, when
 *	  the clock is too far behind or the durable mark is missing, 2200H when
 *	  the layout's time is over.
 */
PG_FUNCTION_INFO_V1(snowflake_nextval);
Datum
snowflake_nextval(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(next_id(PG_GETARG_INT32(0)));
}

/*
 * snowflake_nextval() returns bigint
 *	  The next id of the shard that seqid.shards has for this server.  55000 while
 *	  that is empty; other errors as above.
 */
PG_FUNCTION_INFO_V1(snowflake_nextval_of_server);
Datum
snowflake_nextval_of_server(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(next_id(seqid_server_shard()));
}

/* A cursor may be fetched from when the shard has become another server's. */
static int64
reserve_run(int shard, int at_most, int *reserved)
{
	check_may_issue(shard);
	return seqid_reserve_ticks(layout, shard, 1, at_most, reserved);
}

static Datum
key_of_run(int shard, int64 tick)
{
	return Int64GetDatum(issue_id(tick, shard));
}

/* A run ends with its millisecond, which no layout has more ids for. */
static const KeyRunKind snowflake_run = {
	.reserve = reserve_run,
	.key = key_of_run,
	.max_run_size = 1 << 16
};

/*
 * snowflake_nextvals(shard int, count bigint) returns setof bigint
 *	  count ids in ascending order, none for 0.  Reserved in runs of up to a
 *	  millisecond's worth, as they are fetched; each run is checked as a call of
 *	  snowflake_nextval is.  22023 for a negative count; other errors as there.
 */
PG_FUNCTION_INFO_V1(snowflake_nextvals);
Datum
snowflake_nextvals(PG_FUNCTION_ARGS)
{
	int32		shard = PG_GETARG_INT32(0);
	int64		count = seqid_checked_count(PG_GETARG_INT64(1));

	/* Also if none is asked for. */
	if (SRF_IS_FIRSTCALL())
		check_may_issue(shard);
	return seqid_next_of_run(fcinfo, &snowflake_run, shard, count);
}

/*
 * snowflake_nextblock(shard int, count int) returns bigint
 *	  The first of count consecutive ids, all of one millisecond of that shard
 *	  and all the caller's.  22023 unless count is between 1 and 4096; other
 *	  errors as snowflake_nextval.
 */
PG_FUNCTION_INFO_V1(snowflake_nextblock);
Datum
snowflake_nextblock(PG_FUNCTION_ARGS)
{
	int32		shard = PG_GETARG_INT32(0);
	int32		count = PG_GETARG_INT32(1);
	int			max_count = (int) snowflake_max_sequence(layout) + 1;
	int			reserved;
	int64		first;

	if (count < 1 || count > max_count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block size %d is out of range", count),
				 errdetail("A block must have between 1 and %d ids.", max_count)));
	check_may_issue(shard);

	first = seqid_reserve_ticks(layout, shard, count, count, &reserved);

	/* The whole block was given to the session: its last id is the block's. */
	(void) issue_id(first + count - 1, shard);
	PG_RETURN_INT64(snowflake_tick_id(layout, first, shard));
}

/*
 * Raises the word of the server's shard to the end of an id's millisecond, so that
 * whatever comes after is greater, and sees to it that a restart knows.
 */
static void
witness(int64 id)
{
	int			shard = seqid_server_shard();
	int64		ms = snowflake_id_ms(layout, id);
	int64		ahead_ms = ms - seqid_layout_clock_ms(layout);

	check_may_issue(shard);
	if (ahead_ms > seqid_max_clock_regression_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("snowflake id %lld is from the future", (long long) id),
				 errdetail("Its time is %lld ms ahead of the clock, and at most %.0f ms are allowed.",
						   (long long) ahead_ms, seqid_max_clock_regression_ms)));

	seqid_atomic_raise(seqid_shard_tick(seqid_shared_state(), layout, shard),
					   (uint64) (snowflake_first_tick(layout, ms + 1) - 1));
	(void) seqid_cover_with_mark(ms + layout->epoch_unix_ms);
}

/*
 * snowflake_witness(id bigint) returns bigint
 *	  The argument.  From here on, ids of the shard that seqid.shards has for this
 *	  server are greater than it: of this database also after a restart.  22003 if it is negative,
 *	  22023 if it is ahead of the clock by more than seqid.max_clock_regression;
 *	  other errors as snowflake_nextval().
 */
PG_FUNCTION_INFO_V1(snowflake_witness);
Datum
snowflake_witness(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);

	if (id < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("snowflake id %lld is out of range", (long long) id),
				 errdetail("A snowflake id is never negative.")));
	witness(id);
	PG_RETURN_INT64(id);
}

/*
 * snowflake_currval() returns bigint
 *	  The id this session got last, from any shard.  55000 before the first.
 */
PG_FUNCTION_INFO_V1(snowflake_currval);
Datum
snowflake_currval(PG_FUNCTION_ARGS)
{
	if (session_last_id < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no snowflake id has been issued in this session yet")));

	PG_RETURN_INT64(session_last_id);
}
