/*
 * mark_repair.c
 *	  Makes a damaged clock mark anew.
 *
 * Without a mark no key is issued.  To drop the extension and to create it again
 * would make one, but drop all that uses its functions as well: defaults, generated
 * columns, views, constraints.
 *
 * What takes SQL, to make the sequence if that is missing, is in the extension's
 * script: seqid.repair_mark().  What no SQL can do is here.
 *
 * The new mark is the highest time that is known: of this server lifetime, the last
 * checkpoint, or the clock.  Its nonce is 0, so the next key takes it as the floor,
 * unless it is the highest mark of this lifetime.
 */
#include "postgres.h"

#include "access/relation.h"
#include "clock/clock_mark.h"
#include "clock/mark_page.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pg/durable_wal.h"
#include "pg/pg_epoch.h"
#include "pg/wall_clock.h"
#include "state/database_state.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/*
 * No key of this database tells a later time, as far as is known.  Words of shards
 * are not asked: what this database drew from them is covered by its marks, and
 * what others did is no business of it.
 */
static int64
highest_known_ms(void)
{
	DatabaseState *database = seqid_database_state();
	int64		ms = wall_clock_read_ms();

	/* At the end of the checkpoint's second. */
	ms = Max(ms, seqid_checkpoint_ms() + WALL_MS_PER_S - 1);
	ms = Max(ms, (int64) pg_atomic_read_u64(&database->mark.floor_ms));
	ms = Max(ms, (int64) pg_atomic_read_u64(&database->mark.highest_ms));

	return Min(ms, MARK_MAX_MS);
}

/*
 * Writes a new mark, if that on the page is of no use, or lower than one of this
 * life of the server.  A page whose checksum is wrong reads as zeros.
 */
static Mark
repair_page(Relation rel)
{
	Buffer		buffer;
	Mark		mark;

	/* The lock on the relation keeps others from extending it. */
	if (RelationGetNumberOfBlocks(rel) == 0)
		buffer = ReadBuffer(rel, P_NEW);
	else
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, 0, RBM_ZERO_ON_ERROR, NULL);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!seqid_read_mark_page(buffer, &mark) || !mark_is_in_range(&mark) ||
		mark.ms < (int64) pg_atomic_read_u64(&seqid_database_state()->mark.highest_ms) ||
		!mark.written)
	{
		mark.ms = highest_known_ms();
		mark.nonce = 0;
		seqid_make_mark_page(rel, buffer, &mark);
	}
	UnlockReleaseBuffer(buffer);

	return mark;
}

/*
 * seqid.rewrite_mark(mark regclass) returns timestamptz
 *	  What seqid.repair_mark() does when there is a sequence: makes its page anew if
 *	  it is damaged, tells no time or one too low, or was never written;
 *	  returns the mark that it has then.  Not undone by a rollback.  42501 unless
 *	  the caller is superuser, 25006 on a standby, 42809 if that is not the mark or
 *	  not a permanent sequence.
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
	 * Against drawing keys, which may wait for a synchronous standby
	 * meanwhile.
	 */
	rel = relation_open(PG_GETARG_OID(0), ShareRowExclusiveLock);

	/* Another sequence would lose its value. */
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
	mark = repair_page(rel);
	seqid_make_wal_durable(mark.lsn);
	relation_close(rel, ShareRowExclusiveLock);

	PG_RETURN_TIMESTAMPTZ(pg_time_of_unix_ms(mark.ms));
}
