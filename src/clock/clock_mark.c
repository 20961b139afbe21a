/*
 * clock_mark.c
 *	  The durable clock mark: no key has a later time than the mark.
 *
 * Shared memory records which keys were issued, but its contents are lost with every restart,
 * crash, failover and restore.  Only the mark remains: the last_value of the sequence
 * seqid.clock_mark, in milliseconds since 1970.  In the next server lifetime, keys start above
 * the mark.
 *
 * The relation is a sequence because sequences are dumped and restored with their value, are
 * copied by CREATE DATABASE ... TEMPLATE, and can be read by SQL.  We do not call nextval(),
 * because it returns before its WAL is flushed, and the end of the transaction does not always
 * flush it either.  Each backend that generates keys can write the page while it holds the
 * exclusive lock of the page's buffer.
 *
 * Invariants:
 *
 * 1. A backend relies on a mark that it found on the page only when the page's last WAL record
 *	  is flushed and, if synchronous standbys are named, replicated.  It ignores the session's
 *	  synchronous_commit, because the mark also covers keys of other sessions, which can have a
 *	  higher level.  Therefore a key is returned only if the mark that covers it survives a
 *	  crash.
 *
 * 2. The page's log_cnt, which only nextval() would use, contains the nonce of the database's
 *	  entry in shared memory; see database_state.c.  Any other nonce belongs to an earlier
 *	  server lifetime, to the database that this one is a copy of, or to an earlier use of the
 *	  entry.  setval(), which restores a dump, leaves 0.  In these cases the database's floor
 *	  in shared memory is raised to the mark *before* the page gets our nonce.  Both happen
 *	  under the exclusive lock of the page's buffer, so a backend that finds our nonce also
 *	  finds the floor.
 *
 *	  ALTER SEQUENCE also leaves 0, but keeps the value.  Therefore a mark with nonce 0 and
 *	  exactly the value that we wrote last is ours.  If it counted as that of an earlier
 *	  lifetime, every ALTER SEQUENCE would move the keys ahead by the lease.
 *
 * 3. If the relation is dropped and created again under one nonce, the new mark is no lower
 *	  than any earlier one (highest_ms).  Therefore a backend that still relies on the mark of
 *	  the dropped relation does not generate keys beyond the new mark.
 *
 * 4. The mark can be too low in two cases.  A mark that was never written does not cover keys
 *	  that were generated before DROP EXTENSION.  After pg_resetwal, which writes the time of
 *	  the clock into its checkpoint, a mark of an earlier lifetime can be older than rows on
 *	  disk.  In both cases, if the clock is behind the last checkpoint, the end of that
 *	  checkpoint's second is a floor.  In the second case, a checkpoint that is ahead of the
 *	  clock by more than seqid.max_lead is ignored.  Otherwise a clock that was far ahead
 *	  before a restart would stop databases that did not even generate keys then.
 *
 * 5. The mark survives only if its relation does.  While the transaction that created the
 *	  relation is open, each call reads the mark again, and forces the later commit to be
 *	  flushed.  Afterwards, the first backend that finds a file that is not known to be durable
 *	  (durable_file) writes the mark again.  This WAL record follows that of the commit, so
 *	  making it durable makes both durable.
 *
 * The floor and the mark belong to the database, so a mark that is far ahead affects only the
 * keys of its own database.  The mark is raised to a second ahead of the keys, and again when
 * half of this second is used up.  The backend that gets the buffer's lock raises it while the
 * others continue.
 *
 * docs/diagrams/mark.svg shows how the times of this file and of database_state.h are ordered.
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
#include "pg/compat.h"
#include "pg/durable_wal.h"
#include "pg/sequence_page.h"
#include "pg/wall_clock.h"
#include "state/database_state.h"
#include "state/guc.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "utils/inval.h"
#include "utils/rel.h"

/*
 * How far ahead of the keys the mark is raised.  The lease is shorter if keys are already
 * ahead of the clock.  Otherwise each of several quick restarts would add a second to their
 * lead, because the next server lifetime starts above the mark.
 */
#define MARK_LEASE_MS		1000
#define MARK_AHEAD_LEASE_MS	200

int64		seqid_recheck_mark_after_ms = -1;
int64		seqid_key_floor_ms = -1;

/* The mark that this backend relies on, -1 for none, and its relation. */
static int64 known_durable_ms = -1;
static Oid	mark_relid = InvalidOid;

static void
forget_mark(Datum arg pg_attribute_unused(), Oid relid)
{
	if (relid != InvalidOid && relid != mark_relid)
		return;
	mark_relid = InvalidOid;
	known_durable_ms = -1;
	seqid_recheck_mark_after_ms = -1;
}

void
seqid_raise_key_floor(int64 ms)
{
	seqid_key_floor_ms = Max(seqid_key_floor_ms, ms);
}

void
seqid_watch_mark(void)
{
	CacheRegisterRelcacheCallback(forget_mark, (Datum) 0);
}

