/*
 * compat.h
 *	  seqid's own, but for the local id of another process's transaction: a plain word of
 *	  the server's, which seqid reads without a lock, as the server does.  C calls that a
 *	  data race.  Here it is a load as of an atomic, early if chance will have it, so that
 *	  there is nothing to be found but what it leads to.
 */
#ifndef THREADS_COMPAT_H
#define THREADS_COMPAT_H

#include_next "server/compat.h"

#include "machine.h"
#include "storage/proc.h"

static inline volatile uint32 *
lxid_of(PGPROC *proc)
{
	return &compat_lxid(proc);
}

#undef compat_lxid
#define compat_lxid(proc)	machine_load32(lxid_of(proc))

#endif							/* THREADS_COMPAT_H */
