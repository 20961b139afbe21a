/*
 * intern.c
 *	  Strings to dense 64-bit ids, and back.
 *
 * A batch of terms is sorted byte by byte and rid of duplicates; what is known
 * is looked up, what is new is inserted in that order, so that of two batches
 * that overlap one waits for the other and never each for the other (unless
 * others delete terms, which then come out of turn: deadlock_detected).  Only then
 * are the ids put in the order of the call.
 *
 * When another transaction inserts a term in between, the insertion finds it
 * in the unique index and waits for it.  Under READ COMMITTED the term is then
 * looked up with a new snapshot; under the other levels, which must not see it,
 * PostgreSQL raises 40001.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "intern/dictionary.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "utils/array.h"
#include "utils/memutils.h"

/* How often a term may vanish between being in the way and being looked up. */
#define INTERN_ATTEMPTS 3

/* A term where the caller put it. */
typedef struct Occurrence
{
	const text *term;
	int			position;		/* in the caller's array */
	int			distinct;		/* which of the distinct terms it is */
} Occurrence;

/* An array from the caller, taken apart; the answer has its dimensions, too. */
typedef struct ArrayParts
{
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int			count;
} ArrayParts;

/* ------------------------------------------------------------------------
 * The order of terms
 * ------------------------------------------------------------------------
 */

/* As collation "C" compares, and as the dictionary's index is sorted. */
static int
compare_terms(const text *a, const text *b)
{
	int			a_bytes = VARSIZE_ANY_EXHDR(a);
	int			b_bytes = VARSIZE_ANY_EXHDR(b);
	int			order = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(a_bytes, b_bytes));

	return order != 0 ? order : a_bytes - b_bytes;
}

static int
compare_occurrences(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return compare_terms(((const Occurrence *) a)->term, ((const Occurrence *) b)->term);
}

/*
 * Sorts occurrences and numbers the distinct terms among them, which it puts
 * into terms[], in order.  Returns how many these are.
 */
static int
sort_distinct(Occurrence *occurrences, int count, Datum *terms)
{
	int			distinct = 0;

	qsort(occurrences, count, sizeof(Occurrence), compare_occurrences);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i == 0 || compare_terms(occurrences[i].term, occurrences[i - 1].term) != 0)
			terms[distinct++] = PointerGetDatum(occurrences[i].term);
		occurrences[i].distinct = distinct - 1;
	}

	return distinct;
}

/* ------------------------------------------------------------------------
 * Looking up and inserting sorted terms
 * ------------------------------------------------------------------------
 */

/* Memory for as many elements as an array from the caller can have. */
static void *
alloc_many(Size count, Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * size);
}

static void
find_all(Dictionary *dictionary, const Datum *terms, int count, bool read_only,
		 int64 *ids, bool *known)
{
	for (int i = 0; i < count; i += DICTIONARY_RUN)
		seqid_dictionary_find_ids(dictionary, terms + i, Min(count - i, DICTIONARY_RUN),
								  read_only, ids + i, known + i);
}

static void
check_lengths(const Datum *terms, int count)
{
	for (int i = 0; i < count; i++)
	{
		int			bytes = VARSIZE_ANY_EXHDR(DatumGetPointer(terms[i]));

		CHECK_FOR_INTERRUPTS();
		if (bytes > DICTIONARY_MAX_TERM_BYTES)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("term of %d bytes is too long", bytes),
					 errdetail("A term can have at most %d bytes.",
							   DICTIONARY_MAX_TERM_BYTES),
					 errhint("Intern a hash of it, or a part.")));
	}
}

/* Moves the terms that are not known to the front, and returns their number. */
static int
keep_unknown(Datum *terms, const bool *known, int count)
{
	int			kept = 0;

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!known[i])
			terms[kept++] = terms[i];
	}

	return kept;
}

/*
 * Assigns ids to one run of terms that were not known.  If other transactions
 * have inserted some first, looks all up; if they have deleted some again, tries
 * these once more.
 */
