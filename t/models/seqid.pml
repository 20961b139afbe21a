/*
 * seqid.pml
 *	  A Promela model of how keys stay unique over crashes and clocks that are
 *	  set; checked with spin by scripts/verify.sh.
 *
 * Two backends draw ids of one shard.  An id is its millisecond, one a
 * millisecond, which leaves out nothing but arithmetic.  Shared memory (word,
 * floor, life) is lost in a crash.  The clock goes on, and is set back, at any
 * time.
 *
 * The server has a synchronous standby.  What the primary has flushed reaches
 * the standby's disk at any time afterwards.  In a crash the primary is lost
 * with its shared memory: either it starts again from its own disk, or the
 * standby is promoted, the old primary is gone for good, and a new standby is
 * copied from the new primary.  (An old primary that goes on is in servers.pml.)
 *
 * Property: no id is issued twice, in either kind of crash, whatever
 * synchronous_commit the sessions have.  The mark waits for the standby in any
 * case, so the level of a session decides nothing, and is left out but for the
 * variant where it does.
 *
 * Left to the tests: several databases (each has a page and a floor of its own;
 * a second set of them is more states than there is memory for, and that a page
 * copied by TEMPLATE is not taken for the original's shows only with a second
 * shard besides), a relation that is dropped and created again, a raise that
 * does not wait, statements that are cancelled elsewhere than in the wait for
 * the standby, a standby that is lost (all wait, and nothing moves) or named
 * only later.  Asynchronous ones are in servers.pml.
 *
 * With one of these defined, the model is of a program that is wrong, and spin
 * must find the id that is issued twice:
 *	  MARK_AFTER_ID	the id leaves before the mark is flushed
 *	  NO_FLOOR		what an earlier life left is not taken as the floor
 *	  LIFE_FIRST	the page is given the life before the floor is raised
 *	  BELIEVE_PAGE	a mark found on the page is believed before it is flushed
 *	  LEVEL_OF_SESSION	a session under local believes a mark that the standby
 *					does not have; only ids that are drawn under on are held
 *					against it, as it promises no more
 */

#define BACKENDS	2
#define LEASE		2
#ifndef CRASHES
#define CRASHES		1
#endif
#ifndef CANCELS
#define CANCELS		0
#endif
#ifndef CLOCK_MAX
#define CLOCK_MAX	3
#endif
#define IDS			8				/* ids from 1 to IDS - 1 */

#define max(a, b)	((a) > (b) -> (a) : (b))

/* shared memory */
byte word = 0;
byte floor = 0;
byte life = 1;						/* stands for a random number */

/* the mark's page, and what of it is on disk; 0 is no life */
byte page_mark = 0;
byte page_life = 0;
byte disk_mark = 0;
byte disk_life = 0;
byte standby_mark = 0;				/* what of it is on the standby's disk */
byte standby_life = 0;
bool locked = false;				/* the buffer's lock */

byte clock = 0;
bool issued[IDS];
byte crashes = 0;
byte cancels = 0;

/* The backend's own knowledge ends with the life in which it was gathered. */
#define alive		(my_life == life)

#define flush() \
	disk_mark = page_mark; disk_life = page_life

#define replicate() \
	standby_mark = disk_mark; standby_life = disk_life

/* By WAL location: of two records of one life the later has the higher mark. */
#define replicated(mark) \
	(standby_life == life && standby_mark >= (mark))

#ifdef LEVEL_OF_SESSION
#define waits		(on)
#define issue(id) \
	assert(!issued[id]); issued[id] = on
#else
#define waits		(true)
#define issue(id) \
	assert(!issued[id]); issued[id] = true
#endif

