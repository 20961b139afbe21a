/*
 * sequence_look.c
 *	  Finds the values of a sequence that can still appear.
 *
 * The lock manager knows which open transactions can still make a smaller key visible:
 * nextval() locks the sequence (RowExclusiveLock) before it reads the page, the transaction
 * keeps the lock through savepoints, DISCARD and PREPARE TRANSACTION, and the server releases
 * it after it has made the transaction visible.  So writers work without any change.
 *
 * A look reads the next value from the page and then finds the holders, the transactions that
 * have a lock in conflict with ShareLock.  Each holder has a number.  All values of the holder
 * are at least this number.  The bound is the smallest of the next value and the numbers.
 *
 * Invariants:
 *
 * 1. The next value is read before the holders are found.  A transaction that got a smaller
 *	  value had the lock when the page was read, so it is found unless it has ended.
 *
 * 2. The number of a holder is the next value that was read by the last look that did not find
 *	  it, because the holder got its lock after that look had read the page.  The entry of the
 *	  sequence in shared memory contains the next value and the holders of the last look.  The
 *	  lock of the entry serializes looks.
 *
 * 3. A transaction that the first look finds can have got any value, so its number is the
 *	  smallest bigint.  A look also counts as the first one if it finds another file than the
 *	  look before, or a smaller next value, because the sequence was then set back and the
 *	  numbers mean nothing.  The first look begins a new generation, and a session that knows a
 *	  bound of an earlier one must forget it: writers can have passed this bound again since.
 *
 * 4. The transaction of the caller holds the sequence like any other one, because its rows
 *	  become visible to others only when it commits.
 *
 * 5. Once the page's WAL is flushed, values below the bound are not repeated after a crash.  A
 *	  file that was copied can return values that are not in the WAL; see pg/sequence_page.c.
 *	  So the page is logged before the first look at a file, and a transaction does not look at
 *	  a file that it has created itself, which a crash could undo.
 *
 * A look does not wait for transactions.  Waiting in the queue of the lock would make writers
 * victims of deadlocks, and readers might never get the lock.  The page is pinned under a lock
 * in the mode of nextval(), which keeps ALTER SEQUENCE from removing the file, but only if
 * that lock is free at once.  It is released before the holders are found.  Another reader
 * that looks meanwhile counts this lock as that of a new writer, so its bound can be lower,
 * but not wrong.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "clock/mark_page.h"
#include "clock/sequence_look.h"
#include "miscadmin.h"
#include "pg/sequence_page.h"
#include "pg/test_stop.h"
#include "state/followed_sequence.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

static bool
is_permitted(Oid sequence)
{
	return pg_class_aclcheck(sequence, GetUserId(),
							 ACL_USAGE | ACL_SELECT | ACL_UPDATE) == ACLCHECK_OK;
}

/* Also true for a relation that was just dropped: the server's function raises the error. */
static bool
is_permanent(Oid sequence)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(sequence));
	bool		result = true;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->relpersistence == RELPERSISTENCE_PERMANENT;
		ReleaseSysCache(tuple);
	}
	return result;
}

static void
report_missing(Oid sequence)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("sequence with OID %u does not exist", sequence)));
}

static char *
require_name(Oid sequence)
{
	char	   *name = get_rel_name(sequence);

	if (name == NULL)
		report_missing(sequence);
	return name;
}

/* Why readers cannot follow a sequence, or NULL.  %s in the hint stands for its name. */
typedef struct Fault
{
	const char *detail;
	const char *hint;
} Fault;

