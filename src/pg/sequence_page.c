/*
 * sequence_page.c
 *	  The page of a sequence: one frozen tuple, and a magic number in the special space.
 *
 * nextval() writes WAL for 32 values ahead, and counts on the page (log_cnt) how many of them
 * it can still return without another record.  CREATE DATABASE, SET LOGGED and some forms of
 * ALTER SEQUENCE copy the page with this count, but the WAL of the copy contains only the last
 * value.  After a crash, the copy would return up to 32 values again.  Therefore each session
 * logs the page with a count of 0 after its first call for a file of the sequence.  The next
 * nextval() then writes its own WAL record.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "pg/sequence_page.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"

/* The struct without the padding at its end. */
#define SEQUENCE_DATA_SIZE \
	(offsetof(FormData_pg_sequence_data, is_called) + sizeof(bool))

Form_pg_sequence_data
seqid_sequence_on_page(Page page)
{
	ItemId		item;
	HeapTupleHeader tuple;

	if (PageIsNew(page) ||
		PageGetSpecialSize(page) != MAXALIGN(sizeof(uint32)) ||
		*(uint32 *) PageGetSpecialPointer(page) != SEQUENCE_MAGIC ||
		PageGetMaxOffsetNumber(page) < FirstOffsetNumber)
		return NULL;

	item = PageGetItemId(page, FirstOffsetNumber);
	if (!ItemIdIsNormal(item) ||
		ItemIdGetOffset(item) != MAXALIGN(ItemIdGetOffset(item)) ||
		ItemIdGetOffset(item) < SizeOfPageHeaderData + sizeof(ItemIdData) ||
		ItemIdGetOffset(item) + ItemIdGetLength(item) > BLCKSZ - PageGetSpecialSize(page) ||
		ItemIdGetLength(item) < SizeofHeapTupleHeader)
		return NULL;

	tuple = (HeapTupleHeader) PageGetItem(page, item);
	if (tuple->t_hoff != MAXALIGN(tuple->t_hoff) || tuple->t_hoff < SizeofHeapTupleHeader ||
		ItemIdGetLength(item) < tuple->t_hoff + SEQUENCE_DATA_SIZE)
		return NULL;

	return (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
}

static Form_pg_sequence_data
lock_sequence(Oid sequence, Buffer buffer, int mode)
{
	Form_pg_sequence_data data;

	LockBuffer(buffer, mode);
	data = seqid_sequence_on_page(BufferGetPage(buffer));

	/*
	 * The caller can hold an LWLock, under which the search for the name could
	 * wait for a lock on a catalog, and could not be cancelled.
	 */
	if (data == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page of sequence with OID %u is damaged", sequence)));
	return data;
}

int64
seqid_read_next_value(Oid sequence, Buffer buffer, XLogRecPtr *lsn)
{
	Form_pg_sequence_data data = lock_sequence(sequence, buffer, BUFFER_LOCK_SHARE);
	int64		next = data->last_value;

	if (data->is_called && next < PG_INT64_MAX)
		next++;
	*lsn = BufferGetLSNAtomic(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return next;
}

void
seqid_log_sequence_page(Oid sequence, Buffer buffer)
{
	Form_pg_sequence_data data = lock_sequence(sequence, buffer, BUFFER_LOCK_EXCLUSIVE);

	START_CRIT_SECTION();
	data->log_cnt = 0;
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

typedef struct CalledSequence
{
	Oid			sequence;		/* hash key */
	uint64		file;			/* that this session has logged, 0 for none */
} CalledSequence;

static HTAB *called_sequences = NULL;

/* The sequence of the last call in the open transaction, if its file was compared. */
static Oid	last_called = InvalidOid;
static LocalTransactionId last_lxid = InvalidLocalTransactionId;

/* nextval() locks the sequence until the transaction ends, so the file does not change. */
static pg_noinline void
log_if_new_file(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);
	CalledSequence *called;
	bool		found;

	if (called_sequences == NULL)
	{
		HASHCTL		info = {.keysize = sizeof(Oid),.entrysize = sizeof(CalledSequence)};

		called_sequences = hash_create("seqid called sequences", 16, &info, HASH_ELEM | HASH_BLOBS);
	}
	called = hash_search(called_sequences, &sequence, HASH_ENTER, &found);
	if (!found)
		called->file = 0;

	/* An unlogged or temporary sequence need not survive a crash. */
	if (RelationNeedsWAL(rel) && called->file != relation_file(rel))
	{
		Buffer		buffer = ReadBuffer(rel, 0);

		/* An XID makes the commit flush the record, as for nextval() itself. */
		(void) GetTopTransactionId();
		seqid_log_sequence_page(sequence, buffer);
		ReleaseBuffer(buffer);
		called->file = relation_file(rel);
	}
	relation_close(rel, NoLock);
	last_called = sequence;
	last_lxid = compat_lxid(MyProc);
}

int64
seqid_durable_nextval(Oid sequence, bool check_permissions)
{
	int64		value = nextval_internal(sequence, check_permissions);

	if (unlikely(last_called != sequence || last_lxid != compat_lxid(MyProc)))
		log_if_new_file(sequence);
	return value;
}

/* Called if the open transaction itself has replaced a file, or has rolled this back. */
static void
compare_again(Datum arg pg_attribute_unused(), Oid relid)
{
	if (relid == InvalidOid || relid == last_called)
		last_called = InvalidOid;
}

void
seqid_watch_sequences(void)
{
	CacheRegisterRelcacheCallback(compare_again, (Datum) 0);
}
