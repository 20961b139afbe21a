/*
 * clock_mark.c
 *	  The durable clock mark: no key may tell a later time until the mark does.
 *
 * Shared memory knows which keys were issued, and forgets it with every
 * restart, crash, failover and restore.  What remains then is the mark, the
 * last_value of the sequence relation seqid_clock_mark: a millisecond (since
 * 1970) that no key of this database told a time beyond.  The next life of
 * the server issues none at or below it.
 *
 * The relation is a sequence because sequences are dumped and restored with
 * their value, follow CREATE DATABASE ... TEMPLATE, and can be read by SQL.
 * We do not call nextval(): it writes WAL without flushing it, and a commit
 * that has no transaction id flushes nothing either.  A mark that can be lost
 * is no mark.  So its page is written with generic WAL, which needs no
 * transaction and works in parallel workers, and flushed here.
 *
 * Invariants:
 *
 * 1. A backend believes a mark that it found on the page only when the page's
 *	  last WAL record is flushed, and replicated where synchronous standbys are
 *	  named, whatever synchronous_commit its session has: the mark covers later
 *	  keys as well, whose transactions may rely on a higher level than the one
 *	  that happened to raise it.  So a key leaves only if the mark that covers it
 *	  survives.
 *
 * 2. The page's log_cnt, which a sequence that is never advanced has no use
 *	  for, is a nonce that names the life of the server in which the mark was
 *	  raised, a random number in shared memory, and the database.  With another
 *	  one there, be it an earlier life's, that of the database which this one is a
 *	  copy of, or the 0 that setval() leaves when a dump is restored, the mark is
 *	  raised into the database's floor in shared memory *before* the page gets
 *	  the nonce of this life; both happen under the exclusive lock of the page's
 *	  buffer.  So who finds the right nonce also finds the floor.
 *
 * 3. In one life, the mark of a relation that is new to it starts no lower
 *	  than all marks that the database had before (highest_mark_ms): a backend
 *	  that still believes the mark of a dropped relation issues nothing beyond it.
 *
 * 4. A mark that was never written, as its relation has just been made, takes the
 *	  time of the last checkpoint as its floor: keys may have been issued under a
 *	  mark that was dropped with the extension before the server was restarted.
 *
 * 5. The mark survives only if its relation does.  While that was made by a
 *	  transaction that is still open, the commit is forced to disk, and nothing is
 *	  believed beyond the call.  Afterwards, the first backend to find a file that
 *	  nobody vouches for (durable_file) writes the mark once more: that record
 *	  comes after the commit, so to make it durable is to make both so.
 *
 * Floor and marks are the database's: a mark that is far ahead, because it was
 * restored or set so, or because the clock was wrong for a while, holds back the
 * keys of its own database and no other's.
 *
 * The mark is raised a second ahead, and again when half of that is used up:
 * by the one backend that gets the buffer's lock, while the others go on.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_control.h"
#include "clock/clock_mark.h"
#include "clock/mark_page.h"
#include "common/controldata_utils.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/durable_wal.h"
#include "server/guc.h"
#include "server/shared_state.h"
#include "server/wall_clock.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "utils/inval.h"
#include "utils/rel.h"

/*
 * How far ahead the mark is raised.  Less where keys are ahead of the clock
 * already: the next life of the server begins above the mark, so restarts in
 * quick succession would otherwise add a second each.
 */
#define MARK_LEASE_MS		1000
#define MARK_AHEAD_LEASE_MS	200

int64		seqid_mark_free_ms = -1;
int64		seqid_key_floor_ms = -1;

/* The mark that this backend believes, -1 for none, and where it is. */
static int64 believed_ms = -1;
static Oid	mark_relid = InvalidOid;

static void
stop_believing(void)
{
	believed_ms = -1;
	seqid_mark_free_ms = -1;
}

static void
forget_mark(Datum arg pg_attribute_unused(), Oid relid)
{
	if (relid != InvalidOid && relid != mark_relid)
		return;
	mark_relid = InvalidOid;
	stop_believing();
}

void
seqid_watch_mark(void)
{
	CacheRegisterRelcacheCallback(forget_mark, (Datum) 0);
}

/* ------------------------------------------------------------------------
 * The relation
 * ------------------------------------------------------------------------
 */

static Oid
find_mark_relation(void)
{
	Oid			relid = seqid_find_mark();

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock mark of extension \"seqid\" does not exist"),
				 errdetail("Without the sequence \"%s\" in the extension's schema, no key is safe from being issued again after a restart.",
						   MARK_RELATION),
				 errhint("Let a superuser call seqid_repair_mark() when the clock is right.")));
	return relid;
}

