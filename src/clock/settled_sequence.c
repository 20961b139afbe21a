/*
 * settled_sequence.c
 *	  Returns the value up to which a sequence is settled.
 *
 * It is the last value of the sequence or, if that is less, the least value at which an
 * open transaction holds the sequence.  sequence_slot.c has the writer's part of the
 * protocol, and the invariants.
 *
 * A value that was returned is a promise that outlives the server: after a crash, no
 * number up to it can be generated again.  nextval() writes WAL for 32 values ahead and
 * does not flush it, so the page's last record must be durable before the value is
 * returned.  It contains that value or a later one.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "clock/sequence_slot.h"
#include "clock/settled_sequence.h"
#include "miscadmin.h"
#include "pg/durable_wal.h"
#include "pg/sequence_page.h"
#include "pg/test_stop.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static void
check_is_sequence(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_SEQUENCE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sequence", RelationGetRelationName(rel))));
}

static void
check_is_permanent(Relation rel)
{
	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("sequence \"%s\" has no settled values", RelationGetRelationName(rel)),
				 errdetail("It is %s, so its values come again after a crash or in another session.",
						   rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP ? "temporary" : "unlogged"),
				 errhint("Use a permanent sequence.")));
}

/* With one of these, a later call can return a smaller value. */
static void
check_goes_up(Relation rel)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(RelationGetRelid(rel)));
	Form_pg_sequence definition;
	const char *fault;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", RelationGetRelid(rel));
	definition = (Form_pg_sequence) GETSTRUCT(tuple);
	fault = definition->seqcache > 1 ? "CACHE above 1" :
		definition->seqcycle ? "CYCLE" :
		definition->seqincrement < 1 ? "a negative INCREMENT" : NULL;
	ReleaseSysCache(tuple);

	if (fault != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("sequence \"%s\" has no settled values", RelationGetRelationName(rel)),
				 errdetail("It has %s, so a later call can return a smaller value.", fault),
				 errhint("Run ALTER SEQUENCE with CACHE 1, NO CYCLE and a positive INCREMENT.")));
}

Relation
seqid_open_settled_sequence(Oid sequence, AclMode privileges)
{
	Relation	rel = try_relation_open(sequence, RowExclusiveLock);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("sequence with OID %u does not exist", sequence)));
	check_is_sequence(rel);
	if (pg_class_aclcheck(sequence, GetUserId(), privileges) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, RelationGetRelationName(rel));
	check_is_permanent(rel);
	check_goes_up(rel);
	return rel;
}

/*
 * Under wal_level = minimal, a transaction that replaces the file of the sequence does not
 * log the values that its nextval() reserves, but later transactions assume that it has.
 * A crash would set the sequence back below values that a reader has seen, so this logs
 * the page.  Recovery then sets the sequence to this value, so the page says that no
 * value is reserved, and the next nextval() logs again.  Returns the new LSN.
 */
static XLogRecPtr
log_page(Buffer buffer)
{
	XLogRecPtr	lsn;

	START_CRIT_SECTION();
	seqid_sequence_on_page(BufferGetPage(buffer))->log_cnt = 0;
	MarkBufferDirty(buffer);
	lsn = log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	return lsn;
}

int64
seqid_settle_sequence(Relation sequence, XLogRecPtr *lsn)
{
	bool		must_log = !XLogIsNeeded() && RelationNeedsWAL(sequence);
	Buffer		buffer = ReadBuffer(sequence, 0);
	XLogRecPtr	page_lsn;
	int64		value;

	/* sequence_slot.c, invariant 2. */
	LockBuffer(buffer, must_log ? BUFFER_LOCK_EXCLUSIVE : BUFFER_LOCK_SHARE);
	value = seqid_read_last_value(buffer, &page_lsn);
	if (must_log)
		page_lsn = log_page(buffer);
	UnlockReleaseBuffer(buffer);
	test_stop(TEST_STOP_SEQUENCE_READ);
	value = seqid_least_held_value(RelationGetRelid(sequence), value);

	/* All transactions that had ended have written their commit records. */
	pg_read_barrier();
	*lsn = seqid_wal_insert_end();
	XLogFlush(*lsn);
	if (!seqid_wal_is_durable(page_lsn))
		seqid_make_wal_durable(page_lsn);

	return value;
}
