/*
 * transaction_slot.c
 *	  Who is in a transaction that has drawn keys, and since which time.
 *
 * The order of keys is not that of commits, so a reader who goes by keys must know
 * which transactions may still make some of them visible; see settled_horizon.c.
 * Each process has a slot in shared memory, and in it the time that its transaction
 * is listed with, and the local id (lxid) of that transaction.
 *
 * Invariants:
 *
 * 1. Each key of a listed transaction tells the time in its slot or a later one.
 *
 * 2. Who lists himself does so before he reserves his first key: he reads the time
 *	  that readers have raised, stores it in the slot, and then reads it again.
 *	  Keys start at what he reads then.  A reader first raises that time and then looks
 *	  at the slots.  Between the two accesses each has a full barrier, so either
 *	  the reader finds the slot, or the writer finds the time that the reader
 *	  raised.
 *
 * 3. A slot counts while its process is in the transaction that it names, and
 *	  lapses when that ends: the server takes the lxid from the PGPROC when it makes
 *	  the transaction visible, under the same lock.  So it lapses neither too
 *	  early, nor with a process that dies, and nobody has to clear it.  (The slot has
 *	  16 bits of the lxid.  One that was left behind by the 65,536th transaction
 *	  before holds the horizon until this one ends, which is no harm.)
 *
 * 4. Parallel workers are listed in the slot of their leader, whose transaction it
 *	  is that inserts their keys.  It is that from the start: were it handed over
 *	  when they end, a reader who goes from slot to slot could miss it.
 *
 * 5. Whoever of a group of parallel workers is first sets the slot, and it does not
 *	  change before it lapses; keys of the others tell no earlier time than that, as
 *	  the raised time only ever increases.  Who is alone stores the time again until
 *	  it has not been raised in between: then his slot is no earlier than what readers
 *	  were told, and the horizon does not go back to it, should it outlive a crash.
 *
 * 6. A transaction that is prepared leaves its process.  Before, it takes a lock of
 *	  its own kind, whose tag carries the time of the slot, or what readers were told if
 *	  that is later: the server writes that with the prepared transaction, restores it after a crash or a promotion,
 *	  and releases it when it has made the transaction visible.  Who looks at slots
 *	  first and at locks second finds one or the other.
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
 * The tags of advisory locks end with a class: 1 and 2 are those that users can
 * take.  Ours have the time in the fields between the database and that.
 */
#define PREPARED_LOCK_CLASS	53

LocalTransactionId seqid_registered_lxid = InvalidLocalTransactionId;

/* NULL until this process has attached; its own among them. */
static DynamicState *state = NULL;
static pg_atomic_uint64 *own_slot;

/* ------------------------------------------------------------------------
 * Slots
 * ------------------------------------------------------------------------
 */

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

/* Never 0, which is a slot that was never used, as no time that is listed is 0. */
static inline uint64
slot_compose(uint64 ms, LocalTransactionId lxid)
{
	return ms << SLOT_LXID_BITS | (uint16) lxid;
}

/*
 * Who was listed before anybody raised the time in this life of the server is in the
 * slot with one that means nothing.  But keys of this life are above those
 * of the earlier ones, so that the horizon does not go back.
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
 * A leader that has not loaded the library would not take the lock of invariant 6
 * for keys that his workers draw.  Those have loaded it in the midst of their query,
 * when settings cannot be defined.
 */
static void
check_leader_has_library(void)
{
	if (IsParallelWorker() && max_prepared_xacts > 0)
		seqid_require_settings();
}

/*
 * Stores the raised time in the slot, and returns true; or false if it is there: by
 * a process of the group that was faster (invariant 5), or left behind by a
 * transaction whose lxid looks like ours.  The latter may be one of another
 * database, whose time means nothing here, and must not be later than ours.
 */
static bool
set_slot(pg_atomic_uint64 *slot, pg_atomic_uint64 *min_key_ms, LocalTransactionId lxid,
		 uint64 *registered_ms)
{
	uint64		found = pg_atomic_read_u64(slot);

	do
	{
		/* Whoever set it has read an earlier time than this, or the same. */
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
	uint64		floor_ms;
	bool		mine;

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
	mine = set_slot(slot, min_key_ms, lxid, &registered_ms) && !IsInParallelMode();

	for (;;)
	{
		/* Invariant 2; of the parallel workers that found it set as well. */
		pg_memory_barrier();
		floor_ms = pg_atomic_read_u64(min_key_ms);
		if (likely(floor_ms == registered_ms) || !mine)
			break;

		/* Raised in between, and maybe told: no slot is to be behind that. */
		registered_ms = floor_ms;
		pg_atomic_write_u64(slot, slot_compose(registered_ms, lxid));
	}

	seqid_raise_key_floor((int64) floor_ms - 1);
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

	/* What the process is doing must not be older than what the slot tells. */
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

/* With time 0, which nobody is listed with, the lock that all of them have. */
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

/*
 * Whether this transaction can have a slot.  A session that is not attached has set
 * none; but the parallel workers of its query set that of their leader.  The
 * catalog is asked last, because PREPARE TRANSACTION must not fail for lack of shared
 * memory in a database without seqid.
 */
static bool
can_be_registered(void)
{
	return state != NULL ||
		(MyProc->lockGroupLeader != NULL &&
		 OidIsValid(get_extension_oid("seqid", true)) &&
		 seqid_dynamic_state_exists());
}

/* Invariant 6. */
static void
take_prepared_locks(void)
{
	uint64		slot;

	if (!can_be_registered())
		return;
	if (state == NULL)
		attach_slots();

	slot = pg_atomic_read_u64(own_slot);
	if (seqid_slot_names(slot, compat_lxid(MyProc)))
	{
		/*
		 * The slot of a group of parallel workers can be earlier than the
		 * horizon that was published; their keys are not.
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

/* Whether there is one; without a look at all the locks of the server. */
static bool
has_prepared(void)
{
	LOCKTAG		tag = prepared_lock_tag(0);
	int			count;

	pfree(GetLockConflicts(&tag, AccessExclusiveLock, &count));
	return count > 0;
}

PreparedWriter *
seqid_prepared_writers(int *count)
{
	LockData   *data;
	PreparedWriter *writers;

	*count = 0;
	if (max_prepared_xacts == 0 || !has_prepared())
		return NULL;

	data = GetLockStatusData();
	writers = palloc(data->nelements * sizeof(PreparedWriter));
	for (int i = 0; i < data->nelements; i++)
	{
		const		LockInstanceData *lock = &data->locks[i];
		PreparedWriter *writer = &writers[*count];

		/* Until it is prepared, the transaction is in a slot. */
		if (lock->pid != 0 || !is_prepared_lock(&lock->locktag) ||
			prepared_lock_ms(&lock->locktag) == 0)
			continue;

		snprintf(writer->virtualtransaction, sizeof(writer->virtualtransaction), "%d/%u",
				 compat_lock_process(lock), compat_lock_lxid(lock));
		writer->registered_ms = prepared_lock_ms(&lock->locktag);
		(*count)++;
	}
	return writers;
}

int64
seqid_earliest_prepared_ms(int64 at_most)
{
	int64		earliest_ms = at_most;
	int			count;
	PreparedWriter *writers = seqid_prepared_writers(&count);

	for (int i = 0; i < count; i++)
		earliest_ms = Min(earliest_ms, writers[i].registered_ms);
	return earliest_ms;
}
