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

/*
 * False where the library was loaded in the midst of a parallel query, when settings
 * cannot be defined.  The ones above then mean nothing, but for the list of allowed
 * shards, which is empty; use seqid_require_settings().
 */
extern bool seqid_settings_defined;

/* How far a snowflake may be ahead of the clock, in milliseconds. */
extern double seqid_max_clock_regression_ms;

/* The list of shards that this server may issue, as text and as a set. */
extern char *seqid_allowed_shards;
extern const ShardSet *seqid_allowed_shard_set;

/* Called from _PG_init. */
extern void seqid_define_settings(void);

/*
 * Use seqid_require_settings(): defines what could not be defined when the library
 * was loaded.
 */
extern void seqid_define_settings_late(void);

/*
 * To be called before a setting is looked at, but where an empty list of allowed
 * shards leads here.  Raises object_not_in_prerequisite_state while the parallel
 * query goes on.
 */
static inline void
seqid_require_settings(void)
{
	if (unlikely(!seqid_settings_defined))
		seqid_define_settings_late();
}

#endif							/* SEQID_GUC_H */
