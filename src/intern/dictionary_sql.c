/*
 * dictionary_sql.c
 *	  SQL statements on dictionaries.
 *
 * They run, as the current user, where SELECT or INSERT must do what users have defined, such
 * as policies, triggers, rules, and defaults of other columns.
 *
 * The session keeps the plans that it used last.  Another role can change what a statement
 * means, for example if it renames a schema, or revokes a membership on which a policy
 * depends.  So a plan is used again only by the user for whom it was made, only if the server
 * would not analyze the statement again, and only if no role has changed, which older minor
 * versions of the server do not notice.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "intern/dictionary.h"
#include "miscadmin.h"
#include "pg/test_stop.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* About 40 kB each. */
#define KEPT_PLANS 32

struct Statement
{
	const Dictionary *dictionary;
	StatementKind kind;
	Oid			relid;
	Oid			user;
	uint64		role_changes;	/* when the plan was made */
	SPIPlanPtr	plan;			/* NULL if it could not be made */
};

/* Plans that no call is using, in the order of their last use. */
static Statement kept[KEPT_PLANS];
static int	kept_count = 0;
static uint64 role_changes = 0;

static char *
statement_sql(const Dictionary *dictionary, StatementKind kind)
{
	char	   *table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(dictionary->rel)),
												   RelationGetRelationName(dictionary->rel));
	Oid			constraint;
	char	   *name;

	if (kind == FIND_ID)
		return psprintf("SELECT id FROM ONLY %s WHERE term OPERATOR(pg_catalog.=) $1", table);
	if (kind == FIND_TERM)
		return psprintf("SELECT term FROM ONLY %s WHERE id OPERATOR(pg_catalog.=) $1", table);

	/* Any conflict other than one of terms is an error that users must see. */
	constraint = get_index_constraint(dictionary->shape.term_index);
	name = OidIsValid(constraint) ? get_constraint_name(constraint) : NULL;
	return psprintf("INSERT INTO %s (id, term) VALUES ($1, $2) ON CONFLICT %s DO NOTHING", table,
					name == NULL ? "(term COLLATE pg_catalog.\"C\" pg_catalog.text_ops)" :
					psprintf("ON CONSTRAINT %s", quote_identifier(name)));
}

static CachedPlanSource *
source_of(SPIPlanPtr plan)
{
	return linitial(SPI_plan_get_plan_sources(plan));
}

/*
 * Whether the statement names the table.  The first relation is the one that it names, which
 * could also be another role's view on the table.
 */
static bool
names_table(SPIPlanPtr plan, Oid relid)
{
	List	   *relations = source_of(plan)->relationOids;

	return relations != NIL && linitial_oid(relations) == relid;
}

/* Raises an error if a schema was renamed, which is possible while its tables are in use. */
static void
check_table(SPIPlanPtr plan, Oid relid)
{
	if (!names_table(plan, relid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access to a dictionary"),
				 errdetail("The schema of the dictionary was renamed at this moment."),
				 errhint("Try again.")));
}

static void
set_for_planner(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * The planner takes a table that has just been filled for a small one, and would read all of
 * it for each term.  The settings end with planning, so that triggers run with the user's.
 */
static void
make_plan(Statement *statement)
{
	Oid			types[] = {INT8OID, TEXTOID};
	char	   *sql = statement_sql(statement->dictionary, statement->kind);
	int			level = NewGUCNestLevel();
	SPIPlanPtr	plan;
	CachedPlan *cached;

	test_stop(TEST_STOP_NAMED);
	set_for_planner("enable_seqscan", "off");
	set_for_planner("enable_indexscan", "on");
	statement->role_changes = role_changes;
	plan = SPI_prepare_cursor(sql, statement->kind == INSERT_TERM ? 2 : 1,
							  statement->kind == FIND_ID ? &types[1] : types,
							  CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));

	/*
	 * Check now, because the planner runs functions, which another role could
	 * have put into a view.
	 */
	check_table(plan, statement->relid);
	/* Do this before planning, because SPI_keepplan() drops a generic plan. */
	SPI_keepplan(plan);
	statement->plan = plan;
	cached = SPI_plan_get_cached_plan(plan);
	if (cached != NULL)
		ReleaseCachedPlan(cached, CurrentResourceOwner);
	AtEOXact_GUC(true, level);
	check_table(plan, statement->relid);
}

