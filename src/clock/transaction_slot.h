/*
 * transaction_slot.h
 *	  Registers the transactions that generate keys.
 */
#ifndef SEQID_TRANSACTION_SLOT_H
#define SEQID_TRANSACTION_SLOT_H

#include "postgres.h"

#include "pg/compat.h"
#include "storage/proc.h"

/* The local id of the transaction that this process has registered for. */
extern LocalTransactionId seqid_registered_lxid;

/* Called from _PG_init. */
extern void seqid_watch_transactions(void);

/* Called by seqid_register_writer().  Takes a lock only in the first call of a session. */
extern void seqid_register_new_writer(void);

/*
 * Must be called before a key is reserved.  From then until the end of the transaction,
 * readers can see that the transaction holds back the horizon, and no key of this backend has an
 * earlier time than its slot.  Raises the errors of seqid_database_state(), and
 * object_not_in_prerequisite_state in a parallel worker whose leader has not loaded the
 * library but could prepare the transaction.
 */
static inline void
seqid_register_writer(void)
{
	if (unlikely(seqid_registered_lxid != compat_lxid(MyProc)))
		seqid_register_new_writer();
}

/*
 * Returns the earliest time with which an open transaction of this database is registered, in
 * milliseconds since 1970, or at_most if there is no earlier one.  Prepared transactions are
 * not included.
 */
extern int64 seqid_earliest_registered_ms(int64 at_most);

/* Returns the earliest time of a prepared transaction, or at_most. */
extern int64 seqid_earliest_prepared_ms(int64 at_most);

/* The number of slots, for seqid_read_slot(). */
extern int	seqid_slot_count(void);

/*
 * Sets *registered_ms to the time in a slot, and *pid to the PID of its process.  Returns
 * false if the process is not in a registered transaction of this database.
 */
extern bool seqid_read_slot(int number, int64 *registered_ms, int *pid);

#endif							/* SEQID_TRANSACTION_SLOT_H */
