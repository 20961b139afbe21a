/*
 * horizon.c
 *	  SQL procedures that return settled horizons for later statements.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "clock/settled_bound.h"
#include "clock/settled_horizon.h"
#include "clock/transaction_slot.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pg/pg_epoch.h"
#include "pg/result_row.h"
#include "state/server_shard.h"
#include "utils/acl.h"
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
 * seqid.horizon(INOUT horizon timestamptz, INOUT lsn pg_lsn, INOUT timeline bigint,
 *	INOUT snowflake bigint, INOUT snowflake53 bigint, INOUT comb_uuid uuid,
 *	INOUT lifetime bigint), a procedure
 *	  Returns the settled horizon.  The arguments are ignored.
 *
 *	  horizon: every transaction of this database that generated a key with an earlier
 *	  time has ended, and no key with an earlier time will be generated.
 *	  snowflake, snowflake53, comb_uuid: the smallest keys with that time; settled keys are
 *	  less.
 *	  lsn, timeline, lifetime: a server for which seqid.has_replayed() returns true has all
 *	  rows of the transactions that have ended.
 *	  Errors: 25001 under REPEATABLE READ and SERIALIZABLE; 25006 on a standby; 55000 if
 *	  the mark is missing.
 */
PG_FUNCTION_INFO_V1(seqid_horizon);
Datum
seqid_horizon(PG_FUNCTION_ARGS)
{
	XLogRecPtr	lsn;
	int64		horizon_ms;
	int64		lifetime;
	Datum		values[7];
	bool		nulls[7] = {false};

	check_snapshot_is_each_statements("seqid.horizon");
	seqid_prevent_during_recovery("execute seqid.horizon()");

	/* In this order: the number is logged before lsn. */
	lifetime = seqid_log_lifetime();
	horizon_ms = seqid_settle(KEYS_OF_SEQID, &lsn);
	values[0] = TimestampTzGetDatum(pg_time_of_unix_ms(horizon_ms));
	values[1] = LSNGetDatum(lsn);
	values[2] = Int64GetDatum((int64) seqid_timeline());
	values[3] = Int64GetDatum(settled_snowflake_bound(&snowflake_64, horizon_ms));
	values[4] = Int64GetDatum(settled_snowflake_bound(&snowflake_53, horizon_ms));
	values[5] = UUIDPGetDatum(settled_comb_bound(horizon_ms));
	values[6] = Int64GetDatum(lifetime);

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/*
 * seqid.sequence_horizon(sequence regclass, INOUT horizon bigint, INOUT lsn pg_lsn,
 *	INOUT timeline bigint, INOUT lifetime bigint), a procedure
 *	  Returns the settled horizon of a sequence.  The other arguments are ignored.
 *
 *	  horizon: every transaction that got a smaller value has ended, and no smaller value
 *	  will be generated.  The smallest bigint if that is not known, because a transaction
 *	  was open before the first call.
 *	  lsn, timeline, lifetime: as those of seqid.horizon().
 *	  Errors: 25001, 25006 as seqid.horizon(); 22004 if sequence is NULL; 42P01, 42501,
 *	  42809, 55000 as seqid.settled().
 */
PG_FUNCTION_INFO_V1(seqid_sequence_horizon);
Datum
seqid_sequence_horizon(PG_FUNCTION_ARGS)
{
	XLogRecPtr	lsn;
	int64		lifetime;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("sequence must not be NULL")));
	check_snapshot_is_each_statements("seqid.sequence_horizon");
	seqid_prevent_during_recovery("execute seqid.sequence_horizon()");

	lifetime = seqid_log_lifetime();
	values[0] = Int64GetDatum(seqid_settle(PG_GETARG_OID(0), &lsn));
	values[1] = LSNGetDatum(lsn);
	values[2] = Int64GetDatum((int64) seqid_timeline());
	values[3] = Int64GetDatum(lifetime);

	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/* Whether the role can see when transactions of another role began. */
static bool
can_see(Oid role)
{
	return has_privs_of_role(GetUserId(), role) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

static void
put_session(ReturnSetInfo *result, int pid, Oid role, int64 held_ms)
{
	Datum		values[3] = {Int32GetDatum(pid), (Datum) 0,
	TimestampTzGetDatum(pg_time_of_unix_ms(held_ms))};
	bool		nulls[3] = {false, true, !can_see(role)};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
put_prepared(ReturnSetInfo *result, const PreparedWriter *prepared)
{
	Datum		values[3] = {(Datum) 0, CStringGetTextDatum(prepared->virtualtransaction),
	TimestampTzGetDatum(pg_time_of_unix_ms(prepared->registered_ms))};
	bool		nulls[3] = {true, false, false};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * seqid.horizon_slots() returns setof (pid, virtualtransaction, held)
 *	  Returns the open transactions of this database that have generated keys.  held is
 *	  the time that the horizon cannot pass before the transaction ends; NULL if the
 *	  current role is neither a member of the transaction's role nor of pg_read_all_stats.
 *	  For a prepared transaction, pid is NULL and virtualtransaction is that of pg_locks;
 *	  for others, virtualtransaction is NULL.
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
		Oid			role = ProcGlobal->allProcs[i].roleId;

		if (seqid_read_slot(i, &registered_ms, &pid))
			put_session(result, pid, role, registered_ms);
	}

	prepared = seqid_prepared_writers(&prepared_count);
	for (int i = 0; i < prepared_count; i++)
		put_prepared(result, &prepared[i]);

	return (Datum) 0;
}
