/*
 * seqid.pml
 *	  How ids stay unique when a server crashes and when its clock is set.
 *
 * Two backends generate ids of one shard.  An id is its millisecond, and a millisecond
 * has one id, so the model leaves out only arithmetic.  A crash loses shared memory.
 * The clock advances, and is set back, at any time.
 *
 * The server has a synchronous standby, which receives flushed WAL at any later time.
 * After a crash, either the primary restarts from its disk, or the standby is promoted
 * and a new standby is copied from it.  (t/engines/patroni.pl has an old primary that goes
 * on.)
 *
 * Property: no id is issued twice.  A session's synchronous_commit does not matter,
 * because the mark waits for the standby in any case.
 *
 * Left to the tests: several databases, ids for existing rows, a mark whose relation is
 * created again, a raise that does not wait, statements cancelled elsewhere than in the
 * wait for the standby, and a standby that is lost or is named only later.
 *
 * models.pl defines CRASHES=1 CANCELS=0 CLOCK_MAX=3, and runs:
 *	  none
 *	* none CRASHES=2
 *	* none CRASHES=2 CLOCK_MAX=1 CANCELS=1
 *	  none CLOCK_MAX=1 CANCELS=1
 *	  issued NO_FLOOR: the mark of an earlier lifetime does not become the floor
 *	  issued TRUST_PAGE: a mark on the page is relied on before it is flushed
 *	  issued LEVEL_OF_SESSION: a session under local relies on a mark that the standby
 *		lacks; only ids generated under on must not come again
 */

#include "macros.h"

#define LEASE		2
#define IDS			8				/* ids from 1 to IDS - 1 */

/* shared memory */
byte word = 0;
byte floor = 0;
byte lifetime = 1;					/* stands for a random number */
bool locked = false;				/* the lock of the mark's buffer */

/* the mark's page in memory and on two disks; lifetime 0 is none */
byte page_mark = 0;
byte page_lifetime = 0;
byte disk_mark = 0;
byte disk_lifetime = 0;
byte standby_mark = 0;
byte standby_lifetime = 0;

byte clock = 0;
bool issued[IDS];
byte crashes = 0;
byte cancels = 0;

/* A step of a backend.  A crash ends what it knows of the server's lifetime. */
#define alive		(my_lifetime == lifetime)
#define live(action) \
	if :: !alive -> goto start :: else -> action fi
#define step(action) \
	atomic { live(action) }

#define flush() \
	disk_mark = page_mark; disk_lifetime = page_lifetime

/* Compares WAL locations: in one lifetime, the later record has the higher mark. */
#define replicated(mark) \
	(standby_lifetime == lifetime && standby_mark >= (mark))


active [2] proctype Backend()
{
	byte my_lifetime, known_durable, my_floor, id, mark;
	bool waits = true;				/* for the standby */

start:
	atomic { my_lifetime = lifetime; known_durable = 0; my_floor = 0; id = 0; mark = 0 }

reserve:
	atomic {						/* compare-and-exchange of the shard's counter */
		live(id = max(word + 1, max(clock, my_floor + 1)));
		when(id >= IDS - LEASE, goto done);	/* the model has no more ids */
		word = id;
		when(LEVEL_OF_SESSION, if :: waits = true :: waits = false fi)
	}
	when(id <= known_durable, goto leave);

	/* bring the mark up to the id */
	atomic { (!locked || !alive); live(locked = true) }
	if
	:: page_lifetime == lifetime && page_mark >= id + LEASE / 2 -> skip
	:: else ->						/* raise it, in the order of the accesses */
		step(when(page_lifetime != lifetime && !NO_FLOOR, floor = max(floor, page_mark)));
		step(page_mark = max(page_mark, id + LEASE); page_lifetime = lifetime)
	fi;
	step(mark = page_mark; locked = false);

	/* make it durable, also if another backend has raised it */
	step(when(!TRUST_PAGE, flush()));
	atomic {						/* a cancelled wait withholds the id */
		if
		:: !alive -> goto start
		:: alive && (!waits || replicated(mark) || TRUST_PAGE)
		:: alive && waits && !replicated(mark) && cancels < CANCELS ->
			cancels++;
			goto reserve
		fi
	}
	step(known_durable = mark; my_floor = floor);
	when(id <= my_floor || id > known_durable, goto reserve);

leave:
	step(assert(!issued[id]); issued[id] = waits);
	goto reserve;
done:
	skip
}

/* The primary restarts from its disk, or the standby from its own. */
active proctype Crash()
{
end:
	do
	:: atomic {
			crashes < CRASHES ->
			crashes++;
			lifetime++;
			word = 0; floor = 0; locked = false;
			if
			:: true
			:: standby_mark != disk_mark || standby_lifetime != disk_lifetime ->
				disk_mark = standby_mark; disk_lifetime = standby_lifetime
			fi;
			page_mark = disk_mark; page_lifetime = disk_lifetime
		}
	od
}

/* Other sessions flush WAL, too.  The standby receives and flushes it. */
active proctype OtherFlush()
{
end:
	do
	:: atomic { disk_mark < page_mark && !locked -> flush() }
	od
}

active proctype Replication()
{
end:
	do
	:: atomic {
			standby_mark != disk_mark || standby_lifetime != disk_lifetime ->
			standby_mark = disk_mark; standby_lifetime = disk_lifetime
		}
	od
}

active proctype Clock()
{
	do
	:: clock < CLOCK_MAX -> clock++
	:: clock > 0 -> clock = 0
	:: break
	od
}
