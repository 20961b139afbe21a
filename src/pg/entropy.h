/*
 * entropy.h
 *	  Random bytes, from a pool that each backend has.
 */
#ifndef SEQID_ENTROPY_H
#define SEQID_ENTROPY_H

#include "postgres.h"

/*
 * Fills a buffer with size <= ENTROPY_MAX_REQUEST cryptographically strong
 * random bytes.  Raises internal_error if the operating system returns none.
 */
extern void seqid_random_bytes(void *buffer, Size size);

#define ENTROPY_MAX_REQUEST 64

#endif							/* SEQID_ENTROPY_H */
