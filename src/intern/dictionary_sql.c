/*
 * dictionary_sql.c
 *	  SQL statements on dictionaries.
 *
 * They run where SELECT or INSERT does what users have defined: policies, triggers,
 * rules, checks, defaults of other columns.  They run as the current user, and a plan
 * serves one call.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "intern/dictionary.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"

char	   *
seqid_quoted_name(Oid relid)
{
	char	   *schema = get_namespace_name(get_rel_namespace(relid));
	char	   *name = get_rel_name(relid);

	/* Without its schema, the name would be another table's. */
	if (schema == NULL || name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(schema, name);
}

void
seqid_sql_end(void)
{
	MemoryContext caller = CurrentMemoryContext;

	SPI_finish();
	MemoryContextSwitchTo(caller);
}

static void
set_for_planner(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * The planner sees a table that has just been filled as small, and would read all of
 * it for each term.  The settings end with planning: triggers run with the user's.
 */
SPIPlanPtr
seqid_sql_plan(const char *sql, int argument_count, Oid *types)
{
	MemoryContext caller = CurrentMemoryContext;
	int			level = NewGUCNestLevel();
	SPIPlanPtr	plan;
	CachedPlan *cached;

	SPI_connect();
	set_for_planner("enable_seqscan", "off");
	set_for_planner("enable_indexscan", "on");
	plan = SPI_prepare_cursor(sql, argument_count, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
	cached = SPI_plan_get_cached_plan(plan);
	if (cached != NULL)
		ReleaseCachedPlan(cached, NULL);
	AtEOXact_GUC(true, level);
	MemoryContextSwitchTo(caller);

	return plan;
}

/* A schema can be renamed while its tables are in use. */
void
seqid_dictionary_was_renamed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access to a dictionary"),
			 errdetail("The schema of the dictionary was renamed at this moment."),
			 errhint("Try again.")));
}

static bool
uses_table(SPIPlanPtr plan, Oid relid)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));

	return list_member_oid(source->relationOids, relid);
}

bool
seqid_sql_run(const Dictionary *dictionary, SPIPlanPtr plan, Datum *arguments,
			  bool read_only, Datum *result)
{
	MemoryContext caller = CurrentMemoryContext;
	bool		isnull = true;
	int			code;

	SPI_freetuptable(SPI_tuptable);
	code = SPI_execute_plan(plan, arguments, NULL, read_only, 0);
	if (code < 0)
		elog(ERROR, "could not run a statement on a dictionary: %s",
			 SPI_result_code_string(code));
	/* A rule does nothing INSTEAD: there is no table in the plan. */
	if (code != SPI_OK_REWRITTEN && !uses_table(plan, RelationGetRelid(dictionary->rel)))
		seqid_dictionary_was_renamed();
	if (code == SPI_OK_SELECT && SPI_processed > 0)
		*result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	MemoryContextSwitchTo(caller);

	return !isnull;
}

/*
 * The statement names what makes terms unique, because any other conflict is an error
 * that the user must see.
 */
SPIPlanPtr
seqid_sql_plan_insert(const Dictionary *dictionary)
{
	Oid			types[] = {INT8OID, TEXTOID};
	Oid			constraint = get_index_constraint(dictionary->shape.term_index);
	char	   *name = OidIsValid(constraint) ? get_constraint_name(constraint) : NULL;

	return seqid_sql_plan(psprintf("INSERT INTO %s (id, term) VALUES ($1, $2) ON CONFLICT %s DO NOTHING",
								   seqid_quoted_name(RelationGetRelid(dictionary->rel)),
								   name == NULL ? "(term COLLATE pg_catalog.\"C\" pg_catalog.text_ops)" :
								   psprintf("ON CONSTRAINT %s", quote_identifier(name))),
						  2, types);
}
