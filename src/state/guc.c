/*
 * guc.c
 *	  The settings of seqid.
 *
 * All decide which ids a server may issue, so none is an ordinary user's to
 * change: a session that picked another server's shard could repeat its ids.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "bits/snowflake_layout.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/text_input.h"
#include "state/guc.h"

/* A hundred years. */
#define MAX_CLOCK_REGRESSION_MS	(100.0 * 365 * 24 * 60 * 60 * 1000)

char	   *seqid_shards = NULL;
const ShardSetting *seqid_shard_setting = NULL;
uint64		seqid_shard_setting_changes = 0;
double		seqid_max_clock_regression_ms = 10000;
char	   *seqid_allowed_shards = NULL;
static const ShardSet no_shards;
const ShardSet *seqid_allowed_shard_set = &no_shards;

/* Until then, hooks are called with some of the settings. */
bool		seqid_settings_defined = false;

/* What the server keeps for us beside the text of a list. */
typedef struct AllowedShards
{
	ShardSet	set;
	bool		by_default;
} AllowedShards;

/* Tells what is wrong with a list that cannot be read. */
static bool
read_list(const char *text, ShardList *list)
{
	const char *where;
	const char *why;

	if (seqid_parse_shard_list(text, list, &where, &why))
		return true;

	GUC_check_errdetail("\"%s\" %s.", seqid_quotable(where, strlen(where)), why);
	GUC_check_errhint("Use numbers from 0 to %d and ranges, separated by commas, such as \"3, 16-31\".",
					  SHARD_LIST_SHARDS - 1);
	return false;
}

static bool
check_shards(char **newval, void **extra, GucSource source)
{
	ShardSetting *setting;
	ShardList	list = {.count = 0};

	if (**newval != '\0' && !read_list(*newval, &list))
		return false;
	if (list.repeats)
	{
		/* The shard of one promotion would be that of another, soon after. */
		GUC_check_errdetail("\"%s\" names a shard twice.",
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
 * Tells the server's log if seqid.shards lists a shard that seqid.allowed_shards
 * does not, before the promotion that would make it this server's.  Of a reload,
 * the postmaster tells, if the library is preloaded; otherwise each session that
 * loads it.
 */
static void
warn_of_forbidden_shards(void)
{
	int			shard = seqid_shard_not_in_set(&seqid_shard_setting->list,
											   seqid_allowed_shard_set);

	/* What the leader has told need not be told by its workers. */
	if (shard >= 0 && !IsParallelWorker())
		ereport(LOG,
				(errmsg("shard %d in \"seqid.shards\" is not in \"seqid.allowed_shards\"", shard),
				 errdetail("A promotion may make it the shard of this server, which would issue no ids then."),
				 errhint("List all shards of the cluster in \"seqid.allowed_shards\" of each node.")));
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

/*
 * Until the library is loaded, anybody can set anything of the name of our
 * setting in a session; and a list in the configuration file is not looked at.
 * What cannot stand is dropped when the setting is defined, with a warning, and
 * the default takes its place: all shards.  That must not be a way around the
 * list.  So where anything had been set before, the default means no shard;
 * here, as in parallel workers, which are given the leader's default.
 */
static bool default_is_nothing = false;

/* Whether a list other than the default has been accepted. */
static bool list_accepted = false;

static bool
check_allowed_shards(char **newval, void **extra, GucSource source)
{
	AllowedShards *allowed;
	ShardList	list;

	if (!read_list(*newval, &list))
		return false;

	allowed = compat_guc_malloc(sizeof(AllowedShards));
	if (allowed == NULL)
		return false;
	allowed->set = list.set;
	allowed->by_default = (source == PGC_S_DEFAULT);
	*extra = allowed;

	if (!allowed->by_default)
		list_accepted = true;
	return true;
}

static void
assign_allowed_shards(const char *newval pg_attribute_unused(), void *extra)
{
	const AllowedShards *allowed = extra;

	if (allowed->by_default && default_is_nothing)
		seqid_allowed_shard_set = &no_shards;
	else
		seqid_allowed_shard_set = &allowed->set;
	warn_after_reload();
}

static void
define_allowed_shards(void)
{
	static char all_shards[16]; /* for as long as the setting */

	snprintf(all_shards, sizeof(all_shards), "0-%d", SHARD_LIST_SHARDS - 1);
	default_is_nothing =
		GetConfigOption("seqid.allowed_shards", true, false) != NULL;

	/*
	 * Set where several servers draw ids for the same tables.  A dump, a
	 * replica or a copied ALTER DATABASE carries the shards of its origin
	 * along; this one belongs to the machine, so it is read from the
	 * configuration file only.
	 */
	DefineCustomStringVariable("seqid.allowed_shards",
							   "Lists the shards whose snowflake ids this server may issue.",
							   "Numbers and ranges with commas between them.",
							   &seqid_allowed_shards,
							   all_shards,
							   PGC_SIGHUP,
							   0,
							   check_allowed_shards,
							   assign_allowed_shards,
							   NULL);

	/*
	 * When preloaded, no session comes before us: a list that is taken out of
	 * the file later leaves the real default.
	 */
	if (process_shared_preload_libraries_in_progress && list_accepted)
		default_is_nothing = false;
}

static void
define_settings(void)
{
	/*
	 * Set to one shard for a server that stands alone, so that tables need
	 * not name it; to a list for a cluster, the same on all its nodes.
	 */
	DefineCustomStringVariable("seqid.shards",
							   "Sets the shard of this server's snowflake ids, or lists those of its cluster.",
							   "Of a list, each timeline of the server takes another one.",
							   &seqid_shards,
							   "",
							   PGC_SUSET,
							   0,
							   check_shards,
							   assign_shards,
							   NULL);

	define_allowed_shards();

	/*
	 * Large enough for a clock that is corrected by hand or by a restarted
	 * time daemon; small enough that ids still tell when they were made.  A
	 * real number, as milliseconds in an integer end after 24 days.
	 */
	DefineCustomRealVariable("seqid.max_clock_regression",
							 "Sets how far a new id may be ahead of a clock that was set back.",
							 NULL,
							 &seqid_max_clock_regression_ms,
							 10000,
							 0,
							 MAX_CLOCK_REGRESSION_MS,
							 PGC_SUSET,
							 GUC_UNIT_MS,
							 NULL,
							 NULL,
							 NULL);

	MarkGUCPrefixReserved("seqid");
	seqid_settings_defined = true;
	warn_of_forbidden_shards();
}

/*
 * In a parallel query, what was set before would be dropped, with a warning, as
 * nothing can be set then; and so it would stay for the whole session.
 */
void
seqid_define_settings(void)
{
	if (!IsInParallelMode())
		define_settings();
}

void
seqid_define_settings_late(void)
{
	if (IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("settings of seqid are not known yet"),
				 errdetail("The session has used seqid in a parallel query first, and settings cannot be defined while that goes on."),
				 errhint("Add seqid to \"shared_preload_libraries\" or \"session_preload_libraries\", or execute LOAD 'seqid' before.")));
	define_settings();
}
