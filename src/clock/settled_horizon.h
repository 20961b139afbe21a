/*
 * settled_horizon.h
 *	  Returns the time before which keys are settled.
 */
#ifndef SEQID_SETTLED_HORIZON_H
#define SEQID_SETTLED_HORIZON_H

#include "postgres.h"

#include "clock/sequence_look.h"

/*
 * Looks once, and does not wait for transactions.  The bound is a time in milliseconds since
 * 1970: every transaction of this database that generated a key with an earlier time has
 * ended, and no such key will be generated.  It never decreases, not even from one server
 * lifetime to the next.
 *
 * The commits of these transactions might not have been flushed yet.  Can raise the durable
 * mark, and raises its errors; see clock_mark.h.  Must not be called during recovery.
 */
extern Look seqid_look_at_keys(void);

/*
 * Returns the random number of this server lifetime, which no other primary has, and logs it
 * on the page of the mark.  Does not flush the WAL.  Raises the errors of clock_mark.h.  Must
 * not be called during recovery.
 */
extern int64 seqid_log_lifetime(void);

#endif							/* SEQID_SETTLED_HORIZON_H */
