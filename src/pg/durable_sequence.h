/*
 * durable_sequence.h
 *	  nextval() whose values do not come again after a crash.
 */
#ifndef SEQID_DURABLE_SEQUENCE_H
#define SEQID_DURABLE_SEQUENCE_H

#include "postgres.h"

/* Called from _PG_init. */
extern void seqid_watch_sequences(void);

/*
 * nextval(), also for a file that was copied.  Raises the errors of nextval(), and
 * data_corrupted.
 */
extern int64 seqid_durable_nextval(Oid sequence, bool check_permissions);

#endif							/* SEQID_DURABLE_SEQUENCE_H */
