/*
 * sequence.pml
 *	  How a reader of a table whose key is a sequence misses no row.
 *
 * Sessions call nextval() and insert the value, and look at the sequence.  A look reads the
 * last value, finds the transactions that hold a lock on the sequence, and returns a bound.
 * The memory of looks is shared.  It keeps a number for each holder: the last value that
 * the last look without this holder read.  All numbers are exclusive bounds here, so they
 * are greater by one, and 0 is unknown.
 *
 * The lock of a transaction is found in the order of the server: processes first, then the
 * lock table, to which PREPARE TRANSACTION moves the lock.  A look holds the memory's lock
 * from its begin until it has updated the memory, and flushes after that.  nextval() writes
 * WAL for some values ahead, and trusts the page that it has done so; a file that was
 * copied is wrong about that.  A crash keeps what was flushed, and prepared transactions
 * with their locks.
 *
 * Properties:
 *	  value		No row becomes visible with a value below a bound that was returned.
 *	  last		No value below it is generated again, after a crash either.
 *	  my_known	A session gets no smaller bound than before.
 *
 * Left to the tests: savepoints, standbys, waiting for new holders, a new file of the
 * sequence (ALTER SEQUENCE), and a sequence that is set back, which ends these promises.
 *
 * models.pl defines LAST=2 SESSIONS=2 PREPARES=0 CRASHES=0 LOSSES=0, and runs:
 *	  none PREPARES=1 CRASHES=1 LOSSES=1
 *	  none PREPARES=1
 *	  none SESSIONS=3
 *	  none LAST=3 CRASHES=2
 *	  value HOLDERS_FIRST: the look finds the holders before it reads the last value
 *	  value LOCK_AFTER_VALUE: nextval() locks the sequence after it has the value
 *	  value LOCK_ENDS_FIRST: the lock is released before the row is visible
 *	  value PREPARE_UNLOCKS PREPARES=1: a prepared transaction does not hold the lock
 *	  value RESTART_UNLOCKS PREPARES=1 CRASHES=1: it does not hold it after a restart
 *	  value OWN_IS_NONE: the transaction that looks is not among the holders
 *	  value NUMBER_OF_NOW: a new holder has the number of the look that finds it
 *	  value NUMBER_OF_LAST: so has a holder that the look before has found
 *	  value UNKNOWN_IS_NONE: a holder without a number does not count
 *	  my_known KNOWN_TO_MEMORY LOSSES=1: what a session knows is no number of a holder
 *	  last NOT_LOGGED CRASHES=1: the page is not logged
 *	  last LOGGED_AHEAD CRASHES=1: it is logged with the number of values ahead
 *	  last NOT_FLUSHED CRASHES=1: a look does not flush
 */

#include "macros.h"

#define NONE		15
#define AHEAD		2				/* values that WAL is ahead */
#define PREPARED	SESSIONS		/* the holder that has no process */

/* the file, which is a copy of another one */
byte last = 0;
byte ahead = AHEAD;					/* log_cnt */

/* transactions, and the prepared one */
bool locked[SESSIONS + 1];
byte value[SESSIONS + 1] = NONE;	/* not visible yet */

/* the memory of looks */
bool looking = false;				/* its lock */
byte before = 0;					/* the bound without holders, at the last look */
byte number[SESSIONS + 1] = NONE;	/* of each holder; NONE if the last look found no such */
bool found[SESSIONS + 1];			/* by this look */
bool page_logged = false;

/* what sessions remember */
byte known[SESSIONS];

/* WAL, and how much of it is on disk: the value after a crash, and whether ahead is wrong */
byte logged = 0;
byte flushed = 0;
bool logged_copy = true;
bool flushed_copy = true;
byte lifetime = 0;

/* what the properties are about */
byte promised = 0;

#define durable		(lifetime < CRASHES)	/* after the last crash, WAL does not matter */

inline write_wal(restored)
{
	when(durable, logged = restored; logged_copy = false)
}

inline flush()
{
	flushed = logged;
	flushed_copy = logged_copy
}

#define forget() \
	before = 0; for (i : 0 .. SESSIONS) { number[i] = NONE } i = 0

/* ------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------
 */

inline nextval()
{
	last++;
	if
	:: !durable
	:: durable && ahead > 0 -> ahead--
	:: durable && ahead == 0 ->
		ahead = AHEAD;
		write_wal(last);
		logged = min(last + AHEAD, LAST)
	fi;
	assert(last >= promised);	/* not again */
	value[me] = last
}

/* The server does this later than a row becomes visible. */
inline unlock(holder)
{
	locked[holder] = false;
	number[holder] = NONE;			/* No transaction has this virtual id again. */
	found[holder] = false
}

inline become_visible(holder)
{
	assert(value[holder] >= promised);	/* not missed */
	value[holder] = NONE
}

inline prepare()
{
	when(durable, flush());
	value[PREPARED] = value[me];
	value[me] = NONE;
#ifndef PREPARE_UNLOCKS
	locked[PREPARED] = true;
	number[PREPARED] = number[me];	/* The virtual id remains. */
	found[PREPARED] = found[me];
#endif
	unlock(me)
}

/* ------------------------------------------------------------------------
 * Looks
 * ------------------------------------------------------------------------
 */

