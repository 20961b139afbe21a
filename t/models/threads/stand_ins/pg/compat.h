/*
 * compat.h
 *	  A stand-in for seqid's own header, with another compat_lxid().  The lxid of another
 *	  process is a plain word, which seqid and the server read without a lock.  C calls
 *	  that a data race.  Here it is like an atomic.
 */
#ifndef THREADS_COMPAT_H
#define THREADS_COMPAT_H

#include_next "pg/compat.h"

#include "storage/proc.h"
#include "threads.h"

static inline volatile uint32 *
lxid_of(PGPROC *proc)
{
	return &compat_lxid(proc);
}

#undef compat_lxid
#define compat_lxid(proc)	((uint32) machine_load(lxid_of(proc), 4))

#endif
