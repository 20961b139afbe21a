/*
 * turns.c
 *	  Whose turn it is, and what the clock shows.
 *
 * Threads take turns: one runs, until a step at which chance hands over to another, or
 * keeps this one from running for hundreds of steps, as a server does that is out of
 * processors.  All chance comes from a seed, and so does the clock, so what is found is
 * found again, on any machine and however busy it is.
 *
 * This file is compiled without ThreadSanitizer, and hands over by futexes that it does
 * not know: it must not take turns for an order.  What orders two accesses, for it, is
 * what the code under test does, and nothing else.  (To be killed is to jump out of
 * wherever one is.)
 */
#include "machine.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S	INT64_C(1000000000)
#define NS_PER_MS	INT64_C(1000000)

/*
 * How often a step hands over, and one at which it is worth while keeps the thread from
 * running for long: different in each life, as faults differ in what they take.
 */
#define OFTEN			2
#define OFTEN_CHOICES	4
#define LINGER_OFTEN	12
#define LINGER_CHOICES	4
#define LINGER_MAX		1200
#define ABSENCE_STEPS	48
#define ABSENCE_MAX		300

typedef struct Runner
{
	uint32_t	turn;			/* a futex: 1 if it is this one's */
	bool		done;
	uint64_t	absent_until;	/* a step */
} Runner;

static const MachineLife *life;
static Runner runners[MACHINE_THREADS];
static uint64_t steps;
static uint32_t turn_steps;		/* one in so many steps hands over */
static uint32_t linger_steps;	/* one in so many keeps the thread for long */
static bool killed;

/* The clock that nobody can set, and how far the other one is from it. */
static int64_t uptime_ns = 1;
static int64_t wall_offset_ms = INT64_C(1772366400000);

static __thread int self;
static __thread uint64_t chance;
static __thread sigjmp_buf way_out;

/* splitmix64 */
static uint64_t
draw(uint64_t *state)
{
	uint64_t	z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint32_t
machine_random(uint32_t below)
{
	return (uint32_t) (draw(&chance) >> 32) % below;
}

int
machine_self(void)
{
	return self;
}

/* ------------------------------------------------------------------------
 * Turns
 * ------------------------------------------------------------------------
 */

static void
give_turn(int thread)
{
	__atomic_store_n(&runners[thread].turn, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &runners[thread].turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void
wait_for_turn(void)
{
	while (__atomic_load_n(&runners[self].turn, __ATOMIC_SEQ_CST) == 0)
		syscall(SYS_futex, &runners[self].turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_store_n(&runners[self].turn, 0, __ATOMIC_SEQ_CST);
}

/* One that is there, by chance; if none is, who comes back first; -1 if all are done. */
static int
choose(bool other)
{
	int			candidates[MACHINE_THREADS];
	int			count = 0;
	int			first = -1;

	for (int i = 0; i < life->threads; i++)
	{
		if (runners[i].done || (other && i == self))
			continue;
		if (runners[i].absent_until <= steps)
			candidates[count++] = i;
		if (first == -1 || runners[i].absent_until < runners[first].absent_until)
			first = i;
	}
	return count > 0 ? candidates[machine_random((uint32_t) count)] : first;
}

static void
hand_over(bool other)
{
	int			next = choose(other);

	if (next != -1 && next != self)
	{
		give_turn(next);
		wait_for_turn();
	}
}

static void
count_step(void)
{
	uint64_t	step = __atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED);

	if (life->kill_at != 0 && step >= life->kill_at)
		__atomic_store_n(&killed, true, __ATOMIC_RELAXED);
}

static void
die_if_killed(void)
{
	if (__atomic_load_n(&killed, __ATOMIC_RELAXED))
		siglongjmp(way_out, 1);
}

/* Absent in one of so many steps, for so long at most. */
static void
step(uint32_t one_of, uint32_t at_most)
{
	count_step();
	die_if_killed();
	if (life->free_running)
	{
		if (machine_random(turn_steps * 4) == 0)
			sched_yield();
		return;
	}

	if (machine_random(one_of) == 0)
		runners[self].absent_until = steps + machine_random(at_most);
	else if (machine_random(turn_steps) != 0)
		return;
	hand_over(false);
	die_if_killed();
}

void
machine_step(void)
{
	step(ABSENCE_STEPS, ABSENCE_MAX);
}

void
machine_linger(void)
{
	step(linger_steps, LINGER_MAX);
}

void
machine_wait_step(void)
{
	count_step();
	die_if_killed();
	if (life->free_running)
		sched_yield();
	else
		hand_over(true);
	die_if_killed();
}

static void *
run_thread(void *number)
{
	self = (int) (intptr_t) number;
	chance = life->seed * 64 + (uint64_t) self;
	if (!life->free_running)
		wait_for_turn();

	if (sigsetjmp(way_out, 0) == 0)
		life->body(self);

	if (!life->free_running)
	{
		int			next;

		runners[self].done = true;
		next = choose(true);
		if (next != -1)
			give_turn(next);
	}
	return NULL;
}

/* Who takes turns need not be woken on another one, which takes far longer. */
static void
stay_on_one_processor(void)
{
	cpu_set_t	one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	(void) sched_setaffinity(0, sizeof(one), &one);
}

void
machine_run(const MachineLife *of)
{
	pthread_t	threads[MACHINE_THREADS];

	life = of;
	if (!life->free_running)
		stay_on_one_processor();
	steps = 0;
	killed = false;
	memset(runners, 0, sizeof(runners));
	chance = life->seed;
	turn_steps = OFTEN << machine_random(OFTEN_CHOICES);
	linger_steps = LINGER_OFTEN << machine_random(LINGER_CHOICES);
	for (int i = 0; i < life->threads; i++)
		runners[i].absent_until = machine_random(ABSENCE_MAX);
	for (intptr_t i = 0; i < life->threads; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *) i) != 0)
			abort();
	if (!life->free_running)
		give_turn(0);
	for (int i = 0; i < life->threads; i++)
		pthread_join(threads[i], NULL);
}

/* ------------------------------------------------------------------------
 * The clock
 * ------------------------------------------------------------------------
 */

/* Reading it takes time: otherwise who waits for it to move would wait for ever. */
int
machine_clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t		grain = 1 + machine_random((uint32_t) life->clock_grain_ns);
	int64_t		ns;

	machine_step();
	ns = __atomic_add_fetch(&uptime_ns, grain, __ATOMIC_RELAXED);
	if (clock == CLOCK_REALTIME)
	{
		ns += __atomic_load_n(&wall_offset_ms, __ATOMIC_RELAXED) * NS_PER_MS;
		if (life->clock_jitter_ns > 0)
			ns -= machine_random((uint32_t) life->clock_jitter_ns);
	}
	now->tv_sec = ns / NS_PER_S;
	now->tv_nsec = ns % NS_PER_S;
	machine_linger();
	return 0;
}

void
machine_sleep_us(int64_t us)
{
	__atomic_fetch_add(&uptime_ns, us * 1000, __ATOMIC_RELAXED);
	machine_wait_step();
}

void
machine_set_clock(int64_t by_ms)
{
	__atomic_fetch_add(&wall_offset_ms, by_ms, __ATOMIC_RELAXED);
}

int64_t
machine_wall_ms(void)
{
	return __atomic_load_n(&wall_offset_ms, __ATOMIC_RELAXED) +
		__atomic_load_n(&uptime_ns, __ATOMIC_RELAXED) / NS_PER_MS;
}
