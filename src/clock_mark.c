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
 * Floor and marks are the database's: a mark that is far ahead, because it was
 * restored or set so, or because the clock was wrong for a while, holds back the
 * keys of its own database and no other's.
 *
 * The mark is raised a second ahead, and again when half of that is used up:
 * by the one backend that gets the buffer's lock, while the others go on.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "clock_mark.h"
#include "commands/extension.h"
#include "commands/sequence.h"
#include "compat.h"
#include "durable_wal.h"
#include "miscadmin.h"
#include "shared_state.h"
#include "storage/bufmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "wall_clock.h"

#define MARK_RELATION	"seqid_clock_mark"

/*
 * How far ahead the mark is raised.  Less where keys are ahead of the clock
 * already: the next life of the server begins above the mark, so restarts in
 * quick succession would otherwise add a second each.
 */
#define MARK_LEASE_MS		1000
#define MARK_AHEAD_LEASE_MS	200

/* The last time that a key can tell, that of a COMB: 48 bits. */
#define MARK_MAX_MS			((INT64CONST(1) << 48) - 1)

/* What commands/sequence.c writes into the special space of its pages. */
#define SEQUENCE_MAGIC	0x1717

/* The struct without the padding at its end. */
#define SEQUENCE_DATA_SIZE \
	(offsetof(FormData_pg_sequence_data, is_called) + sizeof(bool))

typedef struct Mark
{
	int64		ms;
	uint64		nonce;
	XLogRecPtr	lsn;			/* of the record that wrote the page last */
} Mark;

int64		seqid_mark_free_ms = -1;
int64		seqid_mark_floor_ms = -1;

/* The mark that this backend believes, -1 for none, and where it is. */
static int64 believed_ms = -1;
static Oid	mark_relid = InvalidOid;

static void
forget_mark(Datum arg pg_attribute_unused(), Oid relid)
{
	if (relid != InvalidOid && relid != mark_relid)
		return;
	mark_relid = InvalidOid;
	believed_ms = -1;
	seqid_mark_free_ms = -1;
}

void
seqid_watch_mark(void)
{
	CacheRegisterRelcacheCallback(forget_mark, (Datum) 0);
}

static Oid
find_mark_relation(void)
{
	Oid			extension = get_extension_oid("seqid", true);
	Oid			relid = InvalidOid;

	/* The extension is relocatable: all that it has is in its schema. */
	if (OidIsValid(extension))
		relid = get_relname_relid(MARK_RELATION,
								  compat_extension_schema(extension));

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock mark of extension \"seqid\" does not exist"),
				 errdetail("Without the sequence \"%s\" in the extension's schema, no key is safe from being issued again after a restart.",
						   MARK_RELATION),
				 errhint("Drop the extension and create it again.")));
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

	if (rel->rd_rel->relkind != RELKIND_SEQUENCE ||
		rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("clock mark \"%s\" is not a permanent sequence",
						RelationGetRelationName(rel)),
				 errhint("Drop the extension and create it again.")));
	return rel;
}

static void
report_damaged_page(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("page of clock mark \"%s\" is damaged",
					RelationGetRelationName(rel)),
			 errhint("Restore the database, or drop the extension and create it again when the clock is right.")));
}

/* The one tuple of a sequence's page, checked before it is touched. */
static Form_pg_sequence_data
sequence_on_page(Relation rel, Page page)
{
	ItemId		item;
	HeapTupleHeader tuple;

	if (PageIsNew(page) ||
		PageGetSpecialSize(page) != MAXALIGN(sizeof(uint32)) ||
		*(uint32 *) PageGetSpecialPointer(page) != SEQUENCE_MAGIC ||
		PageGetMaxOffsetNumber(page) < FirstOffsetNumber)
		report_damaged_page(rel);

	item = PageGetItemId(page, FirstOffsetNumber);
	if (!ItemIdIsNormal(item))
		report_damaged_page(rel);

	tuple = (HeapTupleHeader) PageGetItem(page, item);
	if (ItemIdGetLength(item) < tuple->t_hoff + SEQUENCE_DATA_SIZE)
		report_damaged_page(rel);

	return (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
}

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
	Page		page = BufferGetPage(buffer);
	Form_pg_sequence_data sequence = sequence_on_page(rel, page);
	Mark		mark;

	mark.ms = sequence->last_value;
	mark.nonce = (uint64) sequence->log_cnt;
	mark.lsn = PageGetLSN(page);

	/* We never wrote such a thing, and arithmetic must not see it. */
	if (mark.ms < 0 || mark.ms > MARK_MAX_MS)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("value of clock mark \"%s\" is out of range: %lld",
						RelationGetRelationName(rel), (long long) mark.ms),
				 errhint("Set it to a time that no key exceeds, in milliseconds since 1970.")));
	return mark;
}

