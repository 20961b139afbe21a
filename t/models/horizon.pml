/*
 * horizon.pml
 *	  How a consumer that reads up to the settled horizon misses no row.
 *
 * Backends of a database generate keys and insert them.  The first can have a parallel
 * worker.  The last can prepare its transaction, which some session commits or rolls back
 * later.  Readers ask for the horizon and then read the rows below it.  A key is its
 * millisecond.  Only the clock and the crashes are bounded.
 *
 * Each access to shared memory is a step, and so is a snapshot.  The clock shows any time
 * whenever a process reads it.  A crash loses everything except the mark and the prepared
 * transactions with their locks.  The mark is durable in one step here; see seqid.pml.
 *
 * Properties:
 *	  no row missed	No row becomes visible with a key below a horizon that a reader has
 *					used.
 *	  not back		A reader gets no earlier horizon than one that was published before
 *					it asked, also after a crash, with one exception.  A reader can
 *					overtake a backend between its read of min_key and its store of
 *					the slot.  The slot, and the lock if the backend prepares, are then
 *					earlier than this reader's horizon.  The published horizon makes up
 *					for that until a crash.  After it the horizon starts from the lock,
 *					and no row is missed.  With STRICT the exception is an error.  With
 *					SETTLED it cannot occur: the backend stores min_key in the slot
 *					again after it has registered.
 *	  advances		With PROGRESS: if all transactions end, the horizon reaches the
 *					clock, however transactions overlap.
 *
 * Left to the tests: other databases, except for a slot that a process of one has left;
 * the LSN for standbys; subtransactions; an empty transaction.
 *
 * models.pl defines CLOCK_MAX=2 CRASHES=0 READERS=1 BACKENDS=2 WORKERS=0 PREPARES=0, and runs:
 *	  none WORKERS=1 PREPARES=1
 *	  none PREPARES=1 CRASHES=1
 *	  none BACKENDS=1 WORKERS=1 PREPARES=1 CRASHES=1
 *	  none BACKENDS=1 WORKERS=1 PREPARES=1 CRASHES=1 SETTLED STRICT
 *	  none BACKENDS=1 READERS=2 CRASHES=1
 *	  none AGAIN WORKERS=1
 *	  none PROGRESS WORKERS=1
 *	  none PROGRESS PREPARES=1
 *	  promised CLAIM_BEFORE_SLOT: a key's time is chosen before the transaction registers
 *	  promised NO_BARRIER: min_key is read again before the slot is stored
 *	  promised READER_NO_BARRIER: min_key is stored after the slots are read
 *	  promised CLEAR_BEFORE_VISIBLE: the slot lapses before the row is visible
 *	  promised HAND_OVER_AT_END WORKERS=1: the worker has its own slot, and registers its
 *		leader at its end
 *	  promised LAPSE_BEFORE_LOCK PREPARES=1: PREPARE acquires its lock after the slot has
 *		lapsed
 *	  promised RELEASE_BEFORE_VISIBLE PREPARES=1: COMMIT PREPARED releases the lock first
 *	  promised LOCKS_BEFORE_SLOTS PREPARES=1: the reader reads the locks first
 *	  promised TRUST_LEFTOVER AGAIN: a slot with the right lxid counts even if it is later
 *		than min_key, as a process of another database has left it
 *	  promised PUBLISH_BEFORE_DURABLE CRASHES=1 MAY_GO_BACK: the mark covers a horizon only
 *		after it is published; the horizon goes back, too, which MAY_GO_BACK allows
 *	  before SLOT_WITHOUT_FLOOR CRASHES=1: min_key starts from nothing in each lifetime, and
 *		so do slots until a reader has asked
 *	  before STRICT PREPARES=1 CRASHES=1: the exception above
 *	  unseen READ_WITH_OLD_SNAPSHOT: the snapshot is older than the horizon
 *	  cycle PUBLISHED_IN_SLOT PROGRESS: the slot has the published horizon, not min_key
 */

#include "macros.h"

#define NEVER		15				/* later than all times */

/* AGAIN: a slot that a process of another database has left */
#ifdef AGAIN
#define LEFT_TIME	3				/* later than CLOCK_MAX */
#define LEFT_LXID	1
#else
#define LEFT_TIME	0
#define LEFT_LXID	0
#endif

/* shared memory; the worker has a slot and an lxid only in HAND_OVER_AT_END */
#define WORKER		2
byte min_key = 0;
byte published = 0;
byte slot_time[3] = { LEFT_TIME, 0, 0 };
byte slot_lxid[3] = { LEFT_LXID, 0, 0 };
bool slot_settled[3];
byte lxid[3];						/* 0 is no transaction */
byte floor = 0;						/* the mark that this lifetime found */
byte lifetime = 0;
byte lxid_in_hand[READERS];			/* a reader's copy of a slot's lxid */
bool working = false;				/* the first backend has a worker */
bool preparing = false;				/* no other session can finish the transaction */

/* not lost in a crash */
byte mark = 0;
byte lock_time = NEVER;				/* of a prepared transaction */
byte prepared_least = NEVER;
byte crashes = 0;

