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

/* A place where other threads can go on, for long. */
extern void machine_step(void);

/* 0 .. below - 1, from the random numbers of the thread. */
extern uint32 machine_random(uint32 below);

extern int	machine_clock_gettime(clockid_t clock, struct timespec *now);

/* memory.c: accesses to words of 4 or 8 bytes. */
extern uint64 machine_load(const volatile void *word, int bytes);
extern void machine_store(volatile void *word, int bytes, uint64 value);
extern bool machine_exchange(volatile uint64 *word, uint64 *expected, uint64 value);
extern uint32 machine_add(volatile uint32 *word, int32 number);
extern void machine_read_barrier(void);
extern void machine_write_barrier(void);

/* When a lock was acquired. */
extern void machine_forget_early_loads(void);

/* threads.c: the server. */
#define DATABASE	1

typedef enum ServerLock
{
	SEGMENT_LOCK,				/* by the server, to create a segment */
	DATABASES_LOCK,				/* AddinShmemInitLock, by seqid */
	TRANSACTIONS_LOCK,			/* to end a transaction, to take a snapshot */
	SERVER_LOCKS
} ServerLock;

extern void server_lock(ServerLock lock);
extern void server_unlock(ServerLock lock);
extern void *server_segment(Size size, void (*init) (void *));

/* Prints a fault and ends the program, unless so. */
extern void server_check(bool so, const char *what);

/* Of this server lifetime. */
extern void *server_state;
extern int64 read_up_to_ms;		/* under TRANSACTIONS_LOCK */

#endif							/* THREADS_H */
