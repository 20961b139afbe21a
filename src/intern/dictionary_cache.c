/*
 * dictionary_cache.c
 *	  What the process knows of dictionaries.
 *
 * What was learnt of a dictionary is kept, with the plans of its statements, for
 * the dictionaries that were used last.  It is invalidated with the relation cache:
 * from then on it is not given out before it was learnt anew, but it stays where
 * it is while a statement of it is running, as a trigger may have come back here.
 */
#include "postgres.h"

#include "access/relation.h"
#include "intern/dictionary_cache.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * How many dictionaries a process remembers, about 75 kB each.  Who has one for
 * each of thousands of tenants must not run out of memory for it.
 */
#define DICTIONARIES_KEPT 64

static HTAB *dictionaries = NULL;
static dlist_head recently_used = DLIST_STATIC_INIT(recently_used); /* latest first */
static bool any_invalid = false;	/* is there one to be thrown away? */
static uint64 invalidations = 0;	/* of any relation, whether ours or not */

static void
invalidate(Dictionary *dictionary)
{
	dictionary->valid = false;
	any_invalid = true;
}

/* The dictionary of that table, or that draws from that sequence; 0: all. */
static void
invalidate_relation(Datum arg pg_attribute_unused(), Oid relid)
{
	dlist_iter	i;

	invalidations++;
	dlist_foreach(i, &recently_used)
	{
		Dictionary *dictionary = dlist_container(Dictionary, recency, i.cur);

		if (!OidIsValid(relid) ||
			dictionary->relid == relid || dictionary->shape.sequence == relid)
			invalidate(dictionary);
	}
}

/*
 * ALTER SEQUENCE ... OWNED BY changes pg_depend, of which nobody is told, but
 * writes the sequence's row in pg_sequence as well, and of that everybody is.
 */
static void
invalidate_sequence(Datum arg pg_attribute_unused(), int cache pg_attribute_unused(),
					uint32 hash)
{
	dlist_iter	i;

	invalidations++;
	dlist_foreach(i, &recently_used)
	{
		Dictionary *dictionary = dlist_container(Dictionary, recency, i.cur);

		if (hash == 0 || dictionary->sequence_hash == hash)
			invalidate(dictionary);
	}
}

static void
invalidate_schema(Datum arg, int cache pg_attribute_unused(),
				  uint32 hash pg_attribute_unused())
{
	invalidate_relation(arg, InvalidOid);
}

static void
initialize(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Dictionary)};

	if (dictionaries != NULL)
		return;
	dictionaries = hash_create("seqid dictionaries", DICTIONARIES_KEPT, &control,
							   HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
	CacheRegisterSyscacheCallback(SEQRELID, invalidate_sequence, (Datum) 0);
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
	dlist_delete(&dictionary->recency);
	hash_search(dictionaries, &dictionary->relid, HASH_REMOVE, NULL);
}

/*
 * Throws away what was invalidated, so that dropped dictionaries cost nothing.
 * What is running, because a trigger has come back here, must stay.
 */
static void
sweep(void)
{
	dlist_mutable_iter i;

	if (!any_invalid)
		return;
	any_invalid = false;

	dlist_foreach_modify(i, &recently_used)
	{
		Dictionary *dictionary = dlist_container(Dictionary, recency, i.cur);

		if (dictionary->valid)
			continue;
		if (dictionary->running > 0)
			any_invalid = true;
		else
			forget(dictionary);
	}
}

static Dictionary *
least_recently_used(void)
{
	dlist_iter	i;

	dlist_reverse_foreach(i, &recently_used)
	{
		Dictionary *dictionary = dlist_container(Dictionary, recency, i.cur);

		if (dictionary->running == 0)
			return dictionary;
	}
	return NULL;
}

/* Triggers that nest through that many dictionaries get more until they are done. */
static void
make_room(void)
{
	Dictionary *dictionary;

	while (hash_get_num_entries(dictionaries) >= DICTIONARIES_KEPT &&
		   (dictionary = least_recently_used()) != NULL)
		forget(dictionary);
}

static void
no_such_dictionary(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("dictionary with OID %u does not exist", relid)));
}

/* Learns what there is to know of a dictionary, or refuses the relation. */
static void
describe(Dictionary *dictionary)
{
	Relation	rel = try_relation_open(dictionary->relid, NoLock);
	uint64		invalidations_before = invalidations;
	DictionaryShape shape;

	if (rel == NULL)
		no_such_dictionary(dictionary->relid);
	if (!seqid_describe_dictionary(rel, &shape))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a dictionary", RelationGetRelationName(rel)),
				 errdetail("A dictionary is a table with a unique column \"id\" whose default is scatter_nextval(), and a unique column \"term\" of collation \"C\"."),
				 errhint("Create one with intern_create().")));
	relation_close(rel, NoLock);

	dictionary->shape = shape;
	dictionary->sequence_hash =
		GetSysCacheHashValue1(SEQRELID, ObjectIdGetDatum(shape.sequence));
	/* What was invalidated meanwhile did not yet know its sequence. */
	dictionary->valid = invalidations == invalidations_before;
	any_invalid = any_invalid || !dictionary->valid;
}

void
seqid_dictionary_refresh(Dictionary *dictionary)
{
	if (!dictionary->valid)
		describe(dictionary);
}

static Dictionary *
remember(const Dictionary *described)
{
	Dictionary *dictionary;

	make_room();
	dictionary = hash_search(dictionaries, &described->relid, HASH_ENTER, NULL);
	*dictionary = *described;
	dlist_push_head(&recently_used, &dictionary->recency);

	return dictionary;
}

Dictionary *
seqid_dictionary_open_locked(Oid relid)
{
	Dictionary *dictionary;

	initialize();
	sweep();
	dictionary = hash_search(dictionaries, &relid, HASH_FIND, NULL);
	if (dictionary == NULL)
	{
		Dictionary	described = {.relid = relid};

		describe(&described);
		return remember(&described);
	}
	/* One that is running has outlived the sweep. */
	seqid_dictionary_refresh(dictionary);
	dlist_move_head(&recently_used, &dictionary->recency);

	return dictionary;
}

/* Whether the user may do that with a column. */
static bool
may_use_column(Oid relid, const char *name, AclMode mode)
{
	AttrNumber	column = get_attnum(relid, name);

	return column != InvalidAttrNumber &&
		pg_attribute_aclcheck(relid, column, GetUserId(), mode) == ACLCHECK_OK;
}

void
seqid_dictionary_check_privilege(Oid relid, AclMode mode)
{
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		no_such_dictionary(relid);
	if (pg_class_aclcheck(relid, GetUserId(), mode) != ACLCHECK_OK &&
		!(may_use_column(relid, "id", mode) && may_use_column(relid, "term", mode)))
	{
		char	   *name = get_rel_name(relid);

		if (name == NULL)
			no_such_dictionary(relid);
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, name);
	}
}

Dictionary *
seqid_dictionary_open(Oid relid)
{
	seqid_dictionary_check_privilege(relid, ACL_SELECT);
	/* Taking the lock lets in what has been changed. */
	LockRelationOid(relid, AccessShareLock);

	return seqid_dictionary_open_locked(relid);
}
