/*
 * shared_state.c
 *	  Creates the shared state, or attaches to it.
 *
 * Invariant: there is only one struct in a server lifetime.  If the library is replaced,
 * earlier sessions continue to use the old one, and later sessions load the new one.  If each
 * library had its own counters, sessions would issue the same ids, keys would lose their
 * order, and readers would miss rows.  So the first session records its version, and sessions
 * with another version are refused.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pg/segment.h"
#include "state/shared_state.h"

#define SHARED_STATE_NAME "seqid shared state " CppAsString2(SHARED_STATE_VERSION)

/*
 * The segment that contains the version of this server lifetime, a uint64.  Libraries of all
 * releases must find it, so neither its name nor its size must ever change.
 */
#define VERSION_IN_USE_NAME "seqid version in use"

SharedState *seqid_attached_state = NULL;
bool		seqid_preloaded = false;

StaticAssertDecl(offsetof(SharedState, shard_ticks) == SHARED_STATE_LINE_SIZE,
				 "the counters of shards must start on the second cache line");
StaticAssertDecl(SNOWFLAKE_64_SHARDS % SHARED_STATE_LINE_WORDS == 0 &&
				 SNOWFLAKE_53_SHARDS % SHARED_STATE_LINE_WORDS == 0,
				 "the words of a layout's shards must fill whole lines");

static void
init_shared_state(void *segment)
{
	SharedState *state = segment;

	pg_atomic_init_u32(&state->dynamic_state.value, 0);
	pg_atomic_init_u32(&state->followed_sequences.value, 0);
	SpinLockInit(&state->backfill_lock);
	for (int i = 0; i < SNOWFLAKE_WORDS; i++)
	{
		pg_atomic_init_u64(&state->shard_ticks[i], 0);
		pg_atomic_init_u64(&state->shard_events[i].waits, 0);
		pg_atomic_init_u64(&state->shard_events[i].clock_regressions, 0);
		pg_atomic_init_u64(&state->backfilled_ticks[i], 0);
	}
}

static void
init_version_in_use(void *segment)
{
	*(uint64 *) segment = SHARED_STATE_VERSION;
}

static uint64
version_in_use(void)
{
	return *(uint64 *) seqid_attach_segment(VERSION_IN_USE_NAME, sizeof(uint64),
											init_version_in_use);
}

SharedState *
seqid_attach_shared_state(void)
{
	uint64		in_use = version_in_use();

	/* Check this before the struct is used or created. */
	if (in_use != SHARED_STATE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("library of extension \"seqid\" was replaced while the server was running"),
				 errdetail("The server uses version " UINT64_FORMAT " of the shared memory, and the library of this session has version %d.",
						   in_use, SHARED_STATE_VERSION),
				 errhint("Restart the server so that all sessions use the same library.")));
	seqid_attached_state = seqid_attach_segment(SHARED_STATE_NAME, sizeof(SharedState),
												init_shared_state);
	Assert((uintptr_t) seqid_attached_state % SHARED_STATE_LINE_SIZE == 0);

	return seqid_attached_state;
}

SharedState *
seqid_find_shared_state(void)
{
	if (seqid_attached_state == NULL && version_in_use() != SHARED_STATE_VERSION)
		return NULL;
	return seqid_shared_state();
}

static void
startup_shared_state(void)
{
	/* After a crash the postmaster calls this again with new shared memory. */
	seqid_attached_state = NULL;
	seqid_attach_shared_state();
}

void
seqid_reserve_shared_state(void)
{
	/* Backends inherit this from the postmaster. */
	seqid_preloaded = process_shared_preload_libraries_in_progress;
	if (seqid_preloaded)
		seqid_reserve_segment(CACHELINEALIGN(sizeof(SharedState)) + CACHELINEALIGN(sizeof(uint64)),
							  startup_shared_state);
}
