/*
 * settled.pml
 *	  How a bound is valid for the snapshot of the statement that asks for it.
 *
 * Writers get values of a sequence and insert them.  One session reads: it takes a snapshot
 * S, looks at the sequence, takes another snapshot N, and returns the greatest bound whose N
 * is contained in S.  It remembers two bounds.  Its transaction can write, too.  A look is
 * exact here; see sequence.pml.
 *
 * S is one of the process array, or one that CREATE_REPLICATION_SLOT has exported, which
 * follows the order of commit records.  It can be old when the session uses it.
 *
 * Properties:
 *	  row		Each row with a value below the bound is visible to S, or never appears.
 *	  due		The bound is not less than that of a look which had ended before S was
 *				taken, unless S is exported.  So the bounds of a session do not go back.
 *	  kept		With one snapshot, a session gets one bound.
 *
 * models.pl defines LAST=2 WRITERS=1 XIDS=2 OWN=0, and runs:
 *	  none
 *	  none OWN=1 LAST=1
 *	  row ONLY_IDS: xmax is not compared
 *	  row SNAPSHOT_FIRST: N is taken before the look finds the holders
 *	  due ONE_BOUND: only the newest bound is remembered
 *	  due OWN_ID_IS_NONE OWN=1 LAST=1: N lacks the id of the session's own transaction, which
 *		it prepares
 *	  kept ANSWER_CHANGES: a later look with the same snapshot gives another bound
 */

#include "macros.h"

/* Processes and their slots, which are elements of the process array */
#define me			(_pid)
#define READER		WRITERS
#define PREPARED	(WRITERS + 1)	/* has no process */
#define SLOTS		(WRITERS + 2)
#define OPEN		14				/* a value of a transaction that has not ended */

#define bit_of(xid)	(1 << (xid))

/* transactions */
bool locked[SLOTS];
byte number[SLOTS];					/* of a holder */
byte value[SLOTS];					/* 0 is none */
byte xid[SLOTS];					/* 0 is none */
byte last_xid = 0;
byte latest = 0;					/* the latest xid that has ended */
byte recorded = 0;					/* commit records */
bool preparing = false;				/* or finishing */

/* rows */
byte last = 0;
byte row[LAST + 1];					/* 0 never appears, OPEN, or the xid */

/* A snapshot: each xid from xmax on, and those of xip, are running in it. */
typedef Snapshot { byte xmax; byte xip };
#define copy(to, from) \
	to.xmax = from.xmax; to.xip = from.xip
#define clear(snapshot) \
	snapshot.xmax = 0; snapshot.xip = 0
#define below(xmax)	(bit_of(xmax) - 1)

#define contained(n, s) \
	((ONLY_IDS || s.xmax >= n.xmax) && (s.xip & below(n.xmax) & ~n.xip) == 0)
#define visible(xid, s) \
	((xid) < s.xmax && (s.xip & bit_of(xid)) == 0)

/* Of the process array, without the slot of the session itself */
inline take_snapshot(s)
{
	s.xmax = latest + 1;
	s.xip = 0;
	for (i : 0 .. SLOTS - 1) {
		when(i != me && xid[i] > 0 && xid[i] < s.xmax,
			 s.xip = s.xip | bit_of(xid[i]))
	}
	i = 0
}
inline export_snapshot(s)
{
	s.xmax = last_xid + 1;
	do
	:: s.xmax > 1 && (recorded & bit_of(s.xmax - 1)) == 0 -> s.xmax--
	:: else -> break
	od;
	s.xip = below(s.xmax) & ~recorded & ~1
}

/* Transactions */
inline end_in_array(slot)
{
	latest = max(latest, xid[slot]);
	when(value[slot] > 0,
		 row[value[slot]] = ((recorded & bit_of(xid[slot])) -> xid[slot] : 0);
		 value[slot] = 0);
	xid[slot] = 0
}

