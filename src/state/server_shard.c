/*
 * server_shard.c
 *	  The shard of this server.
 *
 * The timeline is the one that the server writes, not that of the control file, which lags
 * behind a promotion.  A server that has left recovery keeps its timeline, so a backend looks
 * only once for each value of the setting, and on a standby only after the promotion.
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
seqid_report_recovery(const char *action)
{
	ereport(ERROR,
			(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
			 errmsg("cannot %s during recovery", action),
			 errhint("Connect to the primary.")));
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

	seqid_prevent_during_recovery("issue snowflake ids");
	seqid_require_settings();
	shard = seqid_find_server_shard();
	if (shard < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no shard is set"),
				 errdetail("\"seqid.shards\" is empty in this session."),
				 errhint("Pass a shard as an argument, or choose a shard for this server, for example 5, and run LOAD 'seqid', ALTER SYSTEM SET seqid.shards = '5' and SELECT pg_reload_conf() as a superuser. If the server has standbys, set \"seqid.shards\" in the configuration file of each node instead.")));
	return shard;
}

void
seqid_check_forbidden_shard(int shard)
{
	/* The set was empty if the settings were not defined yet. */
	seqid_require_settings();
	if (shard_set_has(seqid_allowed_shard_set, shard))
		return;

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("shard %d is not allowed on this server", shard),
			 seqid_allowed_shards_refused() ?
			 errdetail("The value that was set for \"seqid.allowed_shards\" is not valid, or was not set in the configuration file, so no shard is allowed.") :
			 shard == seqid_find_server_shard() ?
			 errdetail("It is the shard of timeline %u in \"seqid.shards\", which is \"%s\" (%s), but \"seqid.allowed_shards\" is \"%s\".",
					   seqid_timeline(), seqid_shards, seqid_shard_source(), seqid_allowed_shards) :
			 errdetail("\"seqid.allowed_shards\" is \"%s\".", seqid_allowed_shards),
			 seqid_allowed_shards_refused() ?
			 errhint("Set \"seqid.allowed_shards\" in postgresql.conf only, to a list such as '3, 16-31', then run SELECT pg_reload_conf() and connect again.") :
			 errhint("Use a shard of that list. If no other server issues ids of shard %d, you can add it to \"seqid.allowed_shards\" where the list is set, in postgresql.conf or with ALTER SYSTEM, and run SELECT pg_reload_conf().",
					 shard)));
}

const char *
seqid_shard_source(void)
{
	return GucSource_Names[seqid_shard_setting->source];
}
