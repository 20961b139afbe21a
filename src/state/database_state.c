/*
 * database_state.c
 *	  Finds the entry of a database in shared memory, or claims one for it.
 *
 * An OID does not identify a database, because it can come back.  A role that can create
 * databases could prepare an entry for an OID to come: it moves the keys of a database far
 * ahead, and drops it.  The keys of the next database with this OID would then start there.
 * So the entry also contains the inode of the database's file PG_VERSION and the time when
 * it was written.  CREATE DATABASE and SET TABLESPACE write a new file.  If the file is
 * another one, the entry is started again.
 *
 * Invariants:
 *
 * 1. Two sessions of a database that generate keys at the same time are attached to
 *	  the same entry.  Otherwise each would miss the floor that the other one learned.
 *	  Therefore sessions attach under a lock, and are counted: an entry is started
 *	  again, or given to another database, only while no session is attached.
 *
 * 2. An entry that was started has a nonce that no entry had before.  The mark's
 *	  page has another one, so the first key takes the mark as its floor, whatever
 *	  the entry was used for; see clock_mark.c.  So a start of an entry is as safe as a
 *	  restart of the server.
 *
 * An administrator can touch the file at any time, so an entry is kept in three cases.
 * While a session is attached, the database cannot have been dropped.  Nor can it while a
 * transaction has a slot: the leader of parallel workers is not attached if only the
 * workers have generated keys, and they are gone.  During recovery, no key reads the mark,
 * so an entry keeps the order of its COMBs.
 *
 * The nonce of the mark's page cannot replace the file.  After setval(), or DROP EXTENSION
 * and CREATE EXTENSION, the page has another nonce than the entry, as in a new database.
 * But the database is the same, and the entry must be kept, because it alone knows the
 * highest mark (clock_mark.c, invariant 3).  In a trial with the nonce, the clock was set
 * back by an hour, and the extension was dropped and created: COMBs were no longer
 * ascending and, after a crash, ids of a shard started below those already issued.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/genam.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/entropy.h"
#include "pg/segment.h"
#include "state/database_state.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define DYNAMIC_STATE_NAME "seqid dynamic state " CppAsString2(SHARED_STATE_VERSION)

#define NS_PER_S	INT64CONST(1000000000)

DatabaseState *seqid_attached_database = NULL;

/* NULL until this process has attached. */
static DynamicState *dynamic_state = NULL;

StaticAssertDecl(offsetof(DatabaseState, mark) == SHARED_STATE_LINE_SIZE &&
				 sizeof(DatabaseState) % SHARED_STATE_LINE_SIZE == 0,
				 "the COMBs of a database must have a cache line of their own");
StaticAssertDecl(offsetof(DynamicState, databases) % SHARED_STATE_LINE_SIZE == 0 &&
				 offsetof(DynamicState, transaction_slots) % SHARED_STATE_LINE_SIZE == 0,
				 "entries and slots must start on a cache line");

/* ------------------------------------------------------------------------
 * The dynamic segment
 * ------------------------------------------------------------------------
 */

/* Processes are numbered one by one; whole lines, for seqid_slot(). */
static int
slot_lines(void)
{
	return (int) ((ProcGlobal->allProcCount + SHARED_STATE_LINE_WORDS - 1) /
				  SHARED_STATE_LINE_WORDS);
}

pg_atomic_uint64 *
seqid_slot(DynamicState *state, int number)
{
	int			lines = slot_lines();

	return &state->transaction_slots[(number % lines) * SHARED_STATE_LINE_WORDS + number / lines];
}

static Size
dynamic_state_size(void)
{
	return offsetof(DynamicState, transaction_slots) +
		(Size) slot_lines() * SHARED_STATE_LINE_SIZE;
}

/* An entry is initialized when it is started. */
static void
init_dynamic_state(void *segment)
{
	DynamicState *state = segment;

	for (int i = 0; i < DATABASE_STATES; i++)
	{
		pg_atomic_init_u32(&state->owners[i].database, InvalidOid);
		pg_atomic_init_u32(&state->owners[i].sessions, 0);
	}
	for (Size i = 0; i < slot_lines() * SHARED_STATE_LINE_WORDS; i++)
		pg_atomic_init_u64(&state->transaction_slots[i], 0);
}

