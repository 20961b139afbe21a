/*
 * atomics.h
 *	  A stand-in for PostgreSQL's header, with the atomics that seqid uses, by memory.c.
 *	  ThreadSanitizer does not see the server's assembler.
 */
#ifndef ATOMICS_H
#define ATOMICS_H

#include "threads.h"

typedef struct pg_atomic_uint32
{
	volatile uint32 value;
} pg_atomic_uint32;

typedef struct pg_atomic_uint64
{
	volatile uint64 value pg_attribute_aligned(8);
} pg_atomic_uint64;

#define pg_memory_barrier()		(machine_read_barrier(), machine_write_barrier())
#define pg_read_barrier()		machine_read_barrier()
#define pg_write_barrier()		machine_write_barrier()

/* Initialization is a plain store: no other process can know of the word yet. */
#define pg_atomic_init_u32(word, new_value)	((void) ((word)->value = (new_value)))
#define pg_atomic_init_u64(word, new_value)	((void) ((word)->value = (new_value)))

#define pg_atomic_read_u32(word)	((uint32) machine_load(&(word)->value, 4))
#define pg_atomic_read_u64(word)	((uint64) machine_load(&(word)->value, 8))
#define pg_atomic_write_u32(word, new_value)	machine_store(&(word)->value, 4, (new_value))
#define pg_atomic_write_u64(word, new_value)	machine_store(&(word)->value, 8, (new_value))
#define pg_atomic_fetch_add_u32(word, number)	machine_add(&(word)->value, (number))
#define pg_atomic_fetch_sub_u32(word, number)	machine_add(&(word)->value, -(number))
#define pg_atomic_compare_exchange_u64(word, expected, new_value) \
	machine_exchange(&(word)->value, (expected), (new_value))

#endif
