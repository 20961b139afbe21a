/*
 * guc.c
 *	  The settings of seqid.
 *
 * The settings determine which ids this server issues.  Ordinary users cannot change them,
 * because a session that used the shard of another server could repeat its ids.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/text_input.h"
#include "state/guc.h"
#include "utils/guc_tables.h"

/* A hundred years. */
#define MAX_LEAD_MS	(100.0 * 365 * 24 * 60 * 60 * 1000)

char	   *seqid_shards = NULL;
const ShardSetting *seqid_shard_setting = NULL;
uint64		seqid_shard_setting_changes = 0;
double		seqid_max_lead_ms = 10000;
char	   *seqid_allowed_shards = NULL;
static const ShardSet no_shards;
const ShardSet *seqid_allowed_shard_set = &no_shards;	/* until it is defined */
bool		seqid_settings_defined = false;

/*
 * Before the library is loaded, the server accepts any value of seqid.allowed_shards from any
 * user.  When the library defines the setting, the server replaces a value that is not valid,
 * or was not permitted, with the default.  The default lists all shards, which would be a way
 * around the list.  Therefore, if a value was set before and was replaced, the default allows
 * no shard, also in parallel workers, which receive it from their leader.
 */
static bool none_by_default = false;

/* Stored by the server together with the text of seqid.allowed_shards. */
typedef struct AllowedShards
{
	ShardSet	set;
	bool		by_default;
} AllowedShards;

/* Parses a list.  If it is not valid, sets the detail and hint of the error. */
static bool
read_list(const char *text, ShardList *list)
{
	const char *where;
	const char *why;

	if (seqid_parse_shard_list(text, list, &where, &why))
		return true;

	GUC_check_errdetail("\"%s\" %s.", seqid_quotable(where, strlen(where)), why);
	GUC_check_errhint("Write numbers and ranges, separated by commas, for example '3, 16-31'.");
	return false;
}

static bool
check_shards(char **newval, void **extra, GucSource source)
{
	ShardSetting *setting;
	ShardList	list = {.count = 0};

	if (**newval != '\0' && !read_list(*newval, &list))
		return false;
	/* Otherwise two timelines of a cluster could have the same shard. */
	if (list.repeats)
	{
		GUC_check_errdetail("The list \"%s\" contains a shard twice.",
							seqid_quotable(*newval, strlen(*newval)));
		return false;
	}

	setting = compat_guc_malloc(sizeof(ShardSetting));
	if (setting == NULL)
		return false;
	setting->list = list;
	setting->source = source;
	*extra = setting;
	return true;
}

/*
 * Logs a shard of seqid.shards that seqid.allowed_shards does not contain, so that an
 * administrator can correct the lists before a promotion makes it the shard of this server.  A
 * session logs it when it loads the library.  If the library is preloaded, the postmaster logs
 * it when the configuration is reloaded.
 */
static void
warn_of_forbidden_shards(void)
{
	int			shard = seqid_shard_not_in_set(&seqid_shard_setting->list,
											   seqid_allowed_shard_set);

	/* The leader has logged it; its parallel workers need not. */
	if (shard >= 0 && !IsParallelWorker())
		ereport(LOG,
				(errmsg("shard %d in \"seqid.shards\" is not in \"seqid.allowed_shards\"", shard),
				 errdetail("When a promotion makes it the shard of this server, the server cannot issue ids."),
				 errhint("Correct one of the two settings in postgresql.conf, and run SELECT pg_reload_conf().")));
}

static void
warn_after_reload(void)
{
	if (seqid_settings_defined && !IsUnderPostmaster)
		warn_of_forbidden_shards();
}

static void
assign_shards(const char *newval pg_attribute_unused(), void *extra)
{
	seqid_shard_setting = extra;
	seqid_shard_setting_changes++;
	warn_after_reload();
}

static bool
check_allowed_shards(char **newval, void **extra, GucSource source)
{
	AllowedShards *shards;
	ShardList	list;

	if (!read_list(*newval, &list))
		return false;

	shards = compat_guc_malloc(sizeof(AllowedShards));
	if (shards == NULL)
		return false;
	shards->set = list.set;
	shards->by_default = (source == PGC_S_DEFAULT);
	*extra = shards;
	return true;
}

static void
assign_allowed_shards(const char *newval pg_attribute_unused(), void *extra)
{
	const AllowedShards *shards = extra;

	seqid_allowed_shard_set = shards->by_default && none_by_default ? &no_shards : &shards->set;
	warn_after_reload();
}

bool
seqid_allowed_shards_refused(void)
{
	return seqid_allowed_shard_set == &no_shards;
}

static void
define_allowed_shards(void)
{
	static char all_shards[16]; /* must outlive the setting */

	snprintf(all_shards, sizeof(all_shards), "0-%d", SHARD_LIST_SHARDS - 1);
	none_by_default = compat_setting_has_value("seqid.allowed_shards");

	/*
	 * A dump, a replica and ALTER DATABASE carry seqid.shards and the shards
	 * in column defaults from one server to another.  This setting stays with
	 * the machine, so it can be set only in the configuration file.
	 */
	DefineCustomStringVariable("seqid.allowed_shards",
							   "Sets the shards whose snowflake ids this server can issue.",
							   "A list of numbers and ranges, separated by commas.",
							   &seqid_allowed_shards,
							   all_shards,
							   PGC_SIGHUP, 0,
							   check_allowed_shards, assign_allowed_shards, NULL);

	/*
	 * If the list of the file was accepted, removing it later allows all
	 * shards again, as in a new session.  A parallel worker skips this,
	 * because its leader might have refused the list.
	 */
	if (!IsParallelWorker() && !seqid_allowed_shards_refused())
		none_by_default = false;
}

static void
define_settings(void)
{
	DefineCustomStringVariable("seqid.shards",
							   "Sets the shard of this server, or a list from which each timeline takes one.",
							   "Functions for snowflake ids use it if they are called without a shard.",
							   &seqid_shards,
							   "",
							   PGC_SUSET, 0,
							   check_shards, assign_shards, NULL);

	define_allowed_shards();

	/*
	 * The default is large enough for small corrections of the clock, and so
	 * small that the times in ids remain useful.  The type is real because an
	 * integer number of milliseconds would end after 24 days.
	 */
	DefineCustomRealVariable("seqid.max_lead",
							 "Sets how far new snowflake ids can be ahead of the clock.",
							 "If the clock was set back further, functions fail instead of generating ids.",
							 &seqid_max_lead_ms,
							 10000, 0, MAX_LEAD_MS,
							 PGC_SUSET, GUC_UNIT_MS,
							 NULL, NULL, NULL);

	MarkGUCPrefixReserved("seqid");
	seqid_settings_defined = true;
	warn_of_forbidden_shards();
}

/*
 * Settings are not defined during a parallel query, because the server would then replace
 * values that were set before with the defaults for the rest of the session.
 */
void
seqid_define_settings(bool required)
{
	if (!IsInParallelMode())
		define_settings();
	else if (required)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("settings of seqid are not known yet"),
				 errdetail("This session called seqid for the first time in a parallel query, during which settings cannot be defined."),
				 errhint("Run SELECT snowflake_shard(0) before the query, or add seqid to \"session_preload_libraries\".")));
}
