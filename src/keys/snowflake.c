/*
 * snowflake.c
 *	  Generates snowflake ids.
 *
 * The counter of a shard, in shared memory, makes ids unique and ascending; see
 * counter.c.  This file checks that the server can issue the shard, reserves
 * ticks of the counter, and composes ids from them.
 *
 * Each function exists for each layout.  The comments describe snowflake_*;
 * snowflake53_* behaves alike, with the limits of its own layout.  The layouts are
 * described in snowflake_layout.h.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "clock/counter.h"
#include "codec/snowflake_sql.h"
#include "fmgr.h"
#include "funcapi.h"
#include "keys/key_run.h"
#include "state/guc.h"
#include "state/server_shard.h"

/*
 * Last id of each layout that this session generated, or 0 if there is none.  No id of a
 * counter is 0, because keys start above the first millisecond of the epoch; see
 * start_entry() in database_state.c.
 */
static int64 session_last_id[SNOWFLAKE_LAYOUTS];

/* Raises an error unless this server can issue ids of the shard now. */
static inline void
check_may_issue(const SnowflakeLayout *layout, int64 shard)
{
	seqid_check_shard(layout, shard);
	if (unlikely(!shard_set_has(seqid_allowed_shard_set, (int) shard)))
		seqid_check_forbidden_shard((int) shard);
	seqid_prevent_during_recovery("issue snowflake ids");
}

/*
 * Returns the shard of this server.  seqid.shards is common to all layouts, so it can
 * list a shard that this layout does not have.
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
				 errhint("Set \"seqid.shards\" to shards between 0 and %d, or pass a shard as an argument.",
						 (int) snowflake_max_shard(layout))));
	return shard;
}

/* Returns the id of a tick, and records it as the last id of the session. */
static inline int64
issue_id(const SnowflakeLayout *layout, int64 tick, int shard)
{
	int64		id = snowflake_of_tick(layout, tick, shard);

	session_last_id[layout->number] = id;
	return id;
}

static pg_attribute_always_inline int64
next_id(const SnowflakeLayout *layout, int64 shard)
{
	int			reserved;
	int64		tick;

	check_may_issue(layout, shard);
	tick = seqid_reserve_ticks(layout, (int) shard, 1, 1, &reserved);
	return issue_id(layout, tick, (int) shard);
}

/*
 * snowflake_nextval(shard bigint) returns bigint
 *	  Returns the next id of the shard, 0 to 1023, which is greater than every id that
 *	  the shard returned before on this server.  Waits for the next millisecond if the
 *	  current one is used up.
 *	  Errors: 22023 if the shard is out of range.  25006 on a standby.  55000 if
 *	  seqid.allowed_shards does not contain the shard, if the clock is behind by more
 *	  than seqid.max_lead or before 2023, or if the mark is missing.
 *	  2200H after 2092-09-06, the end of the 41 bits of time.
 */
static pg_attribute_always_inline Datum
nextval(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	PG_RETURN_INT64(next_id(layout, PG_GETARG_INT64(0)));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextval, nextval, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextval, nextval, snowflake_53);

/*
 * snowflake_nextval() returns bigint
 *	  Returns the next id of this server's shard, which seqid.shards determines.
 *	  Errors: 55000 if seqid.shards is empty; 22023 if the layout does not have the
 *	  shard; all others of snowflake_nextval(shard).
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

/* A bound that no layout reaches: a run ends with its millisecond. */
static const KeyRunKind snowflake_run = {
	.reserve = reserve_run,
	.key = key_of_run,
	.max_run_size = 1 << 16
};

/*
 * snowflake_nextvals(shard bigint, count bigint) returns setof bigint
 *	  Returns the next count ids of the shard, 0 to 1023, in ascending order.  They are
 *	  reserved in runs while they are fetched.  A run has at most the ids of one
 *	  millisecond.
 *	  Errors: 22023 if the count is negative; for each run, those of
 *	  snowflake_nextval(shard).
 */
static pg_attribute_always_inline Datum
nextvals(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	int64		shard = PG_GETARG_INT64(0);
	int64		count = seqid_checked_count(PG_GETARG_INT64(1));

	/* A count of 0 must raise the same errors. */
	if (SRF_IS_FIRSTCALL())
		check_may_issue(layout, shard);
	return seqid_next_of_run(fcinfo, &snowflake_run, layout, (int) shard, count);
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextvals, nextvals, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextvals, nextvals, snowflake_53);

