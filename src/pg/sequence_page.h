/*
 * sequence_page.h
 *	  The page of a sequence, as commands/sequence.c writes it.
 */
#ifndef SEQID_SEQUENCE_PAGE_H
#define SEQID_SEQUENCE_PAGE_H

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
 * Returns the smallest value that nextval() can still return or, if the last value was the
 * largest bigint, that value.  Sets *lsn to the position of the record that last wrote the
 * page.  Locks the page.  Raises data_corrupted if it is damaged.
 */
extern int64 seqid_read_next_value(Oid sequence, Buffer buffer, XLogRecPtr *lsn);

/*
 * Logs the page, and makes the next nextval() log it again before it returns a value.  Does
 * not flush.  Locks the page.  Raises data_corrupted if it is damaged.  The caller must keep
 * the file from being removed, because recovery would create it again.
 */
extern void seqid_log_sequence_page(Oid sequence, Buffer buffer);

/*
 * A nextval() whose values are not repeated after a crash, even if the file was copied.
 * Raises the errors of nextval(), and data_corrupted.
 */
extern int64 seqid_durable_nextval(Oid sequence, bool check_permissions);

/* Called from _PG_init. */
extern void seqid_watch_sequences(void);

/*
 * Whether the open transaction has created the relation or its current file.  No other session
 * can see this file, and a rollback brings back the previous one.  A parallel worker does not
 * know whether its leader's transaction has done so.
 */
static inline bool
relation_is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId ||
		compat_file_subid(rel) != InvalidSubTransactionId;
}

/* Identifies a file among all files of the database. */
static inline uint64
relation_file(Relation rel)
{
	return (uint64) compat_file_tablespace(rel) << 32 | compat_file_number(rel);
}

#endif							/* SEQID_SEQUENCE_PAGE_H */
