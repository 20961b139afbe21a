/*
 * transaction_slot.c
 *	  Registers the transactions that generate keys.
 *
 * Transactions do not commit in the order of their keys, so readers must know which of them
 * are open; see settled_horizon.c.  Each PGPROC has a slot in shared memory.  It contains a
 * time and 16 bits of the virtual id of the transaction that is registered with this time.
 *
 * Invariants:
 *
 * 1. No key of a registered transaction has an earlier time than its slot.
 *
 * 2. A writer registers before it reserves its first key.  It reads the minimum key
 *	  time of the database (min_key_ms), stores it in the slot, and then reads it
 *	  again.  Its keys start at the time that it read last.  A reader first raises
 *	  min_key_ms and then scans the slots.  Each has a full barrier between its two
 *	  accesses.  So either the reader finds the slot, or the writer finds the raised
 *	  time.
 *
 * 3. A slot is valid while its process is in the transaction with that virtual id.  The server
 *	  clears the local id (lxid) in the PGPROC when it makes the transaction visible, under the
 *	  same lock.  So a slot never becomes invalid too early, a process that dies does not leave
 *	  a valid one, and nobody has to clear it.  The slot contains only 16 bits of the id.  If
 *	  they are by chance those of a later transaction of the same PGPROC, the slot holds back the
 *	  horizon until this transaction ends, which does no harm.
 *
 * 4. Parallel workers register in the slot of their leader, whose transaction inserts their
 *	  keys.  They do so from the start, because a reader that scans the slots could miss a time
 *	  that is handed over only when they end.
 *
 * 5. The first process of a parallel group sets the slot, which then does not change until the
 *	  transaction ends.  The others read min_key_ms later, so their keys are not earlier.
 *
 * 6. A writer without a parallel group stores min_key_ms in its slot again until no reader has
 *	  raised it in between.  Its slot is therefore not earlier than any published horizon.
 *	  Otherwise, if the transaction was prepared, the horizon could go back to the slot's time
 *	  after a crash.
 *
 * 7. A prepared transaction leaves its process and its slot.  Before it does so, it acquires a
 *	  lock of a class that only this file uses.  The tag contains the time of the slot, or the
 *	  published horizon if that is later.  The server writes this lock with the prepared
 *	  transaction, restores it after a crash or a promotion, and releases it after it has made
 *	  the transaction visible.  A reader that scans the slots first and the locks second finds
 *	  one of the two.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "clock/clock_mark.h"
#include "clock/transaction_slot.h"
#include "miscadmin.h"
#include "pg/test_stop.h"
#include "port/atomics.h"
#include "state/database_state.h"
#include "state/guc.h"
#include "storage/lock.h"

/*
 * The tag of an advisory lock ends with a class.  Users can acquire only locks of the classes
 * 1 and 2.  In ours, the fields between the database and the class contain the time, where the
 * view seqid.horizon_holders reads it.
 */
#define PREPARED_LOCK_CLASS	53

LocalTransactionId seqid_registered_lxid = InvalidLocalTransactionId;

/* NULL until this process has attached. */
static DynamicState *state = NULL;
static pg_atomic_uint64 *own_slot;

int
seqid_slot_count(void)
{
	return (int) ProcGlobal->allProcCount;
}

static pg_atomic_uint64 *
slot_of_process(const PGPROC *proc)
{
	return seqid_slot(state, (int) (proc - ProcGlobal->allProcs));
}

static void
attach_slots(void)
{
	state = seqid_dynamic_state();
	own_slot = slot_of_process(MyProc);
}

/* Never returns 0, the value of an unused slot, because min_key_ms is never 0. */
static inline uint64
slot_compose(uint64 ms, uint16 transaction_bits)
{
	return ms << SLOT_TRANSACTION_BITS | transaction_bits;
}

/*
 * Returns the time of a slot or, if that is later, first_key_ms.  Until the first reader
 * raises min_key_ms, slots contain its initial value, which is earlier than horizons of an
 * earlier server lifetime.  But no key of this lifetime is earlier than first_key_ms.
 */
static inline int64
slot_ms(uint64 slot)
{
	DatabaseState *database = seqid_find_database_state();
	uint64		first_key_ms =
	database == NULL ? 0 : pg_atomic_read_u64(&database->horizon.first_key_ms);

	return (int64) Max(slot >> SLOT_TRANSACTION_BITS, first_key_ms);
}

/* ------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------
 */

/*
 * If the leader has not loaded the library, PREPARE TRANSACTION would not acquire the lock of
 * invariant 7.  A worker of such a leader has loaded the library during the parallel query, so
 * its settings are undefined, and requiring them raises the error.
 */
static void
check_leader_has_library(void)
{
	if (IsParallelWorker() && max_prepared_xacts > 0)
		seqid_require_settings();
}

/*
 * Stores min_key_ms in the slot and returns true.  Returns false if the slot already contains
 * these bits and a time that is not later.  It was then set by a faster process of the group
 * (invariant 5), or by an old transaction that has the same bits.  Because that transaction can
 * be of another database, a later time in its slot would break invariant 1.
 */
static bool
set_slot(pg_atomic_uint64 *slot, pg_atomic_uint64 *min_key_ms, uint16 transaction_bits,
		 uint64 *registered_ms)
{
	uint64		found = pg_atomic_read_u64(slot);

	do
	{
		/* If another process set it, we must read min_key_ms after it did. */
		pg_read_barrier();
		*registered_ms = pg_atomic_read_u64(min_key_ms);
		if (found != 0 && (uint16) found == transaction_bits &&
			found >> SLOT_TRANSACTION_BITS <= *registered_ms)
			return false;
		test_stop(TEST_STOP_REGISTERING);
	} while (!pg_atomic_compare_exchange_u64(slot, &found,
											 slot_compose(*registered_ms, transaction_bits)));
	return true;
}

