/*
 * test_stop.h
 *	  Places where a test can hold a session between two accesses to shared memory.
 *
 * Stops exist only in a library that was compiled with SEQID_TEST_STOPS.  A session that
 * reaches one waits while another session holds pg_advisory_lock(TEST_STOP_CLASS, stop).
 */
#ifndef SEQID_TEST_STOP_H
#define SEQID_TEST_STOP_H

#define TEST_STOP_REGISTERING	1	/* min_key_ms is read, slot not set */
#define TEST_STOP_REGISTERED	2	/* slot is set, no key reserved */
#define TEST_STOP_RAISED	3	/* min_key_ms is raised, slots not scanned */
#define TEST_STOP_SCANNED	4	/* slots are scanned, locks are not */
#define TEST_STOP_SEQUENCE_READ	5	/* next value is read, holders not found */
#define TEST_STOP_SEQUENCE_CHECKED	6	/* sequence is checked, not locked */
#define TEST_STOP_TERM_FOUND	7	/* open row is found, not compared */
#define TEST_STOP_NAMED	8		/* dictionary is named, not planned */

#ifdef SEQID_TEST_STOPS

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#define TEST_STOP_CLASS		20230101

static inline void
test_stop(int stop)
{
	DirectFunctionCall2(pg_advisory_lock_shared_int4,
						Int32GetDatum(TEST_STOP_CLASS), Int32GetDatum(stop));
	DirectFunctionCall2(pg_advisory_unlock_shared_int4,
						Int32GetDatum(TEST_STOP_CLASS), Int32GetDatum(stop));
}
#else
#define test_stop(stop)		((void) 0)
#endif

#endif							/* SEQID_TEST_STOP_H */
