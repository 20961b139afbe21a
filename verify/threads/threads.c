/*
 * threads.c
 *	  seqid's lock-free parts in threads, under ThreadSanitizer: scripts/hard.sh threads.
 *
 * Each thread is a backend: it has a copy of seqid's own files, compiled as they are, and
 * all share one memory.  What they need of the server is in backend.c and server.c; who
 * runs when, and how memory may behave, is in turns.c and memory.c.  A server that is
 * killed is killed at some access of some thread, and the next life has what was flushed,
 * and new copies.
 *
 *	  threads SCENARIO SEED turns|free LIBRARY...
 *
 * Scenarios, and what must be so in each:
 *	  ids		Threads of two databases draw snowflakes of both layouts and COMBs,
 *				singly, in runs and in blocks, while the clock is set: each key
 *				is above all of its shard (or of its database's COMBs) that anybody
 *				had before it was asked for, and none tells a time that a mark on disk
 *				does not cover.
 *	  steady	The same with a clock that only goes forward: nobody is refused, and
 *				nobody finds it behind.
 *	  lives		The same over lives of the server, which is killed, and starts with the
 *				clock set back.  Each database has shards of its own.
 *	  starts	Many lives that are short: who finds shared memory, and the place of his
 *				database there, finds it initialized.
 *	  horizon	Transactions draw, and commit or roll back; readers ask for the settled
 *				horizon and read: no row becomes visible below what somebody has read
 *				up to, no key is drawn below it, and it does not go back, over lives
 *				too.
 *	  team		The same, and one of them has a parallel worker that draws for it.
 *
 * Each of these is with the source broken on purpose, and must be found (sed does it, in
 * scripts/hard/threads.sh):
 *	  CLAIM_IN_TWO_STEPS	a shard's word is read, and then written
 *	  PLAIN_READ_OF_WORD	it is read as if it were nobody else's
 *	  CLOCK_BEFORE_WORD	the clock is read before the word, and may be older
 *	  KEY_BEFORE_MARK	the mark is written but not flushed before keys leave
 *	  NO_FLOOR		the mark of an earlier life is not taken as the floor
 *	  PAGE_WITHOUT_LOCK	the mark's page is read without its lock
 *	  PLACE_NO_WRITE_BARRIER, PLACE_NO_READ_BARRIER	the owner of a place may be seen
 *				before what is in it
 *	  OWNER_INITIALIZED_AGAIN	the owner is initialized while others look at it
 *	  CLAIM_BEFORE_SLOT	keys are drawn before the transaction is listed
 *	  NO_SECOND_LOOK	what is raised is not read again after the slot is written
 *	  NO_BARRIER	it may be read before that
 *	  READER_NO_BARRIER	slots may be read before the time is raised
 *	  READER_LOOKS_FIRST	they are
 *	  PLAIN_SLOT	the slot is written as if it were nobody else's
 *	  NOT_KEPT		what was told is not the least that is told
 *
 * One cannot be found, as it is no fault by itself: without the read barrier between slot and
 * local id, a reader may see an older id.  But who listed himself before the reader
 * raised the time had that id before, and the keys of who did after are above it.
 *
 * Not here: prepared transactions and standbys, whose locks and WAL are the server's; see
 * horizon.pml, seqid.pml and the tests.  And see memory.c for orders of accesses that do
 * not occur.
 */
#include "backend.h"
#include "machine.h"
#include "server.h"

#include <dlfcn.h>

#undef printf
#undef qsort
#undef fprintf

#define SPACES			8
#define CROWDED_SPACE	3
#define COMBS_SPACE		5		/* before those of databases */
#define TEAM_LEADER		0
#define TEAM_WORKER		1
#define RUN_MAX			128		/* as long as a millisecond of snowflake53 */
#define KEYS_MAX		64		/* of a transaction */
#define NOTES_MAX		100000

typedef struct Scenario
{
	const char *name;
	int			threads;
	int			lives;
	int			rounds;			/* of each thread in each life */
	void		(*body) (int thread);
	uint32		kill_within;	/* steps of each life, 0 for to the end */
	int64		clock_grain_ns;
	int64		clock_jitter_ns;
	int			back_ms;		/* how far the clock is set, at most */
	int			forward_ms;
	int			restart_ms[2];	/* how the clock is set between lives, in turn */
	bool		may_refuse;
	bool		shared_shards;	/* databases have the same */
	bool		crowded;		/* all draw whole milliseconds of one shard */
	bool		rows;			/* of one database */
} Scenario;

/* Both databases draw of the first five, or of those that are even or odd. */
static const KeySpace spaces[SPACES] = {
	{0, 0}, {0, 1}, {0, 128}, {1, 0}, {1, 31}, {0, 3}, {COMBS, 1}, {COMBS, 2}
};

