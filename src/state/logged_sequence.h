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
 * Whether a session has logged the file in this server lifetime, or it needs no WAL.  The
 * caller must have a lock on the relation that excludes ALTER SEQUENCE.  Raises the errors
 * of seqid_database_state().
 */
extern bool seqid_is_sequence_logged(Relation rel);

/*
 * Writes WAL for the page, and does not flush it.  The caller must have such a lock, too.
 * buffer is that of the page, and must not be locked.  Raises data_corrupted.
 */
extern void seqid_log_sequence(Relation rel, Buffer buffer);

/*
 * nextval() whose values do not come again after a crash, also in a file that was copied.
 * Raises the errors of nextval() and of seqid_is_sequence_logged().
 */
extern int64 seqid_durable_nextval(Oid sequence, bool check_permissions);

#endif							/* SEQID_LOGGED_SEQUENCE_H */
