/*
 * clock_mark.h
 *	  The durable clock mark: no key has a later time than the mark.
 */
#ifndef SEQID_CLOCK_MARK_H
#define SEQID_CLOCK_MARK_H

#include "postgres.h"

/*
 * Both are this backend's knowledge, in milliseconds since 1970.
 *
 * Keys up to seqid_recheck_mark_after_ms are covered by a mark that is known to be
 * durable, with time to spare.
 *
 * This backend's keys have a later time than seqid_key_floor_ms: those up to it can
 * have been issued in an earlier server lifetime, or the horizon was published beyond
 * them; see transaction_slot.c.  It only ever increases, by seqid_raise_key_floor().
 */
extern int64 seqid_recheck_mark_after_ms;
extern int64 seqid_key_floor_ms;

extern void seqid_raise_key_floor(int64 ms);

/* Called from _PG_init. */
extern void seqid_watch_mark(void);

/*
 * Use seqid_cover_with_mark().  Reads the mark's page; may raise the mark, which
 * writes WAL, flushes it, and waits for a synchronous standby.
 * Raises object_not_in_prerequisite_state when the mark is missing,
 * wrong_object_type or data_corrupted when it is not what it should be,
 * query_canceled when the wait is cancelled.
 */
extern bool seqid_advance_mark(int64 unix_ms);

/*
 * The mark of this database, and its floor: keys start above it, 0 for none.  False
 * if there is no mark that could be read.  Does not attach to shared memory's entry of
 * the database, and changes nothing.
 */
extern bool seqid_find_mark_times(int64 *mark_ms, int64 *floor_ms);

/* The whole second of the last checkpoint, in milliseconds since 1970. */
extern int64 seqid_checkpoint_ms(void);

/*
 * To be called after keys of the millisecond unix_ms were reserved and before
 * they leave: makes sure that the mark covers them.  False if these keys must be
 * thrown away and others be reserved, as the floor turned out to be higher.
 */
static inline bool
seqid_cover_with_mark(int64 unix_ms)
{
	if (likely(unix_ms <= seqid_recheck_mark_after_ms))
		return true;
	return seqid_advance_mark(unix_ms);
}

#endif							/* SEQID_CLOCK_MARK_H */
