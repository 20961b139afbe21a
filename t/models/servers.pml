/*
 * servers.pml
 *	  A Promela model of how keys stay unique over two servers, of which one is
 *	  promoted while the other goes on; checked with spin by scripts/verify.sh.
 *
 * What happens between the backends of a server is in seqid.pml, whose old primary
 * is gone for good.  Here each server has one backend, and nobody fences anything:
 * after a promotion both servers issue ids (split brain), and either may crash and
 * start again from its own disk, until the one of the earlier timeline is thrown
 * away and comes back as a copy of the other, to be promoted in its turn.
 *
 * An id is its shard and its millisecond.  The clock that a server looks at may
 * show anything at any time.  What the primary has flushed, and nothing else,
 * reaches the standby, at any time before that is promoted.
 *
 * SHARDS is how many shards the cluster's list has; a server issues from the
 * (timeline - 1) mod SHARDS-th.  With one, all servers issue from the same.
 *
 * With SYNCHRONOUS, a primary with a standby lets each mark wait for it, and goes on
 * to wait when the standby is promoted, as it is not told.  A server that was
 * promoted waits for nobody until it has a standby.
 *
 * Properties:
 *	  unique		No id is issued twice, by whichever server: with a synchronous
 *					standby, or with more shards than there are promotions.
 *	  silent		With SYNCHRONOUS, a primary that was overtaken by a promotion
 *					issues nothing beyond the mark that its standby had received:
 *					so not for longer than a mark is raised ahead.
 *
 * Left out: servers that are not copies of each other; a standby that was behind
 * when it was named as synchronous, and one that is no longer named; a third
 * server, which the old primary could wait for, or which is promoted as well.
 *
 * With one of these, the cluster is not what the properties ask for, or the program
 * is wrong, and spin must find it:
 *	  SHARDS=1		without SYNCHRONOUS: the ids of lost WAL come again, and those of
 *					the old primary
 *	  SHARDS=2		without SYNCHRONOUS, and two promotions: the first shard again
 *	  GO_BACK		the server of the later timeline may be thrown away instead, and
 *					nobody remembers it: its number comes again, and its shard
 *	  MARK_DOES_NOT_WAIT	with SYNCHRONOUS: the old primary is not silent
 */

#define LEASE		2
#ifndef SHARDS
#define SHARDS		1
#endif
#ifndef PROMOTIONS
#define PROMOTIONS	2
#endif
#ifndef CRASHES
#define CRASHES		1
#endif
#ifndef CLOCK_MAX
#define CLOCK_MAX	2
#endif
#ifndef IDS
#define IDS			8				/* ids from 1 to IDS - 1 */
#endif

#define max(a, b)	((a) > (b) -> (a) : (b))
#define other(me)	(1 - (me))

/* A server's shared memory.  A life is of one timeline, and so of one shard. */
byte word[2];
byte floor[2];
bool alive[2];						/* the backend's life is still the server's */

/* The mark's page, what of it is on disk, and whether this life wrote it. */
byte page_mark[2];
byte disk_mark[2];
bool own_mark[2];

bool is_standby[2];
byte timeline[2];
byte received[2];					/* the mark of this server that its standby had */
bool must_wait[2];					/* each mark of this server has to be received */

bool issued[SHARDS * IDS];
byte promotions = 0;
byte crashes = 0;

#define shard(me)		((timeline[me] - 1) % SHARDS)
#define overtaken(me)	(!is_standby[other(me)] && timeline[other(me)] > timeline[me])

#ifdef SYNCHRONOUS
#define SYNC			true
#define silent(me, id)	(!overtaken(me) || id <= received[me])
#else
#define SYNC			false
#define silent(me, id)	(true)
#endif

#ifdef MARK_DOES_NOT_WAIT
#define replicated(me, mark)	(true)
#else
#define replicated(me, mark)	(!must_wait[me] || received[me] >= (mark))
#endif

/* Shared memory is lost, and unflushed WAL. */
#define end_life(me) \
	alive[me] = false; word[me] = 0; floor[me] = 0; \
	page_mark[me] = disk_mark[me]; own_mark[me] = false