DynamicState *
seqid_dynamic_state(void)
{
	if (likely(dynamic_state != NULL))
		return dynamic_state;

	dynamic_state =
		seqid_attach_dynamic_segment(DYNAMIC_STATE_NAME,
									 &seqid_shared_state()->dynamic_state,
									 dynamic_state_size(), init_dynamic_state);
	return dynamic_state;
}

bool
seqid_dynamic_state_exists(void)
{
	return dynamic_state != NULL ||
		seqid_segment_exists(&seqid_shared_state()->dynamic_state);
}

/* ------------------------------------------------------------------------
 * Entries
 * ------------------------------------------------------------------------
 */

/*
 * The number of this database's entry, or of the first entry that was never used if it
 * has none; -1 if there is neither.
 */
static int
find_entry(DynamicState *state)
{
	for (int number = 0; number < DATABASE_STATES; number++)
	{
		Oid			owner = pg_atomic_read_u32(&state->owners[number].database);

		if (owner == MyDatabaseId || owner == InvalidOid)
			return number;
	}
	return -1;
}

DatabaseState *
seqid_find_database_state(void)
{
	DynamicState *state;
	int			number;

	if (seqid_attached_database != NULL)
		return seqid_attached_database;
	if (!seqid_dynamic_state_exists())
		return NULL;

	state = seqid_dynamic_state();
	number = find_entry(state);
	if (number < 0 ||
		pg_atomic_read_u32(&state->owners[number].database) != MyDatabaseId)
		return NULL;

	/* The entry was initialized before its OID was written. */
	pg_read_barrier();
	return &state->databases[number];
}

/* Identifies this database among all that had its OID. */
static void
identify_database(DatabaseOwner *identity)
{
	char		path[MAXPGPATH];
	struct stat file;

	snprintf(path, sizeof(path), "%s/PG_VERSION", DatabasePath);
	if (stat(path, &file) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	identity->inode = (uint64) file.st_ino;
	identity->written_ns = file.st_mtim.tv_sec * NS_PER_S + file.st_mtim.tv_nsec;
}

/*
 * The first time that the horizon can return is in the range of all keys, and after
 * the epoch of snowflakes, so that no id is 0.
 */
static void
start_entry(DatabaseState *entry, uint64 nonce)
{
	pg_atomic_init_u64(&entry->comb.tick, 0);
	entry->mark.nonce = nonce;
	pg_atomic_init_u64(&entry->mark.floor_ms, 0);
	pg_atomic_init_u64(&entry->mark.highest_ms, 0);
	pg_atomic_init_u64(&entry->mark.writes, 0);
	pg_atomic_init_u64(&entry->mark.durable_file, 0);
	pg_atomic_init_u64(&entry->horizon.min_key_ms, (uint64) snowflake_64.epoch_unix_ms + 1);
	pg_atomic_init_u64(&entry->horizon.first_key_ms, 0);
	pg_atomic_init_u64(&entry->horizon.published_ms, 0);
}

/* Whether a transaction of this database has a slot. */
static bool
has_slots(DynamicState *state)
{
	for (int i = 0; i < (int) ProcGlobal->allProcCount; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];

		if (proc->databaseId == MyDatabaseId &&
			seqid_slot_names(pg_atomic_read_u64(seqid_slot(state, i)), compat_lxid(proc)))
			return true;
	}
	return false;
}

/* Whether the entry of our OID has the state of a database that was dropped. */
static bool
is_of_dropped_database(DynamicState *state, const DatabaseOwner *owner,
					   const DatabaseOwner *identity)
{
	return (owner->inode != identity->inode || owner->written_ns != identity->written_ns) &&
		!has_slots(state) && !RecoveryInProgress();
}

/* An entry that can be taken, as long as it has the same nonce. */
typedef struct Vacancy
{
	int			number;			/* -1 for none */
	uint64		nonce;
} Vacancy;