/* what the properties need */
byte least[2] = NEVER;				/* the least key of the running transaction */
byte promised = 0;					/* a reader has read up to here */
byte not_below = 0;					/* no earlier horizon is correct */
byte unseen = NEVER;				/* the least key that a snapshot is too old for */

#ifdef SLOT_WITHOUT_FLOOR
#define lower_end	(0)
#else
#define lower_end	(floor + 1)
#endif
#define min_key_now	max(min_key, lower_end)

#ifdef PUBLISHED_IN_SLOT
#define slot_value	max(published, lower_end)
#else
#define slot_value	(time)
#endif

#ifdef TRUST_LEFTOVER
#define plausible	(true)
#else
#define plausible	(slot_seen <= time)
#endif

#ifdef READ_WITH_OLD_SNAPSHOT
#define becomes_visible(key) \
	assert((key) >= promised); unseen = min(unseen, key)
#else
#define becomes_visible(key) \
	assert((key) >= promised)
#endif

/* After the last crash the mark does not matter. */
#define cover(until) \
	mark = (crashes < CRASHES -> max(mark, until) : 0)

/*
 * A process's next transaction has an lxid that no reader has read from a slot and will
 * compare.  An ended transaction's slot can be cleared then, which saves states.  With
 * AGAIN the same lxid comes again and finds the old slot.
 */
#ifdef AGAIN
#define next_lxid	1
#define end_transaction(me) \
	lxid[me] = 0
#else
#define in_hand(id)	(lxid_in_hand[0] == (id) || lxid_in_hand[READERS - 1] == (id))
#define next_lxid	(!in_hand(1) -> 1 : (!in_hand(2) -> 2 : 3))
#define end_transaction(me) \
	lxid[me] = 0; slot_lxid[me] = 0; slot_time[me] = 0; slot_settled[me] = false
#endif

/* A crash ends what a process does and knows. */
#define unless_crash(forget) \
	unless { atomic { my_lifetime != lifetime -> my_lifetime = lifetime; forget } }
#define forget_keys \
	my_floor = 0; key = 0; clock = 0; slot_seen = 0; lxid_seen = 0; time = 0

inline choose_key()
{
	select (clock : 0 .. CLOCK_MAX);
	key = max(clock, max(my_floor, floor + 1));
	clock = 0
}

/*
 * Registers the transaction of the process that owns the slot; my_floor becomes the least
 * time of its next key.  Another process of the group can make the exchange fail.  A slot
 * with the right lxid counts while it is not later than min_key, whoever wrote it.
 */
inline register(slot)
{
	do
	:: atomic { slot_seen = slot_time[slot]; lxid_seen = slot_lxid[slot] }
		atomic {
			time = min_key_now;
			when(lxid_seen == lxid[slot] && plausible, my_floor = time; break)
		}
		atomic {
			when(slot_time[slot] == slot_seen && slot_lxid[slot] == lxid_seen,
				 slot_time[slot] = slot_value;
				 slot_lxid[slot] = lxid[slot];
				 slot_settled[slot] = false;
				 my_floor = time;	/* with NO_BARRIER, that is all */
				 break)
		}
	od;
#ifdef SETTLED
	time = min_key_now;
	atomic { when(!slot_settled[slot], slot_time[slot] = time; slot_settled[slot] = true) }
#endif
	atomic {
		slot_seen = 0; lxid_seen = 0; time = 0;
#ifndef NO_BARRIER
		my_floor = min_key_now
#endif
	}
}

/* Generates a key for the transaction of a backend. */
inline generate(slot, backend)
{
#ifdef CLAIM_BEFORE_SLOT
	atomic { choose_key() };
#endif
	register(slot);
	atomic {
#ifndef CLAIM_BEFORE_SLOT
		choose_key();
#endif
		cover(key);
		least[backend] = min(least[backend], key);
		key = 0;
		my_floor = 0
	}
}

#define me		(_pid)
#define alone	(!working || me != 0)	/* a leader waits for its worker */
active [BACKENDS] proctype Backend()
{
	byte my_lifetime, my_floor, key, clock;
	byte slot_seen, lxid_seen, time;

	do
	:: {
		if
		:: atomic { true -> lxid[me] = next_lxid };
			generate(me, me)
		:: atomic { me == 0 && WORKERS -> lxid[0] = next_lxid; working = true };
			generate(me, me)
		:: atomic { me == 0 && WORKERS -> lxid[0] = next_lxid; working = true }
		fi;

		if
#ifdef CLEAR_BEFORE_VISIBLE
		:: alone ->
			lxid[me] = 0;
			atomic { becomes_visible(least[me]); least[me] = NEVER }
#else
		:: atomic {					/* COMMIT */
				alone ->
				becomes_visible(least[me]); least[me] = NEVER; end_transaction(me)
			}
#endif
		:: atomic {					/* ROLLBACK */
				alone ->
				least[me] = NEVER; end_transaction(me)
			}
		:: atomic {					/* PREPARE */
				alone && me == BACKENDS - 1 && PREPARES && lock_time == NEVER ->
#ifdef LAPSE_BEFORE_LOCK
				lxid[me] = 0;
#endif
				preparing = true
			}
			lock_time = slot_time[me];
			atomic { prepared_least = least[me]; least[me] = NEVER };	/* durable */
			atomic { end_transaction(me); preparing = false }
		fi
	} unless_crash(forget_keys)
	od
}

