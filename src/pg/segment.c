/*
 * segment.c
 *	  Segments of shared memory, with or without shared_preload_libraries.
 *
 * From 17 on, the server creates named segments of dynamic shared memory on demand, so
 * the library reserves nothing when the server starts.  Before 17, a preloaded library
 * requests its memory.  One that is not preloaded takes a small piece of the slack that
 * the server has for such callers.  A segment that is too large for the slack is a
 * pinned segment of dynamic shared memory, which backends find by its handle.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/segment.h"
#include "storage/dsm_impl.h"

/* The second remedy helps for any dynamic_shared_memory_type. */
#define NO_DYNAMIC_ROOM_HINT \
	(dynamic_shared_memory_type == DSM_IMPL_POSIX ? \
	 "Free some space in /dev/shm, or raise \"min_dynamic_shared_memory\" and restart the server." : \
	 "Raise \"min_dynamic_shared_memory\" and restart the server.")

#if COMPAT_HAS_NAMED_SEGMENTS

#include "storage/dsm_registry.h"

#define NO_ROOM_HINT	NO_DYNAMIC_ROOM_HINT

void
seqid_reserve_segment(Size size pg_attribute_unused(), void (*startup) (void))
{
	/* An attribute of the parameter would apply to the function's type. */
	(void) startup;
}

#if COMPAT_SEGMENT_INIT_HAS_ARGUMENT

/* The argument points to a pointer to the function with one parameter. */
static void
call_init(void *segment, void *init)
{
	(*(void (**) (void *)) init) (segment);
}

#define INIT_AND_ARGUMENT(init, found)	call_init, found, &init
#else
#define INIT_AND_ARGUMENT(init, found)	init, found
#endif

/* The server finds a segment by its name, with or without a handle. */
static void *
create_or_find(const char *name, SegmentHandle *handle, Size size, void (*init) (void *))
{
	bool		found;
	void	   *segment = GetNamedDSMSegment(name, size, INIT_AND_ARGUMENT(init, &found));

	if (handle != NULL)
		pg_atomic_write_u32(&handle->value, 1);
	return segment;
}

#else

#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#define NO_ROOM_HINT \
	"Add seqid to \"shared_preload_libraries\" and restart the server."

static Size reserved_size;
static void (*reserved_startup) (void);
static shmem_startup_hook_type next_startup_hook;
static shmem_request_hook_type next_request_hook;

static void
request_room(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(reserved_size);
}

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
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_room;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_up;
}

/* Returns a segment of the server's main shared memory or, with a handle, a dynamic one. */
static void *
create_or_find(const char *name, SegmentHandle *handle, Size size, void (*init) (void *))
{
	dsm_segment *dynamic = NULL;
	void	   *segment = NULL;
	bool		found;

	/* No other backend must see a segment before init has filled it. */
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	if (handle == NULL)
		segment = ShmemInitStruct(name, size, &found);
	else
	{
		found = seqid_segment_exists(handle);
		dynamic = found ? dsm_attach(pg_atomic_read_u32(&handle->value)) : dsm_create(size, 0);
		if (dynamic == NULL)
			elog(ERROR, "could not attach to dynamic shared memory of seqid");
		dsm_pin_mapping(dynamic);
		segment = dsm_segment_address(dynamic);
	}
	if (!found)
		init(segment);
	if (!found && dynamic != NULL)
	{
		dsm_pin_segment(dynamic);
		pg_atomic_write_u32(&handle->value, dsm_segment_handle(dynamic));
	}
	LWLockRelease(AddinShmemInitLock);

	return segment;
}

#endif

/* Adds a hint to the message of the server, which does not have one. */
static void
add_hint(void *hint)
{
	if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_INSUFFICIENT_RESOURCES)
		errhint("%s", (const char *) hint);
}

static void *
attach(const char *name, SegmentHandle *handle, Size size, void (*init) (void *), char *hint)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = add_hint,
		.arg = hint
	};
	void	   *segment;

	error_context_stack = &callback;
	segment = create_or_find(name, handle, size, init);
	error_context_stack = callback.previous;

	return segment;
}

void	   *
seqid_attach_segment(const char *name, Size size, void (*init) (void *))
{
	return attach(name, NULL, size, init, NO_ROOM_HINT);
}

void	   *
seqid_attach_dynamic_segment(const char *name, SegmentHandle *handle,
							 Size size, void (*init) (void *))
{
	return attach(name, handle, size, init, NO_DYNAMIC_ROOM_HINT);
}
