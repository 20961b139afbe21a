/*
 * settled_bound.c
 *	  Bounds below which no rows can appear, for one snapshot or for all later ones.
 *
 * A look (sequence_look.c, settled_horizon.c) returns a bound H: each transaction with a
 * smaller key has ended.  H is valid for snapshots that are taken later.  But the snapshot S
 * of the calling statement was taken before, and can miss transactions that have ended since
 * then.  Directly after the look, we therefore take a snapshot N.  It sees every transaction
 * that had ended when the look found the holders, because the server makes a transaction
 * visible before it releases its locks and its slot.
 *
 * H is valid for S if N is contained in S, that is, if each transaction that has ended in N
 * has also ended in S.  This is the case if S.xmax is not before N.xmax, and each transaction
 * below N.xmax that S lists as open is also open in N.  Comparing the numbers of open
 * transactions does not prove this, because one that is being prepared is listed twice for a
 * moment.  Nor does a greater xmax, because a snapshot that CREATE_REPLICATION_SLOT exports
 * follows the commit records.
 *
 * Invariants:
 *
 * 1. In a busy server, the bound of a look in the statement itself is seldom valid for the
 *	  statement's snapshot.  So the session keeps two bounds: the newest, and the last one that
 *	  was valid for the active snapshot when a newer one replaced it.  One of them is valid for
 *	  the next statement, and none is smaller for a later snapshot, which contains the earlier
 *	  ones.
 *
 * 2. A snapshot gets the same result until the transaction ends.  Otherwise a scan, the
 *	  partitions of a table or a cursor could use a smaller bound first and a greater one
 *	  later, and the reader would skip the rows between them.  Snapshots are the same if they
 *	  list the same transactions.  Another role gets the same result after its privilege was
 *	  checked.  If results had to be forgotten, only newer snapshots get another one.
 *
 * 3. The session forgets its bounds if the sequence has another generation, because it was set
 *	  back, has another file, or was forgotten in shared memory, in which case it can have been
 *	  set back unnoticed.  A session that cannot look compares the generation, too.
 *
 * 4. A bound is used only after the WAL of its look is durable.  Until a synchronous standby
 *	  has flushed it, the bound is pending, and no later look replaces it.  Otherwise a reader
 *	  beside many writers would never get one, because each look finds newer WAL.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "clock/sequence_look.h"
#include "clock/settled_bound.h"
#include "clock/settled_horizon.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/durable_wal.h"
#include "state/server_shard.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define LOOK_AHEAD_MS	50		/* longest wait before a snapshot */
#define RESULTS_KEPT	64		/* of one sequence, in a transaction */

/* A bound, and the snapshot for which it is valid. */
typedef struct Bound
{
	int64		value;
	Oid			role;			/* whose privilege was checked, for results */
	TransactionId xmax;
	uint32		count;			/* of open transactions */
	uint32		room;			/* number of places in the array */
	TransactionId *open;		/* sorted, except in results */
} Bound;

/* What this session follows; never freed. */
typedef struct Followed
{
	Oid			followed;		/* hash key */
	uint64		generation;		/* of the bounds; see invariant 3 */
	Bound		newest;
	Bound		usable;			/* see invariant 1 */
	Bound		pending;		/* see invariant 4; NO_BOUND for none */
	XLogRecPtr	pending_lsn;	/* makes it durable */
	int			pending_naps;	/* in which the session has waited for it */

	LocalTransactionId lxid;	/* of the transaction that has the results */
	uint32		results_made;
	Bound		results[RESULTS_KEPT];
	Bound		forgotten;		/* the newest result that was forgotten */
} Followed;

static HTAB *all_followed = NULL;

static void
copy_snapshot(Bound *bound, Snapshot snapshot)
{
	uint32		room = snapshot->xcnt + 1;	/* for add_own_transaction() */

	if (bound->room < room)
	{
		TransactionId *open = MemoryContextAlloc(TopMemoryContext, room * sizeof(TransactionId));

		if (bound->open != NULL)
			pfree(bound->open);
		bound->open = open;
		bound->room = room;
	}
	bound->xmax = snapshot->xmax;
	bound->count = snapshot->xcnt;
	if (bound->count > 0)
		memcpy(bound->open, snapshot->xip, bound->count * sizeof(TransactionId));
}

/* A snapshot does not list our own transaction until it is prepared, so add it here. */
static void
add_own_transaction(Bound *bound)
{
	TransactionId own = GetTopTransactionIdIfAny();

	if (TransactionIdIsValid(own))
		bound->open[bound->count++] = own;
}

static void
sort_open(Bound *bound)
{
	qsort(bound->open, bound->count, sizeof(TransactionId), xidComparator);
}

/* Whether each transaction that has ended in the bound's snapshot has ended in another one. */
static bool
is_contained(const Bound *bound, TransactionId xmax, const TransactionId *open, uint32 count)
{
	if (TransactionIdPrecedes(xmax, bound->xmax))
		return false;
	for (uint32 i = 0; i < count; i++)
	{
		if (TransactionIdPrecedes(open[i], bound->xmax) &&
			bsearch(&open[i], bound->open, bound->count, sizeof(TransactionId), xidComparator) == NULL)
			return false;
	}
	return true;
}

