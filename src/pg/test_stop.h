/*
 * test_stop.h
 *	  Places where a test can hold a session between two accesses to shared memory.
 *
 * Stops exist only in a library that was compiled with SEQID_TEST_STOPS.  A session that
 * reaches one waits while another session holds pg_advisory_lock(TEST_STOP_CLASS, stop).
 */
#ifndef SEQID_TEST_STOP_H
#define SEQID_TEST_STOP_H

#define TEST_STOP_REGISTERING	1	/* writer has read min_key_ms, slot not
									 * set */
#define TEST_STOP_REGISTERED	2	/* slot is set, no key reserved yet */
#define TEST_STOP_RAISED	3	/* reader has raised min_key_ms, not scanned */
#define TEST_STOP_SCANNED	4	/* has scanned the slots, not the locks */
#define TEST_STOP_SEQUENCE_READ	5	/* has the next value, not the holders */
#define TEST_STOP_SEQUENCE_CHECKED	6	/* has checked, not locked it */
#define TEST_STOP_TERM_FOUND	7	/* found an open row, not compared */
#define TEST_STOP_NAMED	8		/* has the name of a dictionary, no plan */

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
