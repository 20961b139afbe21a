/*
 * snowflake_codec.h
 *	  Checks that the generator and the codecs of snowflakes share.
 */
#ifndef SEQID_SNOWFLAKE_CODEC_H
#define SEQID_SNOWFLAKE_CODEC_H

#include "postgres.h"

/* Raises invalid_parameter_value unless the shard is one of the layout's. */
extern void seqid_check_shard(int32 shard);

#endif							/* SEQID_SNOWFLAKE_CODEC_H */
