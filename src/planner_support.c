/*
 * planner_support.c
 *	  What the planner asks about functions of the extension.
 *
 * snowflake_in(id, range) and its counterparts are replaced with
 *
 *		id >= seqid.snowflake_bound(range, false) AND
 *		id <= seqid.snowflake_bound(range, true)
 *
 * An SQL function with this body would not need a support function.  But the body contains the
 * range twice, and the planner's inline_function() does not expand such a body if the argument
 * costs more than ten operators, as a user-defined function does.  The query would then read
 * the whole table.
 *
 * The number of rows in a set of keys is the argument "count".
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "codec/time_range.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "pg/compat.h"
#include "pg/sql_function.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* The layouts, by the C functions that SQL calls. */
static const struct
{
	PGFunction	in;
	const char *bound_name;
	PGFunction	bound;
}			kinds[] = {

	{snowflake_in, "snowflake_bound", seqid_snowflake_bound},
	{snowflake53_in, "snowflake53_bound", seqid_snowflake53_bound},
	{comb_uuid_in, "comb_uuid_bound", seqid_comb_uuid_bound}
};

/* id >= bound(range, false), or id <= bound(range, true) */
static Expr *
comparison(Node *id, Oid bound, Node *range, bool upper)
{
	Oid			type = exprType(id);
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int16		strategy = upper ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber;
	FuncExpr   *call = makeFuncExpr(bound, type,
									list_make2(copyObject(range), makeBoolConst(upper, false)),
									InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);

	return make_opclause(get_opfamily_member(family, type, type, strategy), BOOLOID, false,
						 (Expr *) copyObject(id), (Expr *) call, InvalidOid, InvalidOid);
}

/*
 * Returns the comparisons that replace a call of NAME_in(id, range), or NULL.  They evaluate
 * both arguments twice, so the arguments must not be volatile or contain subqueries.
 */
static Node *
simplified(PlannerInfo *root, FuncExpr *call)
{
	if (contain_volatile_functions((Node *) call->args) ||
		contain_subplans((Node *) call->args))
		return NULL;
	for (size_t i = 0; i < lengthof(kinds); i++)
	{
		Node	   *id;
		Node	   *range;
		Oid			bound;

		if (!is_function(call->funcid, kinds[i].in))
			continue;
		id = linitial(call->args);
		range = lsecond(call->args);
		bound = find_function(get_namespace_oid("seqid", true), kinds[i].bound_name,
							  TSTZRANGEOID, BOOLOID, kinds[i].bound);
		if (!OidIsValid(bound) || !compat_can_execute(bound, GetUserId()))
			return NULL;
		return eval_const_expressions(root, (Node *)
									  make_andclause(list_make2(comparison(id, bound, range, false),
																comparison(id, bound, range, true))));
	}
	return NULL;
}

/*
 * The value of the count, which is the last argument of a set of keys, or -1 if the planner
 * does not know it.  The node is an OpExpr if a user has created an operator on the function.
 */
static double
expected_count(PlannerInfo *root, Node *call)
{
	Node	   *count;

	if (!is_funcclause(call))
		return -1;
	count = estimate_expression_value(root, llast(((FuncExpr *) call)->args));
	if (!IsA(count, Const))
		return -1;
	return ((Const *) count)->constisnull ? 0 : Max(0, DatumGetInt64(((Const *) count)->constvalue));
}

/*
 * seqid.planner_support(internal) returns internal
 *	  The planner support function of snowflake_in, snowflake53_in and comb_uuid_in, and
 *	  of snowflake_nextvals, snowflake53_nextvals and comb_uuids.
 */
PG_FUNCTION_INFO_V1(seqid_planner_support);
Datum
seqid_planner_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(simplified(castNode(SupportRequestSimplify, request)->root,
									 castNode(SupportRequestSimplify, request)->fcall));
	if (IsA(request, SupportRequestRows))
	{
		SupportRequestRows *rows = castNode(SupportRequestRows, request);

		rows->rows = expected_count(rows->root, rows->node);
		PG_RETURN_POINTER(rows->rows < 0 ? NULL : rows);
	}
	PG_RETURN_POINTER(NULL);
}
