/*
 * seqid.pml
 *	  A Promela model of how keys stay unique over crashes and clocks that are
 *	  set; checked with spin by scripts/verify.sh.
 *
 * Two backends draw ids of one shard.  An id is its millisecond, one a
 * millisecond, which leaves out nothing but arithmetic.  Shared memory (word,
 * floor, life) is lost in a crash; the mark's page goes back to what was last
 * flushed.  The clock goes on, and is set back, at any time.
 *
 * Property: no id is issued twice.
 *
 * Left to the tests: several databases, a relation that is dropped and created
 * again, a raise that does not wait, synchronous standbys, cancelled statements.
 *
 * With one of these defined, the model is of a program that is wrong, and spin
 * must find the id that is issued twice:
 *	  MARK_AFTER_ID	the id leaves before the mark is flushed
 *	  NO_FLOOR		what an earlier life left is not taken as the floor
 *	  LIFE_FIRST	the page is given the life before the floor is raised
 *	  BELIEVE_PAGE	a mark found on the page is believed before it is flushed
 */

#define BACKENDS	2
#define LEASE		2
#ifndef CRASHES
#define CRASHES		1
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
bool locked = false;				/* the buffer's lock */

byte clock = 0;
bool issued[IDS];
byte crashes = 0;

/* The backend's own knowledge ends with the life in which it was gathered. */
#define alive		(my_life == life)

#define flush() \
	disk_mark = page_mark; disk_life = page_life

#define issue(id) \
	assert(!issued[id]); issued[id] = true

proctype Backend()
{
	byte my_life, believed, my_floor, id, mark;

start:
	atomic {
		my_life = life;
		believed = 0;
		my_floor = 0;
		id = 0;
		mark = 0;
	}

reserve:
	/* shard_clock.c: compare-and-exchange of the shard's word */
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

/* Kills the server, which starts anew with what is on disk. */
proctype Crash()
{
	do
	:: crashes < CRASHES ->
		atomic {
			crashes++;
			life++;
			word = 0;
			floor = 0;
			locked = false;
			page_mark = disk_mark;
			page_life = disk_life
		}
	:: break
	od
}

/* WAL is flushed for other reasons, too. */
proctype OtherFlush()
{
	do
	:: atomic { disk_mark < page_mark && !locked -> flush() }
	:: break
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
		run Clock()
	}
}
