/*
 * guc.c
 *	  The settings of seqid.
 *
 * Both decide which ids a server may issue, so neither is an ordinary user's
 * to change: a session that picked another server's shard could repeat its
 * ids.  A superuser may set them for a database or a role.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "guc.h"
#include "snowflake_layout.h"

int			seqid_shard_id = -1;
int			seqid_max_clock_regression_ms = 10000;

void
seqid_define_settings(void)
{
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

	/*
	 * Large enough for a clock that is corrected by hand or by a restarted
	 * time daemon; small enough that ids still tell when they were made.
	 */
	DefineCustomIntVariable("seqid.max_clock_regression",
							"Sets how far a new id may be ahead of a clock that was set back.",
							NULL,
							&seqid_max_clock_regression_ms,
							10000,
							0,
							INT_MAX,
							PGC_SUSET,
							GUC_UNIT_MS,
							NULL,
							NULL,
							NULL);
}