void
seqid_register_new_writer(void)
{
	pg_atomic_uint64 *min_key_ms = &seqid_database_state()->horizon.min_key_ms;
	pg_atomic_uint64 *slot;
	PGPROC	   *leader = MyProc->lockGroupLeader;
	uint16		transaction_bits;
	uint64		registered_ms;
	uint64		latest_ms;
	bool		alone;

	if (unlikely(state == NULL))
	{
		check_leader_has_library();
		attach_slots();
	}

	/* Invariant 4. */
	if (leader == NULL)
		leader = MyProc;
	slot = leader == MyProc ? own_slot : slot_of_process(leader);
	transaction_bits = seqid_transaction_bits(leader);
	alone = set_slot(slot, min_key_ms, transaction_bits, &registered_ms) && !IsInParallelMode();

	for (;;)
	{
		/* Invariant 2, also for a worker that found the slot set. */
		pg_memory_barrier();
		latest_ms = pg_atomic_read_u64(min_key_ms);
		if (likely(latest_ms == registered_ms) || !alone)
			break;

		/* Invariant 6: a reader might have published this time. */
		registered_ms = latest_ms;
		pg_atomic_write_u64(slot, slot_compose(registered_ms, transaction_bits));
	}

	seqid_raise_key_floor((int64) latest_ms - 1);
	seqid_registered_lxid = compat_lxid(MyProc);
	test_stop(TEST_STOP_REGISTERED);
}

/* ------------------------------------------------------------------------
 * Readers
 * ------------------------------------------------------------------------
 */

bool
seqid_read_slot(int number, int64 *registered_ms, int *pid)
{
	PGPROC	   *proc = &ProcGlobal->allProcs[number];
	uint64		slot;

	if (unlikely(state == NULL))
		attach_slots();
	slot = pg_atomic_read_u64(seqid_slot(state, number));
	if (slot == 0)
		return false;

	/* Read the transaction after the slot; otherwise we could miss a writer. */
	pg_read_barrier();
	*registered_ms = slot_ms(slot);
	*pid = proc->pid;
	return seqid_slot_names(slot, proc) && proc->databaseId == MyDatabaseId;
}

int64
seqid_earliest_registered_ms(int64 at_most)
{
	int64		earliest_ms = at_most;

	for (int i = 0; i < seqid_slot_count(); i++)
	{
		int64		registered_ms;
		int			pid;

		if (seqid_read_slot(i, &registered_ms, &pid))
			earliest_ms = Min(earliest_ms, registered_ms);
	}
	return earliest_ms;
}

/* ------------------------------------------------------------------------
 * Prepared transactions
 * ------------------------------------------------------------------------
 */

/* Each prepared transaction with keys also has the lock of time 0, which one lookup finds. */
static LOCKTAG
prepared_lock_tag(int64 ms)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (ms >> 32), (uint32) ms,
						 PREPARED_LOCK_CLASS);
	return tag;
}

static bool
is_prepared_lock(const LOCKTAG *tag)
{
	return tag->locktag_type == LOCKTAG_ADVISORY &&
		tag->locktag_field1 == MyDatabaseId &&
		tag->locktag_field4 == PREPARED_LOCK_CLASS;
}

static int64
prepared_lock_ms(const LOCKTAG *tag)
{
	return (int64) tag->locktag_field2 << 32 | tag->locktag_field3;
}

static void
take_prepared_lock(int64 ms)
{
	LOCKTAG		tag = prepared_lock_tag(ms);

	(void) LockAcquire(&tag, AccessShareLock, false, false);
}

/* Invariant 7. */
static void
take_prepared_locks(void)
{
	uint64		slot;

	/*
	 * A session that is not attached has not set its slot, but the parallel
	 * workers of its query might have.  Whether the extension exists does not
	 * matter, because it can have been dropped since.
	 */
	if (state == NULL)
	{
		if (MyProc->lockGroupLeader == NULL || !seqid_dynamic_state_exists())
			return;
		attach_slots();
	}

	slot = pg_atomic_read_u64(own_slot);
	if (seqid_slot_names(slot, MyProc))
	{
		/*
		 * The slot of a parallel group can be earlier than the published
		 * horizon, but the keys of the group are not.
		 */
		uint64		published_ms =
		pg_atomic_read_u64(&seqid_database_state()->horizon.published_ms);

		take_prepared_lock(0);
		take_prepared_lock(Max(slot_ms(slot), (int64) published_ms));
	}
}

static void
watch_transaction(XactEvent event, void *arg pg_attribute_unused())
{
	if (event == XACT_EVENT_PRE_PREPARE)
		take_prepared_locks();
}

void
seqid_watch_transactions(void)
{
	RegisterXactCallback(watch_transaction, NULL);
}

int64
seqid_earliest_prepared_ms(int64 at_most)
{
	int64		earliest_ms = at_most;
	LOCKTAG		tag = prepared_lock_tag(0);
	LockData   *data;
	int			count;

	if (max_prepared_xacts == 0)
		return at_most;

	/* Usually there is none, and no copy of all locks is needed. */
	pfree(GetLockConflicts(&tag, AccessExclusiveLock, &count));
	if (count == 0)
		return at_most;

	data = GetLockStatusData();
	for (int i = 0; i < data->nelements; i++)
	{
		const		LockInstanceData *lock = &data->locks[i];
		int64		ms = prepared_lock_ms(&lock->locktag);

		/* A transaction that is not yet prepared is still in its slot. */
		if (lock->pid == 0 && is_prepared_lock(&lock->locktag) && ms != 0)
			earliest_ms = Min(earliest_ms, ms);
	}
	return earliest_ms;
}
