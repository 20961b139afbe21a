/*
 * database_state.c
 *	  Finds the entry of a database in shared memory, or claims one for it.
 *
 * An OID does not identify a database, because it can be assigned again.  A role that can
 * create databases could otherwise move the keys of one far ahead and drop it, and those of
 * the next database with this OID would start there.  So the entry also contains the inode of
 * the database's file PG_VERSION and the time at which it was written.  CREATE DATABASE and
 * SET TABLESPACE write a new file.  If the file has changed, the entry is started again.
 *
 * Invariants:
 *
 * 1. Two sessions of a database that generate keys at the same time are attached to the same
 *	  entry.  Otherwise each would miss the floor that the other has found.  Therefore sessions
 *	  attach under a lock and are counted, and an entry is started again, or given to another
 *	  database, only while no session is attached.
 *
 * 2. An entry that is started gets a nonce that no entry had before.  The mark's page contains
 *	  another one, so the mark becomes the floor of the first key, as after a restart of the
 *	  server, whatever the entry was used for before; see clock_mark.c.
 *
 * A changed file does not prove that the database was dropped, because an administrator can
 * touch it.  The entry is therefore kept in three cases.  While a session is attached, the
 * database cannot have been dropped.  The same is true while a transaction has a slot: the
 * leader of a parallel query is not attached if only workers, which have ended, have generated
 * keys.  During recovery, keys do not depend on the mark, so only the entry keeps COMBs in
 * order.
 *
 * The nonce of the mark's page cannot be used instead of the file.  After setval(), or DROP
 * EXTENSION and CREATE EXTENSION, the page has a different nonce than the entry, as in a new
 * database.  But the entry must be kept, because only it contains the highest mark
 * (clock_mark.c, invariant 3).  Otherwise, if the clock is set back, COMBs would no longer
 * ascend, and ids could be repeated after a crash.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "pg/entropy.h"
#include "pg/segment.h"
#include "state/database_state.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

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

/* The number of cache lines for the slots, rounded up as seqid_slot() requires. */
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

/* Entries are initialized when they are started. */
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
									 offsetof(DynamicState, transaction_slots) +
									 (Size) slot_lines() * SHARED_STATE_LINE_SIZE,
									 init_dynamic_state);
	return dynamic_state;
}

bool
seqid_dynamic_state_exists(void)
{
	return dynamic_state != NULL ||
		seqid_segment_exists(&seqid_shared_state()->dynamic_state);
}

/* The number of this database's entry, or of one that was never used; -1 if neither exists. */
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
	if (number < 0 || pg_atomic_read_u32(&state->owners[number].database) != MyDatabaseId)
		return NULL;

	/* The entry was initialized before its OID was written. */
	pg_read_barrier();
	return &state->databases[number];
}

/* The first min_key_ms is in the range of all layouts, and late enough that no id is 0. */
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

/* Whether the entry with our OID, which has no sessions, is that of a dropped database. */
static bool
is_of_dropped_database(DynamicState *state, const DatabaseOwner *owner,
					   const DatabaseOwner *identity)
{
	if ((owner->inode == identity->inode && owner->written_ns == identity->written_ns) ||
		RecoveryInProgress())
		return false;
	for (int i = 0; i < (int) ProcGlobal->allProcCount; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];

		if (proc->databaseId == MyDatabaseId &&
			seqid_slot_names(pg_atomic_read_u64(seqid_slot(state, i)), proc))
			return false;
	}
	return true;
}

/*
 * Attaches this session to the entry of its database or, if there is none, to one that was
 * never used.  If there is neither, uses the entry "vacancy", unless it is -1 or its nonce
 * shows that another session has claimed it since.
 */
static void
try_to_attach(DynamicState *state, int vacancy, uint64 vacant_nonce,
			  const DatabaseOwner *identity, uint64 nonce)
{
	int			number = find_entry(state);
	bool		is_full = number < 0;
	bool		is_free;
	DatabaseOwner *owner;
	DatabaseState *entry;

	if (is_full)
		number = vacancy;
	if (number < 0)
		return;
	owner = &state->owners[number];
	entry = &state->databases[number];
	is_free = pg_atomic_read_u32(&owner->sessions) == 0;
	if (is_full && !(is_free && entry->mark.nonce == vacant_nonce))
		return;
	if (is_free && (pg_atomic_read_u32(&owner->database) != MyDatabaseId ||
					is_of_dropped_database(state, owner, identity)))
		start_entry(entry, nonce);

	owner->inode = identity->inode;
	owner->written_ns = identity->written_ns;
	pg_write_barrier();
	pg_atomic_write_u32(&owner->database, MyDatabaseId);
	pg_atomic_fetch_add_u32(&owner->sessions, 1);
	seqid_attached_database = entry;
}

/* Called when the session ends, after which it does not generate keys. */
static void
detach_from_entry(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	if (seqid_attached_database == NULL)
		return;

	pg_atomic_fetch_sub_u32(&dynamic_state->owners[seqid_attached_database -
												   dynamic_state->databases].sessions, 1);
	seqid_attached_database = NULL;
}

/* Returns the number of an entry whose database was dropped, or -1, and sets *nonce. */
static int
find_vacancy(DynamicState *state, uint64 *nonce)
{
	for (int number = 0; number < DATABASE_STATES; number++)
	{
		DatabaseOwner *owner = &state->owners[number];

		CHECK_FOR_INTERRUPTS();
		*nonce = state->databases[number].mark.nonce;
		if (pg_atomic_read_u32(&owner->sessions) > 0)
			continue;

		/* Our caches might not yet contain a database that others use. */
		AcceptInvalidationMessages();
		if (!SearchSysCacheExists1(DATABASEOID,
								   ObjectIdGetDatum(pg_atomic_read_u32(&owner->database))))
			return number;
	}
	return -1;
}

DatabaseState *
seqid_attach_database(void)
{
	static bool will_detach = false;
	DynamicState *state = seqid_dynamic_state();
	uint64		nonce;
	int			vacancy = -1;
	uint64		vacant_nonce = 0;
	bool		has_searched = false;
	DatabaseOwner identity;
	char		path[MAXPGPATH];
	struct stat file;

	/* Positive as a bigint, and not 0, which setval() leaves on the mark. */
	seqid_random_bytes(&nonce, sizeof(nonce));
	nonce = nonce >> 1 | 1;
	snprintf(path, sizeof(path), "%s/PG_VERSION", DatabasePath);
	if (stat(path, &file) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	identity.inode = (uint64) file.st_ino;
	identity.written_ns = file.st_mtim.tv_sec * NS_PER_S + file.st_mtim.tv_nsec;

	if (!will_detach)
	{
		before_shmem_exit(detach_from_entry, (Datum) 0);
		will_detach = true;
	}

	for (;;)
	{
		LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
		try_to_attach(state, vacancy, vacant_nonce, &identity, nonce);
		LWLockRelease(AddinShmemInitLock);

		if (seqid_attached_database != NULL)
			return seqid_attached_database;
		if (has_searched && vacancy < 0)
			break;
		vacancy = find_vacancy(state, &vacant_nonce);
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
