/*
 * sequence_look.h
 *	  Finds the values of a sequence that can still appear.
 */
#ifndef SEQID_SEQUENCE_LOOK_H
#define SEQID_SEQUENCE_LOOK_H

#include "postgres.h"

#include "access/xlogdefs.h"

/* What a look at a sequence finds, or one at the times of keys; see settled_horizon.h. */
typedef struct Look
{
	int64		bound;			/* each transaction that got a smaller value
								 * has ended; PG_INT64_MIN if unknown */
	int64		goal;			/* the bound without the transactions that
								 * this look is the first to find */
	int64		unwatched_ms;	/* since the look before, by any session */
	int64		next;			/* the least value that can still be generated */
	uint64		file;			/* of the sequence, or 0 */
	XLogRecPtr	page_lsn;		/* values below next do not come again once
								 * this is flushed */
} Look;

/*
 * Raises undefined_table, wrong_object_type, insufficient_privilege unless the current role
 * has USAGE, SELECT or UPDATE, and object_not_in_prerequisite_state if the sequence is the
 * clock mark, is not permanent, or a call can return a smaller value than an earlier one:
 * INCREMENT below 1, CYCLE or CACHE above 1.  Takes no lock.
 */
extern void seqid_check_followed_sequence(Oid sequence);

/* Whether seqid_check_followed_sequence() raises nothing. */
extern bool seqid_can_be_followed(Oid sequence);

/*
 * Looks once.  The sequence must have been checked.  The caller knows that no value of
 * known_file below known_bound can appear; 0 if it knows nothing.  Returns false, without a
 * look, if a session changes the definition of the sequence or has changed it since the check,
 * or the open transaction has created its file.  Takes a heavyweight lock only if that is free,
 * and releases it.  Can write WAL, does not flush it.  Must not be called during recovery.
 */
extern bool seqid_look_at_sequence(Oid sequence, uint64 known_file, int64 known_bound, Look *look);

#endif							/* SEQID_SEQUENCE_LOOK_H */
