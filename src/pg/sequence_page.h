/*
 * sequence_page.h
 *	  The page of a sequence, as commands/sequence.c writes it.
 */
#ifndef SEQID_SEQUENCE_PAGE_H
#define SEQID_SEQUENCE_PAGE_H

#include "postgres.h"

#include "commands/sequence.h"
#include "pg/compat.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#define SEQUENCE_MAGIC	0x1717

/*
 * The only tuple of the page; NULL if it is not the page of a sequence.  The page's
 * buffer must be locked in any mode.
 */
extern Form_pg_sequence_data seqid_sequence_on_page(Page page);

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

#endif							/* SEQID_SEQUENCE_PAGE_H */
