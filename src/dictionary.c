/*
 * dictionary.c
 *	  The tables that intern terms, and the statements on them.
 *
 * A dictionary is an ordinary table, known by what it consists of, see
 * dictionary_shape.c.  Nothing else is written down about it, so that it can be
 * dumped, copied, renamed and granted like any table.
 *
 * The statements run through SPI as the current user, whose privileges and row
 * security apply.  Ids are drawn here, not by the column's default: who may
 * insert into a dictionary needs no privilege on a sequence that its id owns, as
 * with an identity column.  The default can name any other sequence as well,
 * and then the user must be allowed to draw from it.
 *
 * Plans are kept by the process for each dictionary.  They contain its name, so
 * they are made anew when the table or any schema is invalidated.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "dictionary.h"
#include "dictionary_shape.h"
#include "executor/spi.h"
#include "scatter.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

typedef enum Statement
{
	FIND_IDS,
	FIND_TERMS,
	INSERT_TERMS
} Statement;

#define STATEMENTS (INSERT_TERMS + 1)

struct Dictionary
{
	Oid			relid;			/* hash key: must be first */
	bool		valid;			/* cleared by invalidation, at any time */
	int			running;		/* statements under way, which may nest */
	DictionaryShape shape;
	SPIPlanPtr	plans[STATEMENTS];	/* NULL until needed */
};

static HTAB *dictionaries = NULL;
static bool any_invalid = false;
static uint64 invalidations = 0;	/* of any relation, whether ours or not */

/*
 * What a statement does to which table.  The array goes through unnest() in the
 * target list, which keeps its order, and each element through a scan of the
 * unique index.
 */
static const struct
{
	const char *sql;
	int			argument_count;
	Oid			argument_types[2];
	int			result;
}			statements[STATEMENTS] =

{
	[FIND_IDS] =
	{
		"SELECT (SELECT d.id FROM ONLY %s d WHERE d.term OPERATOR(pg_catalog.=) b.term)"
		" FROM (SELECT pg_catalog.unnest($1) AS term) b",
		1, {TEXTARRAYOID}, SPI_OK_SELECT
	},
	[FIND_TERMS] =
	{
		"SELECT (SELECT d.term FROM ONLY %s d WHERE d.id OPERATOR(pg_catalog.=) b.id)"
		" FROM (SELECT pg_catalog.unnest($1) AS id) b",
		1, {INT8ARRAYOID}, SPI_OK_SELECT
	},
	[INSERT_TERMS] =
	{
		"INSERT INTO %s (id, term)"
		" SELECT pg_catalog.unnest($1), pg_catalog.unnest($2)"
		" ON CONFLICT (term) DO NOTHING",
		2, {INT8ARRAYOID, TEXTARRAYOID}, SPI_OK_INSERT
	}
};

/* ------------------------------------------------------------------------
 * What the process knows of dictionaries
 * ------------------------------------------------------------------------
 */

/* What belongs to a relation, its table or sequence; or all. */
static void
invalidate(Oid relid)
{
	HASH_SEQ_STATUS status;
	Dictionary *dictionary;

	invalidations++;
	hash_seq_init(&status, dictionaries);
	while ((dictionary = hash_seq_search(&status)) != NULL)
	{
		if (OidIsValid(relid) &&
			dictionary->relid != relid && dictionary->shape.sequence != relid)
			continue;
		dictionary->valid = false;
		any_invalid = true;
	}
}

static void
invalidate_relation(Datum arg pg_attribute_unused(), Oid relid)
{
	invalidate(relid);
}

static void
invalidate_schema(Datum arg pg_attribute_unused(), int cache pg_attribute_unused(),
				  uint32 hash pg_attribute_unused())
{
	invalidate(InvalidOid);
}

static void
initialize(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Dictionary)};

	if (dictionaries != NULL)
		return;
	dictionaries = hash_create("seqid dictionaries", 16, &control, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, invalidate_schema, (Datum) 0);
}

