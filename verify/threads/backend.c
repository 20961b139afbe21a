/*
 * backend.c
 *	  A process of the server: what it has for itself, as far as seqid looks at it, and
 *	  what seqid calls.
 *
 * This and seqid's own files are linked to a library, of which each thread loads a
 * copy: so what is static is a process's own, and forgotten when it ends, as in the
 * server.  What the server has and is not here is not called; the dynamic linker would
 * say so.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "backend.h"
#include "clock/settled_horizon.h"
#include "clock/shard_clock.h"
#include "machine.h"
#include "miscadmin.h"
#include "server.h"
#include "server/compat.h"
#include "server/durable_wal.h"
#include "server/entropy.h"
#include "server/guc.h"
#include "server/segment.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include <setjmp.h>

/* For its static functions: runs of COMBs. */
#include "keys/comb.c"

#undef vsnprintf

/* The mark's relation, and its only buffer. */
#define MARK_RELID	16384
#define MARK_BUFFER	1

PGPROC	   *MyProc;
Oid			MyDatabaseId;
bool		IsUnderPostmaster = true;
int			ParallelWorkerNumber = -1;
int			max_prepared_xacts = 0;
int			wal_segment_size = 16 * 1024 * 1024;
volatile	sig_atomic_t InterruptPending = false;
bool		process_shared_preload_libraries_in_progress = false;
MemoryContext TopMemoryContext;
MemoryContext CurrentMemoryContext;
char	   *DataDir;
bool		pgstat_track_activities = false;	/* before 14 */
static uint32 wait_event_info;
uint32	   *my_wait_event_info = &wait_event_info;

char	   *seqid_shards;
bool		seqid_settings_defined = true;
double		seqid_max_clock_regression_ms = 10000;

static bool in_parallel_mode;
static LocalTransactionId last_lxid;
static FormData_pg_class mark_class =
{
	.relkind = RELKIND_SEQUENCE,
		.relpersistence = RELPERSISTENCE_PERMANENT
};
static RelationData mark_relation =
{
	.rd_id = MARK_RELID,.rd_rel = &mark_class
};

/* ------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------
 */

static sigjmp_buf on_error;
static char message[256];

