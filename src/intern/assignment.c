/*
 * assignment.c
 *	  Assigning ids to terms.
 *
 * Each term is searched for, and inserted if it is new, before the next one.  Terms are
 * sorted, so that of two overlapping calls, one waits for the other, but never each for the
 * other.
 *
 * A term is inserted as INSERT ... ON CONFLICT DO NOTHING would insert it, but without the
 * executor: checks, a speculative row, its index entries, and a second look at the constraint.
 * If INSERT would do more than that, a statement inserts the term.
 *
 * The search uses a dirty snapshot, which also finds rows that are not committed.  We wait for
 * the transaction that has inserted such a row.  Under REPEATABLE READ and SERIALIZABLE, a row
 * that was found must also be visible to our transaction.  A search with a dirty snapshot does
 * not take predicate locks.  They are not needed, because the constraint keeps others from
 * inserting the same term.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "bits/scatter_permutation.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "intern/dictionary.h"
#include "keys/scatter.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "state/server_shard.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* How many times a statement tries to insert a term that is not found afterwards. */
#define ATTEMPTS 3

/* A shorter term is not toasted: 64 bytes are left for the row's header and the id. */
#define TOASTED_BYTES (TOAST_TUPLE_THRESHOLD - 64)

/* The state of a call. */
typedef struct Assignment
{
	Dictionary *dictionary;
	Search		search;
	SnapshotData dirty;
	int64		leftover_id;	/* generated and not used, or -1 */
	bool		insert_begun;	/* are the fields below set? */
	EState	   *estate;			/* to insert directly: */
	ResultRelInfo *result_rel;
	TupleTableSlot *slot;
	List	   *arbiters;
	Statement  *insert;			/* or by a statement */
	Statement  *find;			/* if policies apply */
	ItemPointerData lock;		/* see lock_term() */
} Assignment;

static uint32
hash_of(const text *term)
{
	return hash_bytes((const unsigned char *) VARDATA_ANY(term), VARSIZE_ANY_EXHDR(term));
}

/* Compares by the field "order", and then as collation "C" does. */
static int
compare_terms(const void *left, const void *right)
{
	const Term *a = left;
	const Term *b = right;
	const text *a_text = (const text *) DatumGetPointer(a->term);
	const text *b_text = (const text *) DatumGetPointer(b->term);
	int			a_bytes = VARSIZE_ANY_EXHDR(a_text);
	int			b_bytes = VARSIZE_ANY_EXHDR(b_text);
	int			order;

	CHECK_FOR_INTERRUPTS();
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	order = memcmp(VARDATA_ANY(a_text), VARDATA_ANY(b_text), Min(a_bytes, b_bytes));
	return order != 0 ? order : a_bytes - b_bytes;
}

/*
 * A hash index uses the low bits of the hash as the number of the bucket, so sorting by the
 * reversed hash brings terms of one bucket together.  In a B-tree, sorting by bytes does.
 */
void
seqid_sort_terms(const Dictionary *dictionary, Term *terms, int count)
{
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		terms[i].order = dictionary->shape.hashed ?
			(uint32) scatter_reverse(hash_of((const text *) DatumGetPointer(terms[i].term)), 32) : 0;
	}
	qsort(terms, count, sizeof(Term), compare_terms);
}

/*
 * Called before the first new term of a call.
 *
 * While we hold the lock on the table, no session can add a trigger.  While we hold the lock
 * on the sequence, no session can change which column owns it.  This could have changed
 * before, so the shape is read again.  If the column id does not own the sequence, only
 * nextval() locks it, after checking the user's privilege.
 */
static void
begin_insert(Assignment *assignment)
{
	Dictionary *dictionary = assignment->dictionary;
	Relation	rel = dictionary->rel;

	seqid_prevent_during_recovery("assign ids to new terms");
	if (!rel->rd_islocaltemp)
		PreventCommandIfReadOnly("INSERT");
	if (!dictionary->may_insert)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(rel));
	if (dictionary->shape.owns_sequence)
	{
		LockRelationOid(dictionary->shape.sequence, RowExclusiveLock);
		seqid_dictionary_shape(rel, &dictionary->shape);
	}

	assignment->insert_begun = true;
	if (!dictionary->shape.plain_insert || dictionary->row_security)
	{
		assignment->insert = seqid_sql_begin(dictionary, INSERT_TERM);
		return;
	}
	assignment->estate = CreateExecutorState();
	assignment->result_rel = makeNode(ResultRelInfo);
	InitResultRelInfo(assignment->result_rel, dictionary->rel, 0, NULL, 0);
	ExecOpenIndices(assignment->result_rel, true);
	assignment->slot = table_slot_create(dictionary->rel, NULL);
	assignment->arbiters = list_make1_oid(dictionary->shape.term_index);
	if (OidIsValid(dictionary->shape.second_term_index))
		assignment->arbiters = lappend_oid(assignment->arbiters, dictionary->shape.second_term_index);
}

