/*
 * guc.h
 *	  The settings of seqid.
 */
#ifndef SEQID_GUC_H
#define SEQID_GUC_H

#include "bits/shard_list.h"
#include "utils/guc.h"

/* The list of shards for snowflake_nextval() without an argument. */
typedef struct ShardSetting
{
	ShardList	list;			/* may be empty */
	GucSource	source;			/* who has set it */
} ShardSetting;

extern char *seqid_shards;
extern const ShardSetting *seqid_shard_setting;

/* How often that was set: who keeps what he made of it looks at this. */
extern uint64 seqid_shard_setting_changes;

/* How far a snowflake may be ahead of the clock, in milliseconds. */
extern double seqid_max_clock_regression_ms;

/* The list of shards that this server may issue, as text and as a set. */
extern char *seqid_allowed_shards;
extern const ShardSet *seqid_allowed_shard_set;

extern void seqid_define_settings(void);

#endif							/* SEQID_GUC_H */