static Oid
find_mark_relation(void)
{
	Oid			relid = seqid_find_mark();

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock mark of extension \"seqid\" does not exist"),
				 errdetail("Without the sequence \"seqid.clock_mark\", keys could be generated again after a restart."),
				 errhint("Check the system clock, then run SELECT seqid.repair_mark() as a superuser.")));
	return relid;
}

/* Acquires the lock that nextval() acquires.  The caller releases it as soon as it is done. */
static Relation
open_mark_relation(void)
{
	Relation	rel;

	if (!OidIsValid(mark_relid))
		mark_relid = find_mark_relation();
	rel = try_relation_open(mark_relid, RowExclusiveLock);
	if (rel == NULL)
	{
		/* It was dropped, but we had not processed the invalidation. */
		mark_relid = find_mark_relation();
		rel = relation_open(mark_relid, RowExclusiveLock);
	}

	if (!seqid_is_mark_relation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("clock mark \"seqid.clock_mark\" is not a permanent sequence"),
				 rel->rd_rel->relkind == RELKIND_SEQUENCE ?
				 errhint("Run ALTER SEQUENCE seqid.clock_mark SET LOGGED as a superuser.") :
				 errhint("Rename it, check the system clock, then run SELECT seqid.repair_mark() as a superuser.")));
	return rel;
}

/*
 * Must not be called while the transaction that created the relation is open, because a
 * rollback can bring back another relation whose mark is a higher floor.  A parallel worker
 * does not know whether its leader has created it, so it does not set durable_file.  But it
 * sets first_key_ms.  Otherwise a later session would set it from a floor that can be above
 * the worker's keys, and readers would miss these keys.  A time that is too early only holds
 * the horizon.
 */
static void
note_file_durable(Relation rel, DatabaseState *database)
{
	uint64		unknown = 0;

	pg_atomic_compare_exchange_u64(&database->horizon.first_key_ms, &unknown,
								   pg_atomic_read_u64(&database->mark.floor_ms) + 1);
	if (!IsParallelWorker())
		pg_atomic_write_u64(&database->mark.durable_file, compat_file_number(rel));
}

/* The buffer must be locked in any mode. */
static Mark
read_mark(Buffer buffer)
{
	Mark		mark;

	if (!seqid_read_mark_page(buffer, &mark))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page of clock mark \"seqid.clock_mark\" is damaged"),
				 errhint("Check the system clock, then run SELECT seqid.repair_mark() as a superuser.")));
	if (!mark_is_in_range(&mark))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("value of clock mark \"seqid.clock_mark\" is out of range: %lld", (long long) mark.ms),
				 errhint("Check the system clock, then run SELECT seqid.repair_mark() as a superuser.")));
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
 * Returns the floor of invariant 4, or 0 if there is none.  If the clock has reached the
 * checkpoint's second, a key can be repeated only if the clock is set back within that second.
 */
static int64
checkpoint_floor_ms(bool written)
{
	int64		second_ms = seqid_checkpoint_ms();
	int64		lead_ms = second_ms - wall_clock_read_ms();

	if (lead_ms <= 0 || (written && lead_ms > seqid_max_lead_ms))
		return 0;
	return Min(second_ms + WALL_MS_PER_S - 1, MARK_MAX_MS);
}

/* Whether sessions of this entry wrote the mark; see invariant 2. */
static bool
is_own_mark(const Mark *mark, DatabaseState *database)
{
	return mark->nonce == database->mark.nonce ||
		(mark->nonce == 0 && mark->ms != 0 &&
		 mark->ms == (int64) pg_atomic_read_u64(&database->mark.highest_ms));
}

/* The buffer must be locked exclusively; checkpoint_ms is for invariant 4. */
static Mark
raise_mark(Relation rel, Buffer buffer, int64 wanted_ms, int64 checkpoint_ms)
{
	DatabaseState *database = seqid_database_state();
	Mark		mark = read_mark(buffer);

	/* Invariant 2: the floor first, then our nonce. */
	if (!is_own_mark(&mark, database))
		seqid_atomic_raise(&database->mark.floor_ms, Max(mark.ms, checkpoint_ms));

	/* Invariant 3: no lower than any mark under this nonce. */
	mark.ms = Max(mark.ms, wanted_ms);
	mark.ms = Max(mark.ms, (int64) pg_atomic_read_u64(&database->mark.highest_ms));
	seqid_atomic_raise(&database->mark.highest_ms, mark.ms);
	mark.nonce = database->mark.nonce;

	seqid_write_mark_page(rel, buffer, &mark);
	pg_atomic_fetch_add_u64(&database->mark.writes, 1);
	return mark;
}

