/*
 * segment.h
 *	  Segments of shared memory, with or without shared_preload_libraries.
 */
#ifndef SEQID_SEGMENT_H
#define SEQID_SEGMENT_H

#include "port/atomics.h"

/*
 * How backends find a dynamic segment: 0 until it exists, then the server's handle (before 17,
 * set under AddinShmemInitLock) or 1 (from 17 on).  It is stored in another segment, and only
 * this module writes it.
 */
typedef struct SegmentHandle
{
	pg_atomic_uint32 value;
} SegmentHandle;

static inline bool
seqid_segment_exists(SegmentHandle *handle)
{
	return pg_atomic_read_u32(&handle->value) != 0;
}

/*
 * Must be called from _PG_init while shared_preload_libraries is processed.  Before 17
 * it requests the memory, and calls startup when shared memory has been created.
 * startup must attach to the segments, so that no other module can take the memory.
 */
extern void seqid_reserve_segment(Size size, void (*startup) (void));

/*
 * Returns the segment with that name.  The first caller creates it and calls init, which must
 * not fail.  Takes a lock.  Raises insufficient_resources errors if there is no room.
 *
 * The second function does the same in dynamic shared memory, also before 17.  It is for
 * segments that are too large for the slack of such a server.
 */
extern void *seqid_attach_segment(const char *name, Size size, void (*init) (void *));
extern void *seqid_attach_dynamic_segment(const char *name, SegmentHandle *handle,
										  Size size, void (*init) (void *));

#endif							/* SEQID_SEGMENT_H */