static void
assign_run(Dictionary *dictionary, const Datum *terms, int count, int64 *ids)
{
	bool		known[DICTIONARY_RUN];
	Datum	   *missing;
	int64	   *unused;

	if (seqid_dictionary_insert(dictionary, terms, count, ids))
		return;

	missing = palloc(count * sizeof(Datum));
	unused = palloc(count * sizeof(int64));
	for (int attempt = 0; attempt < INTERN_ATTEMPTS; attempt++)
	{
		int			missing_count;

		seqid_dictionary_find_ids(dictionary, terms, count, false, ids, known);
		memcpy(missing, terms, count * sizeof(Datum));
		missing_count = keep_unknown(missing, known, count);
		if (missing_count == 0)
		{
			pfree(missing);
			pfree(unused);
			return;
		}
		seqid_dictionary_insert(dictionary, missing, missing_count, unused);
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access to a dictionary"),
			 errdetail("Some terms could not be inserted because they were there, and could not be found."),
			 errhint("Try again. If it goes on, look for triggers and row security policies of the dictionary.")));
}

/* Fills ids[] for sorted, distinct terms, and assigns those that are new. */
static void
intern_sorted(Dictionary *dictionary, const Datum *terms, int count, int64 *ids)
{
	bool	   *known = alloc_many(count, sizeof(bool));
	Datum	   *new_terms = alloc_many(count, sizeof(Datum));
	int64	   *new_ids;
	int			new_count;

	find_all(dictionary, terms, count, false, ids, known);
	memcpy(new_terms, terms, count * sizeof(Datum));
	new_count = keep_unknown(new_terms, known, count);
	check_lengths(new_terms, new_count);

	new_ids = alloc_many(new_count, sizeof(int64));
	for (int i = 0; i < new_count; i += DICTIONARY_RUN)
		assign_run(dictionary, new_terms + i, Min(new_count - i, DICTIONARY_RUN), new_ids + i);

	for (int i = 0, next = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!known[i])
			ids[i] = new_ids[next++];
	}
	pfree(new_ids);
	pfree(new_terms);
	pfree(known);
}

/* ------------------------------------------------------------------------
 * One term, one id
 * ------------------------------------------------------------------------
 */

/*
 * intern_id(dictionary regclass, term text) returns bigint
 *	  The term's id, assigned now if it is new.  42809 if that is no dictionary,
 *	  54000 for a new term that is too long, 40001 as said above; errors of
 *	  SELECT and INSERT on the dictionary.
 */
PG_FUNCTION_INFO_V1(intern_id);
Datum
intern_id(PG_FUNCTION_ARGS)
{
	Datum		term = PointerGetDatum(PG_GETARG_TEXT_PP(1));
	int64		id;

	intern_sorted(seqid_dictionary_open(PG_GETARG_OID(0)),
				  &term, 1, &id);
	PG_RETURN_INT64(id);
}

/*
 * intern_find(dictionary regclass, term text) returns bigint
 *	  The term's id, or NULL if it has none that the query can see.  42809;
 *	  errors of SELECT.
 */
PG_FUNCTION_INFO_V1(intern_find);
Datum
intern_find(PG_FUNCTION_ARGS)
{
	Datum		term = PointerGetDatum(PG_GETARG_TEXT_PP(1));
	int64		id;
	bool		known;

	find_all(seqid_dictionary_open(PG_GETARG_OID(0)),
			 &term, 1, true, &id, &known);
	if (!known)
		PG_RETURN_NULL();
	PG_RETURN_INT64(id);
}

/*
 * intern_term(dictionary regclass, id bigint) returns text
 *	  The term of an id, or NULL if it is no term's.  Errors as above.
 */
PG_FUNCTION_INFO_V1(intern_term);
Datum
intern_term(PG_FUNCTION_ARGS)
{
	Datum		id = PG_GETARG_DATUM(1);
	Datum		term;
	bool		known;
	Size		room = MaxAllocSize;

	seqid_dictionary_find_terms(seqid_dictionary_open(PG_GETARG_OID(0)),
								&id, 1, &term, &known, &room);
	if (!known)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(term);
}

