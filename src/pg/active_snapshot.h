/*
 * active_snapshot.h
 *	  The snapshot of the statement that calls a function.
 */
#ifndef SEQID_ACTIVE_SNAPSHOT_H
#define SEQID_ACTIVE_SNAPSHOT_H

#include "postgres.h"

#include "tcop/pquery.h"
#include "utils/snapmgr.h"

/*
 * After a COMMIT, PL/pgSQL can check a domain before the next statement has a snapshot.
 * GetActiveSnapshot() alone would then crash the server.
 */
static inline Snapshot
seqid_active_snapshot(void)
{
	EnsurePortalSnapshotExists();
	return GetActiveSnapshot();
}

#endif							/* SEQID_ACTIVE_SNAPSHOT_H */
