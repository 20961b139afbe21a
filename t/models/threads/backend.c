/*
 * backend.c
 *	  A process of the server: its own variables, and the functions that seqid calls.
 *
 * This and seqid's own files are linked to a library.  Each thread loads a copy, so a
 * static variable belongs to one thread.  Variables and functions up to generate_key()
 * are stand-ins, which must have the names of the server or of seqid's other files.  The
 * dynamic linker reports a call of any other function, such as ereport().
 */
#include "postgres.h"

#include "clock/clock_mark.h"
#include "clock/settled_horizon.h"
#include "clock/transaction_slot.h"
#include "miscadmin.h"
#include "pg/durable_wal.h"
#include "pg/entropy.h"
#include "pg/segment.h"
#include "pg/wall_clock.h"
#include "state/database_state.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "threads.h"

#define WRITERS		2			/* the other threads read */
#define ROUNDS		20			/* of each thread, at most */
#define KEYS		3			/* of a transaction, at most */

PGPROC	   *MyProc;
LWLockPadded *MainLWLockArray;
Oid			MyDatabaseId = DATABASE;
char	   *DatabasePath;
void	   *TopMemoryContext;
bool		IsUnderPostmaster = true;
int			ParallelWorkerNumber = -1;
int			max_prepared_xacts = 0;
int			wal_segment_size = 16 * 1024 * 1024;
volatile	sig_atomic_t InterruptPending = false;

SharedState *seqid_attached_state;
bool		seqid_settings_defined = true;
int64		seqid_recheck_mark_after_ms = INT64_MAX;	/* each time is covered */
int64		seqid_key_floor_ms = -1;

static pg_on_exit_callback exit_callback;

/* The name of the file that identifies the database.  Any file will do. */
int
pg_snprintf(char *path, size_t size pg_attribute_unused(),
			const char *format pg_attribute_unused(),...)
{
	return (int) strlen(strcpy(path, "/dev/null"));
}

void
before_shmem_exit(pg_on_exit_callback callback, Datum arg pg_attribute_unused())
{
	exit_callback = callback;
}

bool
LWLockAcquire(LWLock * lock, LWLockMode mode pg_attribute_unused())
{
	server_check(lock == AddinShmemInitLock, "seqid acquires one lock");
	server_lock(DATABASES_LOCK);
	return true;
}

void
LWLockRelease(LWLock * lock pg_attribute_unused())
{
	server_unlock(DATABASES_LOCK);
}

bool
IsInParallelMode(void)
{
	return false;
}

void
seqid_raise_key_floor(int64 ms)
{
	seqid_key_floor_ms = Max(seqid_key_floor_ms, ms);
}

void
seqid_random_bytes(void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((uint8 *) bytes)[i] = (uint8) machine_random(256);
}

SharedState *
seqid_attach_shared_state(void)
{
	return seqid_attached_state = server_state;
}

void *
seqid_attach_dynamic_segment(const char *name pg_attribute_unused(), SegmentHandle *handle,
							 Size size, void (*init) (void *))
{
	void	   *segment = server_segment(size, init);

	pg_atomic_write_u32(&handle->value, 1);
	return segment;
}

/* In the order of counter.h: the transaction registers first. */
static int64
generate_key(void)
{
	int64		clock_ms;

	seqid_register_writer();
	clock_ms = wall_clock_read_ms();
	return Max(clock_ms, seqid_key_floor_ms + 1);
}

static void
write_rows(void)
{
	static LocalTransactionId lxid = InvalidLocalTransactionId;
	int64		key_ms[KEYS];
	int			count = 1 + (int) machine_random(KEYS);

	machine_store(lxid_of(MyProc), 4, ++lxid);
	for (int i = 0; i < count; i++)
		key_ms[i] = generate_key();
	for (uint32 pause = machine_random(60); pause > 0; pause--)
		machine_step();

	/* Under one lock the lxid goes and the rows become visible. */
	server_lock(TRANSACTIONS_LOCK);
	machine_store(lxid_of(MyProc), 4, InvalidLocalTransactionId);
	machine_step();
	for (int i = 0; i < count; i++)
		server_check(key_ms[i] >= read_up_to_ms, "no row is below what was read");
	server_unlock(TRANSACTIONS_LOCK);
}

static void
read_rows(void)
{
	int64		horizon_ms = seqid_look_at_keys().bound;

	server_lock(TRANSACTIONS_LOCK);
	read_up_to_ms = Max(read_up_to_ms, horizon_ms);
	server_unlock(TRANSACTIONS_LOCK);
}

extern void run_session(int number);

void
run_session(int number)
{
	DatabaseState *database;

	MyProc = &ProcGlobal->allProcs[number];

	/* Statistics find the entry of a database before they attach to it. */
	database = seqid_find_database_state();
	server_check(database == NULL || database->mark.nonce != 0, "an entry was started");

	for (uint32 round = machine_random(ROUNDS); round > 0; round--)
		(number < WRITERS ? write_rows : read_rows) ();
	if (exit_callback != NULL)
		exit_callback(0, (Datum) 0);
}
