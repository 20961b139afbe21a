/*
 * dictionary.c
 *	  The statements on the tables that intern terms.
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
 * Plans are kept, see dictionary_cache.c.  They contain the table's name, so they
 * are made anew when it or any schema is invalidated.
 *
 * Two things that others may change while we only read decide how to insert:
 * triggers, and who owns the sequence.  So they are believed only under locks that
 * keep them as they are, see hold_still().
 *
 * The plans look terms up in an index however small the planner takes the table
 * to be: the SQL functions have enable_seqscan = off, and plans are made nowhere
 * else.  Without it a plan that was made while the table was small would read all
 * of it for each term when it has grown.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "intern/dictionary_cache.h"
#include "keys/scatter.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

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
}			statements[DICTIONARY_STATEMENTS] =

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

/*
 * The plan for a statement, while that is counted as running.  Always the
 * generic one: the planner would only look at the length of an array.
 *
 * A plan that was invalidated would be made again from the name it contains,
 * which a schema that was renamed may have left to another table.  So it is
 * thrown away, unless a statement further up may still be running it: then it
 * stays until that is done, and the new one goes with SPI_finish().
 */
static SPIPlanPtr
plan_for(Dictionary *dictionary, DictionaryStatement statement)
{
	SPIPlanPtr	plan = dictionary->plans[statement];
	char	   *sql;

	if (plan != NULL && SPI_plan_is_valid(plan))
		return plan;
	if (plan != NULL && dictionary->running == 1)
	{
		dictionary->plans[statement] = NULL;
		SPI_freeplan(plan);
	}

	sql = psprintf(statements[statement].sql, seqid_quoted_name(dictionary->relid));
	plan = SPI_prepare_cursor(sql, statements[statement].argument_count,
							  (Oid *) statements[statement].argument_types,
							  CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
	if (dictionary->plans[statement] == NULL)
	{
		SPI_keepplan(plan);
		dictionary->plans[statement] = plan;
	}

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

/*
 * Raises the error that was caught again if it is about an id that was drawn and
 * is there already: to the user it comes as a surprise, who has named no id.
 */
static void
explain_duplicate_id(const Dictionary *dictionary)
{
	ErrorData  *error;

	if (geterrcode() != ERRCODE_UNIQUE_VIOLATION)
		return;
	error = CopyErrorData();
	if (error->hint != NULL || error->constraint_name == NULL ||
		strcmp(error->constraint_name, NameStr(dictionary->shape.id_index)) != 0)
		return;
	FlushErrorState();
	error->hint = "The sequence of the dictionary is behind its ids: it was set back or not copied along, or the ids were scattered over fewer prefix bits before. Set it beyond them.";
	ReThrowError(error);
}

/* Runs a statement within SPI; what it returns is in SPI_tuptable. */
static void
execute(Dictionary *dictionary, DictionaryStatement statement, Datum *arguments, bool read_only)
{
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr	plan;
	int			result;

	dictionary->running++;
	PG_TRY();
	{
		plan = plan_for(dictionary, statement);
		result = SPI_execute_plan(plan, arguments, NULL, read_only, 0);
	}
	PG_CATCH();
	{
		dictionary->running--;
		MemoryContextSwitchTo(context);
		explain_duplicate_id(dictionary);
		PG_RE_THROW();
	}
	PG_END_TRY();
	dictionary->running--;

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

/* As core says it of an array; so early that nothing is copied in vain. */
static void
take_room(Size *room, Size bytes)
{
	if (bytes > *room)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array size exceeds the maximum allowed (%d)",
						(int) MaxAllocSize)));
	*room -= bytes;
}

void
seqid_dictionary_find_terms(Dictionary *dictionary, const Datum *ids, int count,
							Datum *terms, bool *known, Size *room)
{
	MemoryContext caller = CurrentMemoryContext;
	Datum		argument;

	SPI_connect();
	argument = bigint_array(ids, count);
	execute(dictionary, FIND_TERMS, &argument, true);
	check_returned(count);
	for (int i = 0; i < count; i++)
	{
		terms[i] = returned(i, &known[i]);
		if (known[i])
			take_room(room, INTALIGN(toast_raw_datum_size(terms[i])));
	}
	MemoryContextSwitchTo(caller);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (known[i])
			terms[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(terms[i]));
	}
	SPI_finish();
}

/*
 * Holds what decides how to insert as it is, until the end of the transaction, and
 * learns it anew if it has been changed since the dictionary was opened.  The lock
 * on the table keeps out CREATE TRIGGER, the one on the sequence ALTER SEQUENCE;
 * both are those that INSERT and nextval() take.  The default, rules, policies
 * and columns are changed under a lock that already excludes readers.
 *
 * A sequence that is not the table's own is not locked here: whether the user
 * may draw from it is found out by nextval().
 */
static void
hold_still(Dictionary *dictionary)
{
	LockRelationOid(dictionary->relid, RowExclusiveLock);
	seqid_dictionary_refresh(dictionary);
	if (dictionary->shape.owns_sequence)
	{
		LockRelationOid(dictionary->shape.sequence, RowExclusiveLock);
		seqid_dictionary_refresh(dictionary);
	}
}

bool
seqid_dictionary_insert(Dictionary *dictionary, const Datum *terms, int count, int64 *ids)
{
	Datum	   *drawn;
	Datum		arguments[2];
	bool		all;

	/* A call that is refused must not use up a value. */
	seqid_dictionary_check_privilege(dictionary->relid, ACL_INSERT);
	hold_still(dictionary);

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
