/*
 * horizon.pml
 *	  A Promela model of the settled horizon: how who reads by key misses no row;
 *	  checked with spin by scripts/verify.sh.
 *
 * Two backends of a database draw keys and insert them.  The first may have a
 * parallel worker that draws for it, the last may prepare its transaction, which some
 * session commits or rolls back later.  Readers ask for the horizon, and then read
 * what is below it.  A key is its millisecond.  Transactions follow each other without
 * end: all that is bounded is the clock and the number of crashes.
 *
 * Each access to shared memory is a step of its own, and so is the snapshot.  The
 * clock may show anything whenever somebody looks.  In a crash all is lost but the
 * mark, and the prepared transactions with their locks.  How the mark gets to disk is
 * in seqid.pml; here that is one step.
 *
 * Properties:
 *	  no row missed	No row becomes visible with a key below a horizon that somebody
 *					has read up to.
 *	  not back		Nobody is told an earlier horizon than what was told before he
 *					asked, over a crash too, but for one case.  Between reading
 *					raised and listing itself a backend can be overtaken by a reader:
 *					the slot, and the lock if it prepares, then say less than this
 *					reader tells.  In the same life, what was told last makes up
 *					for it.  After a crash nobody knows that, and the horizon
 *					starts again from the lock.  No row is missed by it.
 *					With STRICT that is a fault, too, and with SETTLED it does not
 *					occur: whoever draws first gives the slot once more what raised is
 *					after it was listed.
 *	  advances		With PROGRESS: if all transactions end, the horizon comes to
 *					what the clock shows, however they overlap.
 *
 * Left to the tests: other databases, but for the slot that a process of one has left
 * behind; the LSN for standbys; subtransactions; an empty transaction.
 *
 * With one of these defined, the model is of a program that is wrong, and spin must
 * find the row that is missed, or what else is said:
 *	  CLAIM_BEFORE_SLOT	the key's time is chosen before the transaction is listed
 *	  NO_BARRIER	raised is read for the second time before the slot is written
 *	  READER_NO_BARRIER	raised is written after the slots are read
 *	  CLEAR_BEFORE_VISIBLE	the slot lapses before the row is visible
 *	  HAND_OVER_AT_END	the worker has a slot of its own, and lists its leader when it
 *					ends
 *	  LAPSE_BEFORE_LOCK	PREPARE takes its lock when the slot has lapsed
 *	  RELEASE_BEFORE_VISIBLE	COMMIT PREPARED releases the lock first
 *	  LOCKS_BEFORE_SLOTS	the reader looks at the locks first
 *	  BELIEVE_LEFTOVER	a slot with the right lxid is believed though it says more
 *					than raised, as a process of another database has left it
 *	  TOLD_BEFORE_DURABLE	the horizon is told before the mark covers it (and it goes
 *					back; with MAY_GO_BACK only the row counts)
 *	  READ_WITH_OLD_SNAPSHOT	the snapshot is older than the horizon
 *	  SLOT_WITHOUT_FLOOR	raised starts from nothing in each life, and so do the slots
 *					before somebody has asked: the horizon goes back
 *	  TOLD_IN_SLOT	the slot says what was told last, not raised: the horizon does
 *					not advance while transactions overlap; no row is missed
 */

#ifndef CLOCK_MAX
#define CLOCK_MAX	2
#endif
#ifndef CRASHES
#define CRASHES		0
#endif
#ifndef READERS
#define READERS		1
#endif
#ifndef BACKENDS
#define BACKENDS	2
#endif
#ifndef WORKERS
#define WORKERS		0				/* whether the first backend may have one */
#endif
#ifndef PREPARES
#define PREPARES	0				/* whether the last one may prepare */
#endif
#define NEVER		15				/* later than all times */

#define max(a, b)	((a) > (b) -> (a) : (b))
#define min(a, b)	((a) < (b) -> (a) : (b))

/* shared memory; the worker's slot and lxid are of use in HAND_OVER_AT_END only */
#define WORKER		2
byte raised = 0;
byte told = 0;
byte slot_time[3];
byte slot_lxid[3];
bool slot_settled[3];
byte lxid[3];						/* 0 is no transaction */
byte floor = 0;						/* the mark that this life found */
byte life = 0;
byte lxid_in_hand[READERS];			/* each reader's own, as the slot has it */
bool working = false;				/* the first backend has a worker */

bool preparing = false;				/* nobody else gets at the transaction yet */

/* what outlives a crash */
byte mark = 0;
byte lock_time = NEVER;				/* if a transaction is prepared */
byte prepared_least = NEVER;
byte crashes = 0;

/* what the properties speak of */
byte least[2] = NEVER;				/* the least key of the running transaction */
byte promised = 0;					/* a reader has read up to here */
byte not_below = 0;					/* no earlier horizon may be told */
byte unseen = NEVER;				/* the least key of what a snapshot is too old for */

