/*
 * sequence_slot.h
 *	  Registers the transactions that call settled_nextval().
 */
#ifndef SEQID_SEQUENCE_SLOT_H
#define SEQID_SEQUENCE_SLOT_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "pg/compat.h"
#include "state/database_state.h"
#include "storage/buf.h"
#include "storage/proc.h"

/* The sequences that the open transaction of this process has registered for. */
typedef struct OwnSequences
{
	LocalTransactionId lxid;	/* the transaction's */
	int			count;
	struct
	{
		Oid			sequence;
		bool		checked;	/* and not altered since */
		int64		last;
	}			entries[SEQUENCE_ENTRIES];
} OwnSequences;

extern OwnSequences seqid_own_sequences;

/* Called from _PG_init. */
extern void seqid_watch_sequences(void);

/*
 * Returns true if the open transaction is registered for the sequence, which has not been
 * altered or replaced since it was checked.  Its values are then greater than *last.
 */
static inline bool
seqid_is_registered(Oid sequence, int64 *last)
{
	const OwnSequences *own = &seqid_own_sequences;

	if (unlikely(own->lxid != compat_lxid(MyProc)))
		return false;
	for (int i = 0; i < own->count; i++)
	{
		if (own->entries[i].sequence == sequence)
		{
			*last = own->entries[i].last;
			return own->entries[i].checked;
		}
	}
	return false;
}

/*
 * Returns the last value of a sequence and sets *lsn to that of the record that wrote the
 * page.  A sequence that has not been called has the value before its first one.  Raises
 * data_corrupted if the page is damaged.  The buffer must be locked in any mode.
 */
extern int64 seqid_read_last_value(Buffer buffer, XLogRecPtr *lsn);

/*
 * From here to the end of the transaction, readers can see that it holds the sequence at
 * the value that is returned, the sequence's last one.  The caller must have a lock on the
 * sequence that excludes ALTER SEQUENCE, and must have checked its definition.  buffer
 * is that of its page.  Takes a lock on it, so it must not be locked.  Raises
 * configuration_limit_exceeded if the transaction has no entry left, data_corrupted, and
 * the errors of seqid_dynamic_state().
 */
extern int64 seqid_register_sequence(Oid sequence, Buffer buffer);

/* Without an entry: PREPARE TRANSACTION will be refused. */
extern void seqid_refuse_prepare(void);

/*
 * The least value at which open transactions of this database hold the sequence, or
 * at_most if none is less.
 */
extern int64 seqid_least_held_value(Oid sequence, int64 at_most);

/* An entry of an open transaction. */
typedef struct SequenceHolder
{
	int			pid;
	Oid			sequence;
	int64		last;
} SequenceHolder;

/*
 * Reads an entry, counted from 0, of the process with that number in
 * ProcGlobal->allProcs.  False if the process is not in a transaction of this database
 * that has registered for so many sequences.
 */
extern bool seqid_read_sequence_entry(int process, int number, SequenceHolder *holder);

#endif							/* SEQID_SEQUENCE_SLOT_H */
