/*
 * sequence_slot.c
 *	  Registers the transactions that call settled_nextval().
 *
 * A reader of a table whose key is a sequence must know which open transactions can still
 * make values of the sequence visible; see settled_sequence.c.  Each process has entries
 * in shared memory, which it alone writes.  An entry contains a sequence, the last value
 * that the sequence had before the transaction called it, and the local id (lxid) of the
 * transaction.
 *
 * Invariants:
 *
 * 1. A registered transaction has only values greater than its entry, because
 *	  settled_nextval() refuses others.
 *
 * 2. A writer registers before its first value.  It reads the last value and stores the
 *	  entry while it holds the lock of the page's buffer in share mode, which keeps
 *	  nextval() from changing the value.  A reader reads the last value with the lock and
 *	  then scans the entries.  If it has read more than the entry, nextval() has locked
 *	  the page after the writer and before the reader, so the reader finds the entry.  If
 *	  not, the writer's values are greater than what the reader has read.  So no value
 *	  appears up to a horizon, and the horizon does not go back.
 *
 * 3. Both hold a lock on the relation that excludes ALTER SEQUENCE and TRUNCATE, so they
 *	  use the same file.  A transaction that has replaced the file keeps the entry it has
 *	  from before, and gets none for the new file.  No other session sees that before the
 *	  transaction ends, and its values would set the horizon back if a savepoint brought
 *	  back the old file.
 *
 * 4. An entry is valid while its process is in the transaction with that lxid; see
 *	  transaction_slot.c.  The lxid is written last.  The next transaction overwrites
 *	  entries after its own lxid is in the PGPROC.  A reader looks at the PGPROC after it
 *	  has read an entry, so it never takes fields of one transaction for another's.
 *
 * 5. A process clears its entries after the end of each transaction.  Otherwise another
 *	  process with the same PGPROC could come to have the lxid of one that was left, and
 *	  the horizon would go back.
 *
 * A prepared transaction leaves its process and would need a lock to go on holding the
 * sequence, but a lock tag has no room for a sequence and a value.  So PREPARE
 * TRANSACTION is refused.
 */
#include "postgres.h"

#include "access/xact.h"
#include "clock/sequence_slot.h"
#include "miscadmin.h"
#include "pg/sequence_page.h"
#include "pg/test_stop.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "utils/inval.h"

OwnSequences seqid_own_sequences;

/* ------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------
 */

static SequenceEntry *
own_entries(void)
{
	return seqid_sequence_entries(seqid_dynamic_state(),
								  (int) (MyProc - ProcGlobal->allProcs));
}

static void
begin_transaction(void)
{
	if (seqid_own_sequences.lxid != compat_lxid(MyProc))
	{
		seqid_own_sequences.lxid = compat_lxid(MyProc);
		seqid_own_sequences.count = 0;
	}
}

void
seqid_refuse_prepare(void)
{
	begin_transaction();
}

int64
seqid_read_last_value(Buffer buffer, XLogRecPtr *lsn)
{
	Page		page = BufferGetPage(buffer);
	Form_pg_sequence_data sequence = seqid_sequence_on_page(page);

	if (sequence == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page of a sequence is damaged")));
	*lsn = PageGetLSN(page);
	return sequence->is_called || sequence->last_value == PG_INT64_MIN ?
		sequence->last_value : sequence->last_value - 1;
}

static void
store_entry(SequenceEntry *entry, Oid sequence, int64 last)
{
	/* Invariant 4: a reader of these fields finds the lxid in our PGPROC. */
	pg_write_barrier();
	pg_atomic_write_u64(&entry->last, (uint64) last);
	pg_atomic_write_u32(&entry->sequence, sequence);

	/* And a reader of the lxid finds the fields. */
	pg_write_barrier();
	pg_atomic_write_u32(&entry->lxid, seqid_own_sequences.lxid);
}

/* The number of the transaction's entry for the sequence, or of the next free one. */
static int
find_own_entry(Oid sequence)
{
	int			number = 0;

	while (number < seqid_own_sequences.count &&
		   seqid_own_sequences.entries[number].sequence != sequence)
		number++;
	return number;
}

int64
seqid_register_sequence(Oid sequence, Buffer buffer)
{
	OwnSequences *own = &seqid_own_sequences;
	SequenceEntry *entries = own_entries();
	int			number;

	begin_transaction();
	number = find_own_entry(sequence);
	if (number == SEQUENCE_ENTRIES)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("settled_nextval() cannot be called for more than %d sequences in one transaction",
						SEQUENCE_ENTRIES),
				 errhint("Use nextval() for tables without readers that go by seqid.sequence_horizon(), or commit earlier.")));

	if (number == own->count)
	{
		XLogRecPtr	lsn;
		int64		last;

		/* Invariant 2. */
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		last = seqid_read_last_value(buffer, &lsn);
		store_entry(&entries[number], sequence, last);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

		own->entries[number].sequence = sequence;
		own->entries[number].last = last;
		own->count++;
		test_stop(TEST_STOP_SEQUENCE_REGISTERED);
	}
	own->entries[number].checked = true;
	return own->entries[number].last;
}

