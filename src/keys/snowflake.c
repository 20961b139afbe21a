/*
 * snowflake.c
 *	  Issues snowflake ids.
 *
 * What makes an id unique and later than the ones before is the shard's word
 * in shared memory; see counter.c.  This file turns the ticks reserved
 * there into ids.
 *
 * Each function is that of a layout, snowflake_* or snowflake53_*; what is said of
 * one holds for the other, with its own limits.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "clock/counter.h"
#include "fmgr.h"
#include "funcapi.h"
#include "keys/key_run.h"
#include "keys/snowflake_sql.h"
#include "state/guc.h"
#include "state/server_shard.h"

/*
 * The id of each layout that this session got last, 0 before the first: as a word
 * that is 0 has handed out nothing, no id is.
 */
static int64 session_last_id[SNOWFLAKE_LAYOUTS];

/* What every generator checks before it reserves ids of a shard. */
static inline void
check_may_issue(const SnowflakeLayout *layout, int shard)
{
	seqid_check_shard(layout, shard);
	if (unlikely(!shard_set_has(seqid_allowed_shard_set, shard)))
		seqid_check_forbidden_shard(shard);
	seqid_prevent_during_recovery();
}

/*
 * The shard in effect.  All layouts share seqid.shards, which may list one that this
 * layout has not.
 */
static inline int
server_shard(const SnowflakeLayout *layout)
{
	int			shard = seqid_server_shard();

	if (unlikely(shard > snowflake_max_shard(layout)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard %d is out of range", shard),
				 errdetail("It is the shard of timeline %u in \"seqid.shards\", which is \"%s\" (%s); a shard of %s ids must be between 0 and %d.",
						   seqid_timeline(), seqid_shards, seqid_shard_source(),
						   layout->name, (int) snowflake_max_shard(layout)),
				 errhint("Set \"seqid.shards\" to a list of shards that %s ids have, or pass a shard.",
						 layout->name)));
	return shard;
}

/* The id of a tick, which becomes the one the session got last. */
static inline int64
issue_id(const SnowflakeLayout *layout, int64 tick, int shard)
{
	int64		id = snowflake_of_tick(layout, tick, shard);

	session_last_id[layout->number] = id;
	return id;
}

static pg_attribute_always_inline int64
next_id(const SnowflakeLayout *layout, int shard)
{
	int			reserved;

	check_may_issue(layout, shard);
	return issue_id(layout, seqid_reserve_ticks(layout, shard, 1, 1, &reserved), shard);
}

/*
 * snowflake_nextval(shard int) returns bigint
 *	  The next id of that shard.  22023 for a shard out of range, 25006 on a
 *	  standby, 55000 for a shard that seqid.allowed_shards does not list, when
 *	  the clock is too far behind or the durable mark is missing, 2200H when
 *	  the layout's time is over.
 */
static pg_attribute_always_inline Datum
nextval(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	PG_RETURN_INT64(next_id(layout, PG_GETARG_INT32(0)));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextval, nextval, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextval, nextval, snowflake_53);

/*
 * snowflake_nextval() returns bigint
 *	  The next id of the shard that seqid.shards has for this server.  55000 while
 *	  that is empty, 22023 if the layout has no such shard; other errors as above.
 */
static pg_attribute_always_inline Datum
nextval_of_server(const SnowflakeLayout *layout,
				  FunctionCallInfo fcinfo pg_attribute_unused())
{
	PG_RETURN_INT64(next_id(layout, server_shard(layout)));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextval_of_server, nextval_of_server, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextval_of_server, nextval_of_server, snowflake_53);

/* Checks again: seqid.allowed_shards can change between two fetches of a cursor. */
static int64
reserve_run(const SnowflakeLayout *layout, int shard, int at_most, int *reserved)
{
	check_may_issue(layout, shard);
	return seqid_reserve_ticks(layout, shard, 1, at_most, reserved);
}

static Datum
key_of_run(const SnowflakeLayout *layout, int shard, int64 tick)
{
	return Int64GetDatum(issue_id(layout, tick, shard));
}

/* No layout has more ids in a millisecond, and a run ends with its millisecond. */
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
static pg_attribute_always_inline Datum
nextvals(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	int32		shard = PG_GETARG_INT32(0);
	int64		count = seqid_checked_count(PG_GETARG_INT64(1));

	/* Also if none is asked for. */
	if (SRF_IS_FIRSTCALL())
		check_may_issue(layout, shard);
	return seqid_next_of_run(fcinfo, &snowflake_run, layout, shard, count);
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextvals, nextvals, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextvals, nextvals, snowflake_53);

/*
 * snowflake_nextblock(shard int, count int) returns bigint
 *	  The first of count consecutive ids, all of one millisecond of that shard
 *	  and all the caller's.  22023 unless count is between 1 and what a
 *	  millisecond holds; other errors as snowflake_nextval.
 */
static pg_attribute_always_inline Datum
nextblock(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
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
				 errdetail("A block of %s ids must have between 1 and %d.",
						   layout->name, max_count)));
	check_may_issue(layout, shard);

	first = seqid_reserve_ticks(layout, shard, count, count, &reserved);

	/* The whole block was given to the session: its last id is the block's. */
	(void) issue_id(layout, first + count - 1, shard);
	PG_RETURN_INT64(snowflake_of_tick(layout, first, shard));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextblock, nextblock, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextblock, nextblock, snowflake_53);

/*
 * Raises the word of the server's shard to the end of an id's millisecond, so that
 * whatever comes after is greater, and sees to it that a restart knows.
 */
static void
raise_to_id(const SnowflakeLayout *layout, int64 id)
{
	int			shard = server_shard(layout);
	int64		ms = snowflake_id_unix_ms(layout, id);
	int64		ahead_ms = ms - wall_clock_read_ms();

	check_may_issue(layout, shard);
	if (ahead_ms > seqid_max_clock_regression_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s id %lld is from the future", layout->name, (long long) id),
				 errdetail("Its time is %lld ms ahead of the clock, and at most %.0f ms are allowed.",
						   (long long) ahead_ms, seqid_max_clock_regression_ms)));

	seqid_atomic_raise(seqid_shard_tick(seqid_shared_state(), layout, shard),
					   (uint64) (tick_of_ms(layout->sequence_bits, ms + 1) - 1));
	(void) seqid_cover_with_mark(ms);
}

/*
 * snowflake_witness(id bigint) returns bigint
 *	  The argument.  From here on, ids of the shard that seqid.shards has for this
 *	  server are greater than it: of this database also after a restart.  22003 for
 *	  an id out of range, 22023 if it is ahead of the clock by more than
 *	  seqid.max_clock_regression; other errors as snowflake_nextval().
 */
static pg_attribute_always_inline Datum
witness(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	int64		id = seqid_checked_id(layout, PG_GETARG_INT64(0));

	raise_to_id(layout, id);
	PG_RETURN_INT64(id);
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_witness, witness, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_witness, witness, snowflake_53);

/*
 * snowflake_currval() returns bigint
 *	  The id of this layout that the session got last, from any shard.  55000 before
 *	  the first: each layout has its own, as a program that asks wants its kind.
 */
static pg_attribute_always_inline Datum
currval(const SnowflakeLayout *layout, FunctionCallInfo fcinfo pg_attribute_unused())
{
	if (session_last_id[layout->number] == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no %s id has been issued in this session yet", layout->name)));

	PG_RETURN_INT64(session_last_id[layout->number]);
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_currval, currval, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_currval, currval, snowflake_53);
