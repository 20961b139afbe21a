/*
 * stats.c
 *	  SQL functions of the statistics views.
 *
 * They do not claim an entry for the database, and return NULL instead of raising an error,
 * because administrators need them when something is wrong.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "clock/clock_mark.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pg/pg_epoch.h"
#include "pg/sql_function.h"
#include "pg/wall_clock.h"
#include "state/database_state.h"
#include "state/server_shard.h"
#include "state/shared_state.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#define MS_PER_YEAR	(365.2425 * 24 * 60 * 60 * 1000)

/*
 * seqid.stat_shards() returns setof (layout, shard, last_id, last_time, lead_ms, waits,
 *	clock_regressions)
 *	  Returns a row for each shard of which ids were issued since the server started.
 */
PG_FUNCTION_INFO_V1(seqid_stat_shards);
Datum
seqid_stat_shards(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	SharedState *state = seqid_find_shared_state();

	InitMaterializedSRF(fcinfo, 0);
	if (state == NULL)
		return (Datum) 0;
	for (int i = 0; i < SNOWFLAKE_LAYOUTS; i++)
	{
		const SnowflakeLayout *layout = snowflake_layouts[i];

		for (int shard = 0; shard <= snowflake_max_shard(layout); shard++)
		{
			int64		tick = (int64) pg_atomic_read_u64(seqid_shard_tick(state, layout, shard));
			int64		unix_ms = tick_ms(layout->sequence_bits, tick);
			ShardEvents *events = seqid_shard_events(state, layout, shard);
			Datum		values[7];
			bool		nulls[7] = {false};

			/* Unused, or moved only by a backfill, which issues no ids. */
			if (tick == (int64) pg_atomic_read_u64(seqid_backfilled_tick(state, layout, shard)))
				continue;

			values[0] = CStringGetTextDatum(layout->name);
			values[1] = Int32GetDatum(shard);
			values[2] = Int64GetDatum(snowflake_of_tick(layout, tick, shard));
			values[3] = TimestampTzGetDatum(pg_time_of_unix_ms(unix_ms));
			values[4] = Int64GetDatum(Max(0, unix_ms - wall_clock_read_ms()));
			values[5] = Int64GetDatum((int64) pg_atomic_read_u64(&events->waits));
			values[6] = Int64GetDatum((int64) pg_atomic_read_u64(&events->clock_regressions));
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		}
	}
	return (Datum) 0;
}

/*
 * seqid.stat_server() returns (library, preloaded, timeline, shard, shard_source,
 *	system_identifier)
 *	  timeline and shard are NULL on a standby.  shard and shard_source are NULL if
 *	  seqid.shards is empty, or if a parallel query prevents the settings from being defined.
 */
PG_FUNCTION_INFO_V1(seqid_stat_server);
Datum
seqid_stat_server(PG_FUNCTION_ARGS)
{
	int			shard = -1;
	Datum		values[6];
	bool		nulls[6] = {false};

	values[0] = CStringGetTextDatum(SEQID_VERSION);
	values[1] = BoolGetDatum(seqid_preloaded);
	values[2] = Int64GetDatum((int64) seqid_timeline());
	nulls[2] = (seqid_timeline() == 0);
	if (!seqid_settings_defined)
		seqid_define_settings(false);
	nulls[4] = !seqid_settings_defined || seqid_shard_setting->list.count == 0;
	if (!nulls[4])
	{
		shard = seqid_find_server_shard();
		values[4] = CStringGetTextDatum(seqid_shard_source());
	}
	values[3] = Int32GetDatum(shard);
	nulls[3] = (shard < 0);
	values[5] = Int64GetDatum((int64) GetSystemIdentifier());
	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/* 0 means that the time is not known. */
static Datum
time_or_null(int64 unix_us, bool *isnull)
{
	*isnull = (unix_us == 0);
	return TimestampTzGetDatum(pg_time_of_unix_us(unix_us));
}

/*
 * seqid.stat_database() returns (clock_mark, clock_floor, comb_uuid_time, marks_written,
 *	horizon, years_left)
 *	  All columns but years_left are NULL if the library was replaced while the server was
 *	  running.  clock_mark and clock_floor are NULL if the mark is missing or damaged.
 *	  clock_floor is also NULL if no earlier server lifetime is known to have issued keys.
 *	  comb_uuid_time is NULL before the first COMB since the server started, and horizon before
 *	  a reader has found the first one.
 */
PG_FUNCTION_INFO_V1(seqid_stat_database);
Datum
seqid_stat_database(PG_FUNCTION_ARGS)
{
	bool		has_state = seqid_find_shared_state() != NULL;
	DatabaseState *database = has_state ? seqid_find_database_state() : NULL;
	int64		mark_ms = 0;
	int64		floor_ms = 0;
	int64		comb = 0;
	int64		marks_written = 0;
	int64		published_ms = 0;
	int64		last_ms = PG_INT64_MAX;
	Datum		values[6];
	bool		nulls[6] = {false};

	if (database != NULL)
	{
		comb = (int64) pg_atomic_read_u64(&database->comb.tick);
		marks_written = (int64) pg_atomic_read_u64(&database->mark.writes);
		published_ms = (int64) pg_atomic_read_u64(&database->horizon.published_ms);
	}
	for (int i = 0; i < SNOWFLAKE_LAYOUTS; i++)
		last_ms = Min(last_ms, snowflake_last_ms(snowflake_layouts[i]));

	nulls[0] = !has_state || !seqid_find_mark_times(&mark_ms, &floor_ms);
	values[0] = TimestampTzGetDatum(pg_time_of_unix_ms(mark_ms));
	values[1] = time_or_null(floor_ms * WALL_US_PER_MS, &nulls[1]);
	values[2] = time_or_null(comb_tick_us(comb), &nulls[2]);
	values[3] = Int64GetDatum(marks_written);
	nulls[3] = !has_state;
	values[4] = time_or_null(published_ms * WALL_US_PER_MS, &nulls[4]);
	values[5] = Float8GetDatum((last_ms - wall_clock_read_ms()) / MS_PER_YEAR);
	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}
