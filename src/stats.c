/*
 * stats.c
 *	  What administrators want to know: how far shards are, and how far the mark.
 *
 * Reads shared memory and the mark's page; changes nothing.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "catalog/pg_authid.h"
#include "clock/clock_mark.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/database_state.h"
#include "server/pg_epoch.h"
#include "server/result_row.h"
#include "server/server_shard.h"
#include "server/wall_clock.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define MS_PER_YEAR	(365.2425 * 24 * 60 * 60 * 1000)


static Datum
shard_row(TupleDesc tupdesc, SharedState *state, const SnowflakeLayout *layout,
		  int shard, int64 tick)
{
	ShardCounters *counters = seqid_shard_counters(state, layout, shard);
	int64		unix_ms = snowflake_tick_ms(layout, tick) + layout->epoch_unix_ms;
	int64		ahead_ms = unix_ms - wall_clock_read_ms();
	Datum		values[7];
	bool		nulls[7] = {false};

	values[0] = CStringGetTextDatum(layout->name);
	values[1] = Int32GetDatum(shard);
	values[2] = Int64GetDatum(snowflake_tick_id(layout, tick, shard));
	values[3] = TimestampTzGetDatum(pg_time_of_unix_ms(unix_ms));
	values[4] = Int64GetDatum(Max(0, ahead_ms));
	values[5] = Int64GetDatum((int64) pg_atomic_read_u64(&counters->waits));
	values[6] = Int64GetDatum((int64) pg_atomic_read_u64(&counters->clock_regressions));

	return HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls));
}

/* A word in the order of layouts, and of shards within one. */
static const SnowflakeLayout *
layout_of_word(int word, int *shard)
{
	int			i = SNOWFLAKE_LAYOUTS - 1;

	while (i > 0 && word < snowflake_layouts[i]->first_word)
		i--;
	*shard = word - snowflake_layouts[i]->first_word;
	return snowflake_layouts[i];
}

/*
 * seqid_stat_shards() returns setof (layout, shard, last_id, last_time, ahead_ms, waits, clock_regressions)
 *	  A row for each shard of each layout that has issued ids since the server started.
 */
PG_FUNCTION_INFO_V1(seqid_stat_shards);
Datum
seqid_stat_shards(PG_FUNCTION_ARGS)
{
	SharedState *state = seqid_shared_state();
	FuncCallContext *funcctx;

	if (SRF_IS_FIRSTCALL())
		seqid_begin_rows(fcinfo, SNOWFLAKE_WORDS);

	/* The counter is that of shards looked at, not of rows returned. */
	funcctx = SRF_PERCALL_SETUP();
	while (funcctx->call_cntr < funcctx->max_calls)
	{
		int			shard;
		const SnowflakeLayout *layout = layout_of_word((int) funcctx->call_cntr, &shard);
		int64		tick = (int64) pg_atomic_read_u64(seqid_shard_tick(state, layout, shard));

		if (tick != 0)
			SRF_RETURN_NEXT(funcctx, shard_row(funcctx->tuple_desc, state, layout, shard, tick));
		funcctx->call_cntr++;
	}
	SRF_RETURN_DONE(funcctx);
}

/* Until the first layout's time ends. */
static double
years_left(void)
{
	int64		last_ms = PG_INT64_MAX;

	for (int i = 0; i < SNOWFLAKE_LAYOUTS; i++)
		last_ms = Min(last_ms, snowflake_max_ms(snowflake_layouts[i]) +
					  snowflake_layouts[i]->epoch_unix_ms);
	return (last_ms - wall_clock_read_ms()) / MS_PER_YEAR;
}

/*
 * What systemd calls the machine, as text; NULL if there is none.  It is the same
 * for all servers on it, and another one for a clone that was set up as it should.
 */
static Datum
machine_id(bool *isnull)
{
	char		id[33];
	FILE	   *file = AllocateFile("/etc/machine-id", "r");

	*isnull = (file == NULL || fscanf(file, "%32[0-9a-f]", id) != 1);
	if (file != NULL)
		FreeFile(file);
	return *isnull ? (Datum) 0 : CStringGetTextDatum(id);
}

/* A time that is not known, 0, is NULL. */
static Datum
time_or_null(int64 unix_us, bool *isnull)
{
	*isnull = (unix_us == 0);
	return TimestampTzGetDatum(pg_time_of_unix_us(unix_us));
}

/*
 * seqid_stat() returns (preloaded, clock_mark, clock_floor, comb_time, marks_written,
 *	years_left, timeline, shard, shard_source, system_identifier, machine_id,
 *	data_directory, horizon)
 *	  One row.  Mark, floor, COMBs and horizon are those of this database.
 *	  clock_mark and clock_floor are NULL if the mark is missing or damaged;
 *	  clock_floor also if no earlier server lifetime is known to have issued keys.
 *	  comb_time is NULL until the first COMB since the server started, horizon until
 *	  the first seqid_horizon().  timeline and shard are NULL on a standby; shard
 *	  and shard_source also while seqid.shards is empty.  machine_id and
 *	  data_directory are NULL for roles that cannot read all settings.
 */
PG_FUNCTION_INFO_V1(seqid_stat);
Datum
seqid_stat(PG_FUNCTION_ARGS)
{
	DatabaseState *database = seqid_find_database_state();
	int64		mark_ms = 0;
	int64		floor_ms = 0;
	int64		comb = 0;
	int64		published_ms = 0;
	int64		marks_written = 0;
	int			shard;
	bool		trusted = has_privs_of_role(GetUserId(), COMPAT_READ_ALL_SETTINGS);
	Datum		values[13];
	bool		nulls[13] = {false};

	seqid_require_settings();
	shard = seqid_find_server_shard();
	if (database != NULL)
	{
		comb = (int64) pg_atomic_read_u64(&database->comb.tick);
		marks_written = (int64) pg_atomic_read_u64(&database->mark.writes);
		published_ms = (int64) pg_atomic_read_u64(&database->horizon.published_ms);
	}

	values[0] = BoolGetDatum(seqid_preloaded);
	nulls[1] = !seqid_find_mark_times(&mark_ms, &floor_ms);
	values[1] = TimestampTzGetDatum(pg_time_of_unix_ms(mark_ms));
	values[2] = time_or_null(floor_ms * WALL_US_PER_MS, &nulls[2]);
	values[3] = time_or_null(comb_tick_us(comb), &nulls[3]);
	values[4] = Int64GetDatum(marks_written);
	values[5] = Float8GetDatum(years_left());
	values[6] = Int64GetDatum((int64) seqid_timeline());
	nulls[6] = (seqid_timeline() == 0);
	values[7] = Int32GetDatum(shard);
	nulls[7] = (shard < 0);
	values[8] = CStringGetTextDatum(seqid_shard_source());
	nulls[8] = (seqid_shard_setting->list.count == 0);
	values[9] = Int64GetDatum((int64) GetSystemIdentifier());
	values[10] = machine_id(&nulls[10]);
	values[11] = CStringGetTextDatum(DataDir);
	if (!trusted)
		nulls[10] = nulls[11] = true;
	values[12] = time_or_null(published_ms * WALL_US_PER_MS, &nulls[12]);

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}
