/*
 * threads.h
 *	  The machine that the threads run on, and what they share in place of a server.
 */
#ifndef THREADS_H
#define THREADS_H

#include "postgres.h"

#include <time.h>

#define MACHINE_THREADS	4

/* turns.c: runs the threads to their end, one at a time. */
extern void machine_run(void (**bodies) (int thread), uint64 seed);
extern void machine_step(void); /* another thread can run, also for long */
extern uint32 machine_random(uint32 below);
extern int	machine_clock_gettime(clockid_t clock, struct timespec *now);

/* memory.c: accesses to words of 4 or 8 bytes. */
extern uint64 machine_load(const volatile void *word, int bytes);
extern void machine_store(volatile void *word, int bytes, uint64 value);
extern bool machine_exchange(volatile uint64 *word, uint64 *expected, uint64 value);
extern uint32 machine_add(volatile uint32 *word, int32 number);
extern void machine_read_barrier(void);
extern void machine_write_barrier(void);
extern void machine_forget_early_loads(void);	/* a lock was acquired */

/* threads.c: the server. */
#define DATABASE	1

typedef enum ServerLock
{
	SEGMENT_LOCK,				/* to create a segment */
	DATABASES_LOCK,				/* AddinShmemInitLock, which seqid acquires */
	TRANSACTIONS_LOCK,			/* to end a transaction, to take a snapshot */
	SERVER_LOCKS
} ServerLock;

extern void server_lock(ServerLock lock);
extern void server_unlock(ServerLock lock);
extern void *server_segment(Size size, void (*init) (void *));

/* Unless so, prints a fault and ends the program. */
extern void server_check(bool so, const char *what);

/* In this server lifetime. */
extern void *server_state;
extern int64 read_up_to_ms;		/* TRANSACTIONS_LOCK protects it */

#endif
