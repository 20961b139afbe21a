/*
 * sequence.pml
 *	  A Promela model of the settled horizon of a sequence, checked with spin by
 *	  models.pl.
 *
 * Two writers get values of one sequence and insert them, without end except for the
 * sequence's.  Each has one entry.  With TWO, a transaction can register for another
 * sequence instead, whose last value is 0.  Readers ask for the horizon and then read the
 * rows up to it.  Each access to shared memory is a step of its own, and so are the steps
 * of the lock of the sequence's page, which writers and readers hold in share mode.
 * nextval() is one step of the server under that lock.  It writes WAL for values ahead,
 * which a crash keeps only if it was flushed.  A crash makes the logged value the last one.
 *
 * Properties:
 *	  missed	No row becomes visible with a value up to a horizon that a reader
 *				has read to.
 *	  back		No reader gets a smaller horizon than another one did before it asked,
 *				over a crash too.
 *
 * Left to the tests: several entries of one transaction, savepoints, ALTER SEQUENCE,
 * standbys.  Memory that is reordered is left to ../litmus/sequence.litmus.
 *
 * With one of these defined, the program is wrong, and spin must find the property that
 * fails:
 *	  NEXTVAL_FIRST		missed: the writer registers after it has its value
 *	  SCAN_FIRST		missed: the reader scans the entries before it reads the last value
 *	  LATE_READ			back: the writer reads the last value with the lock and stores the
 *						entry after it has released it
 *	  ENDS_BEFORE_VISIBLE	missed: the entry ends before the row is visible
 *	  NOT_DURABLE		back, and missed: the WAL is not flushed
 *	  LXID_FIRST		back: the lxid is written before the fields of the entry
 *	  ENTRY_IS_LEFT		back: another process with the PGPROC comes to have the lxid of an
 *						entry that was left
 *	  END_SEEN_FIRST	back, with TWO: the reader looks at the PGPROC before it reads the
 *						fields of the entry
 *	  OLD_SNAPSHOT		missed: the snapshot is older than the horizon
 */

#ifndef LAST
#define LAST		3				/* the sequence's last value */
#endif
#ifndef CRASHES
#define CRASHES		0
#endif
#ifndef READERS
#define READERS		1
#endif
#define AHEAD		1				/* values that WAL is ahead */
#define NONE		15

#define max(a, b)	((a) > (b) -> (a) : (b))
#define min(a, b)	((a) < (b) -> (a) : (b))

/* shared memory */
byte last = 0;						/* of the sequence's page */
byte shares = 0;					/* the lock of its buffer */
byte entry_last[2];
bool entry_other[2];				/* of the other sequence */
byte entry_lxid[2];
byte lxid[2];						/* 0 is no transaction */
byte life = 0;
byte seen_lxid[READERS];			/* each reader's own */

/* on disk, or on its way there */
byte logged = 0;					/* in WAL */
byte flushed = 0;
byte crashes = 0;

/* what the properties are about */
byte value[2] = NONE;				/* not visible yet */
byte promised = 0;					/* a reader has read to here */
#ifdef OLD_SNAPSHOT
byte unseen = NONE;					/* the least row that a snapshot is too old for */
#endif

#define share()			shares++
#define unshare()		shares--

/* Not one that a reader has just read: it comes again after 2^32 transactions. */
#define in_hand(id)		(seen_lxid[0] == (id) || seen_lxid[READERS - 1] == (id))
#define next_lxid		(!in_hand(1) -> 1 : (!in_hand(2) -> 2 : 3))
#ifdef ENTRY_IS_LEFT
#define clear(me)		skip
#else
#define clear(me)		entry_lxid[me] = 0
#endif

/* The server holds the lock exclusively. */
inline nextval()
{
	atomic {
		shares == 0 && last < LAST ->
		last++;
		if
		:: crashes < CRASHES && last > logged -> logged = min(last + AHEAD, LAST)
		:: else
		fi;
		value[me] = last
	}
}

inline store_entry(what, other)
{
#ifdef LXID_FIRST
	entry_lxid[me] = lxid[me];
	entry_last[me] = what;
	entry_other[me] = other
#else
	entry_last[me] = what;
	entry_other[me] = other;
	entry_lxid[me] = lxid[me]
#endif
}

inline register_writer()
{
	share();
	mine = last;
#ifdef LATE_READ
	unshare();
	store_entry(mine, false);
#else
	store_entry(mine, false);
	unshare();
#endif
	mine = 0
}

