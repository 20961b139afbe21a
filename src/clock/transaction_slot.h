/*
 * transaction_slot.h
 *	  Who is in a transaction that has drawn keys, and since which time.
 */
#ifndef SEQID_TRANSACTION_SLOT_H
#define SEQID_TRANSACTION_SLOT_H

#include "postgres.h"

#include "pg/compat.h"
#include "storage/proc.h"

/* Use seqid_register_writer(): the local id of the one that is listed. */
extern LocalTransactionId seqid_registered_lxid;

/* Called from _PG_init. */
extern void seqid_watch_transactions(void);

/* Use seqid_register_writer().  Takes no lock but for the first time. */
extern void seqid_register_new_writer(void);

/*
 * To be called before a key is reserved: from here to the end of the transaction a
 * reader can see that it holds back the horizon, and keys of this backend tell
 * no earlier time than the one it is listed with.  Raises
 * insufficient_resources errors when there is no room for the slots.
 */
static inline void
seqid_register_writer(void)
{
	if (unlikely(seqid_registered_lxid != compat_lxid(MyProc)))
		seqid_register_new_writer();
}

/*
 * The least time that a transaction of this database, which has not ended, is listed
 * with, in milliseconds since 1970, or at_most if there is none before that.  A
 * prepared transaction, which is in no process, is not among them.
 */
extern int64 seqid_earliest_registered_ms(int64 at_most);

/* The same of prepared transactions. */
extern int64 seqid_earliest_prepared_ms(int64 at_most);

/* A prepared transaction of this database that has generated keys. */
typedef struct PreparedWriter
{
	char		virtualtransaction[32]; /* as in pg_locks */
	int64		registered_ms;	/* no key of it has an earlier time */
} PreparedWriter;

/* All of them, as an array that the caller can free. */
extern PreparedWriter *seqid_prepared_writers(int *count);

/* How many slots there are, for seqid_read_slot(). */
extern int	seqid_slot_count(void);

/*
 * The time that the process with that slot is listed with and its pid; false if it
 * is in no transaction of this database that has drawn keys.
 */
extern bool seqid_read_slot(int number, int64 *registered_ms, int *pid);

#endif							/* SEQID_TRANSACTION_SLOT_H */
