/*
 * settled.c
 *	  Settled bounds, and the transactions that hold them, for SQL.
 */
#include "postgres.h"

#include "access/xact.h"
#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "catalog/pg_authid.h"
#include "clock/sequence_look.h"
#include "clock/settled_bound.h"
#include "clock/settled_horizon.h"
#include "clock/transaction_slot.h"
#include "fmgr.h"
#include "funcapi.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "pg/pg_epoch.h"
#include "pg/sql_function.h"
#include "state/server_shard.h"
#include "state/shared_state.h"
#include "utils/acl.h"
#include "utils/pg_lsn.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

/*
 * The cost of a call in a generic plan.  It is so high that the server makes a plan for each
 * execution instead, and the planner looks ahead each time.
 */
#define GENERIC_PLAN_COST	1e9

/*
 * The smallest id with a time.  If the time is after the last one of the layout, the largest
 * id plus 1, or the largest bigint; if it is before the first one, the smallest bigint.
 */
static Datum
snowflake_bound(const SnowflakeLayout *layout, int64 horizon_ms)
{
	int64		bound = PG_INT64_MIN;

	if (horizon_ms > snowflake_last_ms(layout))
		bound = Min(snowflake_max_id(layout), PG_INT64_MAX - 1) + 1;
	else if (horizon_ms >= layout->epoch_unix_ms)
		bound = snowflake_id(layout, horizon_ms, 0, 0);
	return Int64GetDatum(bound);
}

/* The smallest COMB with a time. */
static Datum
comb_bound(int64 horizon_ms)
{
	int64		tick = tick_of_ms(COMB_FRACTION_BITS, Max(horizon_ms, 0));

	return UUIDPGetDatum(uuid_store(palloc(UUID_LEN), comb_compose(tick, 0)));
}

/* The first argument.  Raises an error for 0, which is not a sequence, but KEYS_OF_SEQID. */
static Oid
sequence_argument(FunctionCallInfo fcinfo)
{
	if (PG_GETARG_OID(0) == KEYS_OF_SEQID)
		seqid_check_followed_sequence(InvalidOid);
	return PG_GETARG_OID(0);
}

/* ------------------------------------------------------------------------
 * For the calling statement
 * ------------------------------------------------------------------------
 */

/*
 * A bound for the snapshot of the statement: each row whose key is a smaller value of the
 * sequence is visible to it, or will never appear.  The smallest bigint if nothing is known.
 */
PG_FUNCTION_INFO_V1(seqid_settled);
Datum
seqid_settled(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(seqid_settled_bound(sequence_argument(fcinfo), seqid_active_snapshot()));
}

/* NO_BOUND, or a time in milliseconds since 1970. */
static int64
settled_ms(void)
{
	return seqid_settled_bound(KEYS_OF_SEQID, seqid_active_snapshot());
}

/* The exclusive bound of settled snowflakes.  25006 on a standby. */
PG_FUNCTION_INFO_V1(seqid_settled_snowflake);
Datum
seqid_settled_snowflake(PG_FUNCTION_ARGS)
{
	return snowflake_bound(&snowflake_64, settled_ms());
}

/* The exclusive bound of settled snowflake53s.  25006 on a standby. */
PG_FUNCTION_INFO_V1(seqid_settled_snowflake53);
Datum
seqid_settled_snowflake53(PG_FUNCTION_ARGS)
{
	return snowflake_bound(&snowflake_53, settled_ms());
}

/* The exclusive bound of settled COMBs.  25006 on a standby. */
PG_FUNCTION_INFO_V1(seqid_settled_comb_uuid);
Datum
seqid_settled_comb_uuid(PG_FUNCTION_ARGS)
{
	return comb_bound(settled_ms());
}

/* ------------------------------------------------------------------------
 * For later statements
 * ------------------------------------------------------------------------
 */

/*
 * Returns the horizon of a procedure, and sets lsn, timeline and lifetime.  A server on which
 * seqid.has_replayed() returns true for these has all rows below the horizon.
 */
static int64
settle(Oid followed, const char *procedure, Datum *lsn, Datum *timeline, Datum *lifetime)
{
	XLogRecPtr	flushed;
	int64		horizon;

	/*
	 * The snapshot of a later statement must be newer than the horizon.
	 * Otherwise the statement misses rows of transactions that ended in
	 * between, although the horizon has passed them.
	 */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s needs isolation level READ COMMITTED", procedure),
				 errdetail("Under %s, later statements of the transaction do not see all settled rows.",
						   XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
				 errhint("Begin the transaction with BEGIN ISOLATION LEVEL READ COMMITTED.")));
	seqid_prevent_during_recovery(psprintf("execute %s()", procedure));

	/* Keep this order, because the lifetime must be logged before lsn. */
	*lifetime = Int64GetDatum(seqid_log_lifetime());
	horizon = seqid_settle(followed, &flushed);
	*lsn = LSNGetDatum(flushed);
	*timeline = Int64GetDatum((int64) seqid_timeline());
	return horizon;
}

