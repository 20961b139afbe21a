/*
 * horizon.c
 *	  The settled horizon for SQL.
 */
#include "postgres.h"

#include "access/xact.h"
#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "clock/settled_horizon.h"
#include "clock/transaction_slot.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pg/pg_epoch.h"
#include "pg/result_row.h"
#include "state/server_shard.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/uuid.h"

/*
 * A reader loses rows if its snapshot is older than the horizon: those of transactions
 * that ended in between.
 */
static void
check_snapshot_is_each_statements(void)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("seqid.horizon needs isolation level READ COMMITTED"),
				 errdetail("Under REPEATABLE READ and SERIALIZABLE, later statements do not see all settled rows."),
				 errhint("Run BEGIN ISOLATION LEVEL READ COMMITTED.")));
}

/*
 * The bound of a layout's ids that are settled.  When the time of the layout is over,
 * this is one more than its last id, or the last bigint.
 */
static int64
snowflake_bound(const SnowflakeLayout *layout, int64 horizon_ms)
{
	if (horizon_ms > snowflake_last_ms(layout))
		return Min(snowflake_max_id(layout), PG_INT64_MAX - 1) + 1;
	return snowflake_id(layout, horizon_ms, 0, 0);
}

/*
 * seqid.horizon(INOUT horizon timestamptz, INOUT lsn pg_lsn, INOUT timeline bigint,
 *	INOUT snowflake bigint, INOUT snowflake53 bigint, INOUT comb uuid), a procedure
 *	  The arguments are ignored.  Every transaction of this database that generated a
 *	  key with an earlier time than horizon has ended, and no such key is generated any
 *	  more.  The last three results are the first keys of that time: settled keys are
 *	  less.  A standby that has replayed lsn on timeline has all rows of the ended
 *	  transactions.  25001 under REPEATABLE READ and SERIALIZABLE, 25006 on a
 *	  standby, errors of the durable mark.
 */
PG_FUNCTION_INFO_V1(seqid_horizon);
Datum
seqid_horizon(PG_FUNCTION_ARGS)
{
	XLogRecPtr	lsn;
	int64		horizon_ms;
	Datum		values[6];
	bool		nulls[6] = {false};

	check_snapshot_is_each_statements();
	PreventCommandDuringRecovery("seqid.horizon()");

	horizon_ms = seqid_settle_horizon(&lsn);
	values[0] = TimestampTzGetDatum(pg_time_of_unix_ms(horizon_ms));
	values[1] = LSNGetDatum(lsn);
	values[2] = Int64GetDatum((int64) seqid_timeline());
	values[3] = Int64GetDatum(snowflake_bound(&snowflake_64, horizon_ms));
	values[4] = Int64GetDatum(snowflake_bound(&snowflake_53, horizon_ms));
	values[5] = UUIDPGetDatum(uuid_store(palloc(UUID_LEN), comb_compose(tick_of_ms(COMB_FRACTION_BITS, horizon_ms), 0)));

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/* A transaction is known by its process, or if it is prepared, by its virtual id. */
static void
put_holder(ReturnSetInfo * result, int pid, const char *virtualtransaction, int64 held_ms)
{
	Datum		values[3] = {Int32GetDatum(pid), (Datum) 0,
	TimestampTzGetDatum(pg_time_of_unix_ms(held_ms))};
	bool		nulls[3] = {virtualtransaction != NULL, virtualtransaction == NULL, false};

	if (virtualtransaction != NULL)
		values[1] = CStringGetTextDatum(virtualtransaction);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * seqid.horizon_slots() returns setof (pid, virtualtransaction, held)
 *	  The open transactions of this database that have generated keys, and the time at
 *	  which each holds the horizon.  A prepared one has no pid, but
 *	  virtualtransaction, as in pg_locks.
 */
PG_FUNCTION_INFO_V1(seqid_horizon_slots);
Datum
seqid_horizon_slots(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	PreparedWriter *prepared;
	int			prepared_count;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < seqid_slot_count(); i++)
	{
		int64		registered_ms;
		int			pid;

		if (seqid_read_slot(i, &registered_ms, &pid))
			put_holder(result, pid, NULL, registered_ms);
	}

	prepared = seqid_prepared_writers(&prepared_count);
	for (int i = 0; i < prepared_count; i++)
		put_holder(result, 0, prepared[i].virtualtransaction, prepared[i].registered_ms);

	return (Datum) 0;
}
