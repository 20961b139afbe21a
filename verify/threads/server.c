/*
 * server.c
 *	  What threads share in place of a server.
 *
 * Locks are those of pthreads, so that ThreadSanitizer knows what they order.  Who waits
 * for one lets others go on, and may be killed: each life has locks of its own, as
 * somebody may have died with those of the last.
 */
#include "server.h"

#include "machine.h"
#include "storage/lwlock.h"
#include "storage/proc.h"

#include <pthread.h>

#undef fprintf
#undef vfprintf

#define LOCKS			(NUM_INDIVIDUAL_LWLOCKS + 64)
#define SEGMENTS		8
#define WAL_RECORDS		100000

typedef struct Segment
{
	const char *name;			/* NULL for none */
	void	   *memory;
	pthread_rwlock_t lock;
} Segment;

typedef struct Life
{
	pthread_rwlock_t locks[LOCKS];
	pthread_rwlock_t page_locks[SERVER_DATABASES + 1];
	pthread_rwlock_t transactions;
	Segment		segments[SEGMENTS];
	Mark		pages[SERVER_DATABASES + 1];
} Life;

typedef struct Record
{
	Oid			database;
	Mark		mark;
} Record;

/* What the server's headers expect; locks are told apart by their addresses. */
static LWLockPadded lock_names[LOCKS];
LWLockPadded *MainLWLockArray = lock_names;
PROC_HDR   *ProcGlobal;

static Life *life;

/* Outlives the server.  Threads append one at a time. */
static pthread_mutex_t wal_lock = PTHREAD_MUTEX_INITIALIZER;
static Record wal[WAL_RECORDS];
static int	wal_end;
static int	wal_flushed;
static int64 durable_ms[SERVER_DATABASES + 1];

void
server_check(bool so, const char *format,...)
{
	va_list		arguments;

	if (so)
		return;
	va_start(arguments, format);
	fprintf(stderr, "not so: ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	va_end(arguments);
	_exit(1);
}

/* ------------------------------------------------------------------------
 * Lives
 * ------------------------------------------------------------------------
 */

static void *
zeroed(Size size)
{
	void	   *memory = calloc(1, size);

	server_check(memory != NULL, "there is memory");
	return memory;
}

static void
init_locks(void)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_rwlock_init(&life->locks[i], NULL);
	for (int i = 0; i <= SERVER_DATABASES; i++)
		pthread_rwlock_init(&life->page_locks[i], NULL);
	for (int i = 0; i < SEGMENTS; i++)
		pthread_rwlock_init(&life->segments[i].lock, NULL);
	pthread_rwlock_init(&life->transactions, NULL);
}

/* What a mark that was never raised says: for clock_mark.c it has been written. */
static void
recover(uint32 chance)
{
	wal_end = wal_flushed + (int) (chance % (uint32) (wal_end - wal_flushed + 1));
	for (int i = 1; i <= SERVER_DATABASES; i++)
		life->pages[i].written = true;
	for (int i = 0; i < wal_end; i++)
		life->pages[wal[i].database] = wal[i].mark;
	server_flush(server_insert_end());
}

/* What the last life had is left where it is: TSan tells of its addresses. */
void
server_start(uint32 chance)
{
	life = zeroed(sizeof(Life));
	init_locks();
	recover(chance);
	ProcGlobal = zeroed(sizeof(PROC_HDR));
	ProcGlobal->allProcs = zeroed(SERVER_PROCESSES * sizeof(PGPROC));
	ProcGlobal->allProcCount = SERVER_PROCESSES;
}

/* ------------------------------------------------------------------------
 * Locks
 * ------------------------------------------------------------------------
 */

static void
take(pthread_rwlock_t * lock, bool exclusive)
{
	machine_step();
	while ((exclusive ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock)) != 0)
		machine_wait_step();
	machine_lock_taken();
	machine_step();
}

static void
release(pthread_rwlock_t * lock)
{
	machine_step();
	pthread_rwlock_unlock(lock);
	machine_linger();
}

bool
LWLockAcquire(LWLock * lock, LWLockMode mode)
{
	take(&life->locks[(LWLockPadded *) lock - lock_names], mode == LW_EXCLUSIVE);
	return true;
}

void
LWLockRelease(LWLock * lock)
{
	release(&life->locks[(LWLockPadded *) lock - lock_names]);
}

void
server_lock_page(Oid database, bool exclusive)
{
	take(&life->page_locks[database], exclusive);
}

bool
server_try_lock_page(Oid database)
{
	machine_step();
	if (pthread_rwlock_trywrlock(&life->page_locks[database]) != 0)
		return false;
	machine_lock_taken();
	return true;
}

void
server_unlock_page(Oid database)
{
	release(&life->page_locks[database]);
}

void
server_lock_transactions(void)
{
	take(&life->transactions, true);
}

void
server_unlock_transactions(void)
{
	release(&life->transactions);
}

/* ------------------------------------------------------------------------
 * Shared memory
 * ------------------------------------------------------------------------
 */

/*
 * Each has a lock of its own, where the server has one for all: what only that
 * would order must have an order without it.
 */
void	   *
server_segment(const char *name, Size size, void (*init) (void *))
{
	Segment    *segment;
	void	   *memory;
	int			number = 0;

	for (const char *c = name; *c; c++)
		number += *c;
	segment = &life->segments[number % SEGMENTS];

	take(&segment->lock, true);
	if (segment->name == NULL)
	{
		segment->name = name;
		segment->memory = aligned_alloc(64, TYPEALIGN(64, size));
		server_check(segment->memory != NULL, "there is memory");
		init(segment->memory);
	}
	server_check(strcmp(segment->name, name) == 0, "%s has a place of its own", name);
	memory = segment->memory;
	release(&segment->lock);
	return memory;
}

/* ------------------------------------------------------------------------
 * WAL
 * ------------------------------------------------------------------------
 */

#define RECORD_SIZE	1024		/* and never a place that begins a page */

Mark	   *
server_page(Oid database)
{
	return &life->pages[database];
}

XLogRecPtr
server_log_mark(Oid database, const Mark *mark)
{
	XLogRecPtr	lsn;

	machine_step();
	pthread_mutex_lock(&wal_lock);
	server_check(wal_end < WAL_RECORDS, "WAL has room");
	wal[wal_end].database = database;
	wal[wal_end].mark = *mark;
	lsn = (XLogRecPtr) ++wal_end * RECORD_SIZE;
	wal[wal_end - 1].mark.lsn = lsn;
	pthread_mutex_unlock(&wal_lock);
	machine_step();
	return lsn;
}

XLogRecPtr
server_insert_end(void)
{
	XLogRecPtr	lsn;

	pthread_mutex_lock(&wal_lock);
	lsn = (XLogRecPtr) wal_end * RECORD_SIZE;
	pthread_mutex_unlock(&wal_lock);
	return lsn;
}

XLogRecPtr
server_flushed(void)
{
	XLogRecPtr	lsn;

	pthread_mutex_lock(&wal_lock);
	lsn = (XLogRecPtr) wal_flushed * RECORD_SIZE;
	pthread_mutex_unlock(&wal_lock);
	return lsn;
}

void
server_flush(XLogRecPtr lsn)
{
	pthread_mutex_lock(&wal_lock);
	while ((XLogRecPtr) wal_flushed * RECORD_SIZE < lsn)
	{
		const Record *record = &wal[wal_flushed++];

		__atomic_store_n(&durable_ms[record->database], record->mark.ms, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&wal_lock);
}

int64
server_durable_ms(Oid database)
{
	return __atomic_load_n(&durable_ms[database], __ATOMIC_RELAXED);
}