/* The lock that nextval() takes; it is released as soon as we are done. */
static Relation
open_mark_relation(void)
{
	Relation	rel;

	if (!OidIsValid(mark_relid))
		mark_relid = find_mark_relation();
	rel = try_relation_open(mark_relid, RowExclusiveLock);
	if (rel == NULL)
	{
		/* Dropped, but we have not heard of it until now. */
		mark_relid = find_mark_relation();
		rel = relation_open(mark_relid, RowExclusiveLock);
	}

	if (!seqid_is_mark_relation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("clock mark \"%s\" is not a permanent sequence",
						RelationGetRelationName(rel)),
				 rel->rd_rel->relkind == RELKIND_SEQUENCE ?
				 errhint("Let a superuser make it one with ALTER SEQUENCE ... SET LOGGED.") :
				 errhint("Rename it, and let a superuser call seqid_repair_mark() when the clock is right.")));
	return rel;
}

/* Names the file that the relation has now, among those of all databases. */
static uint64
file_of(Relation rel)
{
	return (uint64) MyDatabaseId << 32 | compat_file_number(rel);
}

/*
 * Whether the transaction that is open has made the relation, or the file that it
 * has now.  A parallel worker does not know that of its leader's.
 */
static bool
is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId ||
		compat_file_subid(rel) != InvalidSubTransactionId;
}

/* Invariant 5; of a relation that this transaction has made it is not asked. */
static bool
is_vouched_for(Relation rel)
{
	return is_new(rel) ||
		pg_atomic_read_u64(&seqid_database_state()->durable_file) == file_of(rel);
}

/*
 * After the WAL that was written for it is durable.  A parallel worker does not
 * know whether its leader's transaction has made the relation.
 */
static void
vouch_for(Relation rel)
{
	if (!IsParallelWorker())
		pg_atomic_write_u64(&seqid_database_state()->durable_file, file_of(rel));
}

/* ------------------------------------------------------------------------
 * The mark
 * ------------------------------------------------------------------------
 */

/*
 * What this life of the server writes into this database's page: positive as a
 * bigint, and not 0, as a life is odd and below 2^63.
 */
static uint64
current_nonce(void)
{
	return seqid_shared_state()->life ^ ((uint64) MyDatabaseId << 1);
}

/* The buffer must be locked, in whatever mode. */
static Mark
read_mark(Relation rel, Buffer buffer)
{
	Mark		mark;

	if (!seqid_read_mark_page(buffer, &mark))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page of clock mark \"%s\" is damaged",
						RelationGetRelationName(rel)),
				 errhint("Let a superuser call seqid_repair_mark() when the clock is right.")));
	if (!mark_is_in_range(&mark))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("value of clock mark \"%s\" is out of range: %lld",
						RelationGetRelationName(rel), (long long) mark.ms),
				 errhint("Let a superuser call seqid_repair_mark() when the clock is right.")));
	return mark;
}

int64
seqid_checkpoint_ms(void)
{
	ControlFileData *control_file;
	bool		crc_ok;
	int64		ms;

	LWLockAcquire(ControlFileLock, LW_SHARED);
	control_file = get_controlfile(DataDir, &crc_ok);
	LWLockRelease(ControlFileLock);
	if (!crc_ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("calculated CRC checksum does not match value stored in control file")));

	ms = (int64) control_file->checkPointCopy.time * WALL_MS_PER_S;
	pfree(control_file);
	return ms;
}

/*
 * Invariant 4.  Only a clock that has been set back can make keys that are drawn
 * now repeat some that were drawn before the checkpoint, within its second.
 */
static int64
unwritten_floor_ms(void)
{
	int64		ms = seqid_checkpoint_ms();

	return ms > wall_clock_read_ms() ? Min(ms + WALL_MS_PER_S - 1, MARK_MAX_MS) : 0;
}

/*
 * Databases that found no place in shared memory have a floor in common, which one
 * of them must not move far into the future, and into the marks of the others.
 */
static void
check_common_floor(Relation rel, const Mark *mark)
{
	int64		ahead_ms = mark->ms - wall_clock_read_ms();

	if (ahead_ms > seqid_max_clock_regression_ms &&
		seqid_database_state() == seqid_overflow_place(seqid_shared_state()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock mark \"%s\" is %lld ms ahead of the clock",
						RelationGetRelationName(rel), (long long) ahead_ms),
				 errdetail("Shared memory has room for %d databases that draw keys; this one has its floor in common with others, and would move their keys into the future.",
						   SHARED_STATE_DATABASES),
				 errhint("Correct the clock, or draw keys in this database first after a restart of the server.")));
}

