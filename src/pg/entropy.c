/*
 * entropy.c
 *	  Random bytes, from a pool in each backend.  pg_strong_random() makes a system call, which
 *	  hardly takes longer for 4 kB than for 16 bytes.
 *
 * Invariants: a byte is returned only once, and is then wiped, so that neither a core dump nor
 * a stray read reveals the bits of keys.  A process never uses bytes that it inherited through
 * fork(), because its parent or a sibling would use the same bytes.
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
