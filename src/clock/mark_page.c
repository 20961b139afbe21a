/*
 * mark_page.c
 *	  Reads and writes the page of the clock mark.
 *
 * We use generic WAL because it works outside of transactions and in parallel workers.  Each
 * record contains the full page, because the owner of the database can call nextval().  If
 * log_cnt is large, as our nonce in it usually is, nextval() changes the page without WAL.  A
 * delta would omit this change, and redo would apply the delta to an older page.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "clock/mark_page.h"
#include "pg/sequence_page.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

Oid
seqid_find_mark(void)
{
	Oid			schema = get_namespace_oid(MARK_SCHEMA, true);

	return OidIsValid(schema) ? get_relname_relid(MARK_RELATION, schema) : InvalidOid;
}

bool
seqid_is_mark_relation(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_SEQUENCE &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT;
}

bool
seqid_read_mark_page(Buffer buffer, Mark *mark)
{
	Page		page = BufferGetPage(buffer);
	Form_pg_sequence_data sequence = seqid_sequence_on_page(page);

	mark->lsn = PageGetLSN(page);
	if (sequence == NULL)
		return false;

	mark->ms = sequence->last_value;
	mark->nonce = (uint64) sequence->log_cnt;
	mark->written = sequence->is_called || sequence->last_value != 0;
	return true;
}

static void
fill_in(Page page, Mark *mark)
{
	Form_pg_sequence_data sequence = seqid_sequence_on_page(page);

	sequence->last_value = mark->ms;
	sequence->log_cnt = (int64) mark->nonce;
	sequence->is_called = true;
	mark->written = true;
}

void
seqid_write_mark_page(Relation rel, Buffer buffer, Mark *mark)
{
	GenericXLogState *xlog = GenericXLogStart(rel);

	fill_in(GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE), mark);
	mark->lsn = GenericXLogFinish(xlog);
}

/* Writes the page of an unused sequence, like fill_seq_with_data(). */
static void
initialize_page(Page page, HeapTuple tuple)
{
	PageInit(page, BLCKSZ, sizeof(uint32));
	*(uint32 *) PageGetSpecialPointer(page) = SEQUENCE_MAGIC;
	if (PageAddItem(page, (void *) tuple->t_data, tuple->t_len,
					InvalidOffsetNumber, false, false) != FirstOffsetNumber)
		elog(ERROR, "failed to add sequence tuple to page");
}

/* Returns a frozen tuple, so that the only tuple of the page is always visible. */
static HeapTuple
unused_tuple(Relation rel)
{
	Datum		values[3] = {Int64GetDatum(0), Int64GetDatum(0), BoolGetDatum(false)};
	bool		nulls[3] = {false, false, false};
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);

	HeapTupleHeaderSetXmin(tuple->t_data, FrozenTransactionId);
	HeapTupleHeaderSetXminFrozen(tuple->t_data);
	HeapTupleHeaderSetCmin(tuple->t_data, FirstCommandId);
	HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
	tuple->t_data->t_infomask |= HEAP_XMAX_INVALID;
	ItemPointerSet(&tuple->t_data->t_ctid, 0, FirstOffsetNumber);

	return tuple;
}

void
seqid_make_mark_page(Relation rel, Buffer buffer, Mark *mark)
{
	HeapTuple	tuple = unused_tuple(rel);
	GenericXLogState *xlog = GenericXLogStart(rel);
	Page		page = GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE);

	initialize_page(page, tuple);
	fill_in(page, mark);
	mark->lsn = GenericXLogFinish(xlog);
}
