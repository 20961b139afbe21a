/*
 * durable_wal.c
 *	  Makes WAL as durable as that of commits.
 *
 * A transaction without an XID commits without flushing WAL and without waiting for a standby.
 * So code that writes WAL in such a transaction must flush it and wait.  The server's function
 * for waiting, SyncRepWaitForLSN(), is made for commits, which differ in two ways:
 *
 * A session can choose the level for its own commits.  The WAL that is written here also
 * matters to other sessions, which can have a higher level.  So the level is always "on".
 *
 * A commit cannot be undone, so a cancel ends its wait with a warning.  Here, a cancel must
 * raise an error, because a key that was not returned yet can still be withheld.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/durable_wal.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"
#include "utils/guc.h"

XLogRecPtr
seqid_wal_insert_end(void)
{
	XLogRecPtr	lsn = GetXLogInsertRecPtr();

	if (XLogSegmentOffset(lsn, wal_segment_size) == SizeOfXLogLongPHD)
		return lsn - SizeOfXLogLongPHD;
	if (lsn % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		return lsn - SizeOfXLogShortPHD;
	return lsn;
}

/*
 * Whether the server waits for standbys.  A statement that runs has not read the configuration
 * since it began, so its own value of synchronous_standby_names can be empty although they have
 * been named since then.  The flag in shared memory decides whether a commit waits, but follows
 * the configuration after a moment.  Old minor versions have another flag at the same place, so
 * a library that was built with their headers reads it only in a server of the same version.
 */
static bool
standbys_are_named(void)
{
	if (max_wal_senders == 0)
		return false;
#ifdef SYNC_STANDBY_DEFINED
	if ((WalSndCtl->sync_standbys_status & SYNC_STANDBY_DEFINED) != 0)
		return true;
#else
	if (WalSndCtl->sync_standbys_defined && compat_headers_are_of_server())
		return true;
#endif
	return SyncRepStandbyNames != NULL && SyncRepStandbyNames[0] != '\0';
}

/* Whether synchronous standbys have flushed the WAL, or none is named. */
static bool
is_replicated(XLogRecPtr lsn)
{
	bool		replicated;

	if (!standbys_are_named())
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

/* Sets a value until AtEOXact_GUC() is called for the current level. */
static void
set_local(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Called for every message of the wait.  The only message is the warning that the wait was
 * cancelled, and only this warning distinguishes a cancel from a wait that ends because no
 * synchronous standby is named any more.  The death of the postmaster also ends the wait, but
 * without a warning: the server only sets ProcDiePending.
 */
static void
note_cancel(void *cancelled)
{
	*(bool *) cancelled = true;
	errdetail("The WAL might not have been replicated to the standby, so the statement returns no key and no horizon.");
}

/* Returns true if the standbys have the WAL or none is named, and false if the wait was ended. */
static bool
wait_for_standby(XLogRecPtr lsn)
{
	bool		cancelled;
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = note_cancel,
		.arg = &cancelled
	};
	int			nest_level = NewGUCNestLevel();

	/*
	 * The assign hook of the setting sets the level of the wait.  The standby
	 * need not have replayed the WAL: it does so before it is promoted.
	 */
	set_local("synchronous_commit", "on");
	if (client_min_messages > WARNING)
		set_local("client_min_messages", "warning");

	/* If the server would not generate the warning, assume a cancel. */
	cancelled = !message_level_is_interesting(WARNING);

	/* A commit also calls this function with interrupts held. */
	error_context_stack = &callback;
	HOLD_INTERRUPTS();
	SyncRepWaitForLSN(lsn, false);
	RESUME_INTERRUPTS();
	error_context_stack = callback.previous;

	AtEOXact_GUC(true, nest_level);

	return !(cancelled || ProcDiePending) || is_replicated(lsn);
}

void
seqid_make_wal_durable(XLogRecPtr lsn)
{
	XLogFlush(lsn);
	CHECK_FOR_INTERRUPTS();

	if (wait_for_standby(lsn))
		return;

	/* The session ends here if it was terminated. */
	CHECK_FOR_INTERRUPTS();
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("canceling statement while WAL waits for a synchronous standby")));
}
