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
 *	  my_known	A session gets no smaller bound than before, while the file is the same.
 *
 * A sequence that is set back ends these promises, and a bound from numbers of before is
 * none, until a look finds the last value below the one of the look before it.
 * ALTER SEQUENCE ... RESTART makes a new file, for which the promises hold.
 *
 * Left to the tests: savepoints, standbys, waiting for new holders, and a sequence that is
 * set back and gets beyond the last look before the next one.
 *
 * models.pl defines LAST=2 SESSIONS=2 PREPARES=0 CRASHES=0 SET_BACKS=0 FILES=0 LOSSES=0, and runs:
 *	  none PREPARES=1 CRASHES=1 LOSSES=1
 *	  none PREPARES=1 SET_BACKS=1
 *	  none FILES=1 CRASHES=1
 *	  none FILES=1 RESTART
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
 *	  value KEPT_AT_SET_BACK SET_BACKS=1: the memory outlives a last value that is less than
 *		before
 *	  value KEPT_FOR_FILE FILES=1 RESTART: the memory outlives the file of the sequence
 *	  my_known KNOWN_AT_SET_BACK SET_BACKS=1: what a session knows outlives a last value
 *		below it
 *	  value KNOWN_FOR_FILE FILES=1 RESTART: what a session knows outlives the file
 *	  my_known KNOWN_TO_MEMORY LOSSES=1: what a session knows is no number of a holder
 *	  last NOT_LOGGED CRASHES=1: the page is not logged
 *	  last LOGGED_AHEAD CRASHES=1: it is logged with the number of values ahead
 *	  last NOT_FLUSHED CRASHES=1: a look does not flush
 *	  last OWN_FILE FILES=1 CRASHES=1: a transaction looks at a file that it has made
 */

#include "macros.h"

#define NONE		15
#define AHEAD		2				/* values that WAL is ahead */
#define PREPARED	SESSIONS		/* the holder that has no process */

/* the files; the second one is made by ALTER SEQUENCE */
byte last[2];
byte ahead[2] = { AHEAD, 0 };		/* log_cnt: the first file is a copy */
bit file = 0;						/* the one that is visible */

/* transactions, and the prepared one */
bool locked[SESSIONS + 1];
byte value[SESSIONS + 1] = NONE;	/* not visible yet */
byte altering = NONE;				/* holds a lock that excludes others, for file 1 */
bool altered = false;
bool restarted = false;				/* with another value */
bool replaced = false;				/* in this lifetime */

/* the memory of looks */
bool looking = false;				/* its lock */
bit memory_file = 0;
byte before = 0;					/* the bound without holders, at the last look */
byte number[SESSIONS + 1] = NONE;	/* of each holder; NONE if the last look found no such */
bool found[SESSIONS + 1];			/* by this look */
bool page_logged = false;

/* what sessions remember */
byte known[SESSIONS];
bit known_file[SESSIONS];

/* WAL, and how much of it is on disk: the value after a crash, and whether ahead is wrong */
byte logged[2];
byte flushed[2];
bool logged_copy[2] = { true, false };
bool flushed_copy[2] = { true, false };
bit logged_file = 0;
bit flushed_file = 0;
bool covers_commit = false;			/* the last record of file 1 is later than its commit */
byte lifetime = 0;

/* what the properties are about */
byte promised = 0;
byte set_backs = 0;
byte before_era = 0;				/* set_backs at the last look */
byte known_era[SESSIONS];
bool unnoticed = false;					/* set back, and no look has noticed */

#define durable		(lifetime < CRASHES)	/* after the last crash, WAL does not matter */

inline write_wal(f, restored, is_copy)
{
	when(durable,
		 logged[f] = restored; logged_copy[f] = is_copy; covers_commit = (file == 1))
}

inline flush_page(f)
{
	when(durable,
		 flushed[f] = logged[f]; flushed_copy[f] = logged_copy[f];
		 when(f == 1 && covers_commit, flushed_file = logged_file))
}

inline flush_all()
{
	flushed[0] = logged[0]; flushed_copy[0] = logged_copy[0];
	flushed[1] = logged[1]; flushed_copy[1] = logged_copy[1];
	flushed_file = logged_file
}

#define can_lock(me)	(altering == NONE || altering == (me))
#define own_file(me)	(altering == (me) -> 1 : file)

#define forget() \
	before = 0; for (i : 0 .. SESSIONS) { number[i] = NONE } i = 0

/* ------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------
 */

