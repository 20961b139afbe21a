/*
 * horizon.c
 *	  The settled horizon for SQL.
 */
#include "postgres.h"

#include "access/xact.h"
#include "clock/settled_horizon.h"
#include "clock/transaction_slot.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "server/pg_epoch.h"
#include "server/result_row.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

/*
 * A horizon that is newer than the snapshot of whoever reads by it loses rows:
 * those that ended in between.
 */
static void
check_snapshot_is_each_statements(void)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("seqid_horizon needs isolation level READ COMMITTED"),
				 errdetail("Under REPEATABLE READ and SERIALIZABLE, later statements do not see all that is settled.")));
}

/*
 * seqid_horizon(INOUT horizon timestamptz, INOUT lsn pg_lsn), a procedure
 *	  Arguments are ignored.  Every transaction of this database that drew a key
 *	  telling an earlier time than horizon has ended, no such key is drawn any
 *	  more, and a standby that has replayed lsn has all rows of the ended ones.
 *	  25001 under REPEATABLE READ and SERIALIZABLE, 25006 on a standby, 55000 in a
 *	  database without a place of its own, errors of the durable mark.
 */
PG_FUNCTION_INFO_V1(seqid_horizon);
Datum
seqid_horizon(PG_FUNCTION_ARGS)
{
	XLogRecPtr	lsn;
	int64		horizon_ms;
	Datum		values[2];
	bool		nulls[2] = {false};

	check_snapshot_is_each_statements();
	PreventCommandDuringRecovery("seqid_horizon()");

	horizon_ms = seqid_settle_horizon(&lsn);
	values[0] = TimestampTzGetDatum(pg_time_of_unix_ms(horizon_ms));
	values[1] = LSNGetDatum(lsn);

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/*
 * seqid_horizon_slots() returns setof (pid, held)
 *	  The processes that are in a transaction of this database which has drawn
 *	  keys, and the time that it holds the horizon at.
 */
PG_FUNCTION_INFO_V1(seqid_horizon_slots);
Datum
seqid_horizon_slots(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;

	if (SRF_IS_FIRSTCALL())
		seqid_begin_rows(fcinfo, seqid_slot_count());

	/* The counter is that of slots looked at, not of rows returned. */
	funcctx = SRF_PERCALL_SETUP();
	while (funcctx->call_cntr < funcctx->max_calls)
	{
		int64		listed_ms;
		int			pid;

		if (seqid_read_slot((int) funcctx->call_cntr, &listed_ms, &pid))
		{
			Datum		values[2] = {
				Int32GetDatum(pid),
				TimestampTzGetDatum(pg_time_of_unix_ms(listed_ms))
			};
			bool		nulls[2] = {false};

			SRF_RETURN_NEXT(funcctx,
							HeapTupleGetDatum(heap_form_tuple(funcctx->tuple_desc,
															  values, nulls)));
		}
		funcctx->call_cntr++;
	}
	SRF_RETURN_DONE(funcctx);
}
