/*
 * compat.h
 *	  seqid's own, except for the lxid of another process: a plain word of the server,
 *	  which seqid reads without a lock, as the server does.  C calls that a data race.
 *	  Here it is a word like an atomic.
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

#endif							/* THREADS_COMPAT_H */