proctype Backend()
{
	byte my_life, believed, my_floor, id, mark;
#ifdef LEVEL_OF_SESSION
	bool on;						/* synchronous_commit: on, or local */
#endif

start:
	atomic {
		my_life = life;
		believed = 0;
		my_floor = 0;
		id = 0;
		mark = 0;
	}

reserve:
	/* counter.h: compare-and-exchange of the shard's counter */
	atomic {
		if
		:: !alive -> goto start
		:: else
		fi;
		id = max(word + 1, max(clock, my_floor + 1));
		if
		:: id >= IDS - LEASE -> goto done	/* the model's ids are used up */
		:: else -> word = id
		fi
#ifdef LEVEL_OF_SESSION
		;
		if
		:: on = true
		:: on = false
		fi
#endif
	}
	if
	:: id <= believed -> goto leave
	:: else
	fi;

#ifdef MARK_AFTER_ID
	atomic {
		if
		:: !alive -> goto start
		:: else -> issue(id)
		fi
	}
#endif

	/* clock_mark.c: settle_mark() */
	atomic {
		(!locked || !alive);
		if
		:: !alive -> goto start
		:: else -> locked = true
		fi
	}
	if
	:: page_life == life && page_mark >= id + LEASE / 2 -> skip
	:: else ->
		/* write_mark(), in the order of its accesses */
#ifdef LIFE_FIRST
		atomic { if :: !alive -> goto start :: else -> mark = page_life; page_life = life fi };
		atomic { locked = (alive -> false : locked); };
		atomic { if :: !alive -> goto start :: mark != life -> floor = max(floor, page_mark) :: else fi };
		atomic { (!locked || !alive); if :: !alive -> goto start :: else -> locked = true fi };
#else
#ifndef NO_FLOOR
		atomic {
			if
			:: !alive -> goto start
			:: alive && page_life != life -> floor = max(floor, page_mark)
			:: else
			fi
		};
#endif
#endif
		atomic {
			if
			:: !alive -> goto start
			:: else ->
				page_mark = max(page_mark, id + LEASE);
				page_life = life
			fi
		}
	fi;
	atomic {
		if
		:: !alive -> goto start
		:: else -> mark = page_mark; locked = false
		fi
	}

	/* make_durable(): for the page that was read, whoever wrote it */
#ifndef BELIEVE_PAGE
	atomic {
		if
		:: !alive -> goto start
		:: else -> flush()
		fi
	}
	/* A wait for the standby that is cancelled withholds the id. */
	atomic {
		if
		:: !alive -> goto start
		:: alive && (!waits || replicated(mark))
		:: alive && waits && !replicated(mark) && cancels < CANCELS ->
			cancels++;
			goto reserve
		fi
	}
#endif
	atomic {
		if
		:: !alive -> goto start
		:: else -> believed = mark; my_floor = floor
		fi
	}
#ifdef MARK_AFTER_ID
	goto reserve;
#endif
	if
	:: id <= my_floor -> goto reserve
	:: id > my_floor && id > believed -> goto reserve
	:: else
	fi;

leave:
	atomic {
		if
		:: !alive -> goto start
		:: else -> issue(id)
		fi
	}
	goto reserve;
done:
	skip
}

/*
 * Kills the primary.  It starts anew with what is on its disk, or the standby
 * takes over with what is on its own.
 */
proctype Crash()
{
end:
	do
	:: atomic {
			crashes < CRASHES ->
			crashes++;
			life++;
			word = 0;
			floor = 0;
			locked = false;
			if
			:: true
			:: standby_mark != disk_mark || standby_life != disk_life ->
				disk_mark = standby_mark;
				disk_life = standby_life
			fi;
			page_mark = disk_mark;
			page_life = disk_life
		}
	od
}

/* WAL is flushed for other reasons, too. */
proctype OtherFlush()
{
end:
	do
	:: atomic { disk_mark < page_mark && !locked -> flush() }
	od
}

/* What is flushed is sent, and flushed there. */
proctype Replication()
{
end:
	do
	:: atomic {
			standby_mark != disk_mark || standby_life != disk_life ->
			replicate()
		}
	od
}

/* The clock is set. */
proctype Clock()
{
	do
	:: clock < CLOCK_MAX -> clock++
	:: clock > 0 -> clock = 0
	:: break
	od
}

init
{
	byte i;

	atomic {
		for (i : 1 .. BACKENDS) {
			run Backend()
		}
		run Crash();
		run OtherFlush();
		run Replication();
		run Clock()
	}
}
