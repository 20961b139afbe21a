/*
 * logged_sequence.c
 *	  Makes sure that no value of a sequence comes again after a crash.
 *
 * nextval() writes WAL for 32 values ahead, and counts on the page (log_cnt) how many of
 * them it can still return without another record.  CREATE DATABASE, SET LOGGED and some
 * forms of ALTER SEQUENCE copy the page with this count, but the WAL of the copy contains
 * the last value only.  After a crash the copy would return up to 32 values again.
 *
 * So the page is logged with a count of 0, once for each file in a server lifetime.  The
 * next nextval() then writes WAL of its own.  A file that was copied later is another file.
 *
 * The set of logged files is an array in shared memory.  A file's place follows from a
 * hash of its number and of the nonce of the database, and contains the hash.  Files that
 * share a place are logged once more whenever they alternate, which does no harm.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "commands/sequence.h"
#include "common/hashfn.h"
#include "pg/compat.h"
#include "pg/sequence_page.h"
#include "state/database_state.h"
#include "state/logged_sequence.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/inval.h"

/* Sequences whose file this session has looked up in its open transaction. */
#define CHECKED_SEQUENCES	8

static struct
{
	Oid			sequence;
	LocalTransactionId lxid;
}			checked[CHECKED_SEQUENCES];

bool
seqid_log_sequence_once(Relation rel, Buffer buffer)
{
	uint64		hash;
	pg_atomic_uint64 *place;

	/* An unlogged or temporary sequence promises nothing after a crash. */
	if (!RelationNeedsWAL(rel))
		return false;

	/* Two files of a database have two hashes; 0 is that of an empty place. */
	hash = Max(hash_combine64(seqid_database_state()->mark.nonce, relation_file(rel)), 1);
	place = &seqid_dynamic_state()->logged_files[hash % LOGGED_FILES];
	if (pg_atomic_read_u64(place) == hash)
		return false;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	(void) seqid_log_sequence_page(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	/* Not before the record is inserted, because others then rely on it. */
	pg_write_barrier();
	pg_atomic_write_u64(place, hash);
	return true;
}

/* The caller has called nextval(), which keeps a lock until the transaction ends. */
static pg_noinline void
log_locked_sequence(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);
	Buffer		buffer = ReadBuffer(rel, 0);

	/* The commit then flushes the record, as it does for nextval() itself. */
	if (seqid_log_sequence_once(rel, buffer))
		(void) GetTopTransactionId();
	ReleaseBuffer(buffer);
	relation_close(rel, NoLock);

	checked[sequence % CHECKED_SEQUENCES].sequence = sequence;
	checked[sequence % CHECKED_SEQUENCES].lxid = compat_lxid(MyProc);
}

int64
seqid_durable_nextval(Oid sequence, bool check_permissions)
{
	int64		value = nextval_internal(sequence, check_permissions);

	/* No other session can replace the file after this call. */
	if (unlikely(checked[sequence % CHECKED_SEQUENCES].sequence != sequence ||
				 checked[sequence % CHECKED_SEQUENCES].lxid != compat_lxid(MyProc)))
		log_locked_sequence(sequence);
	return value;
}

/* The transaction itself has replaced the file, or rolled this back. */
static void
check_again(Datum arg pg_attribute_unused(), Oid relid)
{
	for (int i = 0; i < CHECKED_SEQUENCES; i++)
	{
		if (relid == InvalidOid || checked[i].sequence == relid)
			checked[i].lxid = InvalidLocalTransactionId;
	}
}

void
seqid_watch_sequences(void)
{
	CacheRegisterRelcacheCallback(check_again, (Datum) 0);
}
