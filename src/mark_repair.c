/*
 * mark_repair.c
 *	  Repairs a damaged clock mark.
 *
 * Without a mark, keys cannot be generated.  Dropping the extension and creating it again
 * would create a mark, but it would also drop everything that uses its functions: defaults,
 * generated columns, views and constraints.
 *
 * seqid.repair_mark(), in the extension's script, creates the sequence if it is missing.  This
 * file does what SQL could do only by name, because others can rename objects meanwhile: it
 * gives the sequence to the bootstrap superuser, and writes the page.
 *
 * The new mark is the latest known time: the marks and the floor of this server lifetime, the
 * last checkpoint, and the clock.  The counters of shards are not used, because keys of other
 * databases must not raise the mark.  Its nonce is 0, so the next key takes it as the floor,
 * unless it is the highest mark of this lifetime.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_authid.h"
#include "clock/clock_mark.h"
#include "clock/mark_page.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pg/durable_wal.h"
#include "pg/pg_epoch.h"
#include "pg/wall_clock.h"
#include "state/database_state.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/* A page with a wrong checksum is read as zeros. */
static Mark
repair_page(Relation rel)
{
	DatabaseState *database = seqid_database_state();
	int64		highest_ms = (int64) pg_atomic_read_u64(&database->mark.highest_ms);
	Buffer		buffer;
	Mark		mark;

	/* The lock on the relation keeps other sessions from extending it. */
	if (RelationGetNumberOfBlocks(rel) == 0)
		buffer = ReadBuffer(rel, P_NEW);
	else
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, 0, RBM_ZERO_ON_ERROR, NULL);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!seqid_read_mark_page(buffer, &mark) || !mark_is_in_range(&mark) ||
		mark.ms < highest_ms || !mark.written)
	{
		mark.ms = Max(wall_clock_read_ms(), highest_ms);
		mark.ms = Max(mark.ms, (int64) pg_atomic_read_u64(&database->mark.floor_ms));
		/* The end of the checkpoint's second. */
		mark.ms = Max(mark.ms, seqid_checkpoint_ms() + WALL_MS_PER_S - 1);
		mark.ms = Min(mark.ms, MARK_MAX_MS);
		mark.nonce = 0;
		seqid_make_mark_page(rel, buffer, &mark);
	}
	UnlockReleaseBuffer(buffer);
	return mark;
}

/*
 * seqid.rewrite_mark(mark regclass) returns timestamptz
 *	  For seqid.repair_mark(): restores the owner, and writes the page if it is damaged, was
 *	  never written, or contains a value that is out of range or too low.  Returns the mark.  A
 *	  rollback does not undo changes of the page.
 *
 *	  Errors: 42501 unless the caller is a superuser; 25006 on a standby; 42809 if the
 *	  relation is not the mark or not a permanent sequence.
 */
PG_FUNCTION_INFO_V1(seqid_rewrite_mark);
Datum
seqid_rewrite_mark(PG_FUNCTION_ARGS)
{
	Relation	rel;
	Mark		mark;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to repair the clock mark")));
	PreventCommandIfReadOnly("seqid.repair_mark()");
	PreventCommandDuringRecovery("seqid.repair_mark()");

	/*
	 * Conflicts with the lock of seqid_advance_mark(), which can be waiting
	 * for a synchronous standby.
	 */
	rel = relation_open(PG_GETARG_OID(0), ShareRowExclusiveLock);

	/* Any other sequence would lose its value. */
	if (RelationGetRelid(rel) != seqid_find_mark())
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not the clock mark", RelationGetRelationName(rel)),
				 errhint("Run SELECT seqid.repair_mark().")));
	if (!seqid_is_mark_relation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("clock mark \"seqid.clock_mark\" is not a permanent sequence"),
				 errhint("Run ALTER SEQUENCE seqid.clock_mark SET LOGGED.")));
	if (rel->rd_rel->relowner != BOOTSTRAP_SUPERUSERID)
		ATExecChangeOwner(RelationGetRelid(rel), BOOTSTRAP_SUPERUSERID, false, AccessExclusiveLock);
	mark = repair_page(rel);
	seqid_make_wal_durable(mark.lsn);
	relation_close(rel, ShareRowExclusiveLock);

	PG_RETURN_TIMESTAMPTZ(pg_time_of_unix_ms(mark.ms));
}
