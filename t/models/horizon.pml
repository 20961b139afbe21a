/*
 * horizon.pml
 *	  How a consumer that reads up to the settled horizon misses no row.
 *
 * Backends of a database generate keys and insert them.  The first can have a parallel
 * worker.  The last can prepare its transaction, which some session commits or rolls back
 * later.  Readers ask for the horizon, and rows below it must not become visible any more.
 * A key is its millisecond.  Only the clock and the crashes are bounded.
 *
 * Each access to shared memory is a step.  The clock shows any time whenever a process reads
 * it.  A crash loses everything except the mark and the prepared transactions with their
 * locks.  The mark is durable in one step here; see seqid.pml.
 *
 * Properties:
 *	  promised		No row becomes visible with a key below a horizon that a reader has.
 *	  before		A reader gets no earlier horizon than one that was published before
 *					it asked, also after a crash, with one exception.  A reader can
 *					overtake a parallel group between its read of min_key and its store
 *					of the slot.  The slot, and the lock if the leader prepares, are then
 *					earlier than this reader's horizon.  The published horizon makes up
 *					for that until a crash.  After it the horizon starts from the lock,
 *					and no row is missed.
 *	  advances		With PROGRESS: if all transactions end, the horizon reaches the
 *					clock, however transactions overlap.
 *
 * Left to the tests: other databases (t/019_horizon.pl has a slot that a process of
 * one has left), the LSN for standbys, subtransactions, an empty transaction, and the order
 * in which the server ends a transaction (specs/horizon_stops.spec).
 *
 * models.pl defines CLOCK_MAX=2 CRASHES=0 READERS=1 BACKENDS=2 WORKERS=0 PREPARES=0, and runs:
 *	  none WORKERS=1 PREPARES=1
 *	  none PREPARES=1 CRASHES=1
 *	  none BACKENDS=1 WORKERS=1 PREPARES=1 CRASHES=1
 *	  none BACKENDS=1 READERS=2 PREPARES=1 CRASHES=1
 *	  none PROGRESS WORKERS=1
 *	  none PROGRESS PREPARES=1
 *	  promised CLAIM_BEFORE_SLOT: a key's time is chosen before the transaction registers
 *	  promised NO_BARRIER: min_key is read again before the slot is stored
 *	  promised READER_NO_BARRIER: min_key is stored after the slots are read
 *	  promised LOCKS_BEFORE_SLOTS PREPARES=1: the reader reads the locks first
 *	  before NOT_COVERED CRASHES=1: the mark does not cover the horizon
 *	  before SLOT_WITHOUT_FLOOR CRASHES=1: min_key starts from nothing in each lifetime, and
 *		so do slots until a reader has asked
 *	  before STORED_ONCE PREPARES=1 CRASHES=1: the exception above without a parallel group
 *	  cycle PUBLISHED_IN_SLOT PROGRESS: the slot has the published horizon, not min_key
 */

#include "macros.h"

#define NEVER		15				/* later than all times */

/* shared memory */
byte min_key = 0;
byte published = 0;
byte slot_time[2];
byte slot_lxid[2];
byte lxid[2];						/* 0 is no transaction */
byte floor = 0;						/* the mark that this lifetime found */
byte lifetime = 0;					/* the number of crashes */
byte lxid_in_hand[READERS];			/* a reader's copy of a slot's lxid */
bool working = false;				/* the first backend has a worker */
bool preparing = false;				/* no other session can finish the transaction */

/* not lost in a crash */
byte mark = 0;
byte lock_time = NEVER;				/* of a prepared transaction */
byte prepared_least = NEVER;

/* what the properties need */
byte least[2] = NEVER;				/* the least key of the running transaction */
byte promised = 0;					/* a reader has read up to here */
byte not_below = 0;					/* no earlier horizon is correct */

#define lower_end	(SLOT_WITHOUT_FLOOR -> 0 : floor + 1)
#define min_key_now	max(min_key, lower_end)
#define slot_value	(PUBLISHED_IN_SLOT -> max(published, lower_end) : time)

#define becomes_visible(key) \
	assert((key) >= promised)

/* After the last crash the mark does not matter. */
#define cover(until) \
	mark = (lifetime < CRASHES -> max(mark, until) : 0)

/*
 * A process's next transaction has an lxid that no reader has read from a slot and will
 * compare.  An ended transaction's slot can be cleared then, which saves states.
 */
#define in_hand(id)	(lxid_in_hand[0] == (id) || lxid_in_hand[READERS - 1] == (id))
#define next_lxid	(!in_hand(1) -> 1 : (!in_hand(2) -> 2 : 3))
#define end_transaction(me) \
	lxid[me] = 0; slot_lxid[me] = 0; slot_time[me] = 0

/* A crash ends what a process does and knows. */
#define unless_crash(forget) \
	unless { atomic { my_lifetime != lifetime -> my_lifetime = lifetime; forget } }