/* Reserves consecutive ids of one millisecond, and returns the first. */
static pg_attribute_always_inline int64
next_block(const SnowflakeLayout *layout, int64 shard, int64 count)
{
	int			max_count = (int) snowflake_max_sequence(layout) + 1;
	int			reserved;
	int64		first;

	if (count < 1 || count > max_count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block size %lld is out of range", (long long) count),
				 errdetail("A block must have between 1 and %d %s ids.",
						   max_count, layout->name)));
	check_may_issue(layout, shard);

	first = seqid_reserve_ticks(layout, (int) shard, (int) count, (int) count, &reserved);

	/* snowflake_currval() then returns the last id of the block. */
	(void) issue_id(layout, first + count - 1, (int) shard);
	return snowflake_of_tick(layout, first, (int) shard);
}

/*
 * snowflake_nextblock(shard bigint, count bigint) returns bigint
 *	  Reserves count consecutive ids of the shard, 0 to 1023, and returns the first.
 *	  All have the same millisecond, and no other call returns any of them.
 *	  Errors: 22023 if the count is not between 1 and 4096, the ids of a millisecond
 *	  (128 for snowflake53); all others of snowflake_nextval(shard).
 */
static pg_attribute_always_inline Datum
nextblock(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	PG_RETURN_INT64(next_block(layout, PG_GETARG_INT64(0), PG_GETARG_INT64(1)));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextblock, nextblock, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextblock, nextblock, snowflake_53);

/*
 * snowflake_nextblock(count bigint) returns bigint
 *	  The same for this server's shard, which seqid.shards determines.
 *	  Errors: those of snowflake_nextblock(shard, count) and of snowflake_nextval().
 */
static pg_attribute_always_inline Datum
nextblock_of_server(const SnowflakeLayout *layout, FunctionCallInfo fcinfo)
{
	PG_RETURN_INT64(next_block(layout, server_shard(layout), PG_GETARG_INT64(0)));
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_nextblock_of_server, nextblock_of_server, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_nextblock_of_server, nextblock_of_server, snowflake_53);

/*
 * Raises the counter of this server's shard to the last tick of the id's millisecond,
 * so that all later ids are greater.  The mark must cover that millisecond as well:
 * otherwise a restart could forget the id.
 */
static void
raise_to_id(const SnowflakeLayout *layout, int64 id)
{
	int			shard = server_shard(layout);
	int64		ms = snowflake_id_unix_ms(layout, id);
	int64		lead_ms = ms - wall_clock_read_ms();

	check_may_issue(layout, shard);
	if (lead_ms > seqid_max_lead_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s id %lld is in the future", layout->name, (long long) id),
				 errdetail("Its time is %lld ms ahead of the clock, and \"seqid.max_lead\" is %.0f ms.",
						   (long long) lead_ms, seqid_max_lead_ms),
				 errhint("Compare the clocks of this server and of the server that generated the id.")));

	seqid_atomic_raise(seqid_shard_tick(seqid_shared_state(), layout, shard),
					   (uint64) (tick_of_ms(layout->sequence_bits, ms + 1) - 1));
	(void) seqid_cover_with_mark(ms);
}

/*
 * snowflake_witness(id bigint) returns bigint
 *	  Returns the argument.  All ids that this server's shard returns later are
 *	  greater.  In this database that holds after a restart, too.
 *	  Errors: 22003 if the id is out of range; 22023 if it is ahead of the clock by
 *	  more than seqid.max_lead; all others of snowflake_nextval().
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
 *	  Returns the last id of this layout that the session generated, of any shard.  It
 *	  does not include ids that parallel workers generated.
 *	  Errors: 55000 if the session has not generated an id of this layout.
 */
static pg_attribute_always_inline Datum
currval(const SnowflakeLayout *layout, FunctionCallInfo fcinfo pg_attribute_unused())
{
	if (session_last_id[layout->number] == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no %s id has been generated in this session yet", layout->name),
				 errhint("Call %s_nextval() first.", layout->name)));

	PG_RETURN_INT64(session_last_id[layout->number]);
}

LAYOUT_PG_FUNCTION_INFO_V1(snowflake_currval, currval, snowflake_64);
LAYOUT_PG_FUNCTION_INFO_V1(snowflake53_currval, currval, snowflake_53);
