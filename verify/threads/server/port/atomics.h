/*
 * atomics.h
 *	  PostgreSQL's atomics, in place of its own header: the same names, by memory.c, as
 *	  far as seqid has a use for them.
 *
 * The server's are partly assembler, of which ThreadSanitizer sees nothing.
 */
#ifndef ATOMICS_H
#define ATOMICS_H

#include "machine.h"

typedef struct pg_atomic_flag
{
	volatile char value;
} pg_atomic_flag;

typedef struct pg_atomic_uint32
{
	volatile uint32 value;
} pg_atomic_uint32;

typedef struct pg_atomic_uint64
{
	volatile uint64 value pg_attribute_aligned(8);
} pg_atomic_uint64;

#define pg_compiler_barrier()	__asm__ __volatile__("" ::: "memory")
#define pg_memory_barrier()		machine_barrier()
#define pg_read_barrier()		machine_read_barrier()
#define pg_write_barrier()		machine_write_barrier()

/* To be called before others know of it: a plain store, which somebody must publish. */
static inline void
pg_atomic_init_u64(volatile pg_atomic_uint64 *word, uint64 value)
{
	word->value = value;
}

static inline void
pg_atomic_init_u32(volatile pg_atomic_uint32 *word, uint32 value)
{
	word->value = value;
}

static inline uint64
pg_atomic_read_u64(volatile pg_atomic_uint64 *word)
{
	return machine_load64((const volatile uint64_t *) &word->value);
}

static inline uint32
pg_atomic_read_u32(volatile pg_atomic_uint32 *word)
{
	return machine_load32(&word->value);
}

static inline void
pg_atomic_write_u64(volatile pg_atomic_uint64 *word, uint64 value)
{
	machine_store64((volatile uint64_t *) &word->value, value);
}

static inline void
pg_atomic_write_u32(volatile pg_atomic_uint32 *word, uint32 value)
{
	machine_store32(&word->value, value);
}

static inline bool
pg_atomic_compare_exchange_u64(volatile pg_atomic_uint64 *word, uint64 *expected,
							   uint64 value)
{
	return machine_exchange64((volatile uint64_t *) &word->value,
							  (uint64_t *) expected, value);
}

static inline uint64
pg_atomic_fetch_add_u64(volatile pg_atomic_uint64 *word, int64 number)
{
	return machine_add64((volatile uint64_t *) &word->value, number);
}

#endif							/* ATOMICS_H */
