/*
 * shard_clock.c
 *	  Hands out the ticks of a shard, none of them twice.
 *
 * A shard's word in shared memory is the last tick that was reserved for it.
 * Whoever moves it forward by compare-and-exchange owns the ticks that it
 * passed; that alone makes them unique, whatever the clock does.  The clock
 * only decides how far it moves, and for that there are two more invariants:
 *
 * 1. While the clock runs forward, no word is more than SHARD_QUEUE_MS ahead of
 *	  it, and no tick is handed out before its millisecond has come.
 *
 * 2. When the clock was set back further than that, words go on from where they
 *	  are, but at the pace of the clock, see pace.h: how far they are ahead does
 *	  not grow.  So a regression that was ridden out once stays within the limit.
 *
 * The first of these makes a queue of the next milliseconds.  Everybody may claim
 * a place in the next one.  If there were no more than that, who asks for a single
 * tick among others who take whole milliseconds would have to be the first when
 * the clock ticks, again and again.  So who has waited through some milliseconds
 * may claim a place as many ahead: the longer he has waited, the fewer there are
 * who may as well.
 *
 * (A witness, which only those may call who are trusted, raises a word by as much
 * as the limit at once: that is a case of the second.)
 *
 * What the word forgets with a restart, the durable mark remembers: ticks start
 * above the mark that an earlier life of the server left, and none leaves this
 * file until the mark of this life covers it; see clock_mark.c.  As that mark
 * was ahead of the clock, a server that has just started is in case 2.
 *
 * Order of memory accesses: wherever it matters how far a word is ahead, the
 * clock is read after the word.  A clock that was read before may be older
 * than the word's last step, and would show a regression that never was.
 */
#include "postgres.h"

#include "clock/pace.h"
#include "clock/shard_clock.h"
#include "miscadmin.h"
#include "pg/pg_epoch.h"
#include "state/guc.h"

/* How many milliseconds can be claimed before they come. */
#define SHARD_QUEUE_MS	8

static void
check_time_left(const SnowflakeLayout *layout, int64 ms)
{
	if (ms > snowflake_max_ms(layout))
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("time of %s ids is used up", layout->name),
				 errdetail("The %d bits of time end at %s.",
						   layout->time_bits,
						   seqid_utc_text(layout->epoch_unix_ms + snowflake_max_ms(layout)))));
}

static void
check_clock_in_range(const SnowflakeLayout *layout, int64 clock_ms)
{
	if (clock_ms < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock is before the epoch of %s ids", layout->name),
				 errdetail("The clock is %lld ms before %s.",
						   (long long) -clock_ms,
						   seqid_utc_text(layout->epoch_unix_ms)),
				 errhint("Set the server's clock.")));

	check_time_left(layout, clock_ms);
}

static void
check_regression(const SnowflakeLayout *layout, int shard, int64 ahead_ms)
{
	if (ahead_ms > seqid_max_clock_regression_ms)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock is %lld ms behind the next %s id of shard %d",
						(long long) ahead_ms, layout->name, shard),
				 errdetail("An id may be at most %.0f ms ahead of the clock.",
						   seqid_max_clock_regression_ms),
				 errhint("Correct the clock, wait until it has caught up, or raise \"seqid.max_clock_regression\".")));
}

/* How far ahead of the clock a call may claim its place, going by its patience. */
static int64
place_in_queue(const Pace *pace)
{
	return Max(1, Min(pace->ticks, SHARD_QUEUE_MS));
}

/*
 * Waits for the millisecond of a place in the queue, which was claimed when the
 * clock showed clock_ms.  If that millisecond does not come, the clock was set back
 * or stands still: then the limit decides.  If the wait ends with an error, the
 * ticks are lost, which is only a gap.
 */
static void
wait_in_queue(const SnowflakeLayout *layout, ShardCounters *counters, int shard,
			  int64 clock_ms, int64 first_ms)
{
	pg_atomic_fetch_add_u64(&counters->waits, 1);
	if (seqid_wait_until(clock_ms + layout->epoch_unix_ms,
						 first_ms + layout->epoch_unix_ms))
		return;

	pg_atomic_fetch_add_u64(&counters->clock_regressions, 1);
	check_regression(layout, shard, first_ms - seqid_layout_clock_ms(layout));
}

int64
seqid_reserve_ahead_of_clock(const SnowflakeLayout *layout, pg_atomic_uint64 *word,
							 int shard, int at_least, int at_most, int *reserved)
{
	Pace		pace = PACE_START;
	bool		behind = false; /* has this call found the clock behind? */
	ShardCounters *counters = seqid_shard_counters(seqid_shared_state(), layout, shard);

	for (;;)
	{
		uint64		last = pg_atomic_read_u64(word);
		int64		last_ms = snowflake_tick_ms(layout, (int64) last);
		int64		clock_ms;
		int64		first;
		int64		first_ms;
		int64		ahead_ms;

		/* The clock must not be older than the word; see above. */
		pg_read_barrier();
		clock_ms = seqid_layout_clock_ms(layout);

		first = seqid_next_run(layout, (int64) last, clock_ms, at_least);
		first_ms = snowflake_tick_ms(layout, first);
		ahead_ms = first_ms - clock_ms;

		check_clock_in_range(layout, clock_ms);

		if (ahead_ms > place_in_queue(&pace) &&
			!pace_allows(&pace, last_ms, first_ms))
		{
			pg_atomic_fetch_add_u64(&counters->waits, 1);
			pace_wait(&pace, last_ms, clock_ms + layout->epoch_unix_ms);
			continue;
		}

		if (ahead_ms > SHARD_QUEUE_MS)
		{
			if (!behind)
				pg_atomic_fetch_add_u64(&counters->clock_regressions, 1);
			behind = true;
			check_regression(layout, shard, ahead_ms);
		}

		/* After the check above: if the clock is right, it is to be told. */
		check_time_left(layout, first_ms);

		if (!seqid_claim_run(layout, word, &last, first, at_most, reserved))
			continue;

		if (ahead_ms > 0 && ahead_ms <= SHARD_QUEUE_MS)
			wait_in_queue(layout, counters, shard, clock_ms, first_ms);
		return first;
	}
}