inline become_visible()
{
	atomic {
		assert(value[me] > promised);	/* missed */
#ifdef OLD_SNAPSHOT
		unseen = min(unseen, value[me]);
#endif
		value[me] = NONE
	}
}

proctype Writer(byte me)
{
	byte my_life, mine;

end:
	do
	:: {
		atomic { last < LAST -> lxid[me] = next_lxid };
#ifdef ENTRY_IS_LEFT
		/* A process that never calls settled_nextval() has the lxid. */
		if
		:: lxid[me] = 0; goto again
		:: skip
		fi;
#endif
#ifdef TWO
		if
		:: store_entry(0, true); lxid[me] = 0; clear(me); goto again
		:: skip
		fi;
#endif
#ifdef NEXTVAL_FIRST
		nextval();
		register_writer();
#else
		register_writer();
		if
		:: nextval()
		:: atomic { last == LAST -> skip }	/* an error */
		fi;
#endif
		if
#ifdef ENDS_BEFORE_VISIBLE
		:: value[me] != NONE -> lxid[me] = 0; become_visible()
#else
		:: atomic { value[me] != NONE -> become_visible(); lxid[me] = 0 }
#endif
		:: atomic { value[me] = NONE; lxid[me] = 0 }
		fi;
		clear(me);
again:
		skip
	} unless {
		atomic { my_life != life -> my_life = life; mine = 0 }
	}
	od
}

/* Whether the entry of a process holds the sequence, and where. */
inline look_at(process)
{
	seen_lxid[me] = entry_lxid[process];
#ifdef END_SEEN_FIRST
	open = (seen_lxid[me] != 0 && seen_lxid[me] == lxid[process]);
	seen_other = entry_other[process];
	seen_last = entry_last[process];
#else
	seen_other = entry_other[process];
	seen_last = entry_last[process];
	open = (seen_lxid[me] != 0 && seen_lxid[me] == lxid[process]);
#endif
	atomic {
		if
		:: open && !seen_other -> horizon = min(horizon, seen_last)
		:: else
		fi;
		seen_lxid[me] = 0;
		seen_last = 0;
		seen_other = false;
		open = false
	}
}

proctype Reader(byte me)
{
	byte my_life, horizon, before, seen_last;
	bool open, seen_other;

end:
	do
	:: {
		atomic {
#if READERS > 1
			before = promised;
#endif
			horizon = NONE
		};
#ifdef OLD_SNAPSHOT
		unseen = NONE;
#endif
#ifdef SCAN_FIRST
		look_at(0);
		look_at(1);
#endif
		share();
		horizon = min(horizon, last);
		unshare();
#ifndef SCAN_FIRST
		look_at(0);
		look_at(1);
#endif
#ifndef NOT_DURABLE
		flushed = (crashes < CRASHES -> logged : 0);
#endif
		atomic {					/* the snapshot, and the rows */
#if READERS == 1
			before = promised;
#endif
			assert(horizon >= before);	/* back */
#ifdef OLD_SNAPSHOT
			assert(unseen > horizon);	/* missed */
#endif
			promised = max(promised, horizon);
			horizon = 0;
			before = 0
		}
	} unless {
		atomic {
			my_life != life ->
			my_life = life;
			horizon = 0; before = 0; seen_lxid[me] = 0; seen_last = 0; seen_other = false; open = false
		}
	}
	od
}

proctype Crash()
{
	byte i;

end:
	do
	:: atomic {
			crashes < CRASHES ->
			crashes++;
			life++;
			shares = 0;
			for (i : 0 .. 1) {
				entry_last[i] = 0;
				entry_other[i] = false;
				entry_lxid[i] = 0;
				lxid[i] = 0;
				value[i] = NONE
			}
			seen_lxid[0] = 0;
			seen_lxid[READERS - 1] = 0;
			i = 0;
			/* WAL can be on disk without having been asked for. */
			if
			:: flushed = logged
			:: skip
			fi;
			last = flushed;
			if
			:: crashes == CRASHES -> logged = 0; flushed = 0
			:: else -> logged = flushed
			fi
		}
	od
}

init
{
	byte i;

	atomic {
		run Writer(0);
		run Writer(1);
		for (i : 0 .. READERS - 1) {
			run Reader(i)
		}
		if
		:: CRASHES -> run Crash()
		:: else
		fi
	}
}