/* ------------------------------------------------------------------------
 * Many at once
 * ------------------------------------------------------------------------
 */

/* As deconstruct_array() does, which cannot be cancelled. */
static ArrayParts
take_apart(ArrayType *array)
{
	int			count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	ArrayIterator iterator = array_create_iterator(array, 0, NULL);
	ArrayParts	parts = {
		.array = array,
		.values = alloc_many(count, sizeof(Datum)),
		.nulls = alloc_many(count, sizeof(bool)),
		.count = count
	};

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		array_iterate(iterator, &parts.values[i], &parts.nulls[i]);
	}
	array_free_iterator(iterator);
	return parts;
}

/* The inverse, when its values have been replaced by others of that type. */
static ArrayType *
put_together(ArrayParts parts, Oid type, int16 length, bool by_value, char align)
{
	return construct_md_array(parts.values, parts.nulls, ARR_NDIM(parts.array), ARR_DIMS(parts.array),
							  ARR_LBOUND(parts.array), type, length, by_value, align);
}

/*
 * intern_ids(dictionary regclass, terms text[]) returns bigint[]
 *	  The id of each term where the term is, duplicates and NULLs in their
 *	  places.  Memory is proportional to the array.  Errors of intern_id; 54000
 *	  comes before anything is inserted.
 */
PG_FUNCTION_INFO_V1(intern_ids);
Datum
intern_ids(PG_FUNCTION_ARGS)
{
	Dictionary *dictionary = seqid_dictionary_open(PG_GETARG_OID(0));
	ArrayParts	parts = take_apart(PG_GETARG_ARRAYTYPE_P(1));
	Occurrence *occurrences = alloc_many(parts.count, sizeof(Occurrence));
	Datum	   *terms = alloc_many(parts.count, sizeof(Datum));
	int64	   *ids;
	int			count = 0;
	int			distinct;

	for (int i = 0; i < parts.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!parts.nulls[i])
			occurrences[count++] = (Occurrence)
		{
			.term = (text *) DatumGetPointer(parts.values[i]),.position = i
		};
	}
	distinct = sort_distinct(occurrences, count, terms);
	ids = alloc_many(distinct, sizeof(int64));
	intern_sorted(dictionary, terms, distinct, ids);

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		parts.values[occurrences[i].position] = Int64GetDatum(ids[occurrences[i].distinct]);
	}
	PG_RETURN_ARRAYTYPE_P(put_together(parts, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/*
 * intern_terms(dictionary regclass, ids bigint[]) returns text[]
 *	  The term of each id where the id is, NULL for NULL and for an id that is
 *	  no term's.  Errors of intern_term; 54000 if the array would be larger than
 *	  arrays can be, before that much memory is taken.
 */
PG_FUNCTION_INFO_V1(intern_terms);
Datum
intern_terms(PG_FUNCTION_ARGS)
{
	Dictionary *dictionary = seqid_dictionary_open(PG_GETARG_OID(0));
	ArrayParts	parts = take_apart(PG_GETARG_ARRAYTYPE_P(1));
	Datum	   *ids = alloc_many(parts.count, sizeof(Datum));
	Datum	   *terms = alloc_many(parts.count, sizeof(Datum));
	bool	   *known = alloc_many(parts.count, sizeof(bool));
	Size		room = MaxAllocSize;
	int			count = 0;

	for (int i = 0; i < parts.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!parts.nulls[i])
			ids[count++] = parts.values[i];
	}
	for (int i = 0; i < count; i += DICTIONARY_RUN)
		seqid_dictionary_find_terms(dictionary, ids + i, Min(count - i, DICTIONARY_RUN),
									terms + i, known + i, &room);
	for (int i = 0, next = 0; i < parts.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (parts.nulls[i])
			continue;
		parts.values[i] = terms[next];
		parts.nulls[i] = !known[next++];
	}

	PG_RETURN_ARRAYTYPE_P(put_together(parts, TEXTOID, -1, false, TYPALIGN_INT));
}
