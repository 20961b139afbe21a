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
 * What a reader follows: the keys of a sequence, or with this value the times of all keys
 * that seqid generates in this database, in milliseconds since 1970.
 */
#define KEYS_OF_SEQID	InvalidOid

/* There is no smaller bound: no row is below it. */
#define NO_BOUND	PG_INT64_MIN

/*
 * Returns a bound: each row with a smaller key is visible to the snapshot, or will never
 * appear.  The result for one snapshot is the same until the transaction ends.  A snapshot
 * that is taken after an earlier result gets no smaller one, unless it is first used when
 * still later ones have been, or the sequence was set back.
 *
 * Does not wait for transactions.  Can write and flush WAL.  Raises the errors of
 * seqid_check_followed_sequence(), read_only_sql_transaction if the snapshot was taken
 * during recovery, and program_limit_exceeded if the result for it was forgotten.
 */
extern int64 seqid_settled_bound(Oid id, Snapshot snapshot);

/*
 * Looks before a statement takes its snapshot, so that seqid_settled_bound() has a bound
 * for it.  Waits up to 50 ms for transactions that end.  Does nothing if the role cannot
 * follow the sequence, or this is a standby.
 */
extern void seqid_look_ahead(Oid id);

/*
 * Returns a bound for snapshots that are taken later, and waits as seqid_look_ahead() does.
 * *lsn is flushed: a standby that has replayed it has the rows below the bound.  Can wait
 * for synchronous standbys; raises query_canceled if this wait is cancelled, and the errors
 * of seqid_check_followed_sequence().  Must not be called during recovery.
 */
extern int64 seqid_settle(Oid id, XLogRecPtr *lsn);

#endif							/* SEQID_SETTLED_BOUND_H */
