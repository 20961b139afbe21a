/*
 * guc.h
 *	  The settings of seqid.
 */
#ifndef SEQID_GUC_H
#define SEQID_GUC_H

#include "bits/shard_list.h"
#include "utils/guc.h"

/* The value of seqid.shards. */
typedef struct ShardSetting
{
	ShardList	list;			/* can be empty */
	GucSource	source;			/* where the setting was made */
} ShardSetting;

extern char *seqid_shards;
extern const ShardSetting *seqid_shard_setting;

/* Number of assignments so far.  Values derived from an earlier one are no longer valid. */
extern uint64 seqid_shard_setting_changes;

/*
 * False if the library was loaded during a parallel query, when settings cannot be
 * defined.  The other variables are then meaningless, except that the set of allowed
 * shards is empty.
 */
extern bool seqid_settings_defined;

/* Largest lead of snowflake ids over the clock, in milliseconds. */
extern double seqid_max_lead_ms;

/* The shards whose ids this server can issue, as text and as a set. */
extern char *seqid_allowed_shards;
extern const ShardSet *seqid_allowed_shard_set;

/*
 * True if the server did not accept the value that was set for seqid.allowed_shards.
 * The set is then empty, although the text shows the default.
 */
extern bool seqid_allowed_shards_refused(void);

/*
 * Defines the settings, unless a parallel query is running.  In that case, raises
 * object_not_in_prerequisite_state if they are required.
 */
extern void seqid_define_settings(bool required);

/* Must be called before a setting is read, or if the set of allowed shards is empty. */
static inline void
seqid_require_settings(void)
{
	if (unlikely(!seqid_settings_defined))
		seqid_define_settings(true);
}

#endif							/* SEQID_GUC_H */