/* Whether a backend must write the mark before it returns keys of unix_ms. */
static bool
mark_is_low(Relation rel, const Mark *mark, int64 unix_ms, int64 lease_ms)
{
	DatabaseState *database = seqid_database_state();

	/*
	 * Invariant 5.  For a relation that this transaction created, see
	 * note_durable_mark().
	 */
	return mark->nonce != database->mark.nonce ||
		mark->ms < Min(unix_ms + lease_ms / 2, MARK_MAX_MS) ||
		(!relation_is_new(rel) &&
		 pg_atomic_read_u64(&database->mark.durable_file) != compat_file_number(rel));
}

/*
 * Raises the mark if it is too low for keys of unix_ms, and returns it in *mark.  If the mark
 * that this backend relies on still covers the keys, this function does not wait for another
 * backend, but returns false.
 */
static bool
bring_mark_up_to(Relation rel, Buffer buffer, int64 unix_ms, int64 lease_ms,
				 Mark *mark)
{
	bool		must_wait = unix_ms > known_durable_ms;
	int64		checkpoint_ms;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*mark = read_mark(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	/* If the mark is high enough, wait for its flush only if keys need it. */
	if (!mark_is_low(rel, mark, unix_ms, lease_ms))
		return must_wait || seqid_wal_is_durable(mark->lsn);

	/* This reads a file, so do it before acquiring the lock. */
	checkpoint_ms = is_own_mark(mark, seqid_database_state()) ? 0 :
		checkpoint_floor_ms(mark->written);

	if (must_wait)
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	else if (!ConditionalLockBuffer(buffer))
		return false;

	/* Another backend might have raised it in the meantime. */
	*mark = read_mark(buffer);
	if (mark_is_low(rel, mark, unix_ms, lease_ms))
		*mark = raise_mark(rel, buffer, Min(unix_ms + lease_ms, MARK_MAX_MS),
						   checkpoint_ms);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return true;
}

/* The mark is durable, so this backend can rely on it, except as invariant 5 requires. */
static void
note_durable_mark(Relation rel, const Mark *mark, int64 lease_ms)
{
	DatabaseState *database = seqid_database_state();

	seqid_raise_key_floor((int64) pg_atomic_read_u64(&database->mark.floor_ms));

	if (relation_is_new(rel))
	{
		ForceSyncCommit();
		forget_mark((Datum) 0, InvalidOid);
	}
	else
	{
		note_file_durable(rel, database);
		mark_relid = RelationGetRelid(rel); /* opening it can have called
											 * forget_mark() */
		known_durable_ms = mark->ms;
		seqid_recheck_mark_after_ms = known_durable_ms - lease_ms / 2;
	}
}

bool
seqid_advance_mark(int64 unix_ms)
{
	Relation	rel;
	Buffer		buffer;
	Mark		mark;
	int64		lease_ms;

	/* A standby cannot write WAL.  No mark covers its COMBs; see comb.c. */
	if (RecoveryInProgress())
		return true;

	rel = open_mark_relation();
	buffer = ReadBuffer(rel, 0);
	lease_ms = unix_ms > wall_clock_read_ms() ? MARK_AHEAD_LEASE_MS : MARK_LEASE_MS;

	if (bring_mark_up_to(rel, buffer, unix_ms, lease_ms, &mark))
	{
		/* If we crash here, the mark is on disk or no key was returned. */
		seqid_make_wal_durable(mark.lsn);
		note_durable_mark(rel, &mark, lease_ms);
	}
	else
		seqid_recheck_mark_after_ms = Min(known_durable_ms, unix_ms + lease_ms / 8);

	ReleaseBuffer(buffer);
	relation_close(rel, RowExclusiveLock);

	return unix_ms > seqid_key_floor_ms;
}

/* Returns false if the mark is missing or damaged. */
static bool
read_mark_if_sound(Mark *mark)
{
	Oid			relid = seqid_find_mark();
	Relation	rel = OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;
	bool		sound = false;

	if (rel == NULL)
		return false;

	if (seqid_is_mark_relation(rel) && RelationGetNumberOfBlocks(rel) > 0)
	{
		Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, 0, RBM_ZERO_ON_ERROR, NULL);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		sound = seqid_read_mark_page(buffer, mark) && mark_is_in_range(mark);
		UnlockReleaseBuffer(buffer);
	}
	relation_close(rel, AccessShareLock);
	return sound;
}

int64
seqid_find_lifetime(void)
{
	Mark		mark;

	return read_mark_if_sound(&mark) ? (int64) mark.nonce : 0;
}

bool
seqid_find_mark_times(int64 *mark_ms, int64 *floor_ms)
{
	DatabaseState *database = seqid_find_database_state();
	Mark		mark;

	if (!read_mark_if_sound(&mark))
		return false;

	/* These are the values that the next key would find. */
	*mark_ms = mark.ms;
	*floor_ms = database == NULL ? 0 : (int64) pg_atomic_read_u64(&database->mark.floor_ms);
	if (database == NULL || !is_own_mark(&mark, database))
		*floor_ms = Max(*floor_ms, mark.ms);
	return true;
}
