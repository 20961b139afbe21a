/*
 * guc.h
 *	  The settings of seqid.
 */
#ifndef SEQID_GUC_H
#define SEQID_GUC_H

#include "shard_list.h"

/* The shard of snowflake_nextval() without an argument; -1 means none. */
extern int	seqid_shard_id;

/* How far a snowflake may be ahead of the clock, in milliseconds. */
extern double seqid_max_clock_regression_ms;

/* The list of shards that this server may issue, as text and as a set. */
extern char *seqid_allowed_shards;
extern const ShardSet *seqid_allowed_shard_set;

extern void seqid_define_settings(void);

#endif							/* SEQID_GUC_H */