/* Whether the server would not analyze the statement again. */
static bool
can_be_used_again(const Statement *statement)
{
	CachedPlanSource *source = source_of(statement->plan);

	return statement->role_changes == role_changes && source->gplan != NULL &&
		CachedPlanIsSimplyValid(source, source->gplan, NULL);
}

static void
remove_kept(int number)
{
	kept_count--;
	memmove(&kept[number], &kept[number + 1], (kept_count - number) * sizeof(Statement));
}

/* Takes a kept plan for the statement.  Returns false if there is none. */
static bool
take(Statement *statement)
{
	for (int i = 0; i < kept_count; i++)
	{
		if (kept[i].relid != statement->relid || kept[i].kind != statement->kind ||
			kept[i].user != statement->user || !can_be_used_again(&kept[i]))
			continue;
		statement->plan = kept[i].plan;
		statement->role_changes = kept[i].role_changes;
		remove_kept(i);
		return true;
	}
	return false;
}

/*
 * Called at the end of the statement's SPI connection.  If an error has ended it, the catalogs
 * cannot be read, and the plan can be that of another table, or was not completed.
 */
static void
finish(void *argument)
{
	Statement  *statement = argument;

	if (statement->plan == NULL)
		return;
	if (!SPI_plan_is_valid(statement->plan) || source_of(statement->plan)->gplan == NULL ||
		!names_table(statement->plan, statement->relid))
	{
		SPI_freeplan(statement->plan);
		return;
	}
	if (kept_count == KEPT_PLANS)
	{
		SPI_freeplan(kept[0].plan);
		remove_kept(0);
	}
	kept[kept_count++] = *statement;
}

static void
change_role(Datum arg pg_attribute_unused(), int cache pg_attribute_unused(),
			uint32 hash pg_attribute_unused())
{
	role_changes++;
}

Statement  *
seqid_sql_begin(const Dictionary *dictionary, StatementKind kind)
{
	static bool watches_roles = false;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContextCallback *callback;
	Statement  *statement;

	/* These catalogs decide to whom a policy applies; see the server's acl.c. */
	if (!watches_roles)
	{
		CacheRegisterSyscacheCallback(AUTHOID, change_role, (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, change_role, (Datum) 0);
		CacheRegisterSyscacheCallback(DATABASEOID, change_role, (Datum) 0);
		watches_roles = true;
	}
	SPI_connect();
	callback = palloc0(sizeof(MemoryContextCallback));
	statement = palloc0(sizeof(Statement));
	statement->dictionary = dictionary;
	statement->kind = kind;
	statement->relid = RelationGetRelid(dictionary->rel);
	statement->user = GetUserId();
	callback->func = finish;
	callback->arg = statement;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	if (!take(statement))
		make_plan(statement);
	MemoryContextSwitchTo(caller);

	return statement;
}

bool
seqid_sql_run(Statement *statement, Datum *arguments, bool read_only, Datum *result)
{
	MemoryContext caller = CurrentMemoryContext;
	bool		isnull = true;
	int			code;

	/* Otherwise the server would analyze it again with the table's old name. */
	if (!can_be_used_again(statement))
	{
		SPI_freeplan(statement->plan);
		statement->plan = NULL;
		make_plan(statement);
	}
	SPI_freetuptable(SPI_tuptable);
	code = SPI_execute_plan(statement->plan, arguments, NULL, read_only, 0);
	if (code < 0)
		elog(ERROR, "could not run a statement on a dictionary: %s",
			 SPI_result_code_string(code));
	check_table(statement->plan, statement->relid);
	if (code == SPI_OK_SELECT && SPI_processed > 0)
		*result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	MemoryContextSwitchTo(caller);

	return !isnull;
}
