/*
 * transaction_slot.c
 *	  Registers the transactions that generate keys.
 *
 * Transactions do not commit in the order of their keys, so readers must know which are
 * open; see settled_horizon.c.  Each process has a slot in shared memory.  It contains a time
 * and the local id (lxid) of the transaction that is registered with this time.
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
 * 3. A slot is valid while its process is in the transaction with that lxid.  The
 *	  server takes the lxid from the PGPROC when it makes the transaction visible,
 *	  under the same lock.  So a slot never ends too early, a process that dies does
 *	  not leave a valid one, and no session has to clear it.  The slot has 16 bits of the
 *	  lxid.  If the slot of the 65,536th transaction before is still there, it
 *	  holds the horizon until the current transaction ends, which does no harm.
 *
 * 4. Parallel workers register in the slot of their leader, whose transaction
 *	  inserts their keys.  They do so from the start.  If the time were handed over
 *	  when they end, a reader that scans the slots could miss it.
 *
 * 5. The first process of a parallel group sets the slot, which does not change
 *	  before the transaction ends.  The others read min_key_ms later, so their keys
 *	  are not earlier.
 *
 * 6. A writer without a parallel group stores min_key_ms again until no reader has
 *	  raised it in between.  So its slot is not earlier than a horizon that was
 *	  published.  Otherwise the horizon could go back to the slot's time after a crash,
 *	  if the transaction was prepared.
 *
 * 7. A prepared transaction leaves its process.  Before that it acquires a lock of a
 *	  class that only this file uses.  The tag contains the time of the slot, or the
 *	  published horizon if that is later.  The server writes this lock with the prepared
 *	  transaction, restores it after a crash or a promotion, and releases it after it
 *	  has made the transaction visible.  A reader that looks at slots first and at
 *	  locks second finds one of the two.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "clock/clock_mark.h"
#include "clock/transaction_slot.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pg/test_stop.h"
#include "port/atomics.h"
#include "state/database_state.h"
#include "state/guc.h"
#include "storage/lock.h"

/*
 * The tag of an advisory lock ends with a class.  Users can acquire locks of class 1
 * and 2.  Ours contain the time between the database and the class, where the view
 * seqid.horizon_holders finds it.
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

/* Never 0, the value of an unused slot, because min_key_ms is never 0. */
static inline uint64
slot_compose(uint64 ms, LocalTransactionId lxid)
{
	return ms << SLOT_LXID_BITS | (uint16) lxid;
}

/*
 * Until the first reader raises min_key_ms, slots contain its initial value, which is
 * earlier than horizons of an earlier server lifetime.  No key of this lifetime is
 * earlier than first_key_ms, so that is the time that counts.
 */
static inline int64
slot_ms(uint64 slot)
{
	DatabaseState *database = seqid_find_database_state();
	uint64		first_key_ms =
	database == NULL ? 0 : pg_atomic_read_u64(&database->horizon.first_key_ms);

	return (int64) Max(slot >> SLOT_LXID_BITS, first_key_ms);
}

/* ------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------
 */

/*
 * A leader without the library would not acquire the lock of invariant 7 for the keys
 * of its workers.  Then the workers have loaded the library during the parallel query,
 * when settings cannot be defined, so asking for the settings raises the error.
 */
static void
check_leader_has_library(void)
{
	if (IsParallelWorker() && max_prepared_xacts > 0)
		seqid_require_settings();
}

/*
 * Stores min_key_ms in the slot and returns true.  Returns false if the slot already
 * contains our lxid and a time that is not later.  A faster process of the group has
 * set it (invariant 5), or an old transaction whose lxid has the same 16 bits.  The
 * latter can be one of another database, so a later time there would break
 * invariant 1.
 */
static bool
set_slot(pg_atomic_uint64 *slot, pg_atomic_uint64 *min_key_ms, LocalTransactionId lxid,
		 uint64 *registered_ms)
{
	uint64		found = pg_atomic_read_u64(slot);

	do
	{
		/* The process that set it read min_key_ms before we do. */
		pg_read_barrier();
		*registered_ms = pg_atomic_read_u64(min_key_ms);
		if (seqid_slot_names(found, lxid) && found >> SLOT_LXID_BITS <= *registered_ms)
			return false;
		test_stop(TEST_STOP_REGISTERING);
	} while (!pg_atomic_compare_exchange_u64(slot, &found,
											 slot_compose(*registered_ms, lxid)));
	return true;
}

void
seqid_register_new_writer(void)
{
	pg_atomic_uint64 *min_key_ms = &seqid_database_state()->horizon.min_key_ms;
	pg_atomic_uint64 *slot;
	PGPROC	   *leader = MyProc->lockGroupLeader;
	LocalTransactionId lxid;
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
	lxid = compat_lxid(leader);
	alone = set_slot(slot, min_key_ms, lxid, &registered_ms) && !IsInParallelMode();

	for (;;)
	{
		/* Invariant 2, also for a worker that found the slot set. */
		pg_memory_barrier();
		latest_ms = pg_atomic_read_u64(min_key_ms);
		if (likely(latest_ms == registered_ms) || !alone)
			break;

		/* Invariant 6: a reader can have published this time. */
		registered_ms = latest_ms;
		pg_atomic_write_u64(slot, slot_compose(registered_ms, lxid));
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

	/* The lxid must not be older than the slot; otherwise we miss a writer. */
	pg_read_barrier();
	*registered_ms = slot_ms(slot);
	*pid = proc->pid;
	return seqid_slot_names(slot, compat_lxid(proc)) && proc->databaseId == MyDatabaseId;
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

/* With time 0, the lock that each of these transactions holds. */
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
	 * workers of its query can have done so.  The catalog keeps PREPARE
	 * TRANSACTION in a database without seqid from creating shared memory,
	 * for which there may be no room.
	 */
	if (state == NULL)
	{
		if (MyProc->lockGroupLeader == NULL ||
			!OidIsValid(get_extension_oid("seqid", true)) ||
			!seqid_dynamic_state_exists())
			return;
		attach_slots();
	}

	slot = pg_atomic_read_u64(own_slot);
	if (seqid_slot_names(slot, compat_lxid(MyProc)))
	{
		/*
		 * The slot of a parallel group can be earlier than the published
		 * horizon.  Its keys are not.
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

	/* Most often there is none, and no copy of all locks is needed. */
	pfree(GetLockConflicts(&tag, AccessExclusiveLock, &count));
	if (count == 0)
		return at_most;

	data = GetLockStatusData();
	for (int i = 0; i < data->nelements; i++)
	{
		const		LockInstanceData *lock = &data->locks[i];
		int64		ms = prepared_lock_ms(&lock->locktag);

		/* Until it is prepared, the transaction is in a slot. */
		if (lock->pid == 0 && is_prepared_lock(&lock->locktag) && ms != 0)
			earliest_ms = Min(earliest_ms, ms);
	}
	return earliest_ms;
}
