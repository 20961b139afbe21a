/*
 * settled_horizon.c
 *	  Up to which time keys are settled: for readers who go by keys.
 *
 * A reader who asks for keys above the last one he saw misses a row whose
 * transaction drew earlier and commits later.  So he reads no further than
 * the horizon: the time before which no key is drawn any more, or, if that is earlier,
 * the least that a transaction which is still open is listed with.  Writers
 * wait for nobody; what they do is in transaction_slot.c, with the invariants.
 *
 * What was told is a promise that outlives the server: keys after a crash, with the
 * clock set back, must not be drawn below it.  So nothing is raised, let alone told,
 * before the durable mark covers it, and the horizon starts above the floor that an
 * earlier life has left.
 *
 * It does not go back either.  A transaction may be listed with an earlier time
 * than was told before: the time that was raised when it looked first, while its keys
 * start at the one when it looked again.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "clock/clock_mark.h"
#include "clock/mark_page.h"
#include "clock/settled_horizon.h"
#include "clock/transaction_slot.h"
#include "miscadmin.h"
#include "pg/test_stop.h"
#include "pg/wall_clock.h"
#include "state/database_state.h"

/*
 * The time that no key shall be earlier than from now on: the clock's, and not
 * before what an earlier life of the server may have told.  The mark covers it.
 */
static int64
covered_now_ms(void)
{
	int64		now_ms;

	do
	{
		now_ms = Max(wall_clock_read_ms(), seqid_key_floor_ms + 1);
		now_ms = Max(1, Min(now_ms, MARK_MAX_MS));
	} while (!seqid_cover_with_mark(now_ms) && now_ms < MARK_MAX_MS);
	return now_ms;
}

/*
 * The end of the last WAL record.  Where that is the end of a page, the server
 * points behind the header of the next one, which no replay reaches before there
 * is another record.
 */
static XLogRecPtr
insert_end(void)
{
	XLogRecPtr	lsn = GetXLogInsertRecPtr();

	if (XLogSegmentOffset(lsn, wal_segment_size) == SizeOfXLogLongPHD)
		return lsn - SizeOfXLogLongPHD;
	if (lsn % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		return lsn - SizeOfXLogShortPHD;
	return lsn;
}

int64
seqid_settle_horizon(XLogRecPtr *lsn)
{
	DatabaseState *database = seqid_database_state();
	int64		settled_ms;

	seqid_atomic_raise(&database->horizon.min_key_ms, (uint64) covered_now_ms());
	settled_ms = (int64) pg_atomic_read_u64(&database->horizon.min_key_ms);

	/* See transaction_slot.c: 2, raise before looking; 6, slots before locks. */
	pg_memory_barrier();
	test_stop(TEST_STOP_RAISED);
	settled_ms = seqid_earliest_registered_ms(settled_ms);
	pg_read_barrier();
	test_stop(TEST_STOP_SCANNED);
	settled_ms = seqid_earliest_prepared_ms(settled_ms);

	seqid_atomic_raise(&database->horizon.published_ms, (uint64) settled_ms);
	settled_ms = (int64) pg_atomic_read_u64(&database->horizon.published_ms);

	/*
	 * After the last look: whoever has ended, by our look or by that of the
	 * one who told a later time, has written his end.  A crash must not take
	 * back what a reader has seen, so it is flushed; commits mostly have done
	 * so.
	 */
	pg_read_barrier();
	*lsn = insert_end();
	XLogFlush(*lsn);

	return settled_ms;
}
