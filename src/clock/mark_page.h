/*
 * mark_page.h
 *	  Where the durable clock mark is kept: the one page of a sequence.
 */
#ifndef SEQID_MARK_PAGE_H
#define SEQID_MARK_PAGE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "utils/relcache.h"

#define MARK_SCHEMA		"seqid"
#define MARK_RELATION	"clock_mark"

/* The last time that a key can tell, that of a COMB: 48 bits. */
#define MARK_MAX_MS		((INT64CONST(1) << 48) - 1)

typedef struct Mark
{
	int64		ms;				/* since 1970 */
	uint64		nonce;			/* see clock_mark.c; 0 after setval() */
	bool		written;		/* has it ever been set? */
	XLogRecPtr	lsn;			/* of the record that wrote the page last */
} Mark;

/* The relation that has the mark's name; InvalidOid if there is none. */
extern Oid	seqid_find_mark(void);

/* Whether the relation is one that can hold a mark. */
extern bool seqid_is_mark_relation(Relation rel);

/*
 * Reads the mark off its page.  False if that is not the page of a sequence:
 * nothing but the LSN is of use then.
 *
 * The buffer must be locked, in whatever mode.
 */
extern bool seqid_read_mark_page(Buffer buffer, Mark *mark);

/* Whether the value is a time: arithmetic must see no other. */
static inline bool
mark_is_in_range(const Mark *mark)
{
	return mark->ms >= 0 && mark->ms <= MARK_MAX_MS;
}

/*
 * Writes ms and nonce of *mark to the page, which must be sound, by WAL that is
 * not flushed yet; sets the rest of *mark accordingly.  Needs no transaction.
 *
 * The buffer must be locked exclusively.
 */
extern void seqid_write_mark_page(Relation rel, Buffer buffer, Mark *mark);

/* The same for a page of whatever content, which is made anew. */
extern void seqid_make_mark_page(Relation rel, Buffer buffer, Mark *mark);

#endif							/* SEQID_MARK_PAGE_H */