#define forget_keys \
	my_floor = 0; key = 0; clock = 0; slot_seen = 0; lxid_seen = 0; time = 0; alone = false

inline choose_key()
{
	select (clock : 0 .. CLOCK_MAX);
	key = max(clock, max(my_floor, floor + 1));
	clock = 0
}

/*
 * Registers the transaction of the process that owns the slot; my_floor becomes the least
 * time of its next key.  Another process of the group can make the exchange fail.
 */
inline register(slot)
{
	do
	:: atomic { slot_seen = slot_time[slot]; lxid_seen = slot_lxid[slot] }
		atomic {
			time = min_key_now;
			when(lxid_seen == lxid[slot], break)
		}
		atomic {
			when(slot_time[slot] == slot_seen && slot_lxid[slot] == lxid_seen,
				 slot_time[slot] = slot_value;
				 slot_lxid[slot] = lxid[slot];
				 alone = !(working && slot == 0) && !STORED_ONCE;
				 break)
		}
	od;
	do
	:: atomic {
			my_floor = (NO_BARRIER -> time : min_key_now);
			when(!alone || my_floor == time,
				 slot_seen = 0; lxid_seen = 0; time = 0; alone = false;
				 break);
			time = my_floor
		}
		slot_time[slot] = slot_value
	od
}

/* Generates a key for the transaction of a backend, whose slot has the same number. */
inline generate(backend)
{
	atomic { when(CLAIM_BEFORE_SLOT, choose_key()) }
	register(backend);
	atomic {
		when(!CLAIM_BEFORE_SLOT, choose_key());
		cover(key);
		least[backend] = min(least[backend], key);
		key = 0;
		my_floor = 0
	}
}

#define me		(_pid)
#define has_no_worker	(!working || me != 0)
active [BACKENDS] proctype Backend()
{
	byte my_lifetime, my_floor, key, clock;
	byte slot_seen, lxid_seen, time;
	bool alone;

	do
	:: {
		if
		:: atomic { true -> lxid[me] = next_lxid };
			generate(me)
		:: atomic { me == 0 && WORKERS -> lxid[0] = next_lxid; working = true };
			generate(me)
		:: atomic { me == 0 && WORKERS -> lxid[0] = next_lxid; working = true }
		fi;

		if
		:: atomic {					/* COMMIT */
				has_no_worker ->
				becomes_visible(least[me]); least[me] = NEVER; end_transaction(me)
			}
		:: atomic {					/* ROLLBACK */
				has_no_worker ->
				least[me] = NEVER; end_transaction(me)
			}
		:: atomic {					/* PREPARE */
				has_no_worker && me == BACKENDS - 1 && PREPARES && lock_time == NEVER ->
				preparing = true
			}
			lock_time = max(slot_time[me], published);
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
	bool alone;

end:
	do
	:: {
		working;
		generate(0);
		working = false
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

active [READERS] proctype Reader()
{
	byte my_lifetime, horizon, clock, before;
	byte slot_seen;

	do
	:: {
		atomic {
			before = not_below;
			select (clock : (PROGRESS -> CLOCK_MAX : 0) .. CLOCK_MAX);
			clock = max(clock, floor + 1);
			when(!NOT_COVERED, cover(clock))
		}
		atomic { when(!READER_NO_BARRIER, min_key = max(min_key, clock)) }
		atomic {
			horizon = max(min_key, clock);
			clock = 0;
			when(LOCKS_BEFORE_SLOTS, horizon = min(horizon, lock_time))
		}
		read_slot(0);
#if BACKENDS > 1
		read_slot(1);
#endif
		atomic {
			when(READER_NO_BARRIER, min_key = max(min_key, horizon));
			when(!LOCKS_BEFORE_SLOTS, horizon = min(horizon, lock_time))
		}
		published = max(published, horizon);
		atomic {
			horizon = published;
			assert(horizon >= before);
			not_below = max(not_below, horizon);
			promised = max(promised, horizon);
			horizon = 0; before = 0
		}
	} unless_crash(horizon = 0; clock = 0; before = 0; slot_seen = 0)
	od
}

/*
 * A transaction whose commit record is durable but not visible yet counts as rolled back:
 * its row could have become visible before.
 */
active [CRASHES] proctype Crash()
{
	byte i;

end:
	do
	:: atomic {
			lifetime < CRASHES ->
			lifetime++;
			min_key = 0; published = 0; working = false; preparing = false;
			for (i : 0 .. 1) {
				slot_time[i] = 0; slot_lxid[i] = 0; lxid[i] = 0; least[i] = NEVER
			}
			for (i : 0 .. READERS - 1) { lxid_in_hand[i] = 0 }
			i = 0;
			floor = mark;
			lock_time = (prepared_least == NEVER -> NEVER : lock_time);
			when(WORKERS, not_below = min(not_below, lock_time))
		}
	od
}

#if PROGRESS
ltl advances { <> (promised >= CLOCK_MAX) }
#endif
