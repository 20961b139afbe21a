/*
 * turns.c
 *	  Which thread runs, and what the clock shows.
 *
 * One thread runs.  At a step it can give the turn to another one, or pause for hundreds
 * of steps.  A seed determines each turn and the clock, so a fault is found again on any
 * machine.  This file is compiled without ThreadSanitizer, which would take each turn for
 * an order of memory accesses, and find nothing.
 */
#include "threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S		INT64CONST(1000000000)
#define TURN_STEPS		8		/* one in so many steps gives the turn away */
#define PAUSE_STEPS		32		/* one in so many pauses */
#define PAUSE_MAX		800		/* steps */
#define CLOCK_GRAIN_NS	100000	/* the clock advances by this, at most */
#define CLOCK_JITTER_NS	20000000	/* and is behind by this, at most */

static void (**bodies) (int thread);
static uint32 turn[MACHINE_THREADS];	/* a futex; 1 if it is this thread's turn */
static int	running;
static uint64 paused_until[MACHINE_THREADS];	/* a step */
static uint64 steps;
static uint64 chance;
static int64 clock_ns = INT64CONST(1772366400) * NS_PER_S;

static __thread int self;

/* splitmix64 */
uint32
machine_random(uint32 below)
{
	uint64	z = (chance += UINT64CONST(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return (uint32) ((z ^ (z >> 31)) >> 32) % below;
}

/* Gives the turn to a thread that does not pause. */
static void
give_turn(void)
{
	int			next;

	do
	{
		next = (int) machine_random(MACHINE_THREADS);
		steps++;
	} while (paused_until[next] > steps);
	__atomic_store_n(&turn[next], 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &turn[next], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void
wait_for_turn(void)
{
	while (__atomic_exchange_n(&turn[self], 0, __ATOMIC_SEQ_CST) == 0)
		syscall(SYS_futex, &turn[self], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

void
machine_step(void)
{
	steps++;
	if (machine_random(PAUSE_STEPS) == 0)
		paused_until[self] = steps + machine_random(PAUSE_MAX);
	else if (machine_random(TURN_STEPS) != 0)
		return;
	give_turn();
	wait_for_turn();
}

static void *
run_thread(void *number)
{
	self = (int) (intptr_t) number;
	wait_for_turn();
	bodies[self] (self);

	paused_until[self] = UINT64_MAX;
	if (--running > 0)
		give_turn();
	return NULL;
}

void
machine_run(void (**of) (int thread), uint64 seed)
{
	pthread_t	threads[MACHINE_THREADS];

	bodies = of;
	chance = seed;
	steps = 0;
	running = MACHINE_THREADS;
	for (intptr_t i = 0; i < MACHINE_THREADS; i++)
	{
		paused_until[i] = machine_random(PAUSE_MAX);
		if (pthread_create(&threads[i], NULL, run_thread, (void *) i) != 0)
			abort();
	}
	give_turn();
	for (int i = 0; i < MACHINE_THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Reading the clock takes time. */
int
machine_clock_gettime(clockid_t clock, struct timespec *now)
{
	int64		ns;

	machine_step();
	clock_ns += machine_random(CLOCK_GRAIN_NS);
	ns = clock_ns - (clock == CLOCK_REALTIME ? machine_random(CLOCK_JITTER_NS) : 0);
	now->tv_sec = ns / NS_PER_S;
	now->tv_nsec = ns % NS_PER_S;
	return 0;
}