/* The buffer must be locked exclusively. */
static Mark
write_mark(Relation rel, Buffer buffer, int64 wanted_ms)
{
	DatabaseState *database = seqid_database_state();
	uint64		nonce = current_nonce();
	Mark		mark = read_mark(rel, buffer);
	GenericXLogState *xlog;
	Form_pg_sequence_data sequence;

	/* Invariant 2: the floor first, then the nonce of this life. */
	if (mark.nonce != nonce)
		seqid_atomic_raise(&database->floor_ms, mark.ms);

	/* Invariant 3: and no lower than any mark of this life. */
	mark.ms = Max(mark.ms, wanted_ms);
	mark.ms = Max(mark.ms, (int64) pg_atomic_read_u64(&database->highest_mark_ms));
	seqid_atomic_raise(&database->highest_mark_ms, mark.ms);
	mark.nonce = nonce;

	/*
	 * With its image: the owner of the database may call nextval(), which
	 * changes the page without WAL while it finds log_cnt large.  A delta would
	 * omit what did not change since, and redo would put it on an older page.
	 */
	xlog = GenericXLogStart(rel);
	sequence = sequence_on_page(rel, GenericXLogRegisterBuffer(xlog, buffer,
															   GENERIC_XLOG_FULL_IMAGE));
	sequence->last_value = mark.ms;
	sequence->log_cnt = (int64) mark.nonce;
	sequence->is_called = true;
	mark.lsn = GenericXLogFinish(xlog);

	pg_atomic_fetch_add_u64(&database->marks_written, 1);
	return mark;
}

/* Whether somebody has to raise the mark on account of keys of last_ms. */
static bool
mark_is_low(Mark mark, int64 last_ms, int64 lease_ms)
{
	return mark.nonce != current_nonce() ||
		mark.ms < Min(last_ms + lease_ms / 2, MARK_MAX_MS);
}

/*
 * Brings *mark up to date for keys of last_ms.  False if that would mean to
 * wait for another backend, which is needless while the mark that this one
 * believes still covers the keys.
 */
static bool
settle_mark(Relation rel, Buffer buffer, int64 last_ms, int64 lease_ms,
			Mark *mark)
{
	bool		may_wait = last_ms > believed_ms;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*mark = read_mark(rel, buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	if (!mark_is_low(*mark, last_ms, lease_ms))
		return may_wait ||
			seqid_wal_is_durable(mark->lsn);

	if (may_wait)
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	else if (!ConditionalLockBuffer(buffer))
		return false;

	/* Another backend may have raised it since. */
	*mark = read_mark(rel, buffer);
	if (mark_is_low(*mark, last_ms, lease_ms))
		*mark = write_mark(rel, buffer, Min(last_ms + lease_ms, MARK_MAX_MS));
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return true;
}

bool
seqid_look_at_mark(int64 first_ms, int64 last_ms)
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
	lease_ms = last_ms > wall_clock_read_ms() ? MARK_AHEAD_LEASE_MS : MARK_LEASE_MS;

	if (settle_mark(rel, buffer, last_ms, lease_ms, &mark))
	{
		/* A crash here must find the mark, or have issued nothing beyond it. */
		seqid_make_wal_durable(mark.lsn);
		mark_relid = RelationGetRelid(rel);
		believed_ms = mark.ms;
		seqid_mark_free_ms = believed_ms - lease_ms / 2;
		seqid_mark_floor_ms =
			(int64) pg_atomic_read_u64(&seqid_database_state()->floor_ms);
	}
	else
		seqid_mark_free_ms = Min(believed_ms, last_ms + lease_ms / 8);

	ReleaseBuffer(buffer);
	relation_close(rel, RowExclusiveLock);

	return first_ms > seqid_mark_floor_ms;
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
