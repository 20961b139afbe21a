/*
 * time_range.h
 *	  The SQL entry points by which the planner's support function recognizes calls.
 */
#ifndef SEQID_TIME_RANGE_H
#define SEQID_TIME_RANGE_H

#include "postgres.h"

#include "fmgr.h"

/* Whether the time of an id is in a range. */
extern Datum snowflake_in(PG_FUNCTION_ARGS);
extern Datum snowflake53_in(PG_FUNCTION_ARGS);
extern Datum comb_uuid_in(PG_FUNCTION_ARGS);

/* The smallest or the largest id whose time is in a range. */
extern Datum seqid_snowflake_bound(PG_FUNCTION_ARGS);
extern Datum seqid_snowflake53_bound(PG_FUNCTION_ARGS);
extern Datum seqid_comb_uuid_bound(PG_FUNCTION_ARGS);

#endif							/* SEQID_TIME_RANGE_H */
