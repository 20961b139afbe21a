/*
 * entropy.h
 *	  Random bytes.
 */
#ifndef SEQID_ENTROPY_H
#define SEQID_ENTROPY_H

/*
 * Fills a buffer with up to 4096 cryptographically strong random bytes.  Raises
 * internal_error if the operating system returns none.
 */
extern void seqid_random_bytes(void *buffer, Size size);

#endif							/* SEQID_ENTROPY_H */
