/*
 * memory.c
 *	  What a thread finds in shared memory: PostgreSQL's atomics as weak as C allows.
 *
 * Loads.  A processor can execute a load before earlier accesses unless a barrier stands
 * between them.  So a thread sometimes reads words that it has loaded before.  A later
 * load returns that value, unless the thread has passed a barrier or stored a later
 * value.  A compare-and-exchange is no barrier: on arm64 a later load can overtake its
 * store.
 *
 * Barriers.  ThreadSanitizer does not know them.  So a read barrier makes earlier loads
 * acquire, and a write barrier makes the next store release.  (C says all later stores.
 * With that, one barrier would hide that others are missing.)
 *
 * Not seen: stores that overtake each other or a later load; see t/litmus/.
 */
#include "threads.h"

#define WORDS		64
#define WORD4(word)	((volatile uint32 *) (word))
#define WORD8(word)	((volatile uint64 *) (word))

typedef struct RecentWord
{
	const volatile void *word;
	int			bytes;
	bool		unacquired;		/* loaded since the last read barrier */
	bool		early;			/* loaded early, with this value */
	uint64	value;
} RecentWord;

static __thread RecentWord recent[WORDS];
static __thread unsigned int next_recent;
static __thread bool store_releases;

extern void __tsan_acquire(void *address);
extern void __tsan_release(void *address);

static uint64
load_now(const RecentWord *one)
{
	return one->bytes == 4 ? __atomic_load_n(WORD4(one->word), __ATOMIC_RELAXED) :
		__atomic_load_n(WORD8(one->word), __ATOMIC_RELAXED);
}

/* Loads some of the words, each with a chance of one in so many. */
static void
load_early(uint32 one_of)
{
	for (RecentWord *one = recent; one < recent + WORDS; one++)
		if (one->word != NULL && !one->early && machine_random(one_of) == 0)
		{
			one->value = load_now(one);
			one->early = true;
		}
}

void
machine_forget_early_loads(void)
{
	for (int i = 0; i < WORDS; i++)
		recent[i].early = false;
}

static RecentWord *
find_recent(const volatile void *word, int bytes)
{
	RecentWord *one;

	for (one = recent; one < recent + WORDS; one++)
		if (one->word == word)
			return one;
	one = &recent[next_recent++ % WORDS];
	*one = (RecentWord) {.word = word,.bytes = bytes};
	return one;
}

/* Later loads overtake the store of a compare-and-exchange, but not its load. */
static void
step_before_change(const volatile void *word, int bytes)
{
	machine_step();
	machine_forget_early_loads();
	if (machine_random(2) == 0)
		load_early(2);
	machine_step();
	find_recent(word, bytes)->early = false;
}

uint64
machine_load(const volatile void *word, int bytes)
{
	RecentWord *one;

	load_early(8 * WORDS);
	machine_step();

	one = find_recent(word, bytes);
	if (one->early && machine_random(4) != 0)
		return one->value;
	one->early = false;
	one->unacquired = true;
	return load_now(one);
}

void
machine_store(volatile void *word, int bytes, uint64 value)
{
	load_early(8 * WORDS);
	machine_step();
	find_recent(word, bytes)->early = false;

	if (store_releases)
		__tsan_release((void *) word);
	store_releases = false;
	bytes == 4 ? __atomic_store_n(WORD4(word), (uint32) value, __ATOMIC_RELAXED) :
		__atomic_store_n(WORD8(word), value, __ATOMIC_RELAXED);
}

bool
machine_exchange(volatile uint64 *word, uint64 *expected, uint64 value)
{
	step_before_change(word, 8);
	return __atomic_compare_exchange_n(word, expected, value, false,
									   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

uint32
machine_add(volatile uint32 *word, int32 number)
{
	step_before_change(word, 4);
	return __atomic_fetch_add(word, (uint32) number, __ATOMIC_SEQ_CST);
}

void
machine_read_barrier(void)
{
	for (RecentWord *one = recent; one < recent + WORDS; one++)
	{
		if (one->unacquired)
			__tsan_acquire((void *) one->word);
		one->unacquired = false;
	}
	machine_forget_early_loads();
}

void
machine_write_barrier(void)
{
	store_releases = true;
}
