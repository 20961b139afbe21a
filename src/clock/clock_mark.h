/*
 * clock_mark.h
 *	  The durable clock mark: no key has a later time than the mark.
 */
#ifndef SEQID_CLOCK_MARK_H
#define SEQID_CLOCK_MARK_H

#include "postgres.h"

/*
 * This backend can return keys up to this time, in milliseconds since 1970, without
 * reading the mark, because it knows that a later mark is durable.  The difference leaves
 * time to raise the mark.  Only clock_mark.c writes it.
 */
extern int64 seqid_recheck_mark_after_ms;

/*
 * Keys of this backend are later than this time, in milliseconds since 1970.  Earlier keys
 * could repeat those of an earlier server lifetime, or be below a horizon that was published;
 * see transaction_slot.c.  Only seqid_raise_key_floor() writes it.
 */
extern int64 seqid_key_floor_ms;

/* Raises the floor, unless it is already higher. */
extern void seqid_raise_key_floor(int64 ms);

/* Called from _PG_init. */
extern void seqid_watch_mark(void);

/*
 * Called by seqid_cover_with_mark().  Reads the mark's page, and can raise the mark, which
 * writes WAL, flushes it, and waits for a synchronous standby.  Raises
 * object_not_in_prerequisite_state if the mark is missing, wrong_object_type if it is not a
 * permanent sequence, data_corrupted if its page is damaged, query_canceled if the wait is
 * cancelled.
 */
extern bool seqid_advance_mark(int64 unix_ms);

/*
 * Sets *mark_ms to the mark of this database and *floor_ms to its floor, 0 for none.  Returns
 * false if the mark is missing or damaged.  Changes nothing, and does not attach to the
 * database's entry in shared memory.
 */
extern bool seqid_find_mark_times(int64 *mark_ms, int64 *floor_ms);

/*
 * Returns the random number of the server lifetime that last wrote the mark of this database.
 * On a standby, this is the last one that was replayed.  Returns 0 if the mark is missing or
 * damaged, or if setval() or ALTER SEQUENCE has written it since.  Changes nothing.
 */
extern int64 seqid_find_lifetime(void);

/* The time of the last checkpoint, a whole second, in milliseconds since 1970. */
extern int64 seqid_checkpoint_ms(void);

/*
 * Makes sure that the mark covers the keys of the millisecond unix_ms.  Must be called after
 * these keys were reserved and before they are returned.  Returns false if the floor turned
 * out to be higher.  The caller must then discard the keys and reserve others.
 */
static inline bool
seqid_cover_with_mark(int64 unix_ms)
{
	if (likely(unix_ms <= seqid_recheck_mark_after_ms))
		return true;
	return seqid_advance_mark(unix_ms);
}

#endif							/* SEQID_CLOCK_MARK_H */
