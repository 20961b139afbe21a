/*
 * settled_horizon.c
 *	  Returns the time before which keys are settled.
 *
 * The horizon is the time before which keys are no longer generated or, if that is earlier,
 * the earliest time of a registered transaction that is still open.  transaction_slot.c
 * contains the writers' part of the protocol, and the invariants.
 *
 * A published horizon is a promise that outlives the server: no key below it can be generated,
 * even if the clock is set back after a crash.  So the durable mark covers the minimum key
 * time before a reader raises it, and the horizon starts above the floor of this server
 * lifetime.
 *
 * The horizon does not go back either.  The slot of a transaction can contain an earlier time
 * than the published one, because it contains the minimum key time that the transaction read
 * first, but its keys start at the minimum that it read last.  So published_ms is kept.
 */
#include "postgres.h"

#include "clock/clock_mark.h"
#include "clock/mark_page.h"
#include "clock/settled_horizon.h"
#include "clock/transaction_slot.h"
#include "pg/test_stop.h"
#include "pg/wall_clock.h"
#include "state/database_state.h"

/*
 * Returns the new minimum key time, which the mark covers.  This is the time of the clock, but
 * above the floor, up to which an earlier server lifetime can have published the horizon.
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

int64
seqid_log_lifetime(void)
{
	int64		lifetime = (int64) seqid_database_state()->mark.nonce;

	/*
	 * If this backend still relies on a mark that setval() has replaced,
	 * nothing is written, and standbys do not find the number until the mark
	 * is raised the next time.
	 */
	if (seqid_find_lifetime() != lifetime)
		(void) covered_now_ms();
	return lifetime;
}

Look
seqid_look_at_keys(void)
{
	DatabaseState *database = seqid_database_state();
	int64		before_ms = (int64) pg_atomic_read_u64(&database->horizon.min_key_ms);
	int64		now_ms;
	int64		settled_ms;

	/* Nothing has to be flushed, and there is one generation. */
	Look		look = {0};

	seqid_atomic_raise(&database->horizon.min_key_ms, (uint64) covered_now_ms());
	now_ms = (int64) pg_atomic_read_u64(&database->horizon.min_key_ms);

	/* transaction_slot.c: raise before the scan (2), slots before locks (7). */
	pg_memory_barrier();
	test_stop(TEST_STOP_RAISED);
	settled_ms = seqid_earliest_registered_ms(now_ms);
	pg_read_barrier();
	test_stop(TEST_STOP_SCANNED);
	settled_ms = seqid_earliest_prepared_ms(settled_ms);

	/* Transactions that began after the previous look have its time. */
	look.goal = settled_ms < before_ms ? settled_ms : now_ms;
	look.unwatched_ms = now_ms - before_ms;

	/* This can be a bound that another session published after its scan. */
	seqid_atomic_raise(&database->horizon.published_ms, (uint64) settled_ms);
	look.bound = (int64) pg_atomic_read_u64(&database->horizon.published_ms);
	pg_read_barrier();
	return look;
}
