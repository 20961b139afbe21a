/*
 * durable_wal.h
 *	  Makes WAL as durable as that of commits.
 */
#ifndef SEQID_DURABLE_WAL_H
#define SEQID_DURABLE_WAL_H

#include "access/xlogdefs.h"

/*
 * The end of the last WAL record.  At the end of a page, the server's function returns the
 * position after the header of the next page, which a standby reaches only with another
 * record.
 */
extern XLogRecPtr seqid_wal_insert_end(void);

/*
 * Whether this server and synchronous standbys, if named, have flushed the WAL up to lsn.
 * Does not wait.  Can also return false if this is not known.
 */
extern bool seqid_wal_is_durable(XLogRecPtr lsn);

/*
 * Flushes the WAL up to lsn, and waits until the synchronous standbys have flushed it, like a
 * commit under synchronous_commit = on, whatever level the session has.  Raises query_canceled
 * if the wait is cancelled.  Must not be called with an LWLock held.
 */
extern void seqid_make_wal_durable(XLogRecPtr lsn);

#endif							/* SEQID_DURABLE_WAL_H */
