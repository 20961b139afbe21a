/*
 * segment.c
 *	  A segment of shared memory, also in a server that was not told of it when it
 *	  started.
 *
 * From 17 on the server hands out named segments of dynamic shared memory on
 * demand, so nothing has to be reserved while it starts.  Before, a module that is
 * preloaded asks for its share, and one that is not takes a small piece of the
 * slack the server keeps for such callers.
 */
#include "postgres.h"

#include "server/compat.h"
#include "server/segment.h"

#if COMPAT_HAS_NAMED_SEGMENTS

#include "storage/dsm_registry.h"

#define NO_ROOM_HINT \
	"Free some space in /dev/shm, or raise \"min_dynamic_shared_memory\" and restart the server."

void
seqid_reserve_segment(Size size pg_attribute_unused(),
					  void (*startup) (void) pg_attribute_unused())
{
}

static void *
create_or_find(const char *name, Size size, void (*init) (void *))
{
	bool		found;

	return GetNamedDSMSegment(name, size, init, &found);
}

#else

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#define NO_ROOM_HINT \
	"Add seqid to \"shared_preload_libraries\" and restart the server."

static Size reserved_size;
static void (*reserved_startup) (void);
static shmem_startup_hook_type next_startup_hook;

#if COMPAT_HAS_REQUEST_HOOK
static shmem_request_hook_type next_request_hook;

static void
request_room(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(reserved_size);
}
#endif

static void
start_up(void)
{
	if (next_startup_hook)
		next_startup_hook();
	reserved_startup();
}

void
seqid_reserve_segment(Size size, void (*startup) (void))
{
	reserved_size = size;
	reserved_startup = startup;
#if COMPAT_HAS_REQUEST_HOOK
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_room;
#else
	RequestAddinShmemSpace(size);
#endif
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_up;
}

static void *
create_or_find(const char *name, Size size, void (*init) (void *))
{
	void	   *segment;
	bool		found;

	/* Nobody may see the segment before it is filled. */
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	segment = ShmemInitStruct(name, size, &found);
	if (!found)
		init(segment);
	LWLockRelease(AddinShmemInitLock);

	return segment;
}

#endif

/* The server's own message says what is missing, but not what to do. */
static void
add_hint(void *arg pg_attribute_unused())
{
	int			code = geterrcode();

	if (ERRCODE_TO_CATEGORY(code) == ERRCODE_INSUFFICIENT_RESOURCES)
		errhint(NO_ROOM_HINT);
}

void	   *
seqid_attach_segment(const char *name, Size size, void (*init) (void *))
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = add_hint
	};
	void	   *segment;

	error_context_stack = &callback;
	segment = create_or_find(name, size, init);
	error_context_stack = callback.previous;

	return segment;
}
