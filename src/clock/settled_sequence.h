/*
 * settled_sequence.h
 *	  Returns the value up to which a sequence is settled.
 */
#ifndef SEQID_SETTLED_SEQUENCE_H
#define SEQID_SETTLED_SEQUENCE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/acl.h"
#include "utils/relcache.h"

/*
 * Opens a sequence for settled_nextval() or its readers, with the lock of nextval(),
 * which excludes ALTER SEQUENCE.  Raises undefined_table, wrong_object_type,
 * insufficient_privilege if the role has none of the privileges, and
 * object_not_in_prerequisite_state if the sequence is not permanent or does not go up by
 * one value at a time for each call: INCREMENT below 1, CYCLE or CACHE above 1.
 */
extern Relation seqid_open_settled_sequence(Oid sequence, AclMode privileges);

/*
 * Returns a value of the sequence.  Every transaction that got a value up to it from
 * settled_nextval() has ended, and no such value will be returned to another one.  The
 * result is never less than an earlier one, in this server lifetime or before, unless the
 * sequence was set back.  *lsn is flushed.  A standby that has replayed it has the rows of
 * the transactions that ended.
 *
 * Can flush WAL and wait for synchronous standbys; raises query_canceled if the wait is
 * cancelled.  Must not be called during recovery.
 */
extern int64 seqid_settle_sequence(Relation sequence, XLogRecPtr *lsn);

#endif							/* SEQID_SETTLED_SEQUENCE_H */
