/*
 * settled.c
 *	  SQL functions that return settled bounds for the statement that calls them.
 */
#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "clock/settled_bound.h"
#include "clock/settled_horizon.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "pg/active_snapshot.h"
#include "utils/plancache.h"
#include "utils/uuid.h"

/*
 * The cost of a plan that was made before the statement's parameters were known.  The server
 * then makes a new plan for each execution, and the planner looks ahead.
 */
#define GENERIC_PLAN_COST	1e9

/*
 * seqid.settled(sequence regclass) returns bigint
 *	  Returns a bound for the snapshot of the statement: each row whose key is a smaller
 *	  value of the sequence is visible to it, or will never appear.  The smallest bigint if
 *	  nothing is known, for example because a transaction was open before the first call.
 *	  Errors: 42501 without USAGE, SELECT or UPDATE on the sequence; 42P01, 42809 if it is
 *	  not a sequence; 55000 if it has CACHE above 1, CYCLE or a negative INCREMENT, or is not
 *	  permanent; 25006 on a standby; 54000 for a snapshot older than the last 64 of the
 *	  transaction.
 */
PG_FUNCTION_INFO_V1(seqid_settled);
Datum
seqid_settled(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(seqid_settled_bound(PG_GETARG_OID(0), seqid_active_snapshot()));
}

/* NO_BOUND, or a time in milliseconds since 1970. */
static int64
settled_ms(void)
{
	return seqid_settled_bound(KEYS_OF_SEQID, seqid_active_snapshot());
}

/*
 * seqid.settled_snowflake() returns bigint
 * seqid.settled_snowflake53() returns bigint
 * seqid.settled_comb_uuid() returns uuid
 *	  Return bounds as seqid.settled() does, for keys that this database generates.
 *	  Errors: 25006 on a standby; 54000 as seqid.settled(); 55000 if the mark is missing.
 */
PG_FUNCTION_INFO_V1(seqid_settled_snowflake);
Datum
seqid_settled_snowflake(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(settled_snowflake_bound(&snowflake_64, settled_ms()));
}

PG_FUNCTION_INFO_V1(seqid_settled_snowflake53);
Datum
seqid_settled_snowflake53(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(settled_snowflake_bound(&snowflake_53, settled_ms()));
}

PG_FUNCTION_INFO_V1(seqid_settled_comb_uuid);
Datum
seqid_settled_comb_uuid(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(settled_comb_bound(settled_ms()));
}

/* ------------------------------------------------------------------------
 * The planner
 * ------------------------------------------------------------------------
 */

/*
 * The planner simplifies expressions before the statement gets its snapshot.  The call
 * stays as it is.
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

/* Whether the plan is for any values of the statement's parameters, and not the only one. */
static bool
is_generic(const PlannerInfo * root)
{
	if (root == NULL || root->glob->boundParams != NULL ||
		plan_cache_mode == PLAN_CACHE_MODE_FORCE_GENERIC_PLAN)
		return false;
	while (root->parent_root != NULL)
		root = root->parent_root;
	return has_parameter((Node *) root->parse, NULL);
}

static bool
set_cost(SupportRequestCost * request)
{
	if (!is_generic(request->root))
		return false;
	request->startup = GENERIC_PLAN_COST;
	request->per_tuple = 0;
	return true;
}

/*
 * seqid.settled_support(internal) returns internal
 *	  The planner support function of the functions above.
 */
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