#ifdef SLOT_WITHOUT_FLOOR
#define lower_end	(0)
#else
#define lower_end	(floor + 1)
#endif
#define raised_now	max(raised, lower_end)

#ifdef TOLD_IN_SLOT
#define listed_time	max(told, lower_end)
#else
#define listed_time	(time)
#endif

#ifdef BELIEVE_LEFTOVER
#define plausible	(true)
#else
#define plausible	(slot_seen <= time)
#endif

#ifdef SETTLED
#define SETTLE		true
#else
#define SETTLE		false
#endif

#ifdef READ_WITH_OLD_SNAPSHOT
#define becomes_visible(key) \
	assert((key) >= promised); unseen = min(unseen, key)
#else
#define becomes_visible(key) \
	assert((key) >= promised)
#endif

/* Which time the mark covers is of no interest when no crash is to come. */
#define cover(until) \
	mark = (crashes < CRASHES -> max(mark, until) : 0)

/*
 * The next transaction of a process has another lxid than those before: so one that
 * no reader has seen in a slot and is about to compare.  When a transaction ends, its
 * slot can be emptied then, which makes fewer states.  With AGAIN, the same lxid comes
 * at once, and finds what was left in the slot.
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

/* The time of a key that is drawn now. */
inline choose_key()
{
	select (clock : 0 .. CLOCK_MAX);
	key = max(clock, max(my_floor, floor + 1));
	clock = 0
}

/*
 * Lists the transaction of the process whose slot it is; my_floor becomes the
 * least time that the caller may draw in it.
 *
 * What another process lists in between makes the exchange fail.  A slot that has
 * the right lxid by chance, as the bits come round or from who had it before, is as
 * good as any while it says no more than raised.
 */
inline list(slot)
{
	do
	:: atomic {
			slot_seen = slot_time[slot];
			lxid_seen = slot_lxid[slot]
		}
		atomic {
			time = raised_now;
			if
			:: lxid_seen == lxid[slot] && plausible -> my_floor = time; break
			:: else
			fi
		}
		atomic {
			if
			:: slot_time[slot] == slot_seen && slot_lxid[slot] == lxid_seen ->
				slot_time[slot] = listed_time;
				slot_lxid[slot] = lxid[slot];
				slot_settled[slot] = false;
				my_floor = time;	/* with NO_BARRIER, that is all */
				break
			:: else
			fi
		}
	od;
#ifdef SETTLED
	time = raised_now;
	atomic {
		if
		:: !slot_settled[slot] ->
			slot_time[slot] = time;
			slot_settled[slot] = true
		:: else
		fi
	}
#endif
	atomic {
		slot_seen = 0;
		lxid_seen = 0;
		time = 0;
#ifndef NO_BARRIER
		my_floor = raised_now
#endif
	}
}

