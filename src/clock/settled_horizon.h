/*
 * settled_horizon.h
 *	  Returns the time before which keys are settled.
 */
#ifndef SEQID_SETTLED_HORIZON_H
#define SEQID_SETTLED_HORIZON_H

#include "postgres.h"

#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "clock/sequence_look.h"
#include "utils/uuid.h"

/*
 * Looks once, and does not wait for transactions.  The bound is a time in milliseconds since
 * 1970: every transaction of this database that generated a key with an earlier time has
 * ended, and no such key will be generated.  It is never less than before, in this server
 * lifetime or in an earlier one.
 *
 * The commits of those that have ended can still have to be flushed.  Can raise the durable
 * mark, and raises its errors; see clock_mark.h.  Must not be called during recovery.
 */
extern Look seqid_look_at_keys(void);

/*
 * Returns the random number of this server lifetime, which no other primary has, and logs
 * it on the page of the mark.  Does not flush it.  Raises the errors of clock_mark.h.  Must
 * not be called during recovery.
 */
extern int64 seqid_log_lifetime(void);

/*
 * Returns the smallest id with a time: settled ids are less.  After the end of the layout's
 * time, returns its largest id plus 1, or the largest bigint; the smallest bigint for a
 * time before the first one.
 */
static inline int64
settled_snowflake_bound(const SnowflakeLayout *layout, int64 horizon_ms)
{
	if (horizon_ms < layout->epoch_unix_ms)
		return PG_INT64_MIN;
	if (horizon_ms > snowflake_last_ms(layout))
		return Min(snowflake_max_id(layout), PG_INT64_MAX - 1) + 1;
	return snowflake_id(layout, horizon_ms, 0, 0);
}

/* The smallest COMB with a time, as a new object. */
static inline pg_uuid_t *
settled_comb_bound(int64 horizon_ms)
{
	return uuid_store(palloc(UUID_LEN),
					  comb_compose(tick_of_ms(COMB_FRACTION_BITS, Max(horizon_ms, 0)), 0));
}

#endif							/* SEQID_SETTLED_HORIZON_H */
