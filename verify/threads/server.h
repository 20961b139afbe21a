/*
 * server.h
 *	  What threads share in place of a server: locks, shared memory, WAL with the pages
 *	  of the marks, and the rows that are visible.
 */
#ifndef SERVER_H
#define SERVER_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "clock/mark_page.h"

#define SERVER_DATABASES	2

/* Enough for a slot of each to be in more than one line. */
#define SERVER_PROCESSES	10

/*
 * Begins a life of the server with nothing but what the WAL has kept: what is flushed,
 * and of the rest as much as chance will have it.
 */
extern void server_start(uint32 chance);

/* Databases are numbered from 1, as MyDatabaseId; false if it is taken. */
extern void server_lock_page(Oid database, bool exclusive);
extern bool server_try_lock_page(Oid database);
extern void server_unlock_page(Oid database);

/* The page must be locked. */
extern Mark *server_page(Oid database);
extern XLogRecPtr server_log_mark(Oid database, const Mark *mark);

extern XLogRecPtr server_insert_end(void);
extern XLogRecPtr server_flushed(void);
extern void server_flush(XLogRecPtr lsn);

/* What a life that began now would find. */
extern int64 server_durable_ms(Oid database);

/* The lock of who ends a transaction, or takes a snapshot. */
extern void server_lock_transactions(void);
extern void server_unlock_transactions(void);

extern void *server_segment(const char *name, Size size, void (*init) (void *));

/* What is not so ends the program. */
extern void server_check(bool so, const char *format,...) pg_attribute_printf(2, 3);

#endif							/* SERVER_H */