/*
 * seqid.horizon(), which ignores its arguments.  Every transaction of this database that
 * generated a key with an earlier time than the horizon has ended, and no such key will be
 * generated.
 */
PG_FUNCTION_INFO_V1(seqid_horizon);
Datum
seqid_horizon(PG_FUNCTION_ARGS)
{
	Datum		values[7];
	bool		nulls[7] = {false};
	int64		horizon_ms = settle(KEYS_OF_SEQID, "seqid.horizon", &values[1], &values[2], &values[6]);

	values[0] = TimestampTzGetDatum(pg_time_of_unix_ms(horizon_ms));
	values[3] = snowflake_bound(&snowflake_64, horizon_ms);
	values[4] = snowflake_bound(&snowflake_53, horizon_ms);
	values[5] = comb_bound(horizon_ms);
	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/* seqid.sequence_horizon(), which ignores all arguments but the sequence. */
PG_FUNCTION_INFO_V1(seqid_sequence_horizon);
Datum
seqid_sequence_horizon(PG_FUNCTION_ARGS)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("sequence must not be NULL")));
	values[0] = Int64GetDatum(settle(sequence_argument(fcinfo), "seqid.sequence_horizon",
									 &values[1], &values[2], &values[3]));
	PG_RETURN_DATUM(seqid_result_row(fcinfo, values, nulls));
}

/*
 * Returns rows (pid, held) of the sessions of this database whose transactions have generated
 * keys.  held is the time that the horizon cannot pass before the transaction ends; it is NULL
 * unless the current role can see when transactions of the session's role began.
 */
PG_FUNCTION_INFO_V1(seqid_horizon_slots);
Datum
seqid_horizon_slots(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	if (seqid_find_shared_state() == NULL)
		return (Datum) 0;
	for (int i = 0; i < seqid_slot_count(); i++)
	{
		Oid			role = ProcGlobal->allProcs[i].roleId;
		Datum		values[2];
		bool		nulls[2] = {false};
		int64		held_ms;
		int			pid;

		if (!seqid_read_slot(i, &held_ms, &pid))
			continue;
		values[0] = Int32GetDatum(pid);
		values[1] = TimestampTzGetDatum(pg_time_of_unix_ms(held_ms));
		nulls[1] = !has_privs_of_role(GetUserId(), role) &&
			!has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ------------------------------------------------------------------------
 * The planner
 * ------------------------------------------------------------------------
 */

/*
 * The planner simplifies expressions before the statement gets its snapshot, so this is the
 * time to look.  The call itself is not replaced.
 */
static void
look_ahead(const FuncExpr *call)
{
	if (call->args == NIL)
		seqid_look_ahead(KEYS_OF_SEQID);
	else if (IsA(linitial(call->args), Const) && !((Const *) linitial(call->args))->constisnull)
		seqid_look_ahead(DatumGetObjectId(((Const *) linitial(call->args))->constvalue));
}

static bool
has_parameter(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXTERN;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_parameter, context, 0);
	return expression_tree_walker(node, has_parameter, context);
}

/* Whether the plan is for any values of the parameters, and the server could make another. */
static bool
is_generic(const PlannerInfo *root)
{
	if (root == NULL || root->glob->boundParams != NULL ||
		plan_cache_mode == PLAN_CACHE_MODE_FORCE_GENERIC_PLAN)
		return false;
	while (root->parent_root != NULL)
		root = root->parent_root;
	return has_parameter((Node *) root->parse, NULL);
}

/*
 * A function in SQL executes a plan like a generic one, so the cost must not be a reason to
 * compile it.  Each scan of a partitioned table has a call.
 */
static Cost
generic_plan_cost(const PlannerInfo *root)
{
	if (!jit_enabled || jit_above_cost < 0)
		return GENERIC_PLAN_COST;
	return jit_above_cost / 2 / Max(1, root->simple_rel_array_size - 1);
}

static bool
set_cost(SupportRequestCost *request)
{
	if (!is_generic(request->root))
		return false;
	request->startup = generic_plan_cost(request->root);
	request->per_tuple = 0;
	return true;
}

PG_FUNCTION_INFO_V1(seqid_settled_support);
Datum
seqid_settled_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
		look_ahead(((SupportRequestSimplify *) request)->fcall);
	else if (IsA(request, SupportRequestCost) && set_cost((SupportRequestCost *) request))
		PG_RETURN_POINTER(request);
	PG_RETURN_POINTER(NULL);
}