/* Invariant 5. */
static void
clear_own_entries(void)
{
	for (int i = 0; i < seqid_own_sequences.count; i++)
		pg_atomic_write_u32(&own_entries()[i].lxid, InvalidLocalTransactionId);
	seqid_own_sequences.count = 0;
	seqid_own_sequences.lxid = InvalidLocalTransactionId;
}

static void
watch_transaction(XactEvent event, void *arg pg_attribute_unused())
{
	if (seqid_own_sequences.lxid == InvalidLocalTransactionId)
		return;
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		clear_own_entries();
	else if (event == XACT_EVENT_PRE_PREPARE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has called settled_nextval()"),
				 errdetail("Only a transaction of a session can hold the horizon of a sequence."),
				 errhint("Use keys of snowflake_nextval() or comb_uuid() and seqid.horizon() for tables that prepared transactions write.")));
}

/*
 * ALTER SEQUENCE or TRUNCATE has replaced the file, or a rollback has brought back the one
 * before.
 */
static void
check_again(Datum arg pg_attribute_unused(), Oid relid)
{
	for (int i = 0; i < seqid_own_sequences.count; i++)
	{
		if (relid == InvalidOid || seqid_own_sequences.entries[i].sequence == relid)
			seqid_own_sequences.entries[i].checked = false;
	}
}

void
seqid_watch_sequences(void)
{
	RegisterXactCallback(watch_transaction, NULL);
	CacheRegisterRelcacheCallback(check_again, (Datum) 0);
}

/* ------------------------------------------------------------------------
 * Readers
 * ------------------------------------------------------------------------
 */

bool
seqid_read_sequence_entry(int process, int number, SequenceHolder *holder)
{
	const PGPROC *proc = &ProcGlobal->allProcs[process];
	SequenceEntry *entry = &seqid_sequence_entries(seqid_dynamic_state(), process)[number];
	LocalTransactionId lxid = pg_atomic_read_u32(&entry->lxid);
	Oid			database;

	if (lxid == InvalidLocalTransactionId)
		return false;

	/* Invariant 4: the lxid was written last, and its end is seen last. */
	pg_read_barrier();
	holder->sequence = pg_atomic_read_u32(&entry->sequence);
	holder->last = (int64) pg_atomic_read_u64(&entry->last);
	holder->pid = proc->pid;
	database = proc->databaseId;
	pg_read_barrier();
	return compat_lxid(proc) == lxid && database == MyDatabaseId;
}

int64
seqid_least_held_value(Oid sequence, int64 at_most)
{
	int64		least = at_most;

	for (int process = 0; process < (int) ProcGlobal->allProcCount; process++)
	{
		SequenceHolder holder;

		/* A transaction fills its entries in order. */
		for (int number = 0; number < SEQUENCE_ENTRIES &&
			 seqid_read_sequence_entry(process, number, &holder); number++)
		{
			if (holder.sequence == sequence)
				least = Min(least, holder.last);
		}
	}
	return least;
}
