/*
 * followed_sequence.c
 *	  What the sessions that follow a sequence share.
 *
 * A separate segment, which the first look of a server lifetime creates, has room for
 * FOLLOWED_SEQUENCES sequences of all databases.  If all places are in use, a new sequence
 * takes the place of another one, which later starts again as after a restart of the server.
 * The role that has the most places in a database loses that of the sequence whose last look
 * was the longest ago.  So no role can take the places of others by following many sequences.
 *
 * Locks: the lock of the table is acquired before that of a sequence.  Neither is held during
 * a catalog access or a wait for a heavyweight lock.
 */
#include "postgres.h"

#include "access/twophase.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "port/pg_bitutils.h"
#include "state/database_state.h"
#include "state/followed_sequence.h"
#include "utils/timestamp.h"

#define FOLLOWED_SEQUENCES	256
#define FOLLOWED_NAME		"seqid followed sequences " CppAsString2(SHARED_STATE_VERSION)
#define TRANCHE_NAME		"seqid_followed_sequence"

typedef struct FollowedTable
{
	LWLock		lock;
	int			tranche;		/* of all locks here; constant */
	pg_atomic_uint64 generations;	/* that have begun */
} FollowedTable;

/* NULL until this process has attached. */
static FollowedTable *table = NULL;

/* For MaxBackends + max_prepared_xacts other transactions, our own one, and a free place. */
static uint32
holder_places(void)
{
	return pg_nextpower2_32((uint32) (MaxBackends + max_prepared_xacts + 2));
}

static Size
sequence_size(void)
{
	return CACHELINEALIGN(offsetof(FollowedSequence, holders) +
						  holder_places() * sizeof(SequenceHolder));
}

static FollowedSequence *
sequence_in(FollowedTable *in, int number)
{
	return (FollowedSequence *) ((char *) in + CACHELINEALIGN(sizeof(FollowedTable)) +
								 number * sequence_size());
}

static void
init_table(void *segment)
{
	FollowedTable *created = segment;

	created->tranche = compat_new_tranche(TRANCHE_NAME);
	LWLockInitialize(&created->lock, created->tranche);
	pg_atomic_init_u64(&created->generations, 0);
	for (int i = 0; i < FOLLOWED_SEQUENCES; i++)
	{
		FollowedSequence *followed = sequence_in(created, i);

		LWLockInitialize(&followed->lock, created->tranche);
		pg_atomic_init_u64(&followed->looked_us, 0);
		followed->nonce = 0;
	}
}

/* The entry of the sequence, or NULL. */
static FollowedSequence *
find_sequence(uint64 nonce, Oid sequence)
{
	for (int i = 0; i < FOLLOWED_SEQUENCES; i++)
	{
		FollowedSequence *followed = sequence_in(table, i);

		if (followed->sequence == sequence && followed->nonce == nonce)
			return followed;
	}
	return NULL;
}

/* How many places the role of a sequence has in the sequence's database. */
static int
places_of_role(const FollowedSequence *of)
{
	int			places = 0;

	for (int i = 0; i < FOLLOWED_SEQUENCES; i++)
		places += sequence_in(table, i)->nonce == of->nonce && sequence_in(table, i)->role == of->role;
	return places;
}

/*
 * Returns a free place, or the one that is given up.  The caller holds the lock of the table,
 * so avoid counting the places of one role repeatedly.
 */
static FollowedSequence *
find_place(void)
{
	FollowedSequence *best = NULL;
	int			best_places = 0;

	for (int i = 0; i < FOLLOWED_SEQUENCES; i++)
	{
		FollowedSequence *followed = sequence_in(table, i);
		int			places;

		if (followed->nonce == 0)
			return followed;
		places = best != NULL && followed->nonce == best->nonce && followed->role == best->role ?
			best_places : places_of_role(followed);
		if (best == NULL || places > best_places ||
			(places == best_places &&
			 pg_atomic_read_u64(&followed->looked_us) < pg_atomic_read_u64(&best->looked_us)))
		{
			best = followed;
			best_places = places;
		}
	}
	return best;
}

FollowedSequence *
seqid_lock_followed_sequence(Oid sequence)
{
	uint64		nonce = seqid_database_state()->mark.nonce;
	FollowedSequence *followed;

	if (unlikely(table == NULL))
	{
		table = seqid_attach_dynamic_segment(FOLLOWED_NAME,
											 &seqid_shared_state()->followed_sequences,
											 CACHELINEALIGN(sizeof(FollowedTable)) +
											 FOLLOWED_SEQUENCES * sequence_size(),
											 init_table);
		compat_register_tranche(table->tranche, TRANCHE_NAME);
	}
	LWLockAcquire(&table->lock, LW_SHARED);
	followed = find_sequence(nonce, sequence);
	if (followed == NULL)
	{
		LWLockRelease(&table->lock);
		LWLockAcquire(&table->lock, LW_EXCLUSIVE);
		followed = find_sequence(nonce, sequence);
	}
	if (followed == NULL)
		followed = find_place();
	LWLockAcquire(&followed->lock, LW_EXCLUSIVE);
	if (followed->nonce != nonce || followed->sequence != sequence)
	{
		followed->nonce = nonce;
		followed->sequence = sequence;
		followed->role = GetUserId();
		pg_atomic_write_u64(&followed->looked_us, (uint64) GetCurrentTimestamp());
		followed->file = 0;
		followed->generation = 0;
	}
	LWLockRelease(&table->lock);
	return followed;
}

bool
seqid_is_followed_file(Oid sequence, uint64 file)
{
	FollowedSequence *followed = seqid_lock_followed_sequence(sequence);
	bool		is_followed = followed->file == file;

	LWLockRelease(&followed->lock);
	return is_followed;
}

void
seqid_begin_generation(FollowedSequence *followed)
{
	followed->generation = pg_atomic_add_fetch_u64(&table->generations, 1);
	/* If the look fails, for lack of memory, the next one is the first again. */
	followed->file = 0;
	seqid_clear_holders(followed);
}

void
seqid_clear_holders(FollowedSequence *followed)
{
	memset(followed->holders, 0, holder_places() * sizeof(SequenceHolder));
}

SequenceHolder *
seqid_find_holder(FollowedSequence *followed, VirtualTransactionId transaction)
{
	uint32		mask = holder_places() - 1;
	uint32		place = (uint32) compat_vxid_process(transaction) +
	transaction.localTransactionId * 31;

	for (;;)
	{
		SequenceHolder *holder = &followed->holders[place++ & mask];

		/* A free place is zeroed, and no open transaction has local id 0. */
		if (holder->transaction.localTransactionId == InvalidLocalTransactionId ||
			VirtualTransactionIdEquals(holder->transaction, transaction))
			return holder;
	}
}