/* Draws a key, for the transaction of a backend. */
inline draw(slot, backend)
{
#ifdef CLAIM_BEFORE_SLOT
	atomic { choose_key() };
	list(slot);
#else
	list(slot);
#endif
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

proctype Backend(byte me)
{
	byte my_life, my_floor, key, clock;
	byte slot_seen, lxid_seen, time;

	do
	:: {
		if
		:: atomic { true -> lxid[me] = next_lxid };
			draw(me, me)
		:: atomic { me == 0 && WORKERS -> lxid[0] = next_lxid; working = true };
			draw(me, me)
		:: atomic { me == 0 && WORKERS -> lxid[0] = next_lxid; working = true }
		fi;

		if
#ifdef CLEAR_BEFORE_VISIBLE
		:: (!working || me != 0) ->
			lxid[me] = 0;
			atomic { becomes_visible(least[me]); least[me] = NEVER }
#else
		:: atomic {					/* COMMIT */
				(!working || me != 0) ->
				becomes_visible(least[me]);
				least[me] = NEVER;
				end_transaction(me)
			}
#endif
		:: atomic {					/* ROLLBACK */
				(!working || me != 0) ->
				least[me] = NEVER;
				end_transaction(me)
			}
		:: atomic {					/* PREPARE */
				(!working || me != 0) && me == BACKENDS - 1 &&
				PREPARES && lock_time == NEVER ->
#ifdef LAPSE_BEFORE_LOCK
				lxid[me] = 0;
#endif
				preparing = true
			}
			lock_time = slot_time[me];
			atomic {				/* from here on it survives */
				prepared_least = least[me];
				least[me] = NEVER
			}
			atomic { end_transaction(me); preparing = false }
		fi
	} unless {
		atomic {
			my_life != life ->
			my_life = life;
			my_floor = 0; key = 0; clock = 0;
			slot_seen = 0; lxid_seen = 0; time = 0
		}
	}
	od
}

/* Draws for the first backend, which waits for it. */
proctype Worker()
{
	byte my_life, my_floor, key, clock;
	byte slot_seen, lxid_seen, time;

end:
	do
	:: {
		working;
#ifdef HAND_OVER_AT_END
		lxid[WORKER] = 1;
		draw(WORKER, 0);
		atomic {
			slot_time[0] = (slot_lxid[0] == lxid[0] ->
							min(slot_time[0], slot_time[WORKER]) : slot_time[WORKER]);
			slot_lxid[0] = lxid[0]
		}
		atomic {
			lxid[WORKER] = 0;
			slot_lxid[WORKER] = 0;
			slot_time[WORKER] = 0;
			working = false
		}
#else
		draw(0, 0);
		working = false
#endif
	} unless {
		atomic {
			my_life != life ->
			my_life = life;
			my_floor = 0; key = 0; clock = 0;
			slot_seen = 0; lxid_seen = 0; time = 0
		}
	}
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED, in some session */
proctype Finish()
{
	byte my_life;

end:
	do
	:: {
		prepared_least != NEVER && !preparing;
#ifdef RELEASE_BEFORE_VISIBLE
		lock_time = NEVER;
#endif
		atomic {
			if
			:: becomes_visible(prepared_least)
			:: true
			fi;
			prepared_least = NEVER
		}
		lock_time = NEVER
	} unless {
		my_life != life -> my_life = life
	}
	od
}

inline look_at(slot)
{
	atomic {
		slot_seen = slot_time[slot];
		lxid_in_hand[me] = slot_lxid[slot]
	}
	atomic {
		if
		:: lxid_in_hand[me] != 0 && lxid_in_hand[me] == lxid[slot] ->
			horizon = min(horizon, slot_seen)
		:: else
		fi;
		slot_seen = 0;
		lxid_in_hand[me] = 0
	}
}

/* Asks for the horizon, takes a snapshot, and reads what is below. */
proctype Reader(byte me)
{
	byte my_life, horizon, clock, before;
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
			horizon = max(raised, max(clock, floor + 1));
#else
			raised = max(raised, max(clock, floor + 1));
#endif
			clock = 0
		}
#ifndef READER_NO_BARRIER
		horizon = raised;
#endif
#ifdef LOCKS_BEFORE_SLOTS
		horizon = min(horizon, lock_time);
#endif
		look_at(0);
#ifdef HAND_OVER_AT_END
		look_at(WORKER);
#endif
#if BACKENDS > 1
		look_at(1);
#endif
#ifdef READER_NO_BARRIER
		raised = max(raised, horizon);
#endif
#ifndef LOCKS_BEFORE_SLOTS
		horizon = min(horizon, lock_time);
#endif
		horizon = max(horizon, told);
#ifndef TOLD_BEFORE_DURABLE
		cover(horizon);
#endif
		told = max(told, horizon);
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
			horizon = 0;
			before = 0
		}
#ifdef TOLD_BEFORE_DURABLE
		cover(told)
#endif
	} unless {
		atomic {
			my_life != life ->
			my_life = life;
			horizon = 0; clock = 0; before = 0;
			slot_seen = 0
		}
	}
	od
}

/*
 * A transaction whose commit is on disk but not visible yet is as good as rolled
 * back here: its row could as well have become visible before.
 */
proctype Crash()
{
	byte i;

end:
	do
	:: atomic {
			crashes < CRASHES ->
			crashes++;
			life++;
			raised = 0;
			told = 0;
			working = false;
			preparing = false;
			for (i : 0 .. 2) {
				slot_time[i] = 0;
				slot_lxid[i] = 0;
				slot_settled[i] = false;
				lxid[i] = 0
			}
			for (i : 0 .. READERS - 1) {
				lxid_in_hand[i] = 0
			}
			i = 0;
			least[0] = NEVER;
			least[1] = NEVER;
			floor = mark;
			if
			:: prepared_least == NEVER -> lock_time = NEVER
			:: else
			fi;
#ifndef STRICT
			not_below = min(not_below, lock_time)
#endif
		}
	od
}

init
{
	byte i;

	atomic {
#ifdef AGAIN
		/* what a process of another database may have left behind */
		slot_time[0] = CLOCK_MAX + 1;
		slot_lxid[0] = 1;
#endif
		run Backend(0);
		if
		:: WORKERS -> run Worker()
		:: else
		fi;
		if
		:: BACKENDS > 1 -> run Backend(1)
		:: else
		fi;
		if
		:: PREPARES -> run Finish()
		:: else
		fi;
		for (i : 0 .. READERS - 1) {
			run Reader(i)
		}
		if
		:: CRASHES -> run Crash()
		:: else
		fi
	}
}

#ifdef PROGRESS
ltl advances { <> (promised >= CLOCK_MAX) }
#endif