/* Returns false if another transaction has inserted the term first. */
static bool
insert_row(Assignment *assignment, int64 id, Datum term)
{
	const DictionaryShape *shape = &assignment->dictionary->shape;
	Relation	rel = assignment->dictionary->rel;
	TupleTableSlot *slot = assignment->slot;
	TransactionId xid = GetCurrentTransactionId();
	bool		conflict = false;
	uint32		token;

	/* All other columns are dropped. */
	ExecStoreAllNullTuple(slot);
	slot->tts_isnull[shape->id_column - 1] = false;
	slot->tts_values[shape->id_column - 1] = Int64GetDatum(id);
	slot->tts_isnull[shape->term_column - 1] = false;
	slot->tts_values[shape->term_column - 1] = term;
	if (RelationGetDescr(rel)->constr->num_check > 0)
		ExecConstraints(assignment->result_rel, slot, assignment->estate);

	/*
	 * Until the row is confirmed, others that find it wait for this lock, and
	 * not for the end of our transaction.  The row must not exist without it.
	 */
	token = SpeculativeInsertionLockAcquire(xid);
	table_tuple_insert_speculative(rel, slot, GetCurrentCommandId(true), 0, NULL, token);
	list_free(compat_insert_index_tuples(assignment->result_rel, slot, assignment->estate,
										 &conflict, assignment->arbiters));
	table_tuple_complete_speculative(rel, slot, token, !conflict);
	SpeculativeInsertionLockRelease(xid);
	ResetPerTupleExprContext(assignment->estate);

	return !conflict;
}

/*
 * Lets only one session at a time insert a toasted term.  The server compares a new row with
 * those of other sessions.  If two are equal, it removes one of them at once, with its chunks,
 * which the other session might be about to fetch.  The lock is that of a row that does not
 * exist in any table.  Returns true if the term must be searched for again, because another
 * session might have had the lock.
 */
static bool
lock_term(Assignment *assignment, Datum term)
{
	const text *value = (const text *) DatumGetPointer(term);

	if (ItemPointerIsValid(&assignment->lock) || !assignment->dictionary->shape.hashed ||
		(assignment->insert == NULL && VARSIZE_ANY(value) < TOASTED_BYTES))
		return false;
	seqid_search_unpin(&assignment->search);
	ItemPointerSet(&assignment->lock, hash_of(value), MaxOffsetNumber);
	LockTuple(assignment->dictionary->rel, &assignment->lock, ExclusiveLock);
	return true;
}

static void
unlock_term(Assignment *assignment)
{
	if (!ItemPointerIsValid(&assignment->lock))
		return;
	UnlockTuple(assignment->dictionary->rel, &assignment->lock, ExclusiveLock);
	ItemPointerSetInvalid(&assignment->lock);
}

/* Waits for the transaction that has inserted the row that was found. */
static void
wait_for_inserter(Assignment *assignment)
{
	TransactionId inserter = assignment->dirty.xmin;
	uint32		token = assignment->dirty.speculativeToken;
	ItemPointerData tid = assignment->search.slot->tts_tid;

	unlock_term(assignment);
	/* Otherwise VACUUM would have to wait for us. */
	seqid_search_unpin(&assignment->search);
	if (token != 0)
		SpeculativeInsertionWait(inserter, token);
	else
		XactLockTableWait(inserter, assignment->dictionary->rel, &tid, XLTW_InsertIndex);
}

/*
 * Raises 40001 if our transaction keeps its snapshot, and this does not show the row that was
 * found.  Otherwise reads the row with the snapshot, which takes a predicate lock on it.
 */
