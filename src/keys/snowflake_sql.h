/*
 * snowflake_sql.h
 *	  What stands between SQL and the functions of snowflakes.
 *
 * Each function is written once and takes the layout; SQL has one of each for
 * every layout, named alike: snowflake_nextval(), snowflake53_nextval().
 */
#ifndef SEQID_SNOWFLAKE_SQL_H
#define SEQID_SNOWFLAKE_SQL_H

#include "postgres.h"

#include "bits/snowflake_layout.h"
#include "fmgr.h"

/*
 * Defines SQL's function of that name, which calls body(layout, fcinfo).  The body
 * is to be always inlined, so that its constant layout folds away.
 */
#define LAYOUT_PG_FUNCTION_INFO_V1(name, body, layout) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) \
	{ \
		return body(&(layout), fcinfo); \
	} \
	extern Datum name(PG_FUNCTION_ARGS)

/* Raises invalid_parameter_value unless the shard is one of the layout's. */
static inline void
seqid_check_shard(const SnowflakeLayout *layout, int32 shard)
{
	if (unlikely(shard < 0 || shard > snowflake_max_shard(layout)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard %d is out of range", shard),
				 errdetail("A shard of %s ids must be between 0 and %d.",
						   layout->name, (int) snowflake_max_shard(layout))));
}

/* The id, or numeric_value_out_of_range unless it is one of the layout's. */
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