static void
forget(Dictionary *dictionary)
{
	for (int i = 0; i < STATEMENTS; i++)
	{
		if (dictionary->plans[i] != NULL)
			SPI_freeplan(dictionary->plans[i]);
	}
	hash_search(dictionaries, &dictionary->relid, HASH_REMOVE, NULL);
}

/*
 * Throws away what was invalidated, so that dropped dictionaries cost nothing.
 * What is running, because a trigger has come back here, must stay.
 */
static void
sweep(void)
{
	HASH_SEQ_STATUS status;
	Dictionary *dictionary;

	if (!any_invalid)
		return;
	any_invalid = false;

	hash_seq_init(&status, dictionaries);
	while ((dictionary = hash_seq_search(&status)) != NULL)
	{
		if (dictionary->valid)
			continue;
		if (dictionary->running > 0)
			any_invalid = true;
		else
			forget(dictionary);
	}
}

static void
describe_or_refuse(Relation rel, Dictionary *dictionary)
{
	if (!seqid_describe_dictionary(rel, &dictionary->shape))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a dictionary", RelationGetRelationName(rel)),
				 errdetail("A dictionary is a table with a unique column \"id\" whose default is scatter_nextval(), and a unique column \"term\" of collation \"C\"."),
				 errhint("Create one with intern_create().")));
}

Dictionary *
seqid_dictionary_open(Oid relid)
{
	Relation	rel;
	Dictionary *dictionary;

	initialize();
	/* Taking the lock lets in what has been changed. */
	rel = try_relation_open(relid, AccessShareLock);
	sweep();
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("dictionary with OID %u does not exist", relid)));

	dictionary = hash_search(dictionaries, &relid, HASH_FIND, NULL);
	if (dictionary == NULL)
	{
		Dictionary	described = {.relid = relid};
		uint64		invalidations_before = invalidations;

		describe_or_refuse(rel, &described);
		/* What was invalidated meanwhile was not yet there to be marked. */
		described.valid = invalidations == invalidations_before;
		any_invalid = any_invalid || !described.valid;
		dictionary = hash_search(dictionaries, &relid, HASH_ENTER, NULL);
		*dictionary = described;
	}
	relation_close(rel, NoLock);

	return dictionary;
}

char	   *
seqid_dictionary_name(const Dictionary *dictionary)
{
	Oid			schema = get_rel_namespace(dictionary->relid);

	return quote_qualified_identifier(get_namespace_name(schema),
									  get_rel_name(dictionary->relid));
}

/* ------------------------------------------------------------------------
 * The statements
 * ------------------------------------------------------------------------
 */

/*
 * The plan for a statement, while that is counted as running.  Always the
 * generic one: the planner would only look at the length of an array.
 *
 * A plan that was invalidated would be made again from the name it contains,
 * which a schema that was renamed may have left to another table.  So it is
 * thrown away, unless a statement further up is still running it.
 */
static SPIPlanPtr
plan_for(Dictionary *dictionary, Statement statement)
{
	SPIPlanPtr	plan = dictionary->plans[statement];
	char	   *sql;

	if (plan != NULL && SPI_plan_is_valid(plan))
		return plan;
	if (plan != NULL && dictionary->running == 1)
		SPI_freeplan(plan);
	dictionary->plans[statement] = NULL;

	sql = psprintf(statements[statement].sql, seqid_dictionary_name(dictionary));
	plan = SPI_prepare_cursor(sql, statements[statement].argument_count,
							  (Oid *) statements[statement].argument_types,
							  CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
	dictionary->plans[statement] = plan;

	return plan;
}

/*
 * Whether a plan is of this table.  The name can still have become another's
 * between the time when the plan was found valid and its execution.
 */
static bool
plan_reads(SPIPlanPtr plan, Oid relid)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));

	return list_member_oid(source->relationOids, relid);
}

