/*
 * server_shard.c
 *	  The shard of this server, for snowflake_nextval() without an argument.
 *
 * The timeline is the one that the server writes.  The control file is not asked
 * because it lags behind a promotion.  A server that has left recovery keeps its
 * timeline, so a backend looks once for each value of the setting.  A backend that
 * started on a standby looks when it generates its first id after the promotion.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "state/server_shard.h"
#include "utils/guc_tables.h"

ServerShard seqid_found_server_shard = {-1, PG_UINT64_MAX};

uint32
seqid_timeline(void)
{
	return RecoveryInProgress() ? 0 : GetWALInsertionTimeLine();
}

void
seqid_prevent_during_recovery(void)
{
	if (unlikely(RecoveryInProgress()))
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot issue snowflake ids during recovery")));
}

int
seqid_find_server_shard(void)
{
	const ShardList *list = &seqid_shard_setting->list;
	uint32		timeline = seqid_timeline();

	if (timeline == 0 || list->count == 0)
		return -1;

	seqid_found_server_shard.shard = list->shards[(timeline - 1) % (uint32) list->count];
	seqid_found_server_shard.changes = seqid_shard_setting_changes;
	return seqid_found_server_shard.shard;
}

int
seqid_require_server_shard(void)
{
	int			shard;

	seqid_prevent_during_recovery();
	seqid_require_settings();
	shard = seqid_find_server_shard();
	if (shard < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no shard is set"),
				 errdetail("\"seqid.shards\" is empty in this session; if the server was promoted, its own configuration file counts, not that of the old primary."),
				 errhint("Set \"seqid.shards\" to this server's shard or to the list of its cluster, or pass a shard.")));
	return shard;
}

void
seqid_check_forbidden_shard(int shard)
{
	/* The set is empty until the settings are defined. */
	seqid_require_settings();
	if (shard_set_has(seqid_allowed_shard_set, shard))
		return;

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("shard %d is not one that this server may issue", shard),
			 shard == seqid_find_server_shard() ?
			 errdetail("It is the shard of timeline %u in \"seqid.shards\", which is \"%s\" (%s); \"seqid.allowed_shards\" is \"%s\".",
					   seqid_timeline(), seqid_shards, seqid_shard_source(), seqid_allowed_shards) :
			 errdetail("\"seqid.allowed_shards\" is \"%s\"; after a failover, a shard that is written into a default may be that of the old primary.",
					   seqid_allowed_shards),
			 errhint("Look at \"seqid.allowed_shards\" in the configuration file: no session can set it, and where it cannot be read no shard is allowed.")));
}

const char *
seqid_shard_source(void)
{
	return GucSource_Names[seqid_shard_setting->source];
}