static Fault
find_fault(Oid sequence)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence));
	Form_pg_sequence definition;
	Fault		fault = {NULL, NULL};

	if (!HeapTupleIsValid(tuple))
		return fault;			/* dropped just now */
	definition = (Form_pg_sequence) GETSTRUCT(tuple);
	if (!is_permanent(sequence))
	{
		fault.detail = "The sequence is temporary or unlogged, so its values can be repeated after a crash or in another session.";
		fault.hint = "Use a permanent sequence.";
	}
	else if (definition->seqcache > 1)
	{
		fault.detail = "The sequence has CACHE above 1, so a later call can return a smaller value.";
		fault.hint = "Run ALTER SEQUENCE %s CACHE 1.";
	}
	else if (definition->seqcycle)
	{
		fault.detail = "The sequence has CYCLE, so a later call can return a smaller value.";
		fault.hint = "Run ALTER SEQUENCE %s NO CYCLE.";
	}
	else if (definition->seqincrement < 1)
	{
		fault.detail = "The sequence has a negative INCREMENT, so each call returns a smaller value.";
		fault.hint = "Run ALTER SEQUENCE %s INCREMENT 1.";
	}
	else if (sequence == seqid_find_mark())
	{
		/* A look would remove the nonce from its page. */
		fault.detail = "The clock mark is not the sequence of a table.";
		fault.hint = "Use seqid.settled_snowflake() or CALL seqid.horizon().";
	}
	ReleaseSysCache(tuple);
	return fault;
}

bool
seqid_can_be_followed(Oid sequence)
{
	return get_rel_relkind(sequence) == RELKIND_SEQUENCE &&
		is_permitted(sequence) && find_fault(sequence).detail == NULL;
}

void
seqid_check_followed_sequence(Oid sequence)
{
	char		relkind = get_rel_relkind(sequence);
	Fault		fault;

	if (relkind == '\0')
		report_missing(sequence);
	if (relkind != RELKIND_SEQUENCE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sequence", require_name(sequence))));
	if (!is_permitted(sequence))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, require_name(sequence));

	fault = find_fault(sequence);
	if (fault.detail != NULL)
	{
		char	   *name = require_name(sequence);

		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("sequence \"%s\" has no settled values", name),
				 errdetail("%s", fault.detail),
				 errhint(fault.hint,
						 quote_qualified_identifier(get_namespace_name(get_rel_namespace(sequence)), name))));
	}
}

/*
 * The file of a sequence that cannot be locked, as relation_file() returns it.  A writer locks
 * the sequence after the server has sent the invalidation messages of the transaction that
 * created the file.  So if a row of this file is visible, we find this file or a later one.
 */
static uint64
find_file(Oid sequence)
{
	HeapTuple	tuple;
	Form_pg_class class;
	Oid			tablespace;
	uint64		file;

	AcceptInvalidationMessages();
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(sequence));
	if (!HeapTupleIsValid(tuple))
		report_missing(sequence);
	class = (Form_pg_class) GETSTRUCT(tuple);
	tablespace = OidIsValid(class->reltablespace) ? class->reltablespace : MyDatabaseTableSpace;
	file = (uint64) tablespace << 32 | class->relfilenode;
	ReleaseSysCache(tuple);
	return file;
}

/* What a look needs from the relation, which it does not keep locked. */
typedef struct OpenSequence
{
	Oid			sequence;
	uint64		file;
	Buffer		buffer;			/* of the page, pinned */
	bool		is_own;			/* held by the open transaction */
} OpenSequence;

/*
 * Pins and logs the page.  The definition is checked again, because it can have changed since,
 * and a session that returns values from its cache does not hold the sequence.  ALTER SEQUENCE
 * can replace the file afterwards, but the pin keeps the old page, and the new file continues
 * from there unless the sequence was set back.
 */
