/*
 * intern.c
 *	  Strings to dense 64-bit ids, and back: the SQL entry points.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "intern/dictionary.h"
#include "miscadmin.h"
#include "pg/sql_function.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/memutils.h"

/*
 * intern_id(dictionary regclass, term text) returns bigint
 *	  The term's id, which is assigned if the term is new.  Errors of seqid_dictionary_open()
 *	  and seqid_assign_ids().
 */
PG_FUNCTION_INFO_V1(intern_id);
Datum
intern_id(PG_FUNCTION_ARGS)
{
	Dictionary	dictionary = seqid_dictionary_open(PG_GETARG_OID(0), true);
	Term		term = {.term = PointerGetDatum(PG_GETARG_TEXT_PP(1))};

	seqid_assign_ids(&dictionary, &term, 1);
	relation_close(dictionary.rel, NoLock);
	PG_RETURN_INT64(term.id);
}

/*
 * intern_find(dictionary regclass, term text) returns bigint
 *	  The term's id, or NULL if the query cannot see it.  Errors of seqid_dictionary_open().
 */
PG_FUNCTION_INFO_V1(intern_find);
Datum
intern_find(PG_FUNCTION_ARGS)
{
	Dictionary	dictionary = seqid_dictionary_open(PG_GETARG_OID(0), false);
	Search		search;
	Datum		id;
	bool		found;

	seqid_search_begin(&search, &dictionary, true, seqid_active_snapshot());
	found = seqid_search_find(&search, PointerGetDatum(PG_GETARG_TEXT_PP(1)), &id);
	seqid_search_end(&search);
	relation_close(dictionary.rel, NoLock);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(id);
}

#define MEASURED_BYTES ((Size) 16 * 1024 * 1024)

/* Adds the bytes that a term takes in an array. */
static Size
add_bytes(Size bytes, Datum term)
{
	bytes += INTALIGN(toast_raw_datum_size(term));
	if (bytes > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array size exceeds the maximum allowed (%d)",
						(int) MaxAllocSize)));
	return bytes;
}

/*
 * Replaces ids with copies of their terms, which can be toasted.  Raises 54000 if an array
 * cannot contain the terms, before memory for all of them is allocated: a call that returns
 * more than MEASURED_BYTES measures all terms before it copies more of them.
 */
static void
find_terms(Oid relid, Datum *values, bool *nulls, int count)
{
	Dictionary	dictionary = seqid_dictionary_open(relid, false);
	Size		bytes = 0;
	Search		search;

	seqid_search_begin(&search, &dictionary, false, seqid_active_snapshot());
	for (int i = 0; i < count; i++)
	{
		Datum		term;
		bool		measured = bytes > MEASURED_BYTES;

		nulls[i] = nulls[i] || !seqid_search_find(&search, values[i], &term);
		if (nulls[i])
			continue;
		bytes = add_bytes(bytes, term);
		values[i] = datumCopy(term, false, -1);
		if (measured || bytes <= MEASURED_BYTES)
			continue;
		for (Size all_bytes = bytes, j = i + 1; j < (Size) count; j++)
		{
			if (!nulls[j] && seqid_search_find(&search, values[j], &term))
				all_bytes = add_bytes(all_bytes, term);
		}
	}
	seqid_search_end(&search);
	relation_close(dictionary.rel, NoLock);
}

/*
 * intern_term(dictionary regclass, id bigint) returns text
 *	  The term of an id, or NULL if the query cannot see it.  Errors of intern_find().
 */
PG_FUNCTION_INFO_V1(intern_term);
Datum
intern_term(PG_FUNCTION_ARGS)
{
	Datum		value = PG_GETARG_DATUM(1);
	bool		isnull = false;

	find_terms(PG_GETARG_OID(0), &value, &isnull, 1);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(PG_DETOAST_DATUM(value));
}

/* An array from the caller, taken apart. */
typedef struct ArrayParts
{
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int			count;
} ArrayParts;

static void *
alloc_many(Size count, Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * size);
}

/* Like deconstruct_array(), but can be cancelled. */
static ArrayParts
take_apart(ArrayType *array)
{
	ArrayIterator iterator = array_create_iterator(array, 0, NULL);
	ArrayParts	parts = {.array = array};

	parts.count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	parts.values = alloc_many(parts.count, sizeof(Datum));
	parts.nulls = alloc_many(parts.count, sizeof(bool));
	for (int i = 0; i < parts.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		array_iterate(iterator, &parts.values[i], &parts.nulls[i]);
	}
	array_free_iterator(iterator);
	return parts;
}

static ArrayType *
put_together(ArrayParts parts, Oid type, int16 length, bool by_value, char align)
{
	return construct_md_array(parts.values, parts.nulls, ARR_NDIM(parts.array), ARR_DIMS(parts.array),
							  ARR_LBOUND(parts.array), type, length, by_value, align);
}

/*
 * intern_ids(dictionary regclass, terms text[]) returns bigint[]
 *	  The id of each term in the term's place, with duplicates and NULLs in theirs.
 *	  Uses memory in proportion to the array.  Errors of intern_id().
 */
PG_FUNCTION_INFO_V1(intern_ids);
Datum
intern_ids(PG_FUNCTION_ARGS)
{
	Dictionary	dictionary = seqid_dictionary_open(PG_GETARG_OID(0), true);
	ArrayParts	parts = take_apart(PG_GETARG_ARRAYTYPE_P(1));
	Term	   *terms = alloc_many(parts.count, sizeof(Term));
	int			count = 0;

	for (int i = 0; i < parts.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (parts.nulls[i])
			continue;
		terms[count].term = parts.values[i];
		terms[count++].position = i;
	}
	seqid_sort_terms(&dictionary, terms, count);
	seqid_assign_ids(&dictionary, terms, count);
	relation_close(dictionary.rel, NoLock);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		parts.values[terms[i].position] = Int64GetDatum(terms[i].id);
	}
	pfree(terms);

	PG_RETURN_ARRAYTYPE_P(put_together(parts, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/*
 * intern_terms(dictionary regclass, ids bigint[]) returns text[]
 *	  The term of each id in the id's place, and NULL for an id that has none.  Errors of
 *	  intern_term(), and 54000 if an array cannot contain the terms.
 */
PG_FUNCTION_INFO_V1(intern_terms);
Datum
intern_terms(PG_FUNCTION_ARGS)
{
	ArrayParts	parts = take_apart(PG_GETARG_ARRAYTYPE_P(1));

	find_terms(PG_GETARG_OID(0), parts.values, parts.nulls, parts.count);
	PG_RETURN_ARRAYTYPE_P(put_together(parts, TEXTOID, -1, false, TYPALIGN_INT));
}