inline open_sequence()
{
	looking = true;
	bound = NONE;
#ifndef NOT_LOGGED
	when(durable && !page_logged,
#ifndef LOGGED_AHEAD
		 ahead = 0;
#endif
		 write_wal(last);
		 page_logged = true)
#endif
}

inline read_last_value()
{
	v = last + 1;
	my_known = known[me];
	bound = min(bound, v)
}

#ifdef OWN_IS_NONE
#define IS_OWN(holder)	(holder == me)
#else
#define IS_OWN(holder)	(false)
#endif
#ifdef NUMBER_OF_NOW
#define NEW_NUMBER	(before == 0 -> 0 : v)
#else
#define NEW_NUMBER	(before)
#endif
#ifdef NUMBER_OF_LAST
#define MOVES		(true)
#else
#define MOVES		(false)
#endif
#ifdef UNKNOWN_IS_NONE
#define COUNTS(n)	((n) == 0 -> NONE : (n))
#else
#define COUNTS(n)	(n)
#endif

inline find_holder(holder)
{
	when(locked[holder] && !IS_OWN(holder),
		 when(number[holder] == NONE || MOVES, number[holder] = NEW_NUMBER);
#ifndef KNOWN_TO_MEMORY
		 number[holder] = max(number[holder], my_known);
#endif
		 bound = min(bound, COUNTS(number[holder]));
		 found[holder] = true)
}

inline find_holders()
{
	atomic { find_holder(0) }
	atomic { find_holder(1) }
#if SESSIONS > 2
	atomic { find_holder(2) }
#endif
#if PREPARES
	atomic { find_holder(PREPARED) }
#endif
}

inline update_memory()
{
	for (i : 0 .. SESSIONS) {
		when(!found[i], number[i] = NONE);
		found[i] = false
	}
	i = 0;
	before = v;
	looking = false
}

inline return_bound()
{
	assert(bound >= my_known);
	when(bound > 0,
		 known[me] = bound; promised = max(promised, bound))
}

inline look()
{
	atomic { !looking -> open_sequence() }
#ifdef HOLDERS_FIRST
	find_holders();
	atomic { read_last_value() }
#else
	atomic { read_last_value() }
	find_holders();
#endif
	atomic { update_memory() }
	atomic {
#ifndef NOT_FLUSHED
		when(durable, flush());
#endif
		return_bound();
		v = 0; bound = 0; my_known = 0
	}
}

proctype Session(byte me)
{
	byte my_life, v, bound, my_known, i;

end:
	do
	:: {
end_transaction:
		do
#ifdef LOCK_AFTER_VALUE
		:: atomic { value[me] == NONE && last < LAST -> nextval() };
			locked[me] = true
#else
		:: atomic { !locked[me] -> locked[me] = true }
		:: atomic { locked[me] && value[me] == NONE && last < LAST -> nextval() }
#endif
		:: look()
#if PREPARES
		:: atomic { locked[me] && !locked[PREPARED] && value[PREPARED] == NONE -> prepare() }
#endif
#ifdef LOCK_ENDS_FIRST
		:: atomic { locked[me] -> unlock(me) };
			if
			:: atomic { become_visible(me) }
			:: value[me] = NONE
			fi
#else
		:: atomic { locked[me] -> if :: become_visible(me) :: value[me] = NONE fi };
			atomic { unlock(me) }
#endif
		od
	} unless {
		atomic { my_life != lifetime -> my_life = lifetime; v = 0; bound = 0; my_known = 0; i = 0 }
	}
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED */
proctype Finish()
{
end:
	do
	:: atomic { value[PREPARED] != NONE -> if :: become_visible(PREPARED) :: value[PREPARED] = NONE fi }
	:: atomic { locked[PREPARED] && value[PREPARED] == NONE -> unlock(PREPARED) }
	od
}

/* ------------------------------------------------------------------------
 * Others
 * ------------------------------------------------------------------------
 */

/* Another sequence gets the memory, or the session of a number ends. */
proctype Lose()
{
	byte i;

end:
	do
	:: atomic { !looking && before > 0 -> forget(); page_logged = false }
	:: known[0] = 0
	od
}

proctype Crash()
{
	byte i;

end:
	do
	:: atomic {
			lifetime < CRASHES ->
			/* WAL can be on disk without having been asked for. */
			if :: flush() :: true fi;
			lifetime++;
			looking = false;
			page_logged = false;
			forget();
			for (i : 0 .. SESSIONS - 1) {
				locked[i] = false; value[i] = NONE; found[i] = false;
				known[i] = 0
			}
			i = 0;
			found[PREPARED] = false;
#ifdef RESTART_UNLOCKS
			locked[PREPARED] = false;
#else
			locked[PREPARED] = (value[PREPARED] != NONE);
#endif
			last = flushed;
			ahead = (flushed_copy -> AHEAD : 0);
			logged = flushed;
			logged_copy = flushed_copy;
			when(!durable, logged = 0; flushed = 0; logged_copy = 0; flushed_copy = 0; ahead = 0)
		}
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. SESSIONS - 1) {
			run Session(i)
		}
		if :: PREPARES -> run Finish() :: else fi;
		if :: LOSSES -> run Lose() :: else fi;
		if :: CRASHES -> run Crash() :: else fi
	}
}
