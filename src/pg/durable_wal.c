/*
 * durable_wal.c
 *	  Making sure that WAL survives what commits survive.
 *
 * A transaction without an id commits without a flush and without waiting for a
 * standby, so who writes WAL outside of one and relies on it does both himself.
 * The waiting is the server's, SyncRepWaitForLSN(), which alone knows when there
 * is something to wait for; but it is made for commits, which differ in two ways:
 *
 * A commit speaks for its own transaction, and may be content with the level that
 * its session has chosen.  What is written here, others rely on, whose level may be
 * a higher one: so the wait is always that of "on".
 *
 * A commit cannot be taken back, so that wait swallows a cancel and ends with a
 * warning, as if all were well.  Here it can, and must: a key that has not left
 * can still be withheld.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/durable_wal.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

/* Whether a synchronous standby has flushed it, or none is named. */
static bool
is_replicated(XLogRecPtr lsn)
{
	bool		replicated;

	if (max_wal_senders == 0 ||
		SyncRepStandbyNames == NULL || SyncRepStandbyNames[0] == '\0')
		return true;

	LWLockAcquire(SyncRepLock, LW_SHARED);
	replicated = lsn <= WalSndCtl->lsn[SYNC_REP_WAIT_FLUSH];
	LWLockRelease(SyncRepLock);

	return replicated;
}

bool
seqid_wal_is_durable(XLogRecPtr lsn)
{
	return !XLogNeedsFlush(lsn) && is_replicated(lsn);
}

/* Until the end of the present level of settings. */
static void
set_local(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Called with every message of the wait, of which there is one: the warning that
 * it was cancelled.  Nothing else tells that apart from a wait that ended because
 * there is no synchronous standby to wait for any more: in both cases the WAL was
 * not replicated.
 */
static void
note_cancel(void *cancelled)
{
	*(bool *) cancelled = true;
	errdetail("The clock mark might not have been replicated to the standby, so no key is issued, and no horizon told.");
}

/* Whether a warning of the wait will be made, and so seen by note_cancel(). */
static bool
warnings_are_made(void)
{
	return compat_log_min_messages() <= WARNING ||
		(whereToSendOutput == DestRemote && client_min_messages <= WARNING);
}

/* True if a standby has it, or none has to; false if the wait was cancelled. */
static bool
wait_for_standby(XLogRecPtr lsn)
{
	bool		cancelled = false;
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = note_cancel,
		.arg = &cancelled
	};
	int			nest_level = NewGUCNestLevel();

	/*
	 * By the setting, as its assign hook sets what the wait looks at. Flushed
	 * by the standby is enough: it replays that before it is promoted.
	 */
	set_local("synchronous_commit", "on");
	if (client_min_messages > WARNING)
		set_local("client_min_messages", "warning");

	/* If nobody would be told, it may have been cancelled. */
	if (!warnings_are_made())
		cancelled = true;

	/* The wait is that of a commit, which expects to be held. */
	error_context_stack = &callback;
	HOLD_INTERRUPTS();
	SyncRepWaitForLSN(lsn, false);
	RESUME_INTERRUPTS();
	error_context_stack = callback.previous;

	AtEOXact_GUC(true, nest_level);

	return !cancelled || is_replicated(lsn);
}

void
seqid_make_wal_durable(XLogRecPtr lsn)
{
	XLogFlush(lsn);
	CHECK_FOR_INTERRUPTS();

	if (wait_for_standby(lsn))
		return;

	/* If the session is to end, this is how. */
	CHECK_FOR_INTERRUPTS();
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("canceling statement while the clock mark waits for a synchronous standby")));
}
