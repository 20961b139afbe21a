/*
 * dictionary_cache.c
 *	  What the process knows of dictionaries.
 *
 * What was learnt of a dictionary is kept, with the plans of its statements.  It is
 * invalidated with the relation cache and then learnt anew, but it stays while a
 * statement of it is running, as a trigger may have come back here.
 */
#include "postgres.h"

#include "access/relation.h"
#include "compat.h"
#include "dictionary_cache.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static HTAB *dictionaries = NULL;
static bool any_invalid = false;
static uint64 invalidations = 0;	/* of any relation, whether ours or not */

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
	for (int i = 0; i < DICTIONARY_STATEMENTS; i++)
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
