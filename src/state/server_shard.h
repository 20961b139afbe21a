/*
 * server_shard.h
 *	  The shard of this server, for snowflake_nextval() without an argument.
 *
 * Each timeline uses the next shard of the list seqid.shards.  PostgreSQL starts a new
 * timeline whenever a server is promoted or recovered to a point in time.  A new primary
 * therefore uses a different shard than the old one, which might still be running, be cut off,
 * or be lost with WAL that no other server has.  Each node of a cluster needs its own list,
 * because nodes that are promoted independently start the same timeline.
 */
#ifndef SEQID_SERVER_SHARD_H
#define SEQID_SERVER_SHARD_H

#include "access/xlog.h"
#include "state/guc.h"

/* The timeline that this server writes, or 0 on a standby. */
extern uint32 seqid_timeline(void);

/* The shard of this server, or -1 if none is set or the server is a standby. */
extern int	seqid_find_server_shard(void);

/* The result of the last search of this backend. */
typedef struct ServerShard
{
	int			shard;
	uint64		changes;		/* seqid_shard_setting_changes at that time */
} ServerShard;

extern ServerShard seqid_found_server_shard;

/*
 * The shard of this server.  Raises object_not_in_prerequisite_state if none is set,
 * read_only_sql_transaction on a standby.  The caller must check whether the shard is
 * allowed.
 */
extern int	seqid_require_server_shard(void);
static inline int
seqid_server_shard(void)
{
	if (likely(seqid_found_server_shard.changes == seqid_shard_setting_changes))
		return seqid_found_server_shard.shard;
	return seqid_require_server_shard();
}

/* The source of the value of seqid.shards, as pg_settings shows it. */
extern const char *seqid_shard_source(void);

/*
 * Raises read_only_sql_transaction on a standby.  action completes the message "cannot ...
 * during recovery".
 */
extern void seqid_report_recovery(const char *action);

static inline void
seqid_prevent_during_recovery(const char *action)
{
	if (unlikely(RecoveryInProgress()))
		seqid_report_recovery(action);
}

/*
 * Must be called if seqid_allowed_shard_set does not contain the shard.  Raises
 * object_not_in_prerequisite_state unless seqid.allowed_shards contains it, because another
 * server could issue the same ids.
 */
extern void seqid_check_forbidden_shard(int shard);

#endif							/* SEQID_SERVER_SHARD_H */
