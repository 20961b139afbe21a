/*
 * settled_bound.h
 *	  Bounds below which no rows can appear, for one snapshot or for all later ones.
 */
#ifndef SEQID_SETTLED_BOUND_H
#define SEQID_SETTLED_BOUND_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/snapshot.h"

/*
 * In place of a sequence, this stands for the times of all keys that seqid generates in this
 * database, in milliseconds since 1970.
 */
#define KEYS_OF_SEQID	InvalidOid

/* The smallest bound, below which there are no rows. */
#define NO_BOUND	PG_INT64_MIN

/*
 * Returns a bound: each row with a smaller key is visible to the snapshot, or will never
 * appear.  The result for one snapshot stays the same until the transaction ends.  A snapshot
 * that is taken after an earlier result does not get a smaller one, unless still later
 * snapshots are used before it, or the sequence was set back.
 *
 * Does not wait for transactions.  Can write and flush WAL.  Raises the errors of
 * seqid_check_followed_sequence(), read_only_sql_transaction if the snapshot was taken
 * during recovery, and program_limit_exceeded if the result for it was forgotten.
 */
extern int64 seqid_settled_bound(Oid id, Snapshot snapshot);

/*
 * Looks before a statement takes its snapshot, so that seqid_settled_bound() has a bound for
 * it.  Waits up to 50 ms for transactions to end and, if the session has no bound yet, up to
 * 50 ms for a standby.  Does nothing if the role cannot follow the sequence, on a standby, or
 * if the transaction keeps its snapshot.
 */
extern void seqid_look_ahead(Oid id);

/*
 * Returns a bound for snapshots that are taken later, and waits as seqid_look_ahead() does.
 * Sets *lsn to a flushed position; a standby that has replayed it has the rows below the
 * bound.  Can wait for synchronous standbys; raises query_canceled if this wait is cancelled,
 * and the errors of seqid_check_followed_sequence().  Must not be called during recovery.
 */
extern int64 seqid_settle(Oid id, XLogRecPtr *lsn);

#endif							/* SEQID_SETTLED_BOUND_H */