typedef struct Note
{
	int			space;
	int64		first;
	int64		last;
} Note;

static const Scenario *scenario;
static Backend *backends[MACHINE_THREADS];
static Oid	databases[MACHINE_THREADS];

/* The last key of each space that somebody has; relaxed, so that it orders nothing. */
static int64 highest[SPACES];

static Note notes[MACHINE_THREADS][NOTES_MAX];
static int	noted[MACHINE_THREADS];
static uint64 refused;

/* The latest horizon that was told, relaxed; and, under the lock, read up to. */
static int64 told_ms;
static int64 read_up_to_ms;
static uint64 horizons;
static uint64 rows;

/* The keys of the worker's part of its leader's transaction. */
static int	team_begun;
static int	team_ended;
static int64 worker_ms[KEYS_MAX];
static int	worker_keys;

static int64
relaxed(const int64 *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static void
raise_relaxed(int64 *value, int64 at_least)
{
	int64		now = relaxed(value);

	while (now < at_least &&
		   !__atomic_compare_exchange_n(value, &now, at_least, false,
										__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void
count_relaxed(uint64 *value)
{
	__atomic_fetch_add(value, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------
 * Keys
 * ------------------------------------------------------------------------
 */

static int
some_space(int thread)
{
	int			database = (int) databases[thread];

	if (machine_random(4) == 0)
		return COMBS_SPACE + database;
	if (scenario->crowded)
		return CROWDED_SPACE;
	return scenario->shared_shards ? (int) machine_random(5) :
		(int) machine_random(3) * 2 + database - 1;
}

/* Back, or forward so that it is right in the mean. */
static void
maybe_set_clock(void)
{
	if (scenario->forward_ms == 0 || machine_random(48) != 0)
		return;
	if (machine_random(2) == 0)
		machine_set_clock(-(int64) machine_random((uint32) scenario->back_ms + 1));
	else
		machine_set_clock(machine_random((uint32) scenario->forward_ms + 1));
}

static void
note(int thread, int space, const DrawnKeys *keys)
{
	Note	   *one = &notes[thread][noted[thread]++];

	server_check(noted[thread] < NOTES_MAX, "there is room for notes");
	one->space = space;
	one->first = keys->first;
	one->last = keys->first + keys->count - 1;
}

/* One, a run or a block; false if refused. */
static bool
draw_some(int thread, int64 *unix_ms)
{
	int			space = some_space(thread);
	int			at_most = machine_random(2) == 0 ? 1 : 1 + (int) machine_random(RUN_MAX);
	int			at_least = machine_random(2) == 0 ? 1 : at_most;
	int64		before = relaxed(&highest[space]);
	int64		durable_ms;
	DrawnKeys	keys;

	maybe_set_clock();
	if (!backends[thread]->draw(&spaces[space], at_least, at_most, &keys))
	{
		server_check(scenario->may_refuse, "nobody is refused: %s", backends[thread]->message);
		count_relaxed(&refused);
		machine_set_clock(2000);
		return false;
	}

	durable_ms = server_durable_ms(databases[thread]);
	server_check(keys.first > before, "key %lld is above %lld, which somebody had before",
				 (long long) keys.first, (long long) before);
	server_check(keys.unix_ms <= durable_ms, "key of %lld is within the durable mark, %lld",
				 (long long) keys.unix_ms, (long long) durable_ms);
	raise_relaxed(&highest[space], keys.first + keys.count - 1);
	note(thread, space, &keys);
	*unix_ms = keys.unix_ms;
	return true;
}

static void
draw_keys(int thread)
{
	int64		unix_ms;

	for (int i = 0; i < scenario->rounds; i++)
	{
		backends[thread]->begin();
		for (int n = 1 + (int) machine_random(4); n > 0; n--)
			(void) draw_some(thread, &unix_ms);
		if (machine_random(16) == 0)
			(void) backends[thread]->read_mark(&unix_ms);
		backends[thread]->end();
	}
}

static int
compare_notes(const void *a, const void *b)
{
	const Note *left = a;
	const Note *right = b;

	if (left->space != right->space)
		return left->space - right->space;
	return left->first < right->first ? -1 : left->first > right->first;
}

/* Of all threads and lives; returns how many there are. */
static uint64
check_unique(void)
{
	static Note all[MACHINE_THREADS * NOTES_MAX];
	uint64		keys = 0;
	int			count = 0;

	for (int i = 0; i < MACHINE_THREADS; i++)
	{
		memcpy(&all[count], notes[i], (size_t) noted[i] * sizeof(Note));
		count += noted[i];
	}
	qsort(all, (size_t) count, sizeof(Note), compare_notes);
	for (int i = 0; i < count; i++)
	{
		keys += (uint64) (all[i].last - all[i].first + 1);
		server_check(i == 0 || all[i].space != all[i - 1].space || all[i].first > all[i - 1].last,
					 "key %lld was drawn once", (long long) all[i].first);
	}
	return keys;
}

/* ------------------------------------------------------------------------
 * The horizon
 * ------------------------------------------------------------------------
 */

/*
 * Part of a transaction: adds keys to those there are.  What is told before the first
 * of them is below all.
 */
static int
draw_part(int thread, int64 *unix_ms, int count)
{
	int64		told_before_ms = relaxed(&told_ms);

	for (int n = 1 + (int) machine_random(3); n > 0; n--)
		if (draw_some(thread, &unix_ms[count]))
		{
			server_check(unix_ms[count] >= told_before_ms,
						 "key of %lld is not below the horizon %lld that was told before",
						 (long long) unix_ms[count], (long long) told_before_ms);
			count++;
		}
	return count;
}

/* Under one lock the transaction's id goes and its rows become visible. */
static void
end_transaction(int thread, const int64 *unix_ms, int count)
{
	bool		commit = machine_random(8) != 0;

	server_lock_transactions();
	backends[thread]->end();
	machine_step();
	for (int i = 0; commit && i < count; i++)
	{
		server_check(unix_ms[i] >= read_up_to_ms, "row of %lld is not missed by who has read up to %lld",
					 (long long) unix_ms[i], (long long) read_up_to_ms);
		rows++;
	}
	server_unlock_transactions();
}

static void
write_rows(int thread)
{
	for (int i = 0; i < scenario->rounds; i++)
	{
		int64		unix_ms[KEYS_MAX];
		int			count;

		backends[thread]->begin();
		count = draw_part(thread, unix_ms, 0);
		for (uint32 pause = machine_random(60); pause > 0; pause--)
			machine_step();
		end_transaction(thread, unix_ms, count);
	}
}

/* Each waits for the other as processes do: with an order of all that was before. */
static void
wait_for_team(int *what, int value)
{
	while (__atomic_load_n(what, __ATOMIC_ACQUIRE) != value)
		machine_wait_step();
	machine_lock_taken();
}

static void
lead_worker(int thread)
{
	for (int i = 1; i <= scenario->rounds; i++)
	{
		int64		unix_ms[KEYS_MAX];
		int			count = 0;

		backends[thread]->begin();
		if (machine_random(2) == 0)
			count = draw_part(thread, unix_ms, count);

		backends[thread]->in_parallel(true);
		__atomic_store_n(&team_begun, i, __ATOMIC_RELEASE);
		count = draw_part(thread, unix_ms, count);
		wait_for_team(&team_ended, i);
		backends[thread]->in_parallel(false);

		memcpy(&unix_ms[count], worker_ms, (size_t) worker_keys * sizeof(int64));
		end_transaction(thread, unix_ms, count + worker_keys);
	}
}

static void
work(int thread)
{
	for (int i = 1; i <= scenario->rounds; i++)
	{
		wait_for_team(&team_begun, i);
		backends[thread]->begin();
		backends[thread]->in_parallel(true);
		worker_keys = draw_part(thread, worker_ms, 0);
		backends[thread]->end();
		__atomic_store_n(&team_ended, i, __ATOMIC_RELEASE);
	}
}

static void
read_rows(int thread)
{
	for (int i = 0; i < scenario->rounds; i++)
	{
		int64		told_before_ms = relaxed(&told_ms);
		int64		horizon_ms;

		server_check(backends[thread]->settle_horizon(&horizon_ms), "there is a horizon: %s",
					 backends[thread]->message);
		server_check(horizon_ms >= told_before_ms,
					 "horizon %lld does not go back behind %lld",
					 (long long) horizon_ms, (long long) told_before_ms);
		server_check(horizon_ms <= server_durable_ms(databases[thread]),
					 "horizon %lld is within the durable mark", (long long) horizon_ms);
		if (horizon_ms > told_before_ms)
			count_relaxed(&horizons);
		raise_relaxed(&told_ms, horizon_ms);

		server_lock_transactions();
		read_up_to_ms = Max(read_up_to_ms, horizon_ms);
		server_unlock_transactions();
		maybe_set_clock();
	}
}

static void
write_and_read(int thread)
{
	if (thread < scenario->threads - 2)
		write_rows(thread);
	else
		read_rows(thread);
}

static void
write_by_team_and_read(int thread)
{
	if (thread == TEAM_LEADER)
		lead_worker(thread);
	else if (thread == TEAM_WORKER)
		work(thread);
	else
		write_and_read(thread);
}

/* ------------------------------------------------------------------------
 * Lives
 * ------------------------------------------------------------------------
 */

static const Scenario scenarios[] = {
	{
		.name = "ids",.body = draw_keys,.threads = 4,.lives = 10,.rounds = 150,
		.clock_grain_ns = 40000,.clock_jitter_ns = 3000000,
		.back_ms = 4000,.forward_ms = 4000,.restart_ms = {15000, 15000},
		.may_refuse = true,.shared_shards = true
	},
	{
		.name = "steady",.body = draw_keys,.threads = 4,.lives = 10,.rounds = 150,
		.clock_grain_ns = 40000,.restart_ms = {1500, 1500},.crowded = true
	},
	{
		.name = "starts",.body = write_and_read,.threads = 4,.lives = 300,.rounds = 2,
		.clock_grain_ns = 40000,.restart_ms = {2000, -500},.may_refuse = true,.rows = true
	},
	{
		.name = "lives",.body = draw_keys,.threads = 4,.lives = 40,.rounds = 1000,
		.kill_within = 20000,.clock_grain_ns = 40000,.clock_jitter_ns = 3000000,
		.back_ms = 500,.forward_ms = 900,.restart_ms = {5000, -3000},.may_refuse = true
	},
	{
		.name = "horizon",.body = write_and_read,.threads = 4,.lives = 16,.rounds = 1000,
		.kill_within = 300000,.clock_grain_ns = 100000,.clock_jitter_ns = 20000000,
		.back_ms = 60,.forward_ms = 100,.restart_ms = {3000, -700},.may_refuse = true,.rows = true
	},
	{
		.name = "team",.body = write_by_team_and_read,.threads = 5,.lives = 16,.rounds = 1000,
		.kill_within = 300000,.clock_grain_ns = 100000,.clock_jitter_ns = 20000000,
		.back_ms = 60,.forward_ms = 100,.restart_ms = {3000, -700},.may_refuse = true,.rows = true
	}
};

/* Processes have places that are lines apart, and are next to each other. */
static void
start_backend(int thread, void *library)
{
	bool		team = scenario->body == write_by_team_and_read && thread <= TEAM_WORKER;

	databases[thread] = scenario->rows ? 1 : (Oid) (1 + thread % SERVER_DATABASES);
	backends[thread] = dlsym(library, "backend");
	server_check(backends[thread] != NULL, "the library has a backend");
	backends[thread]->start(thread, team ? TEAM_LEADER : -1, databases[thread]);
}

static void
live(uint64 seed, bool free_running, char **names)
{
	void	   *libraries[MACHINE_THREADS];
	MachineLife life = {
		.threads = scenario->threads,
		.body = scenario->body,
		.seed = seed,
		.free_running = free_running,
		.clock_grain_ns = scenario->clock_grain_ns,
		.clock_jitter_ns = scenario->clock_jitter_ns
	};

	if (scenario->kill_within > 0)
		life.kill_at = 1 + seed * UINT64CONST(2654435761) % scenario->kill_within;
	server_start((uint32) seed * 40503u);
	team_begun = team_ended = 0;
	for (int i = 0; i < scenario->threads; i++)
	{
		libraries[i] = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
		server_check(libraries[i] != NULL, "%s can be loaded: %s", names[i], dlerror());
		start_backend(i, libraries[i]);
	}
	machine_run(&life);
	server_check(scenario->may_refuse || backends[0]->clock_regressions() == 0,
				 "nobody finds the clock behind");
	for (int i = 0; i < scenario->threads; i++)
		dlclose(libraries[i]);
}

int
main(int argc, char **argv)
{
	uint64		seed;
	uint64		keys;

	server_check(argc == 4 + MACHINE_THREADS, "there are %d arguments", 3 + MACHINE_THREADS);
	for (Size i = 0; i < lengthof(scenarios); i++)
		if (strcmp(scenarios[i].name, argv[1]) == 0)
			scenario = &scenarios[i];
	server_check(scenario != NULL, "there is a scenario %s", argv[1]);
	seed = strtoull(argv[2], NULL, 10);

	for (int i = 0; i < scenario->lives; i++)
	{
		live(seed * 1000 + (uint64) i, strcmp(argv[3], "free") == 0, &argv[4]);
		machine_set_clock(scenario->restart_ms[i % 2]);
	}
	keys = check_unique();

	server_check(keys > 1000, "there are keys");
	printf("%llu keys", (unsigned long long) keys);
	if (scenario->rows)
	{
		server_check(horizons > 10 && rows > 500, "rows are read");
		printf(", %llu rows, %llu horizons", (unsigned long long) rows,
			   (unsigned long long) horizons);
	}
	printf(", %llu refused\n", (unsigned long long) refused);
	return 0;
}
