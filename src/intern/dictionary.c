/*
 * dictionary.c
 *	  Opening dictionaries and searching them.
 *
 * A search reads the index and the table directly.  It has no plan that settings or
 * statistics could spoil.  Only where row security policies apply, or the index is too
 * young for the snapshot, it is a statement.
 *
 * A user with INSERT can add many terms of one hash, and a search for one of them compares
 * all.  It holds no lock meanwhile, only a pin on a page of the index, for which VACUUM
 * waits, and it can be cancelled.  So others lose time only if they use such terms.  There
 * is no limit, because a user who had reached it would keep others from adding theirs.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "intern/dictionary.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/test_stop.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

static bool
may_use_column(Oid relid, const char *name, AclMode mode)
{
	AttrNumber	column = get_attnum(relid, name);

	return column != InvalidAttrNumber &&
		pg_attribute_aclcheck(relid, column, GetUserId(), mode) == ACLCHECK_OK;
}

/* Whether the user has a privilege on the table, or on both columns. */
static bool
is_allowed(Oid relid, AclMode mode)
{
	return pg_class_aclcheck(relid, GetUserId(), mode) == ACLCHECK_OK ||
		(may_use_column(relid, "id", mode) && may_use_column(relid, "term", mode));
}

static void
no_such_dictionary(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("dictionary with OID %u does not exist", relid)));
}

static Dictionary
open_locked(Oid relid)
{
	Dictionary	dictionary = {.rel = try_relation_open(relid, NoLock)};

	if (dictionary.rel == NULL)
		no_such_dictionary(relid);
	seqid_dictionary_shape(dictionary.rel, &dictionary.shape);
	dictionary.row_security = dictionary.rel->rd_rel->relrowsecurity &&
		check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED;

	return dictionary;
}

Dictionary
seqid_dictionary_open(Oid relid, bool for_insert)
{
	char	   *name = get_rel_name(relid);
	Dictionary	dictionary;
	bool		may_insert;

	if (name == NULL)
		no_such_dictionary(relid);
	if (!is_allowed(relid, ACL_SELECT))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, name);

	may_insert = for_insert && is_allowed(relid, ACL_INSERT);
	LockRelationOid(relid, may_insert ? RowExclusiveLock : AccessShareLock);
	dictionary = open_locked(relid);
	dictionary.may_insert = may_insert;

	return dictionary;
}

void
seqid_dictionary_close(Dictionary *dictionary)
{
	relation_close(dictionary->rel, NoLock);
}

/* Whether rows that an old snapshot shows can be missing in the index; see pg_index. */
static bool
is_too_young(Relation index)
{
	return index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   TransactionXmin);
}

void
seqid_search_begin(Search *search, const Dictionary *dictionary, bool by_term, Snapshot snapshot)
{
	const DictionaryShape *shape = &dictionary->shape;

	*search = (Search)
	{
		.dictionary = dictionary,
			.result_column = (AttrNumber) (by_term ? shape->id_column : shape->term_column)
	};
	search->index = index_open(by_term ? shape->term_index : shape->id_index, AccessShareLock);
	if (IsMVCCSnapshot(snapshot) && (dictionary->row_security || is_too_young(search->index)))
	{
		index_close(search->index, AccessShareLock);
		search->statement = seqid_sql_begin(dictionary, by_term ? FIND_ID : FIND_TERM);
		return;
	}
	search->slot = table_slot_create(dictionary->rel, NULL);
	search->scan = compat_index_beginscan(dictionary->rel, search->index, snapshot, 1);
	ScanKeyEntryInitialize(&search->key, 0, 1,
						   by_term && shape->hashed ? HTEqualStrategyNumber : BTEqualStrategyNumber,
						   InvalidOid, by_term ? C_COLLATION_OID : InvalidOid,
						   by_term ? F_TEXTEQ : F_INT8EQ, (Datum) 0);
}

/* A lock on the index that is kept could deadlock with REINDEX. */
void
seqid_search_end(Search *search)
{
	if (search->statement != NULL)
	{
		seqid_sql_end();
		return;
	}
	index_endscan(search->scan);
	ExecDropSingleTupleTableSlot(search->slot);
	index_close(search->index, AccessShareLock);
}

void
seqid_search_unpin(Search *search)
{
	index_rescan(search->scan, &search->key, 1, NULL, 0);
	ExecClearTuple(search->slot);
}

static Datum
found_column(const Search *search, AttrNumber column)
{
	bool		isnull;

	return slot_getattr(search->slot, column, &isnull);
}

static bool
is_of_open_transaction(const Search *search)
{
	Snapshot	snapshot = search->scan->xs_snapshot;

	return !IsMVCCSnapshot(snapshot) && TransactionIdIsValid(snapshot->xmin);
}

/*
 * A hash index, which only terms have, returns all rows whose terms have the same hash.
 * A toasted term of an open transaction is not compared, because it vanishes if the
 * transaction rolls back.
 */
static bool
is_wanted(const Search *search)
{
	Datum		wanted = search->key.sk_argument;
	Datum		found;
	bool		is_open;

	if (!search->scan->xs_recheck)
		return true;
	found = found_column(search, search->dictionary->shape.term_column);
	is_open = is_of_open_transaction(search);
	if (is_open)
		test_stop(TEST_STOP_TERM_FOUND);
	if (is_open && VARATT_IS_EXTERNAL(DatumGetPointer(found)))
		return toast_raw_datum_size(found) == toast_raw_datum_size(wanted);
	return DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID, found, wanted));
}

bool
seqid_search_find(Search *search, Datum value, Datum *result)
{
	CHECK_FOR_INTERRUPTS();
	if (search->statement != NULL)
		return seqid_sql_run(search->statement, &value, true, result);

	search->key.sk_argument = value;
	index_rescan(search->scan, &search->key, 1, NULL, 0);
	while (index_getnext_slot(search->scan, ForwardScanDirection, search->slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (is_wanted(search))
		{
			*result = found_column(search, search->result_column);
			return true;
		}
	}
	return false;
}
