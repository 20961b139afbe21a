/*
 * servers.pml
 *	  How ids stay unique when one of two servers is promoted while the other goes on.
 *
 * The backends of one server are in seqid.pml.  Here each server has one backend, and
 * nothing stops the old primary: after a promotion both servers issue ids.  Either can
 * crash and restart from its disk.  The server of the earlier timeline can be discarded
 * and return as a copy of the other one, and can then be promoted again.
 *
 * An id is its shard and its millisecond.  A clock shows any time whenever a server
 * reads it.  A standby receives what the primary has flushed, at any time until its
 * promotion.
 *
 * SHARDS is the length of the cluster's list of shards.  A server uses the shard with
 * the number (timeline - 1) mod SHARDS.
 *
 * With SYNCHRONOUS, a primary waits until its standby has received each mark.  It still
 * waits after that standby is promoted, because it does not learn of the promotion.  A
 * promoted server waits for nothing until it has a standby.
 *
 * Properties:
 *	  unique	No id is issued twice by any server, if the standby is synchronous or if
 *				there are more shards than promotions.
 *	  silent	With SYNCHRONOUS, a primary issues nothing above the mark that its standby
 *				had received when that was promoted.
 *
 * Left out: servers that are not copies of each other, a standby that was behind when it
 * was named as synchronous or is no longer named, and a third server.
 *
 * With one of these, spin must find a fault:
 *	  SHARDS=1, SHARDS=2	without SYNCHRONOUS, too few for one and for two promotions
 *	  GO_BACK				the later timeline can be discarded, and its number returns
 *	  MARK_DOES_NOT_WAIT	with SYNCHRONOUS: the old primary is not silent
 *
 * models.pl defines SHARDS, PROMOTIONS, CRASHES, CLOCK_MAX and IDS.
 */

#define LEASE		2

#define max(a, b)	((a) > (b) -> (a) : (b))
#define when(condition, action) \
	if :: condition -> action :: else fi
#define other		(1 - me)

/* A server's shared memory.  A lifetime has one timeline and so one shard. */
byte word[2];
byte floor[2];
bool alive[2];						/* the backend's lifetime is the server's */

/* The mark's page and its disk, and whether this lifetime wrote it. */
byte page_mark[2];
byte disk_mark[2];
bool own_mark[2];

bool is_standby[2] = { false, true };
byte timeline[2] = 1;
byte received[2];					/* this server's mark, as its standby has it */

bool issued[SHARDS * IDS];			/* ids from 1 to IDS - 1 */
byte promotions = 0;
byte crashes = 0;

#define shard		((timeline[me] - 1) % SHARDS)
#define overtaken	(!is_standby[other] && timeline[other] > timeline[me])

#ifdef SYNCHRONOUS
#define SYNC		true
#define silent(id)	(!overtaken || id <= received[me])
#else
#define SYNC		false
#define silent(id)	(true)
#endif
bool must_wait[2] = { SYNC, false };	/* its standby must receive each mark */

#ifdef MARK_DOES_NOT_WAIT
#define replicated(mark)	(true)
#else
#define replicated(mark)	(!must_wait[me] || received[me] >= (mark))
#endif

#ifdef GO_BACK
#define can_discard	(true)
#else
#define can_discard	(timeline[me] < timeline[other])
#endif

#define step(action) \
	atomic { if :: !alive[me] -> goto end_start :: else -> action fi }

/* Shared memory is lost, and WAL that is not flushed. */
#define end_lifetime() \
	alive[me] = false; word[me] = 0; floor[me] = 0; \
	page_mark[me] = disk_mark[me]; own_mark[me] = false

#define replicate() \
	disk_mark[me] = disk_mark[other]; received[other] = disk_mark[other]

/* A server's backend.  seqid.pml explains the steps. */
#define me		(_pid)
active [2] proctype Backend()
{
	byte known_durable, my_floor, id, mark, clock;

end_start:							/* for ever, if it remains a standby */
	atomic {
		!is_standby[me] ->
		alive[me] = true; known_durable = 0; my_floor = 0; id = 0; mark = 0
	}

reserve:
	step(
		select (clock : 0 .. CLOCK_MAX);
		id = max(word[me] + 1, max(clock, my_floor + 1));
		clock = 0;
		when(id >= IDS - LEASE, id = 0; goto end_used_up);
		word[me] = id);
	when(id <= known_durable, goto leave);

	step(
		when(!own_mark[me], floor[me] = max(floor[me], page_mark[me]));
		when(!own_mark[me] || page_mark[me] < id + LEASE / 2,
			 page_mark[me] = max(page_mark[me], id + LEASE);
			 own_mark[me] = true);
		mark = page_mark[me]);
	step(disk_mark[me] = page_mark[me]);
end_silent:							/* for ever, if this server stays alone */
	atomic {
		(!alive[me] || replicated(mark));
		if
		:: !alive[me] -> goto end_start
		:: else -> known_durable = mark; mark = 0; my_floor = floor[me]
		fi
	}
	when(id <= my_floor || id > known_durable, goto reserve);

leave:
	step(
		assert(!issued[shard * IDS + id]);
		assert(silent(id));
		issued[shard * IDS + id] = true;
		id = 0);
	goto reserve;

end_used_up:
	!alive[me] -> goto end_start
}

/* What happens to a server and to what is between the two. */
#undef me
#define me		(_pid - 2)
active [2] proctype Fate()
{
end:
	do
	:: atomic {						/* it crashes and restarts from its disk */
			crashes < CRASHES && !is_standby[me] && alive[me] ->
			crashes++;
			end_lifetime()
		}
	:: atomic {						/* something else flushes WAL */
			!is_standby[me] && disk_mark[me] < page_mark[me] ->
			disk_mark[me] = page_mark[me]
		}
	:: atomic {						/* it receives flushed WAL and flushes it */
			is_standby[me] && disk_mark[me] != disk_mark[other] ->
			replicate()
		}
	:: atomic {						/* it is promoted */
			promotions < PROMOTIONS && is_standby[me] ->
			promotions++;
			is_standby[me] = false;
			must_wait[me] = false;
			timeline[me]++;
			end_lifetime()
		}
	:: atomic {						/* it is discarded and made a copy of the other */
			!is_standby[me] && !is_standby[other] && can_discard ->
			is_standby[me] = true;
			timeline[me] = timeline[other];
			replicate();
			received[me] = 0;
			must_wait[me] = false;
			must_wait[other] = SYNC;
			end_lifetime()
		}
	od
}
