/*
 * durable_sequence.c
 *	  nextval() whose values do not come again after a crash.
 *
 * nextval() writes WAL for 32 values ahead, and counts on the page (log_cnt) how many of
 * them it can still return without another record.  CREATE DATABASE, SET LOGGED and some
 * forms of ALTER SEQUENCE copy the page with this count, but the WAL of the copy contains
 * the last value only.  After a crash the copy would return up to 32 values again.
 *
 * So each session logs the page with a count of 0 when it calls the sequence first, and
 * again if the sequence has another file then.  The next nextval() writes WAL of its own.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "commands/sequence.h"
#include "pg/compat.h"
#include "pg/durable_sequence.h"
#include "pg/sequence_page.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"

typedef struct CalledSequence
{
	Oid			sequence;		/* hash key */
	uint64		file;			/* that this session has logged, 0 for none */
} CalledSequence;

static HTAB *called_sequences = NULL;

/* The sequence that the open transaction has called last, if its file was compared. */
static Oid	last_called = InvalidOid;
static LocalTransactionId last_lxid = InvalidLocalTransactionId;

static CalledSequence *
find_called(Oid sequence)
{
	CalledSequence *called;
	bool		found;

	if (called_sequences == NULL)
	{
		HASHCTL		info = {
			.keysize = sizeof(Oid),
			.entrysize = sizeof(CalledSequence)
		};

		called_sequences = hash_create("seqid called sequences", 16, &info, HASH_ELEM | HASH_BLOBS);
	}
	called = hash_search(called_sequences, &sequence, HASH_ENTER, &found);
	if (!found)
		called->file = 0;
	return called;
}

static void
log_page(Relation rel)
{
	Buffer		buffer = ReadBuffer(rel, 0);

	/* The commit then flushes the record, as it does for nextval() itself. */
	(void) GetTopTransactionId();
	seqid_log_sequence_page(buffer);
	ReleaseBuffer(buffer);
}

/* nextval() has locked the sequence until the transaction ends, so the file stays. */
static pg_noinline void
log_if_new_file(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);
	CalledSequence *called = find_called(sequence);

	/* An unlogged or temporary sequence promises nothing after a crash. */
	if (RelationNeedsWAL(rel) && called->file != relation_file(rel))
	{
		log_page(rel);
		called->file = relation_file(rel);
	}
	relation_close(rel, NoLock);
	last_called = sequence;
	last_lxid = compat_lxid(MyProc);
}

int64
seqid_durable_nextval(Oid sequence, bool check_permissions)
{
	int64		value = nextval_internal(sequence, check_permissions);

	if (unlikely(last_called != sequence || last_lxid != compat_lxid(MyProc)))
		log_if_new_file(sequence);
	return value;
}

/* The open transaction itself has replaced a file, or rolled this back. */
static void
compare_again(Datum arg pg_attribute_unused(), Oid relid)
{
	if (relid == InvalidOid || relid == last_called)
		last_called = InvalidOid;
}

void
seqid_watch_sequences(void)
{
	CacheRegisterRelcacheCallback(compare_again, (Datum) 0);
}
