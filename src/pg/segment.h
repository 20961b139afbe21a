/*
 * segment.h
 *	  A segment of shared memory, also in a server that was not told of it when it
 *	  started.
 */
#ifndef SEQID_SEGMENT_H
#define SEQID_SEGMENT_H

#include "postgres.h"

#include "port/atomics.h"

/*
 * To be called from _PG_init while shared_preload_libraries is processed: sees to
 * it that there will be room.  startup is called when shared memory has been
 * created, and must attach, so that nobody else can take it.
 */
extern void seqid_reserve_segment(Size size, void (*startup) (void));

/*
 * Returns the segment of that name; the first caller creates it and has init fill
 * it, which must not fail.  Takes a lock.  Raises insufficient_resources errors
 * when there is no room.
 */
extern void *seqid_attach_segment(const char *name, Size size, void (*init) (void *));

/*
 * How backends find a dynamic segment.  The handle is in another segment, and is
 * written by this module only.
 */
typedef struct SegmentHandle
{
	/*
	 * 0 until the segment exists.  Before 17 the handle of the server, set
	 * under AddinShmemInitLock; from 17 on 1.
	 */
	pg_atomic_uint32 value;
} SegmentHandle;

static inline void
seqid_init_segment_handle(SegmentHandle *handle)
{
	pg_atomic_init_u32(&handle->value, 0);
}

static inline bool
seqid_segment_exists(SegmentHandle *handle)
{
	return pg_atomic_read_u32(&handle->value) != 0;
}

/*
 * Does the same as seqid_attach_segment() in dynamic shared memory, also before 17:
 * for a segment that is larger than the slack of such a server.
 */
extern void *seqid_attach_dynamic_segment(const char *name, SegmentHandle *handle,
										  Size size, void (*init) (void *));

#endif							/* SEQID_SEGMENT_H */
