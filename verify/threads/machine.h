/*
 * machine.h
 *	  The machine that the threads run on: whose turn it is, what he finds in memory
 *	  that they share, what the clock shows, and when all of them are killed.
 *
 * Nothing of PostgreSQL is known here.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define MACHINE_THREADS	8

typedef struct MachineLife
{
	int			threads;
	void		(*body) (int thread);
	uint64_t	seed;
	bool		free_running;	/* all at once, not in turns */
	uint64_t	kill_at;		/* the step at which all are killed; 0 for
								 * never */
	int64_t		clock_grain_ns; /* what the clock goes on by when it is read,
								 * at most */
	int64_t		clock_jitter_ns;	/* by how much what it shows may be wrong */
} MachineLife;

/* ------------------------------------------------------------------------
 * turns.c
 * ------------------------------------------------------------------------
 */

/* Runs the threads to their end, or until they are killed. */
extern void machine_run(const MachineLife *life);

/* The number of the thread that calls. */
extern int	machine_self(void);

/* A place where others may go on, for long, and where the thread may be killed. */
extern void machine_step(void);

/* The same, where others are to do much in between. */
extern void machine_linger(void);

/* The same for who waits for others: they do. */
extern void machine_wait_step(void);

/* 0 .. below - 1, from what belongs to the thread. */
extern uint32_t machine_random(uint32_t below);

extern int	machine_clock_gettime(clockid_t clock, struct timespec *now);
extern void machine_sleep_us(int64_t us);

/* Sets the wall clock, forward or back; machine_wall_ms() is without jitter. */
extern void machine_set_clock(int64_t by_ms);
extern int64_t machine_wall_ms(void);

/* ------------------------------------------------------------------------
 * memory.c
 * ------------------------------------------------------------------------
 */

extern uint64_t machine_load64(const volatile uint64_t *word);
extern uint32_t machine_load32(const volatile uint32_t *word);
extern void machine_store64(volatile uint64_t *word, uint64_t value);
extern void machine_store32(volatile uint32_t *word, uint32_t value);
extern bool machine_exchange64(volatile uint64_t *word, uint64_t *expected, uint64_t value);
extern uint64_t machine_add64(volatile uint64_t *word, int64_t number);
extern void machine_read_barrier(void);
extern void machine_write_barrier(void);
extern void machine_barrier(void);

/* What was read before a lock was taken, or its like, is of no use after it. */
extern void machine_lock_taken(void);

#endif							/* MACHINE_H */
