/*
 * time_range.c
 *	  Ids of a range of times, as a condition that indexes and partitions can use.
 *
 * snowflake_in(id, range) is true if and only if snowflake_timestamp(id) <@ range.  PostgreSQL
 * cannot use an index on id for the latter.  For the former, the planner replaces the call
 * with comparisons with the bounds of the range; see planner_support.c.  If a range does not
 * contain ids, its first bound is above its last one.
 */
#include "postgres.h"

#include "bits/comb_layout.h"
#include "bits/snowflake_layout.h"
#include "codec/snowflake_sql.h"
#include "codec/time_range.h"
#include "fmgr.h"
#include "pg/pg_epoch.h"
#include "utils/rangetypes.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

/* Microseconds since 1970 of the first and the last time in a range. */
typedef struct TimeSpan
{
	int64		first_us;
	int64		last_us;
} TimeSpan;

/*
 * Restricts a range to the times from least_us to greatest_us.  first_us is above last_us if
 * nothing is left.
 */
static TimeSpan
span_of_range(FunctionCallInfo fcinfo, int n, int64 least_us, int64 greatest_us)
{
	RangeType  *range = PG_GETARG_RANGE_P(n);
	TypeCacheEntry *typcache = range_get_typcache(fcinfo, RangeTypeGetOid(range));
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;
	TimestampTz least = UNIX_EPOCH_PG_US + least_us;
	TimestampTz greatest = UNIX_EPOCH_PG_US + greatest_us;
	TimestampTz first = least;
	TimestampTz last = greatest;
	TimeSpan	span = {1, 0};

	range_deserialize(typcache, range, &lower, &upper, &empty);
	if (empty)
		return span;

	/*
	 * Infinite bounds, and bounds that are infinite times, are outside of
	 * every layout.
	 */
	if (!lower.infinite)
		first = DatumGetTimestampTz(lower.val);
	if (!upper.infinite)
		last = DatumGetTimestampTz(upper.val);
	if (first > greatest || last < least)
		return span;
	first = first < least ? least : first + !(lower.infinite || lower.inclusive);
	last = last > greatest ? greatest : last - !(upper.infinite || upper.inclusive);
	span.first_us = first - UNIX_EPOCH_PG_US;
	span.last_us = last - UNIX_EPOCH_PG_US;
	return span;
}

/* The first and the last id that a range contains. */
static pg_attribute_always_inline void
snowflake_span(const SnowflakeLayout *layout, FunctionCallInfo fcinfo, int n,
			   int64 *first_id, int64 *last_id)
{
	TimeSpan	span = span_of_range(fcinfo, n, layout->epoch_unix_ms * 1000,
									 snowflake_last_ms(layout) * 1000);

	/* An id's time is the beginning of its millisecond. */
	int64		first_ms = (span.first_us + 999) / 1000;
	int64		last_ms = span.last_us / 1000;

	*first_id = snowflake_max_id(layout);
	*last_id = 0;
	if (first_ms <= last_ms)
	{
		*first_id = snowflake_id(layout, first_ms, 0, 0);
		*last_id = snowflake_id(layout, last_ms, snowflake_max_shard(layout),
								snowflake_max_sequence(layout));
	}
}

/* Whether the time of an id is in a range.  False for a number that is not an id. */
SNOWFLAKE_FUNCTIONS(snowflake_in, snowflake53_in)
{
	int64		id = PG_GETARG_INT64(0);
	int64		first_id;
	int64		last_id;

	snowflake_span(layout, fcinfo, 1, &first_id, &last_id);
	PG_RETURN_BOOL(id >= first_id && id <= last_id);
}

/* Returns the largest (upper) or the smallest id whose time is in a range. */
SNOWFLAKE_FUNCTIONS(seqid_snowflake_bound, seqid_snowflake53_bound)
{
	int64		first_id;
	int64		last_id;

	snowflake_span(layout, fcinfo, 0, &first_id, &last_id);
	PG_RETURN_INT64(PG_GETARG_BOOL(1) ? last_id : first_id);
}

static void
comb_span(FunctionCallInfo fcinfo, int n, uint128 *first, uint128 *last)
{
	TimeSpan	span = span_of_range(fcinfo, n, 0, COMB_MAX_UNIX_US);

	*first = comb_compose(COMB_MAX_TICK, COMB_RANDOM_MASK);
	*last = comb_compose(0, 0);
	if (span.first_us <= span.last_us)
	{
		*first = comb_first_of_us(span.first_us);
		*last = comb_last_of_us(span.last_us);
	}
}

/*
 * Whether the time of a COMB is in a range.  Any other UUID is compared with the COMBs of the
 * range as if it were one.
 */
PG_FUNCTION_INFO_V1(comb_uuid_in);
Datum
comb_uuid_in(PG_FUNCTION_ARGS)
{
	uint128		id = uuid_number(PG_GETARG_UUID_P(0));
	uint128		first;
	uint128		last;

	comb_span(fcinfo, 1, &first, &last);
	PG_RETURN_BOOL(id >= first && id <= last);
}

/* Returns the largest (upper) or the smallest COMB whose time is in a range. */
PG_FUNCTION_INFO_V1(seqid_comb_uuid_bound);
Datum
seqid_comb_uuid_bound(PG_FUNCTION_ARGS)
{
	uint128		first;
	uint128		last;

	comb_span(fcinfo, 0, &first, &last);
	PG_RETURN_UUID_P(uuid_store(palloc(UUID_LEN), PG_GETARG_BOOL(1) ? last : first));
}