/* The buffer must be locked exclusively; unwritten_ms is for invariant 4. */
static Mark
raise_mark(Relation rel, Buffer buffer, int64 wanted_ms, int64 unwritten_ms)
{
	DatabaseState *database = seqid_database_state();
	uint64		nonce = current_nonce();
	Mark		mark = read_mark(rel, buffer);

	/* Invariant 2: the floor first, then the nonce of this life. */
	if (mark.nonce != nonce)
	{
		uint64		unknown = 0;

		check_common_floor(rel, &mark);
		seqid_atomic_raise(&database->floor_ms, mark.written ? mark.ms : unwritten_ms);

		/*
		 * A later floor, of a mark that was repaired, is above keys of this
		 * life.
		 */
		pg_atomic_compare_exchange_u64(&database->first_ms, &unknown,
									   pg_atomic_read_u64(&database->floor_ms) + 1);
	}

	/* Invariant 3: and no lower than any mark of this life. */
	mark.ms = Max(mark.ms, wanted_ms);
	mark.ms = Max(mark.ms, (int64) pg_atomic_read_u64(&database->highest_mark_ms));
	seqid_atomic_raise(&database->highest_mark_ms, mark.ms);
	mark.nonce = nonce;

	seqid_write_mark_page(rel, buffer, &mark);
	pg_atomic_fetch_add_u64(&database->marks_written, 1);
	return mark;
}

/* Whether somebody has to write the mark on account of keys of unix_ms. */
static bool
mark_is_low(Relation rel, const Mark *mark, int64 unix_ms, int64 lease_ms)
{
	return mark->nonce != current_nonce() ||
		mark->ms < Min(unix_ms + lease_ms / 2, MARK_MAX_MS) ||
		!is_vouched_for(rel);
}

/*
 * Brings *mark up to date for keys of unix_ms.  False if that would mean to
 * wait for another backend, which is needless while the mark that this one
 * believes still covers the keys.
 */
static bool
settle_mark(Relation rel, Buffer buffer, int64 unix_ms, int64 lease_ms,
			Mark *mark)
{
	bool		may_wait = unix_ms > believed_ms;
	int64		unwritten_ms;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*mark = read_mark(rel, buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	if (!mark_is_low(rel, mark, unix_ms, lease_ms))
		return may_wait || seqid_wal_is_durable(mark->lsn);

	/* That reads a file, so not with the buffer locked. */
	unwritten_ms = mark->written ? 0 : unwritten_floor_ms();

	if (may_wait)
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	else if (!ConditionalLockBuffer(buffer))
		return false;

	/* Another backend may have raised it since. */
	*mark = read_mark(rel, buffer);
	if (mark_is_low(rel, mark, unix_ms, lease_ms))
		*mark = raise_mark(rel, buffer, Min(unix_ms + lease_ms, MARK_MAX_MS),
						   unwritten_ms);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return true;
}

/* The mark is durable, and so may be believed; but see invariant 5. */
static void
believe(Relation rel, const Mark *mark, int64 lease_ms)
{
	mark_relid = RelationGetRelid(rel);
	seqid_key_floor_ms =
		Max(seqid_key_floor_ms,
			(int64) pg_atomic_read_u64(&seqid_database_state()->floor_ms));

	if (is_new(rel))
	{
		ForceSyncCommit();
		stop_believing();
	}
	else
	{
		vouch_for(rel);
		believed_ms = mark->ms;
		seqid_mark_free_ms = believed_ms - lease_ms / 2;
	}
}

bool
seqid_advance_mark(int64 unix_ms)
{
	Relation	rel;
	Buffer		buffer;
	Mark		mark;
	int64		lease_ms;

	/* Only COMBs come here on a standby; they do without, as it cannot log. */
	if (RecoveryInProgress())
		return true;

	rel = open_mark_relation();
	buffer = ReadBuffer(rel, 0);
	lease_ms = unix_ms > wall_clock_read_ms() ? MARK_AHEAD_LEASE_MS : MARK_LEASE_MS;

	if (settle_mark(rel, buffer, unix_ms, lease_ms, &mark))
	{
		/* A crash here must find the mark, or have issued nothing beyond it. */
		seqid_make_wal_durable(mark.lsn);
		believe(rel, &mark, lease_ms);
	}
	else
		seqid_mark_free_ms = Min(believed_ms, unix_ms + lease_ms / 8);

	ReleaseBuffer(buffer);
	relation_close(rel, RowExclusiveLock);

	return unix_ms > seqid_key_floor_ms;
}

int64
seqid_read_mark(int64 *floor_ms)
{
	Relation	rel = open_mark_relation();
	Buffer		buffer = ReadBuffer(rel, 0);
	Mark		mark;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	mark = read_mark(rel, buffer);
	UnlockReleaseBuffer(buffer);
	relation_close(rel, RowExclusiveLock);

	/* What the next key would find. */
	*floor_ms = (int64) pg_atomic_read_u64(&seqid_database_state()->floor_ms);
	if (mark.nonce != current_nonce())
		*floor_ms = Max(*floor_ms, mark.ms);
	return mark.ms;
}
