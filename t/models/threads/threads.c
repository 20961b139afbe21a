/*
 * threads.c
 *	  seqid's own files in threads, under ThreadSanitizer: scripts/hard.sh threads.
 *
 *	  threads SEED LIBRARY...
 *
 * Each thread is a session with a copy of the files where sessions meet without a lock.
 * Writers generate keys in transactions.  Readers ask for the settled horizon and read.
 * In many short server lifetimes, on a machine whose memory is weak (memory.c):
 *
 *	  No row becomes visible below a horizon that a reader has read up to.
 *	  An order stands between each access and the initialization of what it finds, or
 *	  ThreadSanitizer reports a data race.
 *
 * scripts/hard/threads.sh plants the faults that are looked for, which neither the
 * models nor the tests find.  A litmus test finds them in a transcription.
 */
#include "postgres.h"

#include "state/shared_state.h"
#include "storage/proc.h"
#include "threads.h"

#include <dlfcn.h>
#include <pthread.h>
#undef printf
#undef fprintf

#define LIFETIMES	200
#define PROCESSES	10			/* so their slots are in more than one cache line */

PROC_HDR   *ProcGlobal;
void	   *server_state;
int64		read_up_to_ms;

static pthread_mutex_t locks[SERVER_LOCKS];
static void *segment;
static void (*sessions[MACHINE_THREADS]) (int number);

void
server_check(bool so, const char *what)
{
	if (so)
		return;
	fprintf(stderr, "not so: %s\n", what);
	_exit(1);
}

/* Locks of pthreads, so that ThreadSanitizer knows what they order. */
void
server_lock(ServerLock lock)
{
	machine_step();
	while (pthread_mutex_trylock(&locks[lock]) != 0)
		machine_step();
	machine_forget_early_loads();
	machine_step();
}

void
server_unlock(ServerLock lock)
{
	machine_step();
	pthread_mutex_unlock(&locks[lock]);
	machine_step();
}

void *
server_segment(Size size, void (*init) (void *))
{
	server_lock(SEGMENT_LOCK);
	if (segment == NULL)
	{
		segment = aligned_alloc(64, TYPEALIGN(64, size));
		init(segment);
	}
	server_unlock(SEGMENT_LOCK);
	return segment;
}

/* The last lifetime's memory is not freed: ThreadSanitizer remembers its addresses. */
static void
run_lifetime(uint64 seed, char **names)
{
	void	   *libraries[MACHINE_THREADS];

	segment = NULL;
	read_up_to_ms = 0;
	server_state = calloc(1, sizeof(SharedState));
	ProcGlobal = calloc(1, sizeof(PROC_HDR));
	ProcGlobal->allProcs = calloc(PROCESSES, sizeof(PGPROC));
	ProcGlobal->allProcCount = PROCESSES;
	for (int i = 0; i < MACHINE_THREADS; i++)
	{
		libraries[i] = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
		server_check(libraries[i] != NULL, dlerror());
		ProcGlobal->allProcs[i].databaseId = DATABASE;
		sessions[i] = dlsym(libraries[i], "run_session");
	}
	machine_run(sessions, seed);
	for (int i = 0; i < MACHINE_THREADS; i++)
		dlclose(libraries[i]);
}

int
main(int argc, char **argv)
{
	server_check(argc == 2 + MACHINE_THREADS, "each thread has a library");
	for (int i = 0; i < SERVER_LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (uint64 i = 0; i < LIFETIMES; i++)
		run_lifetime(strtoull(argv[1], NULL, 10) * 1000 + i, &argv[2]);
	printf("%d server lifetimes\n", LIFETIMES);
	return 0;
}