static bool
open_sequence(OpenSequence *open)
{
	Relation	rel;
	bool		is_open;

	if (!ConditionalLockRelationOid(open->sequence, RowExclusiveLock))
		return false;
	rel = try_relation_open(open->sequence, NoLock);
	if (rel == NULL)
		report_missing(open->sequence);
	is_open = !relation_is_new(rel) && find_fault(open->sequence).detail == NULL;
	if (is_open)
	{
		open->file = relation_file(rel);
		open->buffer = ReadBuffer(rel, 0);
		/* Invariant 5. */
		if (!seqid_is_followed_file(open->sequence, open->file))
			seqid_log_sequence_page(open->sequence, open->buffer);
	}
	UnlockRelationOid(open->sequence, RowExclusiveLock);

	/* Invariant 4; the lock that was acquired above is released. */
	open->is_own = CheckRelationLockedByMe(rel, RowExclusiveLock, true);
	relation_close(rel, NoLock);
	return is_open;
}

/* The transactions that hold the sequence.  If our own one does, it is the last. */
static VirtualTransactionId *
find_holders(const OpenSequence *open, int *count)
{
	LOCKTAG		tag;
	VirtualTransactionId *holders;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, open->sequence);
	holders = GetLockConflicts(&tag, ShareLock, count);
	if (open->is_own)
	{
		/* It takes the place of the terminator. */
		VirtualTransactionId *own = &holders[(*count)++];

		compat_vxid_process(*own) = compat_process(MyProc);
		own->localTransactionId = compat_lxid(MyProc);
	}
	return holders;
}

/* Gives each holder its number, and lowers the bound to the smallest one. */
static void
number_holders(FollowedSequence *followed, const OpenSequence *open, int64 number_of_new,
			   Look *look)
{
	int			count;
	VirtualTransactionId *transactions = find_holders(open, &count);
	SequenceHolder *holders = palloc(count * sizeof(SequenceHolder));

	for (int i = 0; i < count; i++)
	{
		const SequenceHolder *before = seqid_find_holder(followed, transactions[i]);
		bool		was_found = before->transaction.localTransactionId != InvalidLocalTransactionId;
		bool		is_own = open->is_own && i == count - 1;

		holders[i].transaction = transactions[i];
		holders[i].number = was_found ? before->number : number_of_new;
		look->bound = Min(look->bound, holders[i].number);
		/* Our own transaction does not end while the caller waits. */
		if (was_found || is_own)
			look->goal = Min(look->goal, holders[i].number);
	}

	seqid_clear_holders(followed);
	for (int i = 0; i < count; i++)
		*seqid_find_holder(followed, transactions[i]) = holders[i];
	pfree(holders);
	pfree(transactions);
}

static void
look_at(const OpenSequence *open, FollowedSequence *followed, Look *look)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		next;
	bool		is_first;

	/* Invariant 1. */
	next = seqid_read_next_value(open->sequence, open->buffer, &look->page_lsn);

	/*
	 * A transaction that removes the file spins for as long as the page is
	 * pinned.
	 */
	ReleaseBuffer(open->buffer);
	test_stop(TEST_STOP_SEQUENCE_READ);

	/* Invariant 3. */
	is_first = followed->file != open->file || next < followed->next;
	if (is_first)
		seqid_begin_generation(followed);

	look->generation = followed->generation;
	look->bound = look->goal = next;
	look->unwatched_ms = (now - (int64) pg_atomic_read_u64(&followed->looked_us)) / 1000;

	/* Invariant 2. */
	number_holders(followed, open, is_first ? PG_INT64_MIN : followed->next, look);

	followed->file = open->file;
	followed->next = next;
	pg_atomic_write_u64(&followed->looked_us, (uint64) now);
}

bool
seqid_look_at_sequence(Oid sequence, Look *look)
{
	OpenSequence open = {.sequence = sequence};
	bool		is_open;
	FollowedSequence *followed;

	test_stop(TEST_STOP_SEQUENCE_CHECKED);
	is_open = open_sequence(&open);
	if (!is_open)
		open.file = find_file(sequence);

	followed = seqid_lock_followed_sequence(sequence);
	if (is_open)
		look_at(&open, followed, look);
	else
		look->generation = followed->file == open.file ? followed->generation : 0;
	LWLockRelease(&followed->lock);
	return is_open;
}
