/*
 * entropy.c
 *	  Random bytes, from a pool that each backend has: pg_strong_random() makes a system
 *	  call, and 4 kB take hardly longer than 16 bytes.
 *
 * Invariants: a byte is returned once.  It is wiped then, so that neither a core dump
 * nor a stray read reveals the bits of keys.  A process never uses bytes that it
 * inherited over fork, because its parent or a sibling would use the same.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pg/entropy.h"

static uint8 pool[4096];
static Size pool_left = 0;		/* unused bytes, at the end of the pool */
static int	pool_owner = 0;		/* pid of the process that filled it */

void
seqid_random_bytes(void *buffer, Size size)
{
	uint8	   *bytes;

	Assert(size <= sizeof(pool));

	if (unlikely(pool_left < size || pool_owner != MyProcPid))
	{
		/* If this fails, no byte of the pool must be used. */
		pool_left = 0;
		if (!pg_strong_random(pool, sizeof(pool)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
		pool_left = sizeof(pool);
		pool_owner = MyProcPid;
	}

	bytes = pool + sizeof(pool) - pool_left;
	memcpy(buffer, bytes, size);
	memset(bytes, 0, size);
	pool_left -= size;
}
