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
 * from its begin until it has updated the memory.
 *
 * Properties:
 *	  value		No row becomes visible with a value below a bound that was returned.
 *	  my_newest	No look gets a smaller bound than an earlier one, until the memory is lost.
 *
 * Left to the tests: crashes and WAL, a copied file, savepoints, standbys, waiting for new
 * holders, a new file of the sequence (ALTER SEQUENCE), and a sequence that is set back,
 * which ends these promises.  What PostgreSQL's locks do is in specs/sequence_horizon_held.spec.
 *
 * models.pl defines LAST=2 SESSIONS=2 PREPARES=0 LOSSES=0, and runs:
 *	  none PREPARES=1 LOSSES=1
 *	  none SESSIONS=3
 *	  none LAST=3 LOSSES=1
 *	  value HOLDERS_FIRST: the look finds the holders before it reads the last value
 *	  value OWN_IS_NONE: the transaction that looks is not among the holders
 *	  value NUMBER_OF_NOW: a new holder has the number of the look that finds it
 *	  value NUMBER_OF_LAST: so has a holder that the look before has found
 *	  value UNKNOWN_IS_NONE: a holder without a number does not count
 *	  my_newest ALWAYS_FIRST: each look forgets the numbers of holders
 */

#include "macros.h"

#define me			(_pid)			/* of sessions */
#define NONE		15
#define HOLDERS		3				/* three sessions, or two and the prepared transaction */
#define PREPARED	2

byte last = 0;						/* of the sequence */

/* transactions */
bool locked[HOLDERS];
byte value[HOLDERS] = NONE;			/* not visible yet */

/* the memory of looks */
bool looking = false;				/* its lock */
byte before = 0;					/* the bound without holders, at the last look */
byte number[HOLDERS] = NONE;		/* NONE if the last look found no such holder */
bool found[HOLDERS];				/* by this look */

byte newest = 0;					/* the greatest bound since the memory was lost */
byte promised = 0;					/* the greatest bound that was returned */

inline end_transaction(holder)
{
	if
	:: assert(value[holder] >= promised)	/* COMMIT: the row becomes visible */
	:: true
	fi;
	value[holder] = NONE
}

/* The server does this later than a row becomes visible. */
inline unlock(holder)
{
	locked[holder] = false;
	number[holder] = NONE;			/* No transaction has this virtual id again. */
	found[holder] = false
}

inline prepare()
{
	value[PREPARED] = value[me];
	value[me] = NONE;
	locked[PREPARED] = true;
	number[PREPARED] = number[me];	/* The virtual id remains. */
	found[PREPARED] = found[me];
	unlock(me)
}

inline read_last_value()
{
	v = last + 1;
	my_newest = newest;
	bound = min(bound, v)
}

inline find_holder(holder)
{
	when(locked[holder] && !(OWN_IS_NONE && holder == me),
		 when(number[holder] == NONE || NUMBER_OF_LAST,
			  number[holder] = (NUMBER_OF_NOW && before > 0 -> v : before));
		 when(ALWAYS_FIRST, number[holder] = 0);
		 when(!(UNKNOWN_IS_NONE && number[holder] == 0), bound = min(bound, number[holder]));
		 found[holder] = true)
}

inline update_memory()
{
	for (i : 0 .. HOLDERS - 1) {
		when(!found[i], number[i] = NONE);
		found[i] = false
	}
	i = 0;
	before = v;
	newest = max(newest, bound);
	looking = false
}

inline return_bound()
{
	assert(bound >= my_newest);
	promised = max(promised, bound);
	v = 0; bound = 0; my_newest = 0
}

inline look()
{
	atomic { !looking -> looking = true; bound = NONE; when(!HOLDERS_FIRST, read_last_value()) }
	atomic { find_holder(0) }
	atomic { find_holder(1) }
	atomic { find_holder(2) }
	atomic { when(HOLDERS_FIRST, read_last_value()); update_memory() }
	atomic { return_bound() }
}

active [SESSIONS] proctype Session()
{
	byte v, bound, my_newest, i;

end:
	do
	:: atomic { !locked[me] -> locked[me] = true }
	:: atomic { locked[me] && value[me] == NONE && last < LAST -> last++; value[me] = last }
	:: look()
	:: atomic { PREPARES && locked[me] && !locked[PREPARED] && value[PREPARED] == NONE -> prepare() }
	:: atomic { locked[me] -> end_transaction(me) }; atomic { unlock(me) }
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED */
active [PREPARES] proctype Finish()
{
end:
	do
	:: atomic { value[PREPARED] != NONE -> end_transaction(PREPARED) }
	:: atomic { locked[PREPARED] && value[PREPARED] == NONE -> unlock(PREPARED) }
	od
}

/* Another sequence gets the memory. */
active [LOSSES] proctype Lose()
{
	byte i;

end:
	do
	:: atomic {
		!looking && before > 0 -> before = 0; newest = 0;
		for (i : 0 .. HOLDERS - 1) { number[i] = NONE } i = 0
	   }
	od
}
