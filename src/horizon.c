/*
 * horizon.c
 *	  SQL functions for the settled horizon.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "clock/sequence_slot.h"
#include "clock/settled_horizon.h"
#include "clock/settled_sequence.h"
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
 * A later statement must have a newer snapshot than the horizon.  Otherwise it misses rows
 * of transactions that ended in between, although the horizon has passed them.
 */
static void
check_snapshot_is_each_statements(const char *procedure)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s needs isolation level READ COMMITTED", procedure),
				 errdetail("Under %s, later statements of the transaction do not see all settled rows.",
						   XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
				 errhint("Begin the transaction with BEGIN ISOLATION LEVEL READ COMMITTED.")));
}

/*
 * Returns the smallest id of the horizon's millisecond: settled ids are less.  After the
 * end of the layout's time, returns its largest id plus 1, or the largest bigint.
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
 *	  Returns the settled horizon.  The arguments are ignored.
 *
 *	  horizon: every transaction of this database that generated a key with an earlier
 *	  time has ended, and no key with an earlier time will be generated.
 *	  snowflake, snowflake53, comb: the smallest keys with that time; settled keys are
 *	  less.
 *	  lsn, timeline: a standby that has replayed this position has all rows of the
 *	  transactions that have ended.
 *	  Errors: 25001 under REPEATABLE READ and SERIALIZABLE; 25006 on a standby; 55000 if
 *	  the mark is missing.
 */
PG_FUNCTION_INFO_V1(seqid_horizon);
Datum
seqid_horizon(PG_FUNCTION_ARGS)
{
	XLogRecPtr	lsn;
	int64		horizon_ms;
	Datum		values[6];
	bool		nulls[6] = {false};

	check_snapshot_is_each_statements("seqid.horizon");
	seqid_prevent_during_recovery("execute seqid.horizon()");

	horizon_ms = seqid_settle_horizon(&lsn);
	values[0] = TimestampTzGetDatum(pg_time_of_unix_ms(horizon_ms));
	values[1] = LSNGetDatum(lsn);
	values[2] = Int64GetDatum((int64) seqid_timeline());
	values[3] = Int64GetDatum(snowflake_bound(&snowflake_64, horizon_ms));
	values[4] = Int64GetDatum(snowflake_bound(&snowflake_53, horizon_ms));
	values[5] = UUIDPGetDatum(uuid_store(palloc(UUID_LEN), comb_compose(tick_of_ms(COMB_FRACTION_BITS, horizon_ms), 0)));

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/*
 * seqid.sequence_horizon(sequence regclass, INOUT value bigint, INOUT lsn pg_lsn,
 *	INOUT timeline bigint), a procedure
 *	  Returns the settled horizon of a sequence.  The other arguments are ignored.
 *
 *	  value: every transaction that got a value up to this one from settled_nextval() has
 *	  ended, and no such value will be returned again.
 *	  lsn, timeline: as those of seqid.horizon().
 *	  Errors: 25001, 25006 as seqid.horizon(); 22004 if sequence is NULL; 42501 without
 *	  USAGE, SELECT or UPDATE on it; 42809, 55000 as settled_nextval().
 */
PG_FUNCTION_INFO_V1(seqid_sequence_horizon);
Datum
seqid_sequence_horizon(PG_FUNCTION_ARGS)
{
	Relation	sequence;
	XLogRecPtr	lsn;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("sequence must not be NULL")));
	check_snapshot_is_each_statements("seqid.sequence_horizon");
	seqid_prevent_during_recovery("execute seqid.sequence_horizon()");

	sequence = seqid_open_settled_sequence(PG_GETARG_OID(0), ACL_USAGE | ACL_SELECT | ACL_UPDATE);
	values[0] = Int64GetDatum(seqid_settle_sequence(sequence, &lsn));
	values[1] = LSNGetDatum(lsn);
	values[2] = Int64GetDatum((int64) seqid_timeline());
	relation_close(sequence, RowExclusiveLock);

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/* Adds a row.  A prepared transaction has a virtual transaction ID instead of a process. */
static void
put_holder(ReturnSetInfo * result, int pid, const char *virtualtransaction, int64 held_ms)
{
	Datum		values[5] = {Int32GetDatum(pid), (Datum) 0,
	TimestampTzGetDatum(pg_time_of_unix_ms(held_ms))};
	bool		nulls[5] = {virtualtransaction != NULL, virtualtransaction == NULL, false, true, true};

	if (virtualtransaction != NULL)
		values[1] = CStringGetTextDatum(virtualtransaction);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
put_sequence_holder(ReturnSetInfo * result, const SequenceHolder *holder)
{
	Datum		values[5] = {Int32GetDatum(holder->pid), (Datum) 0, (Datum) 0,
	ObjectIdGetDatum(holder->sequence), Int64GetDatum(holder->last)};
	bool		nulls[5] = {false, true, true, false, false};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * seqid.horizon_slots() returns setof (pid, virtualtransaction, held, sequence, value)
 *	  Returns the open transactions of this database that have generated keys.  held is
 *	  the time that the horizon cannot pass before the transaction ends.  For a prepared
 *	  transaction, pid is NULL and virtualtransaction is that of pg_locks; for others,
 *	  virtualtransaction is NULL.
 *	  A transaction has another row, without held, for each sequence that it has called
 *	  settled_nextval() for.  value is what the sequence's horizon cannot pass.
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
		SequenceHolder holder;
		int64		registered_ms;
		int			pid;

		if (seqid_read_slot(i, &registered_ms, &pid))
			put_holder(result, pid, NULL, registered_ms);
		for (int entry = 0; entry < SEQUENCE_ENTRIES &&
			 seqid_read_sequence_entry(i, entry, &holder); entry++)
			put_sequence_holder(result, &holder);
	}

	prepared = seqid_prepared_writers(&prepared_count);
	for (int i = 0; i < prepared_count; i++)
		put_holder(result, 0, prepared[i].virtualtransaction, prepared[i].registered_ms);

	return (Datum) 0;
}
