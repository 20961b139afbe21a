/*
 * sequence_look.h
 *	  Finds the values of a sequence that can still appear.
 */
#ifndef SEQID_SEQUENCE_LOOK_H
#define SEQID_SEQUENCE_LOOK_H

#include "postgres.h"

#include "access/xlogdefs.h"

/* The result of a look at a sequence, or at the times of keys; see settled_horizon.h. */
typedef struct Look
{
	int64		bound;			/* each transaction that got a smaller value
								 * has ended; PG_INT64_MIN if unknown */
	int64		goal;			/* the bound without the holders that no
								 * earlier look has found */
	int64		unwatched_ms;	/* since the previous look of any session */
	uint64		generation;		/* of the sequence; see followed_sequence.h */
	XLogRecPtr	page_lsn;		/* once this is flushed, values below the
								 * bound are not repeated */
} Look;

/*
 * Raises undefined_table, wrong_object_type, insufficient_privilege unless the current role
 * has USAGE, SELECT or UPDATE, and object_not_in_prerequisite_state if the sequence is the
 * clock mark, is not permanent, or can return a smaller value than before: INCREMENT below 1,
 * CYCLE, or CACHE above 1.  Takes no lock.
 */
extern void seqid_check_followed_sequence(Oid sequence);

/* Whether seqid_check_followed_sequence() would not raise an error. */
extern bool seqid_can_be_followed(Oid sequence);

/*
 * Looks once.  The sequence must have been checked.  Returns false, with only the generation
 * in *look, if a session waits to change the definition of the sequence, is changing it or has
 * changed it since the check, or if the open transaction has created its file.  Takes a
 * heavyweight lock only if it is free, and releases it.  Can write WAL, but does not flush it.
 * Must not be called during recovery.
 */
extern bool seqid_look_at_sequence(Oid sequence, Look *look);

#endif							/* SEQID_SEQUENCE_LOOK_H */