#define has_transaction	(locked[me] || xid[me] > 0)
#define write \
	:: atomic { !locked[me] -> locked[me] = true; number[me] = last } \
	:: atomic { locked[me] && value[me] == 0 && last < LAST -> \
			last++; value[me] = last; row[last] = OPEN } \
	:: atomic { xid[me] == 0 && last_xid < XIDS -> last_xid++; xid[me] = last_xid }

inline end_transaction()
{
	if
	:: atomic { xid[me] > 0 -> recorded = recorded | bit_of(xid[me]) }
	:: true
	fi;
	atomic { end_in_array(me) }
	atomic { locked[me] = false; number[me] = 0 }
}

bool in_statement = false;				/* the reader has a snapshot */
#define may_prepare	(xid[me] > 0 && xid[PREPARED] == 0 && !preparing && !(me == READER && in_statement))

inline prepare()
{
	atomic {						/* the id is in the array twice */
		may_prepare ->
		xid[PREPARED] = xid[me];
		preparing = true
	}
	atomic {						/* the lock is moved */
		locked[PREPARED] = locked[me]; number[PREPARED] = number[me];
		value[PREPARED] = value[me];
		locked[me] = false; number[me] = 0; value[me] = 0
	}
	atomic { xid[me] = 0; preparing = false }
}

active [WRITERS] proctype Writer()
{
end:
	do
	write
	:: atomic { has_transaction -> skip }; end_transaction()
	:: prepare()
	od
}

/* The reader */
inline take_own_snapshot()
{
	take_snapshot(n);
	when(xid[me] > 0 && !OWN_ID_IS_NONE, n.xip = n.xip | bit_of(xid[me]))
}

/* Computes a bound and its N, and remembers both. */
inline look()
{
	atomic { bound = last + 1; when(SNAPSHOT_FIRST, take_own_snapshot()) }
	atomic {
		for (i : 0 .. SLOTS - 1) {
			when(locked[i], bound = min(bound, number[i] + 1))
		}
		i = 0
	}
	atomic {
		when(!SNAPSHOT_FIRST, take_own_snapshot());
		when(in_statement && newest > 0 && contained(newest_n, s) && !ONE_BOUND,
			 valid = newest; copy(valid_n, newest_n));
		newest = bound;
		copy(newest_n, n);
		bound = 0;
		clear(n)
	}
}

inline check_rows(answer)
{
	for (i : 1 .. LAST) {
		assert(i >= answer || (i <= last && row[i] != OPEN && (row[i] == 0 || visible(row[i], s))))
	}
	i = 0
}

inline answer_statement()
{
	atomic {
		answer = 0;
		when(contained(newest_n, s), answer = newest);
		when(valid > answer && contained(valid_n, s), answer = valid);
		when(has_answer && !ANSWER_CHANGES, answer = kept);
		assert(!has_answer || answer == kept);
		assert(answer >= due);
		check_rows(answer);
		kept = answer;
		has_answer = true;
		answer = 0
	}
}

inline end_statement()
{
	in_statement = false; has_answer = false; kept = 0; due = 0; clear(s)
}

active proctype Reader()
{
	Snapshot s, n, newest_n, valid_n;
	byte bound, newest, valid, answer, kept, due, i;
	bool has_answer;

end:
	do
	:: atomic { in_statement -> end_statement() }
	:: atomic { !in_statement -> take_snapshot(s); in_statement = true; due = newest }
	:: atomic { !in_statement && !has_transaction -> export_snapshot(s); in_statement = true }
	:: atomic { in_statement -> skip }; look(); answer_statement()
	:: atomic { !in_statement -> skip }; look()
#if OWN
	write
	:: atomic { !in_statement && has_transaction -> skip }; end_transaction()
	:: prepare()
#endif
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED */
active proctype Finish()
{
end:
	do
	:: atomic {
			xid[PREPARED] > 0 && !preparing ->
			preparing = true;
			if
			:: recorded = recorded | bit_of(xid[PREPARED])
			:: true
			fi
		}
		atomic { end_in_array(PREPARED) }
		atomic { locked[PREPARED] = false; number[PREPARED] = 0; preparing = false }
	od
}
