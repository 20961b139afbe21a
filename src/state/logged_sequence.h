/*
 * logged_sequence.h
 *	  Makes sure that no value of a sequence comes again after a crash.
 */
#ifndef SEQID_LOGGED_SEQUENCE_H
#define SEQID_LOGGED_SEQUENCE_H

#include "postgres.h"

#include "storage/buf.h"
#include "utils/relcache.h"

/* Called from _PG_init. */
extern void seqid_watch_sequences(void);

/*
 * Writes WAL for the page, unless a session has done so for this file in this server
 * lifetime.  Returns whether it has written.  Does not flush.  The caller must have a lock on the relation that excludes
 * ALTER SEQUENCE.  buffer is that of its page, and must not be locked.  Raises
 * data_corrupted, and the errors of seqid_database_state().
 */
extern bool seqid_log_sequence_once(Relation rel, Buffer buffer);

/*
 * nextval() whose values do not come again after a crash, also in a file that was copied.
 * Raises the errors of nextval() and of seqid_log_sequence_once().
 */
extern int64 seqid_durable_nextval(Oid sequence, bool check_permissions);

#endif							/* SEQID_LOGGED_SEQUENCE_H */