static bool
is_valid(const Bound *bound, Snapshot snapshot)
{
	return is_contained(bound, snapshot->xmax, snapshot->xip, snapshot->xcnt);
}

/*
 * A snapshot of a standby lists its transactions elsewhere, and one of logical decoding lists
 * other transactions, so that every bound would seem valid.
 */
static void
check_snapshot(Snapshot snapshot)
{
	seqid_prevent_during_recovery("find settled rows");
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || snapshot->takenDuringRecovery)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot find settled rows with a snapshot that was taken during recovery"),
				 errhint("Begin a new transaction.")));
}

static void
forget_bounds(Followed *followed)
{
	followed->newest.value = NO_BOUND;
	followed->usable.value = NO_BOUND;
	followed->pending.value = NO_BOUND;
}

/* Invariant 3. */
static void
set_generation(Followed *followed, uint64 generation)
{
	if (followed->generation != generation)
		forget_bounds(followed);
	followed->generation = generation;
}

static Followed *
find_followed(Oid id)
{
	Followed   *followed;

	if (all_followed == NULL)
	{
		HASHCTL		info = {
			.keysize = sizeof(Oid),
			.entrysize = sizeof(Followed)
		};

		all_followed = hash_create("seqid followed sequences", 8, &info, HASH_ELEM | HASH_BLOBS);
	}
	followed = hash_search(all_followed, &id, HASH_FIND, NULL);
	if (followed != NULL)
		return followed;

	/* The entry is never freed, so check first whether id can be followed. */
	if (id != KEYS_OF_SEQID)
		seqid_check_followed_sequence(id);
	followed = hash_search(all_followed, &id, HASH_ENTER, NULL);
	memset(followed, 0, sizeof(Followed));
	followed->followed = id;
	forget_bounds(followed);
	return followed;
}

static void
set_pending(Followed *followed, const Look *look, Snapshot snapshot)
{
	copy_snapshot(&followed->pending, snapshot);
	add_own_transaction(&followed->pending);
	sort_open(&followed->pending);
	followed->pending_lsn = look->page_lsn;
	followed->pending_naps = 0;
	followed->pending.value = look->bound;
}

/*
 * Invariants 4 and 1.  The newest bound is not smaller than the usable one, or there is none.
 * They are equal if a bound had to be found again; see is_news().
 */
static void
remember_pending(Followed *followed, bool is_durable)
{
	Bound		before = followed->newest;

	if (followed->pending.value == NO_BOUND ||
		!(is_durable || seqid_wal_is_durable(followed->pending_lsn)))
		return;
	if (followed->pending.value >= before.value)
	{
		followed->newest = followed->pending;
		if (ActiveSnapshotSet() && is_valid(&before, GetActiveSnapshot()))
		{
			followed->pending = followed->usable;	/* for its memory */
			followed->usable = before;
		}
		else
			followed->pending = before;
	}
	followed->pending.value = NO_BOUND;
}

/*
 * Whether the bound of a look says more than the newest one.  A bound that has not moved for
 * 2^31 transaction ids must be found again, because the ids in its snapshot then seem to be in
 * the future.
 */
static bool
is_news(const Followed *followed, int64 bound, Snapshot snapshot)
{
	return bound > followed->newest.value ||
		(bound == followed->newest.value && bound != NO_BOUND &&
		 !is_valid(&followed->newest, snapshot));
}

/*
 * Looks once.  Remembers the bound as soon as the WAL that makes it durable is replicated,
 * for which the caller can wait.  Returns false if there was no look.
 */
static bool
look(Followed *followed, bool wait_for_standbys, Look *result)
{
	static SnapshotData now = {.snapshot_type = SNAPSHOT_MVCC};

	if (followed->followed == KEYS_OF_SEQID)
		*result = seqid_look_at_keys();
	else if (!seqid_look_at_sequence(followed->followed, result))
	{
		set_generation(followed, result->generation);
		return false;
	}

	/*
	 * Take the snapshot before any wait.  Each transaction that ends during a
	 * wait would make the bound valid for fewer snapshots.
	 */
	(void) GetSnapshotData(&now);

	set_generation(followed, result->generation);

	XLogFlush(result->page_lsn);
	if (wait_for_standbys && !seqid_wal_is_durable(result->page_lsn))
		seqid_make_wal_durable(result->page_lsn);

	/*
	 * After the wait, do not ask again.  The wait also ends when no standby
	 * is named any more, which this session has not read yet.
	 */
	remember_pending(followed, wait_for_standbys);
	if (followed->pending.value == NO_BOUND && is_news(followed, result->bound, &now))
	{
		set_pending(followed, result, &now);
		remember_pending(followed, wait_for_standbys);
	}
	return true;
}

