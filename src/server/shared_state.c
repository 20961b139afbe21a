/*
 * shared_state.c
 *	  Creates the shared state, or attaches to it.
 *
 * Works in a server that was not told of seqid when it started: see segment.c
 * for where the memory then comes from.
 *
 * Invariant: in one life of the server there is one struct.  Sessions that began
 * before the library was replaced go on with the old one, and those that begin after
 * have the new one.  Had each words of its own, databases that share a shard would be
 * given the same ids, keys would lose their order, and readers miss rows; so the first
 * session notes which version it is of, and those of another are refused.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "server/entropy.h"
#include "server/segment.h"
#include "server/shared_state.h"
#include "storage/lwlock.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Change the number whenever SharedState changes, or what sessions do with it: code
 * that has another idea of it must not use this one.
 */
#ifndef SHARED_STATE_VERSION
#define SHARED_STATE_VERSION 8
#endif
#define SHARED_STATE_NAME "seqid shared state " CppAsString2(SHARED_STATE_VERSION)

/*
 * The version of the struct of this life of the server.  Libraries of all releases
 * must find it: neither its name nor its size ever changes.
 */
#define VERSION_IN_USE_NAME "seqid version in use"

typedef struct VersionInUse
{
	uint64		version;		/* set when it is created */
} VersionInUse;

SharedState *seqid_attached_state = NULL;
DatabaseState *seqid_attached_database = NULL;
bool		seqid_preloaded = false;

StaticAssertDecl(offsetof(SharedState, shard_ticks) % SHARED_STATE_LINE_SIZE == 0,
				 "the shards' words must start on a cache line of their own");
StaticAssertDecl(offsetof(SharedState, shard_ticks) == SHARED_STATE_LINE_SIZE,
				 "what is not the shards' must fit a line");
StaticAssertDecl(SNOWFLAKE_64_SHARDS % SHARED_STATE_LINE_WORDS == 0 &&
				 SNOWFLAKE_53_SHARDS % SHARED_STATE_LINE_WORDS == 0,
				 "the words of a layout's shards must fill whole lines");
StaticAssertDecl(offsetof(SharedState, databases) % SHARED_STATE_LINE_SIZE == 0 &&
				 sizeof(DatabaseState) % SHARED_STATE_LINE_SIZE == 0,
				 "a database's COMBs must have a cache line of their own");

/* Drawn before the segment is created: its initialization must not fail. */
static uint64 next_life;

/* But for whose it is, which others look at. */
static void
init_database_state(DatabaseState *database)
{
	pg_atomic_init_u64(&database->comb_tick, 0);
	pg_atomic_init_u64(&database->floor_ms, 0);
	pg_atomic_init_u64(&database->highest_mark_ms, 0);
	pg_atomic_init_u64(&database->marks_written, 0);
	pg_atomic_init_u64(&database->durable_file, 0);
	/* In the range of all keys, so that readers can compare with it. */
	pg_atomic_init_u64(&database->raised_ms, (uint64) snowflake_64.epoch_unix_ms);
	pg_atomic_init_u64(&database->first_ms, 0);
	pg_atomic_init_u64(&database->told_ms, 0);
}

static void
init_shared_state(void *segment)
{
	SharedState *state = segment;

	state->life = next_life;
	state->overflown = false;
	pg_atomic_init_u32(&state->slots_handle, 0);
	for (int i = 0; i < SNOWFLAKE_WORDS; i++)
	{
		pg_atomic_init_u64(&state->shard_ticks[i], 0);
		pg_atomic_init_u64(&state->shard_counters[i].waits, 0);
		pg_atomic_init_u64(&state->shard_counters[i].clock_regressions, 0);
	}
	for (int i = 0; i <= SHARED_STATE_DATABASES; i++)
	{
		init_database_state(&state->databases[i]);
		pg_atomic_init_u32(&state->databases[i].database, InvalidOid);
	}
}

static void
init_version_in_use(void *segment)
{
	((VersionInUse *) segment)->version = SHARED_STATE_VERSION;
}