#define replicate_to(me) \
	disk_mark[me] = disk_mark[other(me)]; \
	received[other(me)] = disk_mark[other(me)]

#ifdef GO_BACK
#define may_go(me)		(true)
#else
#define may_go(me)		(timeline[me] < timeline[other(me)])
#endif

/* The backend of a server.  As in seqid.pml, where each step is explained. */
proctype Backend(byte me)
{
	byte believed, my_floor, id, mark, clock;

end_start:							/* for good, if it is a standby and stays one */
	atomic {
		!is_standby[me] ->
		alive[me] = true;
		believed = 0;
		my_floor = 0;
		id = 0;
		mark = 0
	}

reserve:
	atomic {
		if
		:: !alive[me] -> goto end_start
		:: else
		fi;
		select (clock : 0 .. CLOCK_MAX);
		id = max(word[me] + 1, max(clock, my_floor + 1));
		clock = 0;
		if
		:: id >= IDS - LEASE -> id = 0; goto end_used_up	/* no ids are left */
		:: else -> word[me] = id
		fi
	}
	if
	:: id <= believed -> goto leave
	:: else
	fi;

	/* settle_mark() and write_mark(): nobody is there to lock it against */
	atomic {
		if
		:: !alive[me] -> goto end_start
		:: alive[me] && own_mark[me] && page_mark[me] >= id + LEASE / 2
		:: else ->
			if
			:: !own_mark[me] -> floor[me] = max(floor[me], page_mark[me])
			:: else
			fi;
			page_mark[me] = max(page_mark[me], id + LEASE);
			own_mark[me] = true
		fi;
		mark = page_mark[me]
	}

	/* make_durable() */
	atomic {
		if
		:: !alive[me] -> goto end_start
		:: else -> disk_mark[me] = page_mark[me]
		fi
	}
end_silent:							/* for good, if nothing becomes of this server */
	atomic {
		(!alive[me] || replicated(me, mark));
		if
		:: !alive[me] -> goto end_start
		:: else ->
			believed = mark;
			mark = 0;
			my_floor = floor[me]
		fi
	}
	if
	:: id <= my_floor || id > believed -> goto reserve
	:: else
	fi;

leave:
	atomic {
		if
		:: !alive[me] -> goto end_start
		:: else ->
			assert(!issued[shard(me) * IDS + id]);
			assert(silent(me, id));
			issued[shard(me) * IDS + id] = true;
			id = 0
		fi
	}
	goto reserve;

end_used_up:
	!alive[me] -> goto end_start
}

/* What happens to a server, and to what is between the two. */
proctype Fate(byte me)
{
end:
	do
	:: atomic {						/* killed, and started from its own disk */
			crashes < CRASHES && !is_standby[me] && alive[me] ->
			crashes++;
			end_life(me)
		}
	:: atomic {						/* WAL is flushed for other reasons, too */
			!is_standby[me] && disk_mark[me] < page_mark[me] ->
			disk_mark[me] = page_mark[me]
		}
	:: atomic {						/* what is flushed is received, and flushed */
			is_standby[me] && disk_mark[me] != disk_mark[other(me)] ->
			replicate_to(me)
		}
	:: atomic {						/* promoted */
			promotions < PROMOTIONS && is_standby[me] ->
			promotions++;
			is_standby[me] = false;
			must_wait[me] = false;
			timeline[me]++;
			end_life(me)
		}
	:: atomic {						/* thrown away, and made a copy of the other */
			!is_standby[me] && !is_standby[other(me)] && may_go(me) ->
			is_standby[me] = true;
			timeline[me] = timeline[other(me)];
			replicate_to(me);
			received[me] = 0;
			must_wait[me] = false;
			must_wait[other(me)] = SYNC;
			end_life(me)
		}
	od
}

init
{
	atomic {
		timeline[0] = 1;
		timeline[1] = 1;
		is_standby[1] = true;
		must_wait[0] = SYNC;
		run Backend(0);
		run Backend(1);
		run Fate(0);
		run Fate(1)
	}
}
