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
 * The same in dynamic shared memory, also before 17: for what is larger than the
 * slack that such a server has for late callers.  *handle is a word in another segment,
 * by which backends find this one; 0 until it exists.
 */
extern void *seqid_attach_dynamic_segment(const char *name, pg_atomic_uint32 *handle,
										  Size size, void (*init) (void *));

#endif							/* SEQID_SEGMENT_H */