bool
errstart(int elevel, const char *domain pg_attribute_unused())
{
	server_check(elevel == ERROR, "there are errors only");
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

void
errfinish(const char *filename pg_attribute_unused(), int lineno pg_attribute_unused(),
		  const char *funcname pg_attribute_unused())
{
	siglongjmp(on_error, 1);
}

int
errcode(int sqlerrcode pg_attribute_unused())
{
	return 0;
}

int
errmsg(const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return 0;
}

int
errmsg_internal(const char *format,...)
{
	server_check(false, "%s", format);
	return 0;
}

int
errdetail(const char *format pg_attribute_unused(),...)
{
	return 0;
}

int
errhint(const char *format pg_attribute_unused(),...)
{
	return 0;
}

void
ProcessInterrupts(void)
{
	server_check(false, "nobody interrupts");
}

/* Its address is taken, for a message. */
Datum
uuid_out(PG_FUNCTION_ARGS)
{
	server_check(fcinfo == NULL, "no UUID is written");
	return (Datum) 0;
}

/* ------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------
 */

void	   *
seqid_attach_segment(const char *name, Size size, void (*init) (void *))
{
	return server_segment(name, size, init);
}

void	   *
seqid_attach_dynamic_segment(const char *name, pg_atomic_uint32 *handle pg_attribute_unused(),
							 Size size, void (*init) (void *))
{
	return server_segment(name, size, init);
}

void
seqid_random_bytes(void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((uint8 *) bytes)[i] = (uint8) machine_random(256);
}

void
pg_usleep(long us)
{
	machine_sleep_us(us);
}

uint32
WaitEventExtensionNew(const char *name pg_attribute_unused())
{
	return 1;
}

/* ------------------------------------------------------------------------
 * The mark
 * ------------------------------------------------------------------------
 */

Oid
seqid_find_mark(void)
{
	return MARK_RELID;
}

bool
seqid_is_mark_relation(Relation rel)
{
	return rel == &mark_relation;
}

Relation
try_relation_open(Oid relid, LOCKMODE mode pg_attribute_unused())
{
	server_check(relid == MARK_RELID, "the relation is the mark's");
	return &mark_relation;
}

void
relation_close(Relation rel pg_attribute_unused(), LOCKMODE mode pg_attribute_unused())
{
}

Buffer
ReadBuffer(Relation rel pg_attribute_unused(), BlockNumber block pg_attribute_unused())
{
	return MARK_BUFFER;
}

void
ReleaseBuffer(Buffer buffer pg_attribute_unused())
{
}

void
UnlockReleaseBuffer(Buffer buffer)
{
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

#undef LockBuffer
void
LockBuffer(Buffer buffer pg_attribute_unused(), int mode)
{
	if (mode == BUFFER_LOCK_UNLOCK)
		server_unlock_page(MyDatabaseId);
	else
		server_lock_page(MyDatabaseId, mode == BUFFER_LOCK_EXCLUSIVE);
}

bool
ConditionalLockBuffer(Buffer buffer pg_attribute_unused())
{
	return server_try_lock_page(MyDatabaseId);
}

bool
seqid_read_mark_page(Buffer buffer pg_attribute_unused(), Mark *mark)
{
	*mark = *server_page(MyDatabaseId);
	return true;
}

void
seqid_write_mark_page(Relation rel pg_attribute_unused(), Buffer buffer pg_attribute_unused(),
					  Mark *mark)
{
	mark->written = true;
	mark->lsn = server_log_mark(MyDatabaseId, mark);
	*server_page(MyDatabaseId) = *mark;
}

bool
seqid_wal_is_durable(XLogRecPtr lsn)
{
	return lsn <= server_flushed();
}

void
seqid_make_wal_durable(XLogRecPtr lsn)
{
	machine_step();
	server_flush(lsn);
	machine_step();
}

XLogRecPtr
GetXLogInsertRecPtr(void)
{
	return server_insert_end();
}

void
XLogFlush(XLogRecPtr lsn)
{
	server_flush(lsn);
}

bool
RecoveryInProgress(void)
{
	return false;
}

bool
IsInParallelMode(void)
{
	return in_parallel_mode;
}

/* ------------------------------------------------------------------------
 * What threads ask for
 * ------------------------------------------------------------------------
 */

static void
start(int number, int leader, Oid database)
{
	MyProc = &ProcGlobal->allProcs[number];
	MyDatabaseId = database;
	MyProc->pid = number + 1;
	MyProc->databaseId = database;
	if (leader >= 0)
		MyProc->lockGroupLeader = &ProcGlobal->allProcs[leader];
	if (leader >= 0 && leader != number)
		ParallelWorkerNumber = 0;
	backend.message = message;
}

static void
begin(void)
{
	machine_store32(lxid_of(MyProc), ++last_lxid);
}

static void
in_parallel(bool is)
{
	in_parallel_mode = is;
}

static void
end(void)
{
	machine_store32(lxid_of(MyProc), InvalidLocalTransactionId);
}

static void
draw_snowflakes(const SnowflakeLayout *layout, int shard, int at_least, int at_most,
				DrawnKeys *keys)
{
	keys->first = seqid_reserve_ticks(layout, shard, at_least, at_most, &keys->count);
	keys->unix_ms = snowflake_tick_ms(layout, keys->first) + layout->epoch_unix_ms;
	server_check(keys->count >= at_least && keys->count <= at_most,
				 "a run is as long as was asked for");
	server_check(snowflake_tick_ms(layout, keys->first + keys->count - 1) ==
				 snowflake_tick_ms(layout, keys->first), "a run is of one millisecond");
}

static bool
draw(const KeySpace *space, int at_least, int at_most, DrawnKeys *keys)
{
	if (sigsetjmp(on_error, 0) != 0)
		return false;

	if (space->layout == COMBS)
	{
		keys->first = reserve_comb_ticks(at_most, &keys->count);
		keys->unix_ms = comb_tick_ms(keys->first);
	}
	else if (space->layout == snowflake_64.number)
		draw_snowflakes(&snowflake_64, space->shard, at_least, at_most, keys);
	else
		draw_snowflakes(&snowflake_53, space->shard, at_least, at_most, keys);
	return true;
}

static bool
settle_horizon(int64 *horizon_ms)
{
	XLogRecPtr	lsn;

	if (sigsetjmp(on_error, 0) != 0)
		return false;
	*horizon_ms = seqid_settle_horizon(&lsn);
	return true;
}

static bool
read_mark(int64 *mark_ms)
{
	int64		floor_ms;

	if (sigsetjmp(on_error, 0) != 0)
		return false;
	*mark_ms = seqid_read_mark(&floor_ms);
	return true;
}

static uint64
clock_regressions(void)
{
	uint64		sum = 0;

	for (int i = 0; i < SNOWFLAKE_WORDS; i++)
		sum += pg_atomic_read_u64(&seqid_shared_state()->shard_counters[i].clock_regressions);
	return sum;
}

Backend		backend = {
	.start = start,
	.begin = begin,
	.in_parallel = in_parallel,
	.end = end,
	.draw = draw,
	.settle_horizon = settle_horizon,
	.read_mark = read_mark,
	.clock_regressions = clock_regressions
};
