/*
 * scatter.h
 *	  Drawing scattered ids from within.
 */
#ifndef SEQID_SCATTER_H
#define SEQID_SCATTER_H

#include "postgres.h"

#include "fmgr.h"

/* The SQL function itself: there may be others of its name. */
extern Datum scatter_nextval(PG_FUNCTION_ARGS);

/* Its argument, if it is from 0 to 32; otherwise 22023. */
extern int	seqid_checked_prefix_bits(int32 prefix_bits);

/*
 * The id for the sequence's next value, as scatter_nextval() returns it.
 * prefix_bits is from 0 to 32.  Without check_permissions the caller answers for
 * the right to draw, as with an identity column.
 */
extern int64 seqid_scatter_next(Oid sequence, int prefix_bits, bool check_permissions);

#endif							/* SEQID_SCATTER_H */
