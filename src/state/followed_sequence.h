/*
 * followed_sequence.h
 *	  What the sessions that follow a sequence share.
 */
#ifndef SEQID_FOLLOWED_SEQUENCE_H
#define SEQID_FOLLOWED_SEQUENCE_H

#include "port/atomics.h"
#include "storage/lock.h"
#include "storage/lwlock.h"

/* A transaction that holds a sequence; see clock/sequence_look.c. */
typedef struct SequenceHolder
{
	VirtualTransactionId transaction;	/* invalid in a free place */
	int64		number;			/* lower limit of its values */
} SequenceHolder;

/*
 * A sequence that readers follow.  The lock of the table protects nonce, sequence and role;
 * the lock of the sequence protects the other fields.
 */
typedef struct FollowedSequence
{
	LWLock		lock;
	uint64		nonce;			/* of the database; 0 if the place is free */
	Oid			sequence;
	Oid			role;			/* that followed it first */
	pg_atomic_uint64 looked_us; /* last look, since 2000; also read unlocked */
	uint64		file;			/* of the last look, 0 before the first one */
	uint64		generation;		/* see seqid_begin_generation(); 0 for none */
	int64		next;			/* what nextval() could return then */

	/* A hash table of the holders that the last look has found. */
	SequenceHolder holders[FLEXIBLE_ARRAY_MEMBER];
} FollowedSequence;

/*
 * Returns the entry of a sequence of this database, which can be new.  The caller must release
 * its lock, which is held in exclusive mode.  Raises the errors of seqid_database_state().
 */
extern FollowedSequence *seqid_lock_followed_sequence(Oid sequence);

/* Whether a session has looked at this file of a sequence in this server lifetime. */
extern bool seqid_is_followed_file(Oid sequence, uint64 file);

/*
 * Gives the entry a generation that no entry has had in this server lifetime, without a file
 * and holders.  What sessions know of the sequence is true only for the generation in which
 * they learned it.
 */
extern void seqid_begin_generation(FollowedSequence *followed);

extern void seqid_clear_holders(FollowedSequence *followed);

/* The place of the transaction in the table of holders, or a free place if it is not there. */
extern SequenceHolder *seqid_find_holder(FollowedSequence *followed,
										 VirtualTransactionId transaction);

#endif							/* SEQID_FOLLOWED_SEQUENCE_H */
