/*
 * settled_horizon.h
 *	  Up to which time keys are settled: for readers who go by keys.
 */
#ifndef SEQID_SETTLED_HORIZON_H
#define SEQID_SETTLED_HORIZON_H

#include "postgres.h"

#include "access/xlogdefs.h"

/*
 * Every transaction of this database that drew a key telling an earlier time than
 * the result, in milliseconds since 1970, has ended, and no key will tell one that is
 * drawn from now on.  Never less than what was told before, in this life of the
 * server or an earlier one.  *lsn is flushed, and who has replayed it has what the
 * ended ones wrote.
 *
 * Can raise the durable mark, and has its errors; see clock_mark.h.  Not to be called
 * during recovery.
 */
extern int64 seqid_settle_horizon(XLogRecPtr *lsn);

#endif							/* SEQID_SETTLED_HORIZON_H */