/*
 * Attaches this session to the entry of its database, to one that was never used, or
 * to the vacancy.  False if there is neither, or another session took the vacancy.
 */
static bool
try_to_attach(DynamicState *state, const Vacancy *vacancy, const DatabaseOwner *identity,
			  uint64 nonce)
{
	int			number = find_entry(state);
	bool		is_full = number < 0;
	DatabaseOwner *owner;
	DatabaseState *entry;

	if (is_full)
		number = vacancy->number;
	if (number < 0)
		return false;
	owner = &state->owners[number];
	entry = &state->databases[number];

	if (pg_atomic_read_u32(&owner->sessions) == 0)
	{
		if (is_full && entry->mark.nonce != vacancy->nonce)
			return false;
		if (pg_atomic_read_u32(&owner->database) != MyDatabaseId ||
			is_of_dropped_database(state, owner, identity))
			start_entry(entry, nonce);
	}
	else if (is_full)
		return false;

	owner->inode = identity->inode;
	owner->written_ns = identity->written_ns;
	pg_write_barrier();
	pg_atomic_write_u32(&owner->database, MyDatabaseId);
	pg_atomic_fetch_add_u32(&owner->sessions, 1);
	seqid_attached_database = entry;
	return true;
}

/* When the session ends.  It generates no key after this. */
static void
detach_from_entry(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	if (seqid_attached_database == NULL)
		return;

	pg_atomic_fetch_sub_u32(&dynamic_state->owners[seqid_attached_database -
												   dynamic_state->databases].sessions, 1);
	seqid_attached_database = NULL;
}

/*
 * Whether the database exists, by a new snapshot and without the cache: the catalog
 * cache of this session need not know yet of a database that others are connected to.
 */
static bool
database_exists(Oid database)
{
	Relation	rel = table_open(DatabaseRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	bool		exists;

	InvalidateCatalogSnapshot();
	ScanKeyInit(&key, Anum_pg_database_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(database));
	scan = systable_beginscan(rel, DatabaseOidIndexId, true, NULL, 1, &key);
	exists = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return exists;
}

/* An entry whose database was dropped. */
static Vacancy
find_vacancy(DynamicState *state)
{
	Vacancy		vacancy;

	for (vacancy.number = 0; vacancy.number < DATABASE_STATES; vacancy.number++)
	{
		DatabaseOwner *owner = &state->owners[vacancy.number];

		CHECK_FOR_INTERRUPTS();
		vacancy.nonce = state->databases[vacancy.number].mark.nonce;
		if (pg_atomic_read_u32(&owner->sessions) == 0 &&
			!database_exists(pg_atomic_read_u32(&owner->database)))
			return vacancy;
	}

	vacancy.number = -1;
	return vacancy;
}

/* Positive as a bigint, and not 0, which setval() leaves on the mark's page. */
static uint64
random_nonce(void)
{
	uint64		nonce;

	seqid_random_bytes(&nonce, sizeof(nonce));
	return nonce >> 1 | 1;
}

DatabaseState *
seqid_attach_database(void)
{
	static bool will_detach = false;
	DynamicState *state = seqid_dynamic_state();
	uint64		nonce = random_nonce();
	Vacancy		vacancy = {.number = -1};
	bool		has_searched = false;
	DatabaseOwner identity;

	identify_database(&identity);
	if (!will_detach)
	{
		before_shmem_exit(detach_from_entry, (Datum) 0);
		will_detach = true;
	}

	for (;;)
	{
		bool		attached;

		LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
		attached = try_to_attach(state, &vacancy, &identity, nonce);
		LWLockRelease(AddinShmemInitLock);

		if (attached)
			return seqid_attached_database;
		if (has_searched && vacancy.number < 0)
			break;
		vacancy = find_vacancy(state);
		has_searched = true;
	}

	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("database \"%s\" cannot generate keys", get_database_name(MyDatabaseId)),
			 errdetail("%d other databases have generated keys since the server started.",
					   DATABASE_STATES),
			 errhint("Drop databases that are not needed, or restart the server and generate keys in fewer databases.")));
	pg_unreachable();
}
