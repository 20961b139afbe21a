/*
 * guc.c
 *	  The settings of seqid.
 *
 * All decide which ids a server may issue, so none is an ordinary user's to
 * change: a session that picked another server's shard could repeat its ids.
 */
#include "postgres.h"

#include "compat.h"
#include "guc.h"
#include "snowflake_layout.h"

/* A hundred years. */
#define MAX_CLOCK_REGRESSION_MS	(100.0 * 365 * 24 * 60 * 60 * 1000)

int			seqid_shard_id = -1;
double		seqid_max_clock_regression_ms = 10000;
char	   *seqid_allowed_shards = NULL;
const ShardSet *seqid_allowed_shard_set = NULL;

/* What the server keeps for us beside the text of a list. */
typedef struct AllowedShards
{
	ShardSet	set;
	bool		by_default;
} AllowedShards;

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
	ShardSet	set;
	const char *where;
	const char *why;

	if (!seqid_parse_shard_list(*newval, &set, &where, &why))
	{
		GUC_check_errdetail("\"%s\" %s.", where, why);
		GUC_check_errhint("Give numbers and ranges with commas between them, such as \"3, 16-31\".");
		return false;
	}

	allowed = compat_guc_malloc(sizeof(AllowedShards));
	if (allowed == NULL)
		return false;
	allowed->set = set;
	allowed->by_default = (source == PGC_S_DEFAULT);
	*extra = allowed;

	if (!allowed->by_default)
		list_accepted = true;
	return true;
}

static void
assign_allowed_shards(const char *newval pg_attribute_unused(), void *extra)
{
	static const ShardSet no_shards;
	const AllowedShards *allowed = extra;

	if (allowed->by_default && default_is_nothing)
		seqid_allowed_shard_set = &no_shards;
	else
		seqid_allowed_shard_set = &allowed->set;
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

void
seqid_define_settings(void)
{
	/* Set for a server that has one shard, so that tables need not name it. */
	DefineCustomIntVariable("seqid.shard_id",
							"Sets the shard of this server's snowflake ids.",
							"-1 means that every caller has to name a shard.",
							&seqid_shard_id,
							-1,
							-1,
							(int) snowflake_max_shard(&snowflake_64),
							PGC_SUSET,
							0,
							NULL,
							NULL,
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
}
