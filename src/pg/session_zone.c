/*
 * session_zone.c
 *	  Refuses times that were read in the time zone of the session.
 *
 * A timestamp or a date becomes a timestamptz without a word, and the setting TimeZone
 * decides which.  For the key of an existing row this must not depend on the session that
 * happens to run a migration.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "pg/session_zone.h"
#include "pgtime.h"
#include "utils/fmgroids.h"

/* Whether the expression converts a type without time zone, implicitly or by a cast. */
static bool
reads_session_zone(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr))
	{
		Oid			function = ((FuncExpr *) node)->funcid;

		if (function == F_TIMESTAMPTZ_TIMESTAMP || function == F_TIMESTAMPTZ_DATE)
			return true;
	}
	return expression_tree_walker(node, reads_session_zone, context);
}

/* Returns the arguments of a call, or NIL if they are not known. */
static List *
arguments_of(Node *call)
{
	if (call == NULL)
		return NIL;
	if (IsA(call, FuncExpr))
		return ((FuncExpr *) call)->args;
	if (IsA(call, WindowFunc))
		return ((WindowFunc *) call)->args;
	return NIL;
}

void
seqid_require_time_zone(FmgrInfo *flinfo)
{
	List	   *arguments = arguments_of(flinfo->fn_expr);

	if (arguments != NIL && reads_session_zone(linitial(arguments), NULL))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("time of an existing row has no time zone"),
				 errdetail("It was converted in the time zone of this session, \"%s\".",
						   pg_get_timezone_name(session_timezone)),
				 errhint("Name the time zone in which the time was stored, for example created_at::timestamp AT TIME ZONE 'UTC'.")));
}
