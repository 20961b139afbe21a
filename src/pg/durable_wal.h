/*
 * durable_wal.h
 *	  Making sure that WAL survives what commits survive.
 */
#ifndef SEQID_DURABLE_WAL_H
#define SEQID_DURABLE_WAL_H

#include "postgres.h"

#include "access/xlogdefs.h"

/*
 * Whether the WAL up to lsn is flushed here and, where synchronous standbys are
 * named, by them.  Does not wait.  False may also mean that it is not known.
 */
extern bool seqid_wal_is_durable(XLogRecPtr lsn);

/*
 * Flushes the WAL up to lsn, and waits for the synchronous standbys to flush it as
 * a commit does under synchronous_commit = on, whatever level the session has.
 * Can be cancelled, which is query_canceled; must not be called with a lock held.
 */
extern void seqid_make_wal_durable(XLogRecPtr lsn);

#endif							/* SEQID_DURABLE_WAL_H */
