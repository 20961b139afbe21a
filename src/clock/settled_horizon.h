/*
 * settled_horizon.h
 *	  Returns the time before which keys are settled.
 */
#ifndef SEQID_SETTLED_HORIZON_H
#define SEQID_SETTLED_HORIZON_H

#include "postgres.h"

#include "access/xlogdefs.h"

/*
 * Returns a time in milliseconds since 1970.  Every transaction of this database that
 * generated a key with an earlier time has ended, and no such key will be generated.
 * The result is never less than an earlier result, in this server lifetime or before.
 * *lsn is flushed.  A standby that has replayed it has the rows of the transactions
 * that ended.
 *
 * Can raise the durable mark, and raises its errors; see clock_mark.h.  Must not be
 * called during recovery.
 */
extern int64 seqid_settle_horizon(XLogRecPtr *lsn);

#endif							/* SEQID_SETTLED_HORIZON_H */
