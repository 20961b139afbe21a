/*
 * snowflake_sql.h
 *	  SQL entry points of the snowflake layouts, and the checks that they share.
 */
#ifndef SEQID_SNOWFLAKE_SQL_H
#define SEQID_SNOWFLAKE_SQL_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "fmgr.h"

/*
 * Defines the SQL functions of both layouts, with the body that follows.  The arguments of the
 * body are layout and fcinfo.  It is inlined, so that the compiler can fold the constants of
 * the layout.
 */
#define SNOWFLAKE_FUNCTIONS(name, name53) \
	static pg_attribute_always_inline Datum \
	name##_of_layout(const SnowflakeLayout *layout, FunctionCallInfo fcinfo); \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) { return name##_of_layout(&snowflake_64, fcinfo); } \
	PG_FUNCTION_INFO_V1(name53); \
	Datum name53(PG_FUNCTION_ARGS) { return name##_of_layout(&snowflake_53, fcinfo); } \
	static pg_attribute_always_inline Datum \
	name##_of_layout(const SnowflakeLayout *layout, FunctionCallInfo fcinfo pg_attribute_unused())

/*
 * Raises invalid_parameter_value for a shard that the layout does not have.  The argument is a
 * bigint in SQL, so it must be checked before it is narrowed to an int.
 */
static inline void
seqid_check_shard(const SnowflakeLayout *layout, int64 shard)
{
	if (unlikely(shard < 0 || shard > snowflake_max_shard(layout)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard %lld is out of range", (long long) shard),
				 errdetail("A shard of %s ids must be between 0 and %d.",
						   layout->name, (int) snowflake_max_shard(layout))));
}

/* Returns the id.  Raises numeric_value_out_of_range if the layout has no such id. */
static inline int64
seqid_checked_id(const SnowflakeLayout *layout, int64 id)
{
	if (unlikely(id < 0 || id > snowflake_max_id(layout)))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s id %lld is out of range", layout->name, (long long) id),
				 errdetail("A %s id must be between 0 and %lld.",
						   layout->name, (long long) snowflake_max_id(layout))));
	return id;
}

#endif							/* SEQID_SNOWFLAKE_SQL_H */
