/*
 * sequence_page.h
 *	  The page of a sequence, as commands/sequence.c writes it.
 */
#ifndef SEQID_SEQUENCE_PAGE_H
#define SEQID_SEQUENCE_PAGE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "commands/sequence.h"
#include "pg/compat.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#define SEQUENCE_MAGIC	0x1717

/*
 * The only tuple of the page; NULL if it is not the page of a sequence.  The page's
 * buffer must be locked in any mode.
 */
extern Form_pg_sequence_data seqid_sequence_on_page(Page page);

/*
 * Returns the least value that nextval() can still return, and sets *lsn to that of the
 * record that wrote the page.  At the end of bigint this is the last value itself.
 * Raises data_corrupted if the page is damaged.  Locks the page.
 */
extern int64 seqid_read_next_value(Buffer buffer, XLogRecPtr *lsn);

/*
 * Logs the page as it is, without values that nextval() could return before it logs again.
 * Does not flush.  Raises data_corrupted if the page is damaged.  Locks the page; the caller
 * must keep its file from being removed, which recovery would create again.
 */
extern void seqid_log_sequence_page(Buffer buffer);

/*
 * Whether the open transaction has created the relation or its current file.  No other
 * session can see it, and a rollback brings back the file before.  A parallel worker
 * does not know whether its leader's transaction has done so.
 */
static inline bool
relation_is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId ||
		compat_file_subid(rel) != InvalidSubTransactionId;
}

/* Identifies a file among all of the database. */
static inline uint64
relation_file(Relation rel)
{
	return (uint64) compat_file_tablespace(rel) << 32 | compat_file_number(rel);
}

#endif							/* SEQID_SEQUENCE_PAGE_H */