/* Generates keys for the first backend. */
active [WORKERS] proctype Worker()
{
	byte my_lifetime, my_floor, key, clock;
	byte slot_seen, lxid_seen, time;

end:
	do
	:: {
		working;
#ifdef HAND_OVER_AT_END
		lxid[WORKER] = 1;
		generate(WORKER, 0);
		atomic {
			slot_time[0] = (slot_lxid[0] == lxid[0] ->
							min(slot_time[0], slot_time[WORKER]) : slot_time[WORKER]);
			slot_lxid[0] = lxid[0]
		}
		atomic { lxid[WORKER] = 0; slot_lxid[WORKER] = 0; slot_time[WORKER] = 0; working = false }
#else
		generate(0, 0);
		working = false
#endif
	} unless_crash(forget_keys)
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED in some session */
active [PREPARES] proctype Finish()
{
	byte my_lifetime;

end:
	do
	:: {
		prepared_least != NEVER && !preparing;
#ifdef RELEASE_BEFORE_VISIBLE
		lock_time = NEVER;
#endif
		atomic { if :: becomes_visible(prepared_least) :: true fi; prepared_least = NEVER }
		lock_time = NEVER
	} unless_crash(skip)
	od
}

#undef me
#define me		(_pid - BACKENDS - WORKERS - PREPARES)
inline read_slot(slot)
{
	atomic { slot_seen = slot_time[slot]; lxid_in_hand[me] = slot_lxid[slot] }
	atomic {
		when(lxid_in_hand[me] != 0 && lxid_in_hand[me] == lxid[slot],
			 horizon = min(horizon, slot_seen));
		slot_seen = 0;
		lxid_in_hand[me] = 0
	}
}

/* Asks for the horizon, takes a snapshot, and reads the rows below the horizon. */
active [READERS] proctype Reader()
{
	byte my_lifetime, horizon, clock, before;
	byte slot_seen;

	do
	:: {
		atomic {
#if READERS > 1
			before = not_below;
#endif
#ifdef READ_WITH_OLD_SNAPSHOT
			unseen = NEVER;
#endif
#ifdef PROGRESS
			clock = CLOCK_MAX;
#else
			select (clock : 0 .. CLOCK_MAX);
#endif
#ifdef READER_NO_BARRIER
			horizon = max(min_key, max(clock, floor + 1));
#else
			min_key = max(min_key, max(clock, floor + 1));
#endif
			clock = 0
		}
#ifndef READER_NO_BARRIER
		horizon = min_key;
#endif
#ifdef LOCKS_BEFORE_SLOTS
		horizon = min(horizon, lock_time);
#endif
		read_slot(0);
#ifdef HAND_OVER_AT_END
		read_slot(WORKER);
#endif
#if BACKENDS > 1
		read_slot(1);
#endif
#ifdef READER_NO_BARRIER
		min_key = max(min_key, horizon);
#endif
#ifndef LOCKS_BEFORE_SLOTS
		horizon = min(horizon, lock_time);
#endif
		horizon = max(horizon, published);
#ifndef PUBLISH_BEFORE_DURABLE
		cover(horizon);
#endif
		published = max(published, horizon);
		atomic {					/* the snapshot */
#if READERS == 1
			before = not_below;
#endif
#ifndef MAY_GO_BACK
			assert(horizon >= before);
#endif
			not_below = max(not_below, horizon);
#ifdef READ_WITH_OLD_SNAPSHOT
			assert(unseen >= horizon);
#endif
			promised = max(promised, horizon);
			horizon = 0; before = 0
		}
#ifdef PUBLISH_BEFORE_DURABLE
		cover(published)
#endif
	} unless_crash(horizon = 0; clock = 0; before = 0; slot_seen = 0)
	od
}

/*
 * A transaction whose commit record is durable but not visible yet counts as rolled back:
 * its row could have become visible before.
 */
active [(CRASHES + 1) / 2] proctype Crash()
{
	byte i;

end:
	do
	:: atomic {
			crashes < CRASHES ->
			crashes++;
			lifetime++;
			min_key = 0; published = 0; working = false; preparing = false;
			for (i : 0 .. 2) {
				slot_time[i] = 0; slot_lxid[i] = 0; slot_settled[i] = false; lxid[i] = 0
			}
			for (i : 0 .. READERS - 1) { lxid_in_hand[i] = 0 }
			i = 0;
			least[0] = NEVER; least[1] = NEVER;
			floor = mark;
			lock_time = (prepared_least == NEVER -> NEVER : lock_time);
#ifndef STRICT
			not_below = min(not_below, lock_time)
#endif
		}
	od
}

#ifdef PROGRESS
ltl advances { <> (promised >= CLOCK_MAX) }
#endif
