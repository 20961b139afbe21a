/*
 * shared_state.c
 *	  Creates the shared state, or attaches to it.
 *
 * Works in a server that was not told of seqid when it started: see compat.h
 * for where the memory then comes from.
 */
#include "postgres.h"

#include "compat.h"
#include "entropy.h"
#include "shared_state.h"

/*
 * The segment's name carries the version of the struct: after an upgrade
 * without a restart, code that has another idea of its fields must not find
 * this one.  Change the number whenever SharedState changes.
 */
#define SHARED_STATE_NAME "seqid shared state 2"

SharedState *seqid_attached_state = NULL;
bool		seqid_preloaded = false;

StaticAssertDecl(offsetof(SharedState, shard_ticks) % SHARED_STATE_LINE_SIZE == 0,
				 "the shards' words must start on a cache line of their own");

/* Drawn before the segment is created: its initialization must not fail. */
static uint64 next_life;

static void
init_shared_state(void *segment)
{
	SharedState *state = segment;

	state->life = next_life;
	pg_atomic_init_u64(&state->floor_ms, 0);
	pg_atomic_init_u64(&state->highest_mark_ms, 0);
	pg_atomic_init_u64(&state->marks_written, 0);
	pg_atomic_init_u64(&state->comb_tick, 0);
	for (int i = 0; i < SHARED_STATE_SHARDS; i++)
	{
		pg_atomic_init_u64(&state->shard_ticks[i], 0);
		pg_atomic_init_u64(&state->shard_counters[i].waits, 0);
		pg_atomic_init_u64(&state->shard_counters[i].clock_regressions, 0);
	}
}

/* Positive as a bigint, and never 0, which no life has. */
static uint64
draw_life(void)
{
	uint64		life;

	seqid_random_bytes(&life, sizeof(life));
	return (life >> 1) | 1;
}

/* The server's own message says what is missing, but not what to do. */
static void
add_segment_hint(void *arg pg_attribute_unused())
{
	int			code = geterrcode();

	if (ERRCODE_TO_CATEGORY(code) == ERRCODE_INSUFFICIENT_RESOURCES)
		errhint(COMPAT_SEGMENT_HINT);
}

SharedState *
seqid_attach_shared_state(void)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = add_segment_hint
	};

	next_life = draw_life();

	error_context_stack = &callback;
	seqid_attached_state = compat_attach_segment(SHARED_STATE_NAME,
												 sizeof(SharedState),
												 init_shared_state);
	error_context_stack = callback.previous;

	Assert((uintptr_t) seqid_attached_state % SHARED_STATE_LINE_SIZE == 0);

	return seqid_attached_state;
}

static void
startup_shared_state(void)
{
	/*
	 * After a crash the postmaster comes here again with fresh shared memory;
	 * the address it knows is of no use any more.
	 */
	seqid_attached_state = NULL;
	seqid_attach_shared_state();
}

void
seqid_reserve_shared_state(void)
{
	/* What the postmaster sets, its children inherit. */
	seqid_preloaded = process_shared_preload_libraries_in_progress;
	if (seqid_preloaded)
		compat_reserve_segment(sizeof(SharedState), startup_shared_state);
}
