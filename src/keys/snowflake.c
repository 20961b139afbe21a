/*
 * snowflake.c
 *	  Generates snowflake ids.
 *
 * The counter of a shard, in shared memory, makes ids unique and ascending; see
 * counter.c.  This file checks that the server can issue the shard, reserves
 * ticks of the counter, and composes ids from them; see snowflake_layout.h.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "clock/counter.h"
#include "codec/snowflake_sql.h"
#include "fmgr.h"
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

/* Returns the next id of a shard. */
SNOWFLAKE_FUNCTIONS(snowflake_nextval, snowflake53_nextval)
{
	PG_RETURN_INT64(next_id(layout, PG_GETARG_INT64(0)));
}

/* Returns the next id of this server's shard. */
SNOWFLAKE_FUNCTIONS(snowflake_nextval_of_server, snowflake53_nextval_of_server)
{
	PG_RETURN_INT64(next_id(layout, server_shard(layout)));
}

/* A limit that no layout reaches, because a run ends with its millisecond. */
#define MAX_RUN_SIZE	(1 << 16)

/* Returns the next ids of a shard (argument 0), as many as argument 1 says. */
SNOWFLAKE_FUNCTIONS(snowflake_nextvals, snowflake53_nextvals)
{
	int64		shard = PG_GETARG_INT64(0);
	FuncCallContext *context;
	KeyRun	   *run;

	if (SRF_IS_FIRSTCALL())
	{
		key_run_begin(fcinfo, PG_GETARG_INT64(1));
		/* A count of 0 must raise the same errors. */
		check_may_issue(layout, shard);
	}
	context = SRF_PERCALL_SETUP();
	run = context->user_fctx;
	if (run->reserved == 0)
	{
		if (run->wanted == 0)
			SRF_RETURN_DONE(context);
		/* seqid.allowed_shards can change between two fetches of a cursor. */
		check_may_issue(layout, shard);
		run->next_tick = seqid_reserve_ticks(layout, (int) shard, 1,
											 key_run_size(run, MAX_RUN_SIZE), &run->reserved);
		run->wanted -= run->reserved;
	}
	SRF_RETURN_NEXT(context,
					Int64GetDatum(issue_id(layout, key_run_next(run), (int) shard)));
}

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

/* The first of the next count ids of a shard.  22023 if they do not fit into a millisecond. */
SNOWFLAKE_FUNCTIONS(snowflake_nextblock, snowflake53_nextblock)
{
	PG_RETURN_INT64(next_block(layout, PG_GETARG_INT64(0), PG_GETARG_INT64(1)));
}

/* The first of the next count ids of this server's shard. */
SNOWFLAKE_FUNCTIONS(snowflake_nextblock_of_server, snowflake53_nextblock_of_server)
{
	PG_RETURN_INT64(next_block(layout, server_shard(layout), PG_GETARG_INT64(0)));
}

/*
 * Raises the counter of this server's shard to the last tick of the id's millisecond, so that
 * all later ids are greater.  The mark must also cover this millisecond, because a restart
 * could otherwise forget the id.
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

/* Makes all later ids of this server's shard greater than an id, which it returns. */
SNOWFLAKE_FUNCTIONS(snowflake_witness, snowflake53_witness)
{
	int64		id = seqid_checked_id(layout, PG_GETARG_INT64(0));

	raise_to_id(layout, id);
	PG_RETURN_INT64(id);
}

/* Returns the last id of the layout that the session generated, of any shard. */
SNOWFLAKE_FUNCTIONS(snowflake_currval, snowflake53_currval)
{
	if (session_last_id[layout->number] == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no %s id has been generated in this session yet", layout->name),
				 errhint("Call %s_nextval() first.", layout->name)));

	PG_RETURN_INT64(session_last_id[layout->number]);
}
