/*
 * entropy.c
 *	  Random bytes, from a pool that each backend keeps.
 *
 * pg_strong_random() costs a system call, and hardly more for 4 kB than for
 * 16 bytes: so we fetch a page and hand it out piece by piece.
 *
 * Invariants: a byte is handed out once, and is wiped as it leaves, so that
 * neither a core dump nor a stray read reveals ids that were issued; and a
 * process never uses bytes that it inherited over fork, which its parent or a
 * sibling would use as well.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pg/entropy.h"

static uint8 pool[4096];
static Size pool_left = 0;		/* unused bytes, at the end of the pool */
static int	pool_owner = 0;		/* pid of the process that filled it */

static void
refill_pool(void)
{
	/* Should this fail half way, nothing of it may be used. */
	pool_left = 0;
	if (!pg_strong_random(pool, sizeof(pool)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	pool_left = sizeof(pool);
	pool_owner = MyProcPid;
}

void
seqid_random_bytes(void *buffer, Size size)
{
	uint8	   *bytes;

	Assert(size <= ENTROPY_MAX_REQUEST);

	if (unlikely(pool_left < size || pool_owner != MyProcPid))
		refill_pool();

	bytes = pool + sizeof(pool) - pool_left;
	memcpy(buffer, bytes, size);
	memset(bytes, 0, size);
	pool_left -= size;
}
