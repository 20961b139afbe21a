/*
 * memory.c
 *	  What a thread finds in memory that it shares with others: PostgreSQL's atomics, as
 *	  C says that they may behave, seen by ThreadSanitizer.
 *
 * Loads.  A processor may execute a load before what comes earlier in the program, if no
 * barrier stands between.  So before an access a thread may, by chance, look at words that
 * it has looked at before, and a load that follows finds what was there then: unless
 * there was a barrier since, or the thread has seen or made a later value.  A
 * compare-and-exchange is no barrier here: PostgreSQL says that it is one, but what
 * compilers make of it for ARM lets a later load overtake the store.
 *
 * Barriers.  ThreadSanitizer knows what orders accesses through one and the same word, but
 * nothing of barriers.  It is told: a read barrier makes the loads before it
 * acquire, and a write barrier the store that follows it release.  (C says: all the stores
 * that follow.  Of these only the next is made so, otherwise one barrier would hide that
 * all others are missing.)
 *
 * Not seen: stores that overtake each other or a load that follows; loads that go back behind
 * those that they depend on; different threads that see two stores in different orders.
 */
#include "machine.h"

#include <stddef.h>

#define RECENT		64			/* words that loads may be early of */
#define UNACQUIRED	64			/* loads since the last read barrier */

typedef struct RecentWord
{
	const volatile void *word;
	int			bytes;
	bool		early;			/* has a value from before ... */
	uint64_t	value;			/* ... which is this */
} RecentWord;

static __thread RecentWord recent[RECENT];
static __thread int next_recent;
static __thread const volatile void *unacquired[UNACQUIRED];
static __thread unsigned int loads;
static __thread bool store_releases;

extern void __tsan_acquire(void *address);

/* ------------------------------------------------------------------------
 * Early loads
 * ------------------------------------------------------------------------
 */

static uint64_t
load_now(const volatile void *word, int bytes)
{
	return bytes == 4 ?
		__atomic_load_n((const volatile uint32_t *) word, __ATOMIC_RELAXED) :
		__atomic_load_n((const volatile uint64_t *) word, __ATOMIC_RELAXED);
}

static void
load_early(RecentWord *one)
{
	if (one->word != NULL && !one->early)
	{
		one->value = load_now(one->word, one->bytes);
		one->early = true;
	}
}

static void
forget_early_loads(void)
{
	for (int i = 0; i < RECENT; i++)
		recent[i].early = false;
}

static RecentWord *
find_recent(const volatile void *word)
{
	for (int i = 0; i < RECENT; i++)
		if (recent[i].word == word)
			return &recent[i];
	return NULL;
}

/* The thread has seen or made a value that is later than an early one. */
static void
forget_early_load(const volatile void *word)
{
	RecentWord *one = find_recent(word);

	if (one != NULL)
		one->early = false;
}

/* Before a load or a store: some one. */
static void
step_before_access(void)
{
	if (machine_random(8) == 0)
		load_early(&recent[machine_random(RECENT)]);
	machine_step();
}

/*
 * Before a word is changed: its load is one that others may not overtake, its store is
 * not.
 */
static void
step_before_change(void)
{
	machine_step();
	forget_early_loads();
	if (machine_random(2) == 0)
		for (int i = 0; i < RECENT; i++)
			if (machine_random(2) == 0)
				load_early(&recent[i]);
	machine_linger();
}

static uint64_t
load(const volatile void *word, int bytes)
{
	RecentWord *one;

	step_before_access();
	unacquired[loads++ % UNACQUIRED] = word;

	one = find_recent(word);
	if (one != NULL && one->early && machine_random(4) != 0)
		return one->value;
	if (one == NULL)
	{
		one = &recent[next_recent++ % RECENT];
		one->word = word;
		one->bytes = bytes;
	}
	one->early = false;
	return load_now(word, bytes);
}

/* ------------------------------------------------------------------------
 * Accesses
 * ------------------------------------------------------------------------
 */

uint64_t
machine_load64(const volatile uint64_t *word)
{
	return load(word, 8);
}

uint32_t
machine_load32(const volatile uint32_t *word)
{
	return (uint32_t) load(word, 4);
}

/* The order of a store has to be a constant, or it is taken for the strongest. */
#define STORE(word, new_value) \
	do { \
		step_before_access(); \
		forget_early_load(word); \
		if (store_releases) \
			__atomic_store_n(word, new_value, __ATOMIC_RELEASE); \
		else \
			__atomic_store_n(word, new_value, __ATOMIC_RELAXED); \
		store_releases = false; \
	} while (0)

void
machine_store64(volatile uint64_t *word, uint64_t value)
{
	STORE(word, value);
}

void
machine_store32(volatile uint32_t *word, uint32_t value)
{
	STORE(word, value);
}

bool
machine_exchange64(volatile uint64_t *word, uint64_t *expected, uint64_t value)
{
	step_before_change();
	forget_early_load(word);
	return __atomic_compare_exchange_n(word, expected, value, false,
									   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

uint64_t
machine_add64(volatile uint64_t *word, int64_t number)
{
	step_before_change();
	forget_early_load(word);
	return __atomic_fetch_add(word, (uint64_t) number, __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------------
 * Barriers
 * ------------------------------------------------------------------------
 */

void
machine_read_barrier(void)
{
	unsigned int count = loads < UNACQUIRED ? loads : UNACQUIRED;

	for (unsigned int i = 0; i < count; i++)
		__tsan_acquire((void *) unacquired[i]);
	loads = 0;
	forget_early_loads();
}

void
machine_write_barrier(void)
{
	store_releases = true;
}

void
machine_barrier(void)
{
	machine_read_barrier();
	machine_write_barrier();
}

void
machine_lock_taken(void)
{
	forget_early_loads();
}