inline nextval(f)
{
	last[f]++;
	if
	:: !durable
	:: durable && ahead[f] > 0 -> ahead[f]--
	:: durable && ahead[f] == 0 ->
		ahead[f] = AHEAD;
		write_wal(f, last[f], false);
		logged[f] = min(last[f] + AHEAD, LAST)
	fi;
	assert(last[f] >= promised || f != file);	/* not again */
	value[me] = last[f]
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

inline alter()
{
	altered = true;
	altering = me;
	locked[me] = true;
	if
	:: last[1] = last[0]
#ifdef RESTART
	:: restarted = true
#endif
	fi;
	ahead[1] = AHEAD;
	write_wal(1, last[1], true)
}

inline commit()
{
	when(altering == me,
		 when(restarted, promised = 0);
		 file = 1; replaced = true; logged_file = 1; covers_commit = false);
	become_visible(me)
}

inline prepare()
{
	when(durable, flush_all());
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

/* A relation that is open already can be one that has been replaced. */
inline open_sequence()
{
	looking = true;
	if
	:: my_file = own_file(me)
	:: replaced -> my_file = 0
	fi;
#ifndef KEPT_FOR_FILE
	when(memory_file != my_file, forget(); page_logged = false);
#endif
	memory_file = my_file;
	bound = NONE;
#ifndef NOT_LOGGED
	if
	:: !durable || page_logged
	:: durable && !page_logged && own_file(me) == my_file && can_lock(me) ->
#ifndef LOGGED_AHEAD
		ahead[my_file] = 0;
#endif
		write_wal(my_file, last[my_file], false);
		page_logged = true
	:: durable && !page_logged && !(own_file(me) == my_file && can_lock(me)) ->
		refused = true;
		bound = 0
	fi
#endif
}

inline read_last_value()
{
	v = last[my_file] + 1;
	my_era = set_backs;
	if
#ifndef KEPT_AT_SET_BACK
	:: v < before -> forget()
#endif
	:: v >= before -> unnoticed = unnoticed || (before > 0 && before_era < set_backs)
	:: else
	fi;
	when(known[me] > 0 &&
#ifndef KNOWN_FOR_FILE
		 known_file[me] == my_file &&
#endif
		 true,
		 if
#ifndef KNOWN_AT_SET_BACK
		 :: v < known[me] -> known[me] = 0
#endif
		 :: v >= known[me] -> my_known = known[me]; unnoticed = unnoticed || known_era[me] < set_backs
		 :: else -> my_known = known[me]
		 fi);
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
	before_era = my_era;
	looking = false
}

inline return_bound()
{
	assert(bound >= my_known || refused);
	when(bound > 0,
		 known[me] = bound; known_file[me] = my_file; known_era[me] = my_era;
		 when(!unnoticed && my_era == set_backs && (my_file == file || !restarted),
			  promised = max(promised, bound)))
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
		flush_page(my_file);
#endif
		return_bound();
		v = 0; bound = 0; my_known = 0; my_file = 0; my_era = 0; refused = false
	}
}

#ifdef OWN_FILE
#define may_look	(true)
#else
#define may_look	(altering != me)
#endif

proctype Session(byte me)
{
	byte my_life, v, bound, my_known, my_era, i;
	bit my_file, me_file;
	bool refused;					/* to log the page */

end:
	do
	:: {
end_transaction:
		do
#ifdef LOCK_AFTER_VALUE
		:: atomic { value[me] == NONE && can_lock(me) && last[own_file(me)] < LAST -> me_file = own_file(me); nextval(me_file); me_file = 0 };
			locked[me] = true
#else
		:: atomic { !locked[me] && can_lock(me) -> locked[me] = true }
		:: atomic { locked[me] && value[me] == NONE && last[own_file(me)] < LAST -> me_file = own_file(me); nextval(me_file); me_file = 0 }
#endif
		:: atomic { may_look -> skip }; look()
#if FILES
		:: atomic { !altered && !(locked[0] && me != 0) && !(locked[1] && me != 1) && !locked[2] -> alter() }
#endif
#if PREPARES
		:: atomic { locked[me] && altering != me && !locked[PREPARED] && value[PREPARED] == NONE -> prepare() }
#endif
#ifdef LOCK_ENDS_FIRST
		:: atomic { locked[me] && altering != me -> unlock(me) };
			if
			:: atomic { commit() }
			:: value[me] = NONE
			fi
#else
		:: atomic { locked[me] -> if :: commit() :: value[me] = NONE fi };
			atomic { unlock(me); when(altering == me, altering = NONE) }
#endif
		od
	} unless {
		atomic { my_life != lifetime -> my_life = lifetime; v = 0; bound = 0; my_known = 0; my_file = 0; my_era = 0; refused = false; i = 0 }
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

/* setval() */
proctype SetBack()
{
	byte to;

end:
	do
	:: atomic {
			set_backs < SET_BACKS && altering == NONE && last[file] > 0 ->
			select (to : 0 .. (last[file] - 1));
			last[file] = to;
			ahead[file] = 0;
			write_wal(file, to, false);
			to = 0;
			set_backs++;
			promised = 0
		}
	od
}

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
			if :: flush_all() :: true fi;
			lifetime++;
			looking = false;
			page_logged = false;
			forget();
			for (i : 0 .. SESSIONS - 1) {
				locked[i] = false; value[i] = NONE; found[i] = false;
				known[i] = 0; known_file[i] = 0
			}
			i = 0;
			found[PREPARED] = false;
#ifdef RESTART_UNLOCKS
			locked[PREPARED] = false;
#else
			locked[PREPARED] = (value[PREPARED] != NONE);
#endif
			altering = NONE;
			replaced = false;
			file = flushed_file;
			last[0] = flushed[0];
			last[1] = flushed[1];
			ahead[0] = (flushed_copy[0] -> AHEAD : 0);
			ahead[1] = (flushed_copy[1] -> AHEAD : 0);
			logged[0] = flushed[0]; logged_copy[0] = flushed_copy[0];
			logged[1] = flushed[1]; logged_copy[1] = flushed_copy[1];
			logged_file = flushed_file;
			when(!durable,
				 logged[0] = 0; logged[1] = 0; flushed[0] = 0; flushed[1] = 0;
				 logged_copy[0] = 0; logged_copy[1] = 0; flushed_copy[0] = 0; flushed_copy[1] = 0;
				 ahead[0] = 0; ahead[1] = 0; covers_commit = false)
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
		if :: SET_BACKS -> run SetBack() :: else fi;
		if :: LOSSES -> run Lose() :: else fi;
		if :: CRASHES -> run Crash() :: else fi
	}
}
