/*
 * database_state.h
 *	  What the sessions of one database share.
 *
 * Each database that generates keys has an entry in a dynamic segment of shared memory.  An
 * entry without sessions can be started again.  For its database, this has the effect of a
 * restart of the server: the next key starts above the durable mark.
 */
#ifndef SEQID_DATABASE_STATE_H
#define SEQID_DATABASE_STATE_H

#include "pg/compat.h"
#include "state/shared_state.h"
#include "storage/proc.h"

/* How many databases can generate keys in one server lifetime. */
#ifndef DATABASE_STATES
#define DATABASE_STATES	4096
#endif

/*
 * Each database has its own fields, because the mark of one database, or a clock that was
 * wrong while only this one generated keys, must not move the keys of another.
 *
 * The fields are lock-free and only ever increase, unless stated otherwise.
 */
typedef struct DatabaseState
{
	/* Sessions that generate COMBs write this line, so nothing else is in it. */
	struct
	{
		pg_atomic_uint64 tick;	/* the last one reserved, 0 for none */
		char		padding[SHARED_STATE_LINE_SIZE - sizeof(pg_atomic_uint64)];
	}			comb;

	/* See clock_mark.c.  Marks are in milliseconds since 1970. */
	struct
	{
		/*
		 * A positive random number, which is different each time that the
		 * entry is started.  Constant while a session is attached.
		 */
		uint64		nonce;

		pg_atomic_uint64 floor_ms;	/* the highest of other nonces */
		pg_atomic_uint64 highest_ms;	/* the highest of this one, 0 for none */
		pg_atomic_uint64 writes;	/* how many times the mark was written */

		/*
		 * The file of the mark, if its creation is known to be durable,
		 * otherwise 0.  Lock-free; can change to any other file.
		 */
		pg_atomic_uint64 durable_file;
	}			mark;

	/* See transaction_slot.c.  Times are in milliseconds since 1970. */
	struct
	{
		/*
		 * A transaction that registers from now on does not generate keys
		 * with an earlier time.  Never 0, and never beyond a durable mark.
		 */
		pg_atomic_uint64 min_key_ms;

		/* No key under this nonce is earlier; 0 until known.  Set once. */
		pg_atomic_uint64 first_key_ms;

		/* The last horizon that was returned, 0 for none. */
		pg_atomic_uint64 published_ms;
	}			horizon;
} DatabaseState;

/*
 * The database that an entry belongs to.  Protected by AddinShmemInitLock, but the OID is also
 * read without this lock, and sessions detach without it.
 */
typedef struct DatabaseOwner
{
	pg_atomic_uint32 database;	/* InvalidOid: this entry and those after it
								 * have never been used */
	pg_atomic_uint32 sessions;	/* attached to the entry */

	/* These identify the database's file PG_VERSION; see database_state.c. */
	uint64		inode;
	int64		written_ns;
} DatabaseOwner;

/* The dynamic segment. */
typedef struct DynamicState
{
	DatabaseOwner owners[DATABASE_STATES];
	DatabaseState databases[DATABASE_STATES];
	pg_atomic_uint64 transaction_slots[FLEXIBLE_ARRAY_MEMBER];
} DynamicState;

/*
 * The slot of the process with that number in ProcGlobal->allProcs.  It contains the time
 * with which a transaction is registered << SLOT_TRANSACTION_BITS | bits of its virtual id, or
 * 0 if it was never used; see transaction_slot.c.  Consecutive processes have slots in
 * consecutive cache lines.
 */
#define SLOT_TRANSACTION_BITS	16
extern pg_atomic_uint64 *seqid_slot(DynamicState *state, int number);

/*
 * The bits of a slot for the open transaction of a process.  Before 17, a PGPROC can have
 * processes with different backend ids in turn.  Each backend id has its own count of
 * transactions, and the counts are often close.  The factor keeps apart the bits of close
 * counts, because it leads neighboring backend ids to distant numbers.
 */
static inline uint16
seqid_transaction_bits(const PGPROC *proc)
{
	return (uint16) (compat_lxid(proc) + 40503 * (uint32) compat_process(proc));
}

/* Whether the slot belongs to the open transaction of that process. */
static inline bool
seqid_slot_names(uint64 slot, const PGPROC *proc)
{
	return slot != 0 && compat_lxid(proc) != InvalidLocalTransactionId &&
		(uint16) slot == seqid_transaction_bits(proc);
}

/*
 * Maps the dynamic segment into this process, which must not be the postmaster.  The first
 * session of a server lifetime creates the segment.  Raises insufficient_resources errors if
 * there is no room.  The second function returns whether the segment exists.
 */
extern DynamicState *seqid_dynamic_state(void);
extern bool seqid_dynamic_state_exists(void);

/*
 * The entry of this session's database, to which the first call attaches the session until
 * it ends.  That takes a lock, and raises configuration_limit_exceeded if all entries belong
 * to other databases, and the errors of seqid_dynamic_state().
 */
extern DatabaseState *seqid_attached_database;
extern DatabaseState *seqid_attach_database(void);

static inline DatabaseState *
seqid_database_state(void)
{
	if (likely(seqid_attached_database != NULL))
		return seqid_attached_database;
	return seqid_attach_database();
}

/*
 * The entry of this database, or NULL if it has none.  For statistics: does not
 * attach, so the entry can be started again while the caller reads it.
 */
extern DatabaseState *seqid_find_database_state(void);

#endif							/* SEQID_DATABASE_STATE_H */
