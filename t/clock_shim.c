/*
 * clock_shim.c
 *	  A wall clock that steps while a call is under way, for tests.
 *
 * libfaketime sets the clock between calls.  This library, which is also preloaded
 * into a server, steps the clock at the k-th reading of one process.  So a test can
 * try a step at each place where a call reads the clock.  SeqidShim in SeqidTest.pm controls it.
 *
 * Only clock_gettime() is counted, because seqid's generators read the clock with it
 * and PostgreSQL does not.  (OpenSSL does, when a session begins.)  The other
 * functions show the same clock.
 *
 * The clock of the watched process can be frozen.  Then a nap takes no time: it moves
 * both clocks of that process, and ends.  So what a call does, and how often it
 * reads the clock, does not depend on the speed of the machine.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S	INT64_C(1000000000)
#define NS_PER_US	INT64_C(1000)

/*
 * A file that all processes of the server map; the order of the fields is that of
 * SeqidTest.pm, which writes them while the watched process does nothing.
 */
typedef struct Control
{
	int64_t		offset_ns;		/* of the clock of all processes */
	int64_t		pid;			/* the process that is watched */
	int64_t		frozen_ns;		/* what its clock shows, 0 if it runs */
	int64_t		readings;		/* of its clock */
	int64_t		step_at;		/* the reading that steps, 0 for none */
	int64_t		step_ns;
	int64_t		steps;			/* that happened */
	int64_t		napped_ns;		/* asked for by the watched process */
	int64_t		longest_ns;		/* nap of any process */
} Control;

static Control no_control;
static Control *control = &no_control;

/* The function that ours stands before. */
#define REAL(name) \
	static __typeof__(name) *real; \
	if (real == NULL) \
		real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

__attribute__((constructor))
static void
map_control(void)
{
	const char *path = getenv("CLOCK_SHIM_CONTROL");
	int			file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void	   *mapped = MAP_FAILED;

	if (file >= 0)
	{
		mapped = mmap(NULL, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		close(file);
	}
	if (mapped != MAP_FAILED)
		control = mapped;
}

static bool
is_watched(void)
{
	return control->pid == getpid();
}

static bool
is_frozen(void)
{
	return control->frozen_ns != 0 && is_watched();
}

static int64_t
ns_of(struct timespec time)
{
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static struct timespec
time_of(int64_t ns)
{
	return (struct timespec) {.tv_sec = ns / NS_PER_S,.tv_nsec = ns % NS_PER_S};
}

static int64_t
shown_ns(void)
{
	struct timespec now;

	REAL(clock_gettime);
	real(CLOCK_REALTIME, &now);
	return is_frozen() ? control->frozen_ns : ns_of(now) + control->offset_ns;
}

/* Steps the clock, if this is the reading. */
static void
count_reading(void)
{
	if (!is_watched() || ++control->readings != control->step_at)
		return;
	__atomic_fetch_add(is_frozen() ? &control->frozen_ns : &control->offset_ns,
					   control->step_ns, __ATOMIC_SEQ_CST);
	control->step_at = 0;
	control->steps++;
}

/* Notes a nap; true if it is over. */
static bool
nap(int64_t ns)
{
	int64_t		longest = control->longest_ns;

	while (ns > longest &&
		   !__atomic_compare_exchange_n(&control->longest_ns, &longest, ns, false,
										__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	if (is_watched())
		control->napped_ns += ns;
	if (!is_frozen())
		return false;
	control->frozen_ns += ns;
	return true;
}

/*
 * Clocks
 */

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock == CLOCK_REALTIME)
	{
		count_reading();
		*now = time_of(shown_ns());
		return 0;
	}
	if (clock == CLOCK_MONOTONIC && is_frozen())
	{
		*now = time_of(NS_PER_S + control->napped_ns);
		return 0;
	}

	REAL(clock_gettime);
	return real(clock, now);
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int64_t		ns = shown_ns();

	(void) zone;
	now->tv_sec = ns / NS_PER_S;
	now->tv_usec = ns % NS_PER_S / NS_PER_US;
	return 0;
}

time_t
time(time_t *now)
{
	time_t		seconds = shown_ns() / NS_PER_S;

	if (now != NULL)
		*now = seconds;
	return seconds;
}

/*
 * Naps
 */

int
select(int count, fd_set *restrict reads, fd_set *restrict writes,
	   fd_set *restrict errors, struct timeval *restrict timeout)
{
	if (count == 0 && timeout != NULL &&
		nap(timeout->tv_sec * NS_PER_S + timeout->tv_usec * NS_PER_US))
		return 0;

	REAL(select);
	return real(count, reads, writes, errors, timeout);
}

int
nanosleep(const struct timespec *wanted, struct timespec *left)
{
	if (nap(ns_of(*wanted)))
		return 0;

	REAL(nanosleep);
	return real(wanted, left);
}
