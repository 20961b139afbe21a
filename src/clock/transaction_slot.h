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

/* Use seqid_register_writer().  Takes a lock only in the first call of a session. */
extern void seqid_register_new_writer(void);

/*
 * Must be called before a key is reserved.  From here to the end of the transaction,
 * readers can see that it holds the horizon, and keys of this backend have no earlier
 * time than its slot.  Raises the errors of seqid_database_state(), and
 * object_not_in_prerequisite_state in a parallel worker whose leader could prepare the
 * transaction without the library.
 */
static inline void
seqid_register_writer(void)
{
	if (unlikely(seqid_registered_lxid != compat_lxid(MyProc)))
		seqid_register_new_writer();
}

/*
 * The earliest time of the open transactions of this database that are registered, in
 * milliseconds since 1970, or at_most if no time is earlier than that.  Prepared
 * transactions are not included.
 */
extern int64 seqid_earliest_registered_ms(int64 at_most);

/* The earliest time of prepared transactions, or at_most. */
extern int64 seqid_earliest_prepared_ms(int64 at_most);

/* The number of slots, for seqid_read_slot(). */
extern int	seqid_slot_count(void);

/*
 * Returns the time in a slot and the pid of its process.  False if the process is not
 * in a registered transaction of this database.
 */
extern bool seqid_read_slot(int number, int64 *registered_ms, int *pid);

#endif							/* SEQID_TRANSACTION_SLOT_H */
