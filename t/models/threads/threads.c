/*
 * threads.c
 *	  seqid's own files in threads, under ThreadSanitizer; see t/models/threads.pl.
 *
 *	  threads SEED LIBRARY...
 *
 * Each thread is a session with a copy of the files in which sessions meet without a lock.
 * Writers generate keys in transactions.  Readers ask for the settled horizon and read.
 * In many short server lifetimes, with the weak memory of memory.c:
 *
 *	  No row becomes visible below a horizon that a reader has read up to.
 *	  Each access comes after the initialization of the memory that it reads, or
 *	  ThreadSanitizer reports a data race.
 */
#include "postgres.h"

#include "state/shared_state.h"
#include "storage/proc.h"
#include "threads.h"

#include <dlfcn.h>
#include <pthread.h>
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

/* ThreadSanitizer knows what these locks order. */
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

/* Memory is not freed, because ThreadSanitizer remembers its addresses. */
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
		run_lifetime(strtoull(argv[1], NULL, 10) * LIFETIMES + i, &argv[2]);
	return 0;
}
