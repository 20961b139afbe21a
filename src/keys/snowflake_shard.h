/*
 * snowflake_shard.h
 *	  The check of a shard that whoever takes one from SQL makes.
 */
#ifndef SEQID_SNOWFLAKE_SHARD_H
#define SEQID_SNOWFLAKE_SHARD_H

#include "postgres.h"

#include "bits/snowflake_layout.h"

/* Raises invalid_parameter_value unless the shard is one of the layout's. */
static inline void
seqid_check_shard(const SnowflakeLayout *layout, int32 shard)
{
	if (unlikely(shard < 0 || shard > snowflake_max_shard(layout)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard %d is out of range", shard),
				 errdetail("A shard must be between 0 and %d.",
						   (int) snowflake_max_shard(layout))));
}

#endif							/* SEQID_SNOWFLAKE_SHARD_H */