/* Before anything of the struct is looked at, or a second one made. */
static void
check_version_in_use(void)
{
	VersionInUse *in_use = seqid_attach_segment(VERSION_IN_USE_NAME,
												sizeof(VersionInUse),
												init_version_in_use);

	if (in_use->version != SHARED_STATE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("library of extension \"seqid\" was replaced while the server runs"),
				 errdetail("Shared memory in use is of version " UINT64_FORMAT ", that of this session's library of version %d.",
						   in_use->version, SHARED_STATE_VERSION),
				 errhint("Restart the server, so that all sessions use the same library.")));
}

/* Positive as a bigint, and never 0, which no life has. */
static uint64
draw_life(void)
{
	uint64		life;

	seqid_random_bytes(&life, sizeof(life));
	return (life >> 1) | 1;
}

SharedState *
seqid_attach_shared_state(void)
{
	check_version_in_use();
	next_life = draw_life();
	seqid_attached_state = seqid_attach_segment(SHARED_STATE_NAME,
												sizeof(SharedState),
												init_shared_state);
	Assert((uintptr_t) seqid_attached_state % SHARED_STATE_LINE_SIZE == 0);

	return seqid_attached_state;
}

/* Our place, if somebody has taken it already. */
static DatabaseState *
find_place(DatabaseState *places)
{
	for (int i = 0; i < SHARED_STATE_DATABASES; i++)
	{
		if (pg_atomic_read_u32(&places[i].database) == MyDatabaseId)
		{
			/* What is in it was written before it became ours. */
			pg_read_barrier();
			return &places[i];
		}
	}
	return NULL;
}

/*
 * Whether there is such a database.  With a new snapshot and past the cache, neither
 * of which learns of a database before its creator has told of it, while others may
 * be connected to it already: whoever has taken a place was, before we look.
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

/*
 * A place that is free, or whose database has been dropped: that had no sessions
 * any more, and no other gets its number by itself.  (From 15 on one may be made
 * with that number, which would have to happen, and draw keys, before we have taken
 * the place.)  *owner is what is to be found there when it is taken.
 */
static DatabaseState *
find_vacancy(DatabaseState *places, Oid *owner)
{
	for (int i = 0; i < SHARED_STATE_DATABASES; i++)
	{
		*owner = pg_atomic_read_u32(&places[i].database);
		if (!OidIsValid(*owner))
			return &places[i];
	}

	for (int i = 0; i < SHARED_STATE_DATABASES; i++)
	{
		*owner = pg_atomic_read_u32(&places[i].database);
		if (!database_exists(*owner))
			return &places[i];
	}
	return NULL;
}

/*
 * Takes the vacancy, or the place for those that find none; NULL if somebody has
 * been faster.  Under a lock, as two sessions of a database must not have two
 * places: who has read the floor in one would not know that in the other.  For the
 * same reason, once a database has found no place, none is given away any more.
 */
static DatabaseState *
take_place(SharedState *state, DatabaseState *vacancy, Oid owner)
{
	DatabaseState *place;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	place = find_place(state->databases);
	if (place == NULL)
	{
		if (vacancy == NULL)
			state->overflown = true;
		if (state->overflown)
			place = seqid_overflow_place(state);
		else if (pg_atomic_read_u32(&vacancy->database) == owner)
		{
			place = vacancy;
			init_database_state(place);
			pg_write_barrier();
			pg_atomic_write_u32(&place->database, MyDatabaseId);
		}
	}
	LWLockRelease(AddinShmemInitLock);

	return place;
}

DatabaseState *
seqid_attach_database(void)
{
	SharedState *state = seqid_shared_state();
	DatabaseState *place = find_place(state->databases);

	while (place == NULL)
	{
		Oid			owner;
		DatabaseState *vacancy = find_vacancy(state->databases, &owner);

		place = take_place(state, vacancy, owner);
	}
	seqid_attached_database = place;

	return place;
}

static void
startup_shared_state(void)
{
	/*
	 * After a crash the postmaster comes here again with fresh shared memory;
	 * the address it knows is of no use any more.
	 */
	seqid_attached_state = NULL;
	seqid_attached_database = NULL;
	seqid_attach_shared_state();
}

void
seqid_reserve_shared_state(void)
{
	/* What the postmaster sets, its children inherit. */
	seqid_preloaded = process_shared_preload_libraries_in_progress;
	if (seqid_preloaded)
		seqid_reserve_segment(CACHELINEALIGN(sizeof(SharedState)) +
							  CACHELINEALIGN(sizeof(VersionInUse)),
							  startup_shared_state);
}
