/*
 * dictionary.c
 *	  Opening dictionaries and searching them.
 *
 * A search reads the index and the table directly, so it does not have a plan that settings or
 * statistics could spoil.  It runs a statement only if row security policies apply, or if the
 * index is too young for the snapshot.
 *
 * A user with INSERT can add many terms with the same hash, and a search for one of them
 * compares all of them.  It can be cancelled, and holds no LWLock meanwhile, but it holds a
 * pin on a page of the index, for which VACUUM waits.  Their number is not limited, because a
 * user who reached the limit would keep others from adding terms with that hash.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "intern/dictionary.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/test_stop.h"
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

Dictionary
seqid_dictionary_open(Oid relid, bool for_insert)
{
	char	   *name = get_rel_name(relid);
	Dictionary	dictionary;

	if (name != NULL && !is_allowed(relid, ACL_SELECT))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, name);
	dictionary.may_insert = name != NULL && for_insert && is_allowed(relid, ACL_INSERT);
	dictionary.rel = name == NULL ? NULL :
		try_relation_open(relid, dictionary.may_insert ? RowExclusiveLock : AccessShareLock);
	if (dictionary.rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("dictionary with OID %u does not exist", relid)));
	seqid_dictionary_shape(dictionary.rel, &dictionary.shape);
	dictionary.row_security = dictionary.rel->rd_rel->relrowsecurity &&
		check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED;

	return dictionary;
}

/* Whether the index can lack rows that an old snapshot shows; see pg_index.indcheckxmin. */
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

/* Releases the lock on the index, because keeping it could cause a deadlock with REINDEX. */
void
seqid_search_end(Search *search)
{
	if (search->statement != NULL)
	{
		SPI_finish();
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

/*
 * A hash index, which only terms have, returns all rows whose terms have the same hash.  Only
 * the lengths are compared for a toasted term of an open transaction, because its value
 * vanishes if the transaction rolls back.
 */
static bool
is_wanted(const Search *search)
{
	Datum		wanted = search->key.sk_argument;
	Snapshot	snapshot = search->scan->xs_snapshot;
	Datum		found;
	bool		isnull;
	bool		is_open;

	if (!search->scan->xs_recheck)
		return true;
	found = slot_getattr(search->slot, search->dictionary->shape.term_column, &isnull);
	is_open = !IsMVCCSnapshot(snapshot) && TransactionIdIsValid(snapshot->xmin);
	if (is_open)
		test_stop(TEST_STOP_TERM_FOUND);
	if (is_open && VARATT_IS_EXTERNAL(DatumGetPointer(found)))
		return toast_raw_datum_size(found) == toast_raw_datum_size(wanted);
	return DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID, found, wanted));
}

bool
seqid_search_find(Search *search, Datum value, Datum *result)
{
	bool		isnull;

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
			*result = slot_getattr(search->slot, search->result_column, &isnull);
			return true;
		}
	}
	return false;
}