static void
check_visible(Assignment *assignment)
{
	Relation	rel = assignment->dictionary->rel;
	TupleTableSlot *slot = assignment->search.slot;
	TupleTableSlot *again;
	Datum		inserter;
	bool		isnull;

	if (!IsolationUsesXactSnapshot())
		return;
	inserter = slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull);
	if (TransactionIdIsCurrentTransactionId(DatumGetTransactionId(inserter)))
		return;
	again = table_slot_create(rel, NULL);
	if (!table_tuple_fetch_row_version(rel, &slot->tts_tid, GetTransactionSnapshot(), again))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
	ExecDropSingleTupleTableSlot(again);
}

/*
 * Inserts a term that was not found.  Returns false if it must be searched for again: another
 * transaction was first, or a trigger might have changed it.
 */
static bool
insert_term(Assignment *assignment, Term *term)
{
	const DictionaryShape *shape = &assignment->dictionary->shape;

	/* The id that a conflict left over is used for the next term. */
	if (assignment->leftover_id < 0)
		assignment->leftover_id = seqid_scatter_next(shape->sequence, shape->prefix_bits,
													 !shape->owns_sequence);
	term->id = assignment->leftover_id;
	if (assignment->insert != NULL)
	{
		Datum		row[] = {Int64GetDatum(term->id), term->term};

		assignment->leftover_id = -1;
		(void) seqid_sql_run(assignment->insert, row, false, NULL);
		return false;
	}
	if (!insert_row(assignment, term->id, term->term))
		return false;
	assignment->leftover_id = -1;
	return true;
}

static void
assign_id(Assignment *assignment, Term *term)
{
	Datum		id;
	int			insertions = 0;

	for (;;)
	{
		bool		found = seqid_search_find(&assignment->search, term->term, &id);
		bool		is_open = found && TransactionIdIsValid(assignment->dirty.xmin);

		/* Policies can hide the term from the user. */
		if (found && !is_open &&
			(assignment->find == NULL || seqid_sql_run(assignment->find, &term->term, false, &id)))
		{
			check_visible(assignment);
			term->id = DatumGetInt64(id);
			return;
		}
		if (!assignment->insert_begun)
			begin_insert(assignment);
		if (is_open)
			wait_for_inserter(assignment);
		else if (lock_term(assignment, term->term))
			continue;
		else if (assignment->insert != NULL && insertions++ == ATTEMPTS)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot assign an id in dictionary \"%s\"",
							RelationGetRelationName(assignment->dictionary->rel)),
					 errdetail("A term can be neither found nor inserted."),
					 errhint("Check the triggers and the row security policies of the dictionary.")));
		else if (insert_term(assignment, term))
			return;
	}
}

void
seqid_assign_ids(Dictionary *dictionary, Term *terms, int count)
{
	MemoryContext context = CurrentMemoryContext;
	Assignment	assignment = {.dictionary = dictionary,.leftover_id = -1};

	ItemPointerSetInvalid(&assignment.lock);
	InitDirtySnapshot(assignment.dirty);
	seqid_search_begin(&assignment.search, dictionary, true, &assignment.dirty);
	PG_TRY();
	{
		if (dictionary->row_security)
			assignment.find = seqid_sql_begin(dictionary, FIND_ID);
		for (int i = 0; i < count; i++)
		{
			if (i > 0 && compare_terms(&terms[i], &terms[i - 1]) == 0)
				terms[i].id = terms[i - 1].id;
			else
			{
				assign_id(&assignment, &terms[i]);
				unlock_term(&assignment);
			}
		}
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();

		/* The user did not pass an id, so an error about one needs a hint. */
		if (error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION && error->hint == NULL &&
			error->constraint_name != NULL &&
			strcmp(error->constraint_name, NameStr(dictionary->shape.id_index_name)) == 0)
			error->hint = "The sequence of the dictionary is behind its ids. Advance it as docs/interning.md shows.";
		ReThrowError(error);
	}
	PG_END_TRY();
	if (assignment.insert != NULL)
		SPI_finish();
	else if (assignment.insert_begun)
	{
		ExecCloseIndices(assignment.result_rel);
		ExecDropSingleTupleTableSlot(assignment.slot);
		FreeExecutorState(assignment.estate);
		/* Later commands of this query must see the new rows. */
		CommandCounterIncrement();
	}
	if (assignment.find != NULL)
		SPI_finish();
	seqid_search_end(&assignment.search);
}
