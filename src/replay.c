/*
 * replay.c
 *	  Whether this server has replayed a point of a history.
 *
 * After a failover, two servers can have different WAL at the same position, even on the same
 * timeline: two standbys that are promoted independently choose the same number for it.  So a
 * point also contains the lifetime, a random number that its primary logs on the page of the
 * mark.
 *
 * 1. A server whose page contains the lifetime has replayed WAL of that primary, but not of a
 *	  later primary that has logged its own lifetime.  So it follows that primary, or was
 *	  promoted after it.
 * 2. In the second case, the timeline is a later one.  The server has the point if that
 *	  timeline branched off there or after it.
 *
 * The page contains only the last lifetime.  For a point of an earlier one, the result is
 * false, although the server might have it.  The caller must get a new point from the primary.
 */
#include "postgres.h"

#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "clock/clock_mark.h"
#include "fmgr.h"
#include "utils/pg_lsn.h"

/*
 * seqid.has_replayed(lsn pg_lsn, timeline bigint, lifetime bigint) returns boolean
 *	  Whether this server has all WAL of the timeline up to lsn (a standby has replayed it, a
 *	  primary has flushed it), and knows lifetime as the last one of this database.  False if
 *	  the timeline's history file is missing.  22023 for a timeline below 1 or above
 *	  4294967295.
 */
PG_FUNCTION_INFO_V1(seqid_has_replayed);
Datum
seqid_has_replayed(PG_FUNCTION_ARGS)
{
	XLogRecPtr	lsn = PG_GETARG_LSN(0);
	int64		timeline = PG_GETARG_INT64(1);
	int64		lifetime = PG_GETARG_INT64(2);
	TimeLineID	current;
	XLogRecPtr	end;
	List	   *history;

	if (timeline < 1 || timeline > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timeline %lld is out of range", (long long) timeline),
				 errdetail("Timelines are numbered from 1 to 4294967295."),
				 errhint("Pass the timeline that CALL seqid.horizon() returned with the position.")));

	/* In this order: a server that is promoted in between has replayed all. */
	end = RecoveryInProgress() ? GetXLogReplayRecPtr(&current) : GetFlushRecPtr(&current);
	/* The lifetime is 0 if the mark is missing, or setval() has changed it. */
	if (end < lsn || current < timeline || lifetime == 0 || seqid_find_lifetime() != lifetime)
		PG_RETURN_BOOL(false);
	if (current == timeline)
		PG_RETURN_BOOL(true);

	/*
	 * tliOfPointInHistory() would return the current timeline for the switch
	 * point itself, which is the position that an idle server returns after a
	 * crash.  Without its file, a history consists of the current timeline.
	 */
	history = readTimeLineHistory(current);
	PG_RETURN_BOOL(tliInHistory((TimeLineID) timeline, history) &&
				   tliSwitchPoint((TimeLineID) timeline, history, NULL) >= lsn);
}
