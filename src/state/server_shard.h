/*
 * server_shard.h
 *	  The shard of this server, for snowflake_nextval() without an argument.
 *
 * A cluster has a list of shards, seqid.shards, the same for all its nodes, and
 * takes another one on each timeline.  PostgreSQL starts a new timeline whenever a
 * server is promoted or recovered to a point in time, so what a new primary issues
 * is apart from what the one before it issued and still issues, be that alive, cut
 * off, or lost with WAL that nobody else has.
 */
#ifndef SEQID_SERVER_SHARD_H
#define SEQID_SERVER_SHARD_H

#include "postgres.h"

#include "state/guc.h"

/* What this backend found last; use seqid_server_shard(). */
typedef struct ServerShard
{
	int			shard;
	uint64		changes;		/* seqid_shard_setting_changes at that time */
} ServerShard;

extern ServerShard seqid_found_server_shard;

/*
 * The timeline that this server writes; 0 on a standby, which writes none.
 */
extern uint32 seqid_timeline(void);

/* The shard in effect, -1 if none is set or the server is a standby. */
extern int	seqid_find_server_shard(void);

/* The same, or the error that tells why there is none. */
extern int	seqid_require_server_shard(void);

/*
 * The shard in effect.  Raises object_not_in_prerequisite_state if none is set,
 * read_only_sql_transaction on a standby.  Whether it is allowed is for the caller
 * to check.
 */
static inline int
seqid_server_shard(void)
{
	if (likely(seqid_found_server_shard.changes == seqid_shard_setting_changes))
		return seqid_found_server_shard.shard;
	return seqid_require_server_shard();
}

/* Who has set seqid.shards, in the words of pg_settings. */
extern const char *seqid_shard_source(void);

/*
 * Raises read_only_sql_transaction on a standby, which does not know what its
 * primary issues meanwhile.
 */
extern void seqid_prevent_during_recovery(void);

/*
 * To be called if seqid_allowed_shard_set does not have the shard.  Raises
 * object_not_in_prerequisite_state for one that seqid.allowed_shards does not list:
 * its ids may be issued by the server whose it is.
 */
extern void seqid_check_forbidden_shard(int shard);

#endif							/* SEQID_SERVER_SHARD_H */
