/*
 * settled_nextval.c
 *	  nextval() for tables whose readers go by seqid.sequence_horizon().
 *
 * The value is the sequence's own.  The transaction is registered before it gets one,
 * so that readers know which values can still appear.
 */
#include "postgres.h"

#include "access/relation.h"
#include "clock/sequence_slot.h"
#include "clock/settled_sequence.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pg/sequence_page.h"
#include "state/server_shard.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"

/*
 * Registers the transaction for an open sequence, and returns the value that all its
 * values exceed.  A sequence that the transaction has created or restarted needs no
 * registration; see sequence_slot.c, invariant 3.
 */
static int64
register_for(Relation rel)
{
	Buffer		buffer;
	int64		last;

	if (relation_is_new(rel))
	{
		seqid_refuse_prepare();
		return PG_INT64_MIN;
	}

	buffer = ReadBuffer(rel, 0);
	last = seqid_register_sequence(RelationGetRelid(rel), buffer);
	ReleaseBuffer(buffer);
	return last;
}

/* The first call of a transaction for a sequence, and the first after a change of it. */
static pg_noinline int64
first_nextval(Oid sequence, int64 *last)
{
	Relation	rel;
	int64		value;

	seqid_prevent_during_recovery("execute settled_nextval()");
	PreventCommandIfReadOnly("settled_nextval()");
	PreventCommandIfParallelMode("settled_nextval()");

	rel = seqid_open_settled_sequence(sequence, ACL_USAGE | ACL_UPDATE);
	*last = register_for(rel);
	value = nextval_internal(sequence, true);

	/* nextval() keeps the same lock until the transaction ends. */
	relation_close(rel, RowExclusiveLock);
	return value;
}

/* By setval(), which does not wait for transactions. */
static pg_noinline void
report_small_value(Oid sequence, int64 value, int64 last)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("sequence \"%s\" was set back", get_rel_name(sequence)),
			 errdetail("It returned %lld, although its last value was %lld before.",
					   (long long) value, (long long) last),
			 errhint("Try the transaction again.")));
}

/*
 * settled_nextval(sequence regclass) returns bigint
 *	  Returns the sequence's next value, as nextval() does.
 *	  Errors: all errors of nextval(); 55000 if the sequence is not permanent, has CYCLE,
 *	  CACHE above 1 or a negative increment, or was set back during the transaction; 53400
 *	  for a ninth sequence in the transaction.
 */
PG_FUNCTION_INFO_V1(settled_nextval);
Datum
settled_nextval(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	int64		last;
	int64		value;

	if (likely(seqid_is_registered(sequence, &last)))
		value = nextval_internal(sequence, true);
	else
		value = first_nextval(sequence, &last);

	if (unlikely(value <= last))
		report_small_value(sequence, value, last);
	PG_RETURN_INT64(value);
}
