/*
 * sequence_page.c
 *	  The page of a sequence: one frozen tuple, and a magic number in the special space.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "pg/sequence_page.h"
#include "storage/bufmgr.h"

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
lock_sequence(Buffer buffer, int mode)
{
	Form_pg_sequence_data sequence;

	LockBuffer(buffer, mode);
	sequence = seqid_sequence_on_page(BufferGetPage(buffer));
	if (sequence == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page of a sequence is damaged")));
	return sequence;
}

int64
seqid_read_next_value(Buffer buffer, XLogRecPtr *lsn)
{
	Form_pg_sequence_data sequence = lock_sequence(buffer, BUFFER_LOCK_SHARE);
	int64		next = sequence->last_value;

	if (sequence->is_called && next < PG_INT64_MAX)
		next++;
	*lsn = BufferGetLSNAtomic(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return next;
}

void
seqid_log_sequence_page(Buffer buffer)
{
	Form_pg_sequence_data sequence = lock_sequence(buffer, BUFFER_LOCK_EXCLUSIVE);

	START_CRIT_SECTION();
	sequence->log_cnt = 0;
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}