/*
 * Looks again each millisecond, until the transactions that are new to the first look have
 * ended.  They hold back the bound where the previous look of any session found it.  A wait delays
 * rows that are already settled, so it takes at most half of the time since that look.
 */
static void
look_until_ended(Followed *followed, bool wait_for_standbys)
{
	Look		result;
	int64		goal;
	int64		naps;

	if (!look(followed, wait_for_standbys, &result))
		return;
	goal = result.goal;
	naps = Min(result.unwatched_ms / 2, LOOK_AHEAD_MS);
	while (result.bound < goal && naps-- > 0)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
		if (!look(followed, wait_for_standbys, &result))
			return;
	}
}

static Bound *
find_result(Followed *followed, Snapshot snapshot)
{
	uint32		kept = Min(followed->results_made, RESULTS_KEPT);

	/* Begin with the last one, for a scan that calls us for each row. */
	for (uint32 back = 1; back <= kept; back++)
	{
		Bound	   *result = &followed->results[(followed->results_made - back) % RESULTS_KEPT];

		if (result->xmax == snapshot->xmax && result->count == snapshot->xcnt &&
			(result->count == 0 ||
			 memcmp(result->open, snapshot->xip, result->count * sizeof(TransactionId)) == 0))
			return result;
	}
	return NULL;
}

/* Invariant 2. */
static void
check_not_forgotten(const Followed *followed, Snapshot snapshot)
{
	const Bound *forgotten = &followed->forgotten;

	if (followed->results_made <= RESULTS_KEPT ||
		(is_contained(forgotten, snapshot->xmax, snapshot->xip, snapshot->xcnt) &&
		 (forgotten->xmax != snapshot->xmax || forgotten->count != snapshot->xcnt)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many snapshots of one transaction were used to find settled rows"),
			 errdetail("A transaction keeps the results of its last %d snapshots, and this snapshot is older.", RESULTS_KEPT),
			 errhint("Close cursors before later statements find settled rows, or commit between them.")));
}

/* Keeps only the newest of the forgotten results.  *result gets memory that can be reused. */
static void
forget_result(Followed *followed, Bound *result)
{
	Bound		before = followed->forgotten;

	if (followed->results_made > RESULTS_KEPT &&
		!is_contained(&before, result->xmax, result->open, result->count))
		return;
	followed->forgotten = *result;
	*result = before;
	sort_open(&followed->forgotten);
}

static void
keep_result(Followed *followed, int64 value, Snapshot snapshot)
{
	Bound	   *result = &followed->results[followed->results_made % RESULTS_KEPT];

	if (followed->results_made >= RESULTS_KEPT)
		forget_result(followed, result);
	result->xmax = InvalidTransactionId;	/* in case memory runs out */
	followed->results_made++;
	copy_snapshot(result, snapshot);
	result->value = value;
	result->role = GetUserId();
}

int64
seqid_settled_bound(Oid id, Snapshot snapshot)
{
	Followed   *followed = find_followed(id);
	Bound	   *result;
	Look		ignored;
	int64		value = NO_BOUND;

	if (followed->lxid != compat_lxid(MyProc))
	{
		followed->lxid = compat_lxid(MyProc);
		followed->results_made = 0;
	}
	result = find_result(followed, snapshot);
	if (likely(result != NULL && result->role == GetUserId()))
		return result->value;

	check_snapshot(snapshot);
	if (id != KEYS_OF_SEQID)
		seqid_check_followed_sequence(id);
	if (result != NULL)
	{
		result->role = GetUserId();
		return result->value;
	}
	check_not_forgotten(followed, snapshot);

	(void) look(followed, false, &ignored);
	if (is_valid(&followed->newest, snapshot))
		value = followed->newest.value;
	else if (is_valid(&followed->usable, snapshot))
		value = followed->usable.value;
	keep_result(followed, value, snapshot);
	return value;
}

void
seqid_look_ahead(Oid id)
{
	Followed   *followed;

	/* Such a transaction already has its snapshot. */
	if (RecoveryInProgress() || IsolationUsesXactSnapshot())
		return;
	if (id != KEYS_OF_SEQID && !seqid_can_be_followed(id))
		return;
	followed = find_followed(id);
	look_until_ended(followed, false);

	/* A session without a bound gets no rows, so it waits for a standby. */
	while (followed->newest.value == NO_BOUND && followed->pending.value != NO_BOUND &&
		   followed->pending_naps < LOOK_AHEAD_MS)
	{
		followed->pending_naps++;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
		remember_pending(followed, false);
	}
}

int64
seqid_settle(Oid id, XLogRecPtr *lsn)
{
	Followed   *followed = find_followed(id);

	if (id != KEYS_OF_SEQID)
		seqid_check_followed_sequence(id);
	look_until_ended(followed, true);

	/*
	 * The commit records of all transactions that the look found ended
	 * precede this position.  A crash must not undo commits that a reader has
	 * seen, so we flush.
	 */
	*lsn = seqid_wal_insert_end();
	XLogFlush(*lsn);
	return followed->newest.value;
}