/* Runs a statement within SPI; what it returns is in SPI_tuptable. */
static void
execute(Dictionary *dictionary, Statement statement, Datum *arguments, bool read_only)
{
	SPIPlanPtr volatile plan;
	int			result;

	dictionary->running++;
	PG_TRY();
	{
		plan = plan_for(dictionary, statement);
		result = SPI_execute_plan(plan, arguments, NULL, read_only, 0);
	}
	PG_FINALLY();
	{
		dictionary->running--;
	}
	PG_END_TRY();

	if (result != statements[statement].result)
		elog(ERROR, "could not run a statement on a dictionary: %s",
			 SPI_result_code_string(result));
	if (!plan_reads(plan, dictionary->relid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access to a dictionary"),
				 errdetail("Its schema was renamed at this moment, and another table has its name now."),
				 errhint("Try again.")));
}

/*
 * The array of these terms.  construct_array() replaces terms with short headers
 * in the array that it is given by copies, which do not outlive SPI_finish().
 */
static Datum
text_array(const Datum *terms, int count)
{
	Datum	   *values = palloc(count * sizeof(Datum));

	memcpy(values, terms, count * sizeof(Datum));
	return PointerGetDatum(construct_array(values, count, TEXTOID,
										   -1, false, TYPALIGN_INT));
}

static Datum
bigint_array(const Datum *ids, int count)
{
	return PointerGetDatum(construct_array((Datum *) ids, count, INT8OID,
										   sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Column 1 of a row that a statement returned. */
static Datum
returned(int row, bool *known)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc,
									  1, &isnull);

	*known = !isnull;
	return value;
}

static void
check_returned(int count)
{
	if (SPI_processed != (uint64) count)
		elog(ERROR, "dictionary returned %llu rows for %d",
			 (unsigned long long) SPI_processed, count);
}

void
seqid_dictionary_find_ids(Dictionary *dictionary, const Datum *terms, int count,
						  bool read_only, int64 *ids, bool *known)
{
	Datum		argument;

	SPI_connect();
	argument = text_array(terms, count);
	execute(dictionary, FIND_IDS, &argument, read_only);
	check_returned(count);
	for (int i = 0; i < count; i++)
		ids[i] = DatumGetInt64(returned(i, &known[i]));
	SPI_finish();
}

void
seqid_dictionary_find_terms(Dictionary *dictionary, const Datum *ids, int count,
							Datum *terms, bool *known)
{
	MemoryContext caller = CurrentMemoryContext;
	Datum		argument;

	SPI_connect();
	argument = bigint_array(ids, count);
	execute(dictionary, FIND_TERMS, &argument, true);
	check_returned(count);
	MemoryContextSwitchTo(caller);
	for (int i = 0; i < count; i++)
	{
		terms[i] = returned(i, &known[i]);
		if (known[i])
			terms[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(terms[i]));
	}
	SPI_finish();
}

/* Whether the current user may insert an id and a term. */
static void
check_may_insert(Dictionary *dictionary)
{
	Oid			user = GetUserId();
	Oid			relid = dictionary->relid;

	if (pg_class_aclcheck(relid, user, ACL_INSERT) != ACLCHECK_OK &&
		(pg_attribute_aclcheck(relid, dictionary->shape.id_column, user, ACL_INSERT) != ACLCHECK_OK ||
		 pg_attribute_aclcheck(relid, dictionary->shape.term_column, user, ACL_INSERT) != ACLCHECK_OK))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relid));
}

bool
seqid_dictionary_insert(Dictionary *dictionary, const Datum *terms, int count, int64 *ids)
{
	Datum	   *drawn;
	Datum		arguments[2];
	bool		all;

	/* A call that is refused must not use up a value. */
	check_may_insert(dictionary);

	SPI_connect();
	drawn = palloc(count * sizeof(Datum));
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ids[i] = seqid_scatter_next(dictionary->shape.sequence, dictionary->shape.prefix_bits,
									!dictionary->shape.owns_sequence);
		drawn[i] = Int64GetDatum(ids[i]);
	}
	arguments[0] = bigint_array(drawn, count);
	arguments[1] = text_array(terms, count);
	execute(dictionary, INSERT_TERMS, arguments, false);
	/* A trigger may have put in another id, or another term. */
	all = SPI_processed == (uint64) count && !dictionary->shape.has_triggers;
	SPI_finish();

	return all;
}
