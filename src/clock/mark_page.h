/*
 * mark_page.h
 *	  Reads and writes the page of the clock mark.
 */
#ifndef SEQID_MARK_PAGE_H
#define SEQID_MARK_PAGE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "utils/relcache.h"

#define MARK_SCHEMA		"seqid"
#define MARK_RELATION	"clock_mark"

/* The last time that a key can contain: the 48 bits of a COMB. */
#define MARK_MAX_MS		((INT64CONST(1) << 48) - 1)

typedef struct Mark
{
	int64		ms;				/* since 1970 */
	uint64		nonce;			/* see clock_mark.c; 0 after setval() */
	bool		written;		/* has it ever been set? */
	XLogRecPtr	lsn;			/* of the record that last wrote the page */
} Mark;

/* The relation with the mark's name, or InvalidOid. */
extern Oid	seqid_find_mark(void);

/* Whether the relation is a permanent sequence. */
extern bool seqid_is_mark_relation(Relation rel);

/*
 * Reads the mark.  Returns false, and sets only the LSN, if the page is not that of a
 * sequence.  The buffer must be locked in any mode.
 */
extern bool seqid_read_mark_page(Buffer buffer, Mark *mark);

/* Whether the mark is a valid time.  The caller must not calculate with any other value. */
static inline bool
mark_is_in_range(const Mark *mark)
{
	return mark->ms >= 0 && mark->ms <= MARK_MAX_MS;
}

/*
 * Writes ms and nonce of *mark to the page, which must be that of a sequence, and sets the
 * other fields of *mark.  Writes WAL, but does not flush it.  Does not need a transaction.
 * The buffer must be locked exclusively.
 */
extern void seqid_write_mark_page(Relation rel, Buffer buffer, Mark *mark);

/* Does the same for a page with any content, which it initializes first. */
extern void seqid_make_mark_page(Relation rel, Buffer buffer, Mark *mark);

#endif							/* SEQID_MARK_PAGE_H */
