/*
 * session_zone.h
 *	  Refuses times that were read in the time zone of the session.
 */
#ifndef SEQID_SESSION_ZONE_H
#define SEQID_SESSION_ZONE_H

#include "postgres.h"

#include "fmgr.h"

/*
 * Raises datatype_mismatch if the first argument of the call contains a conversion from a
 * type without time zone to timestamptz.  A conversion elsewhere in the statement is not
 * found.
 */
extern void seqid_require_time_zone(FmgrInfo *flinfo);

#endif							/* SEQID_SESSION_ZONE_H */
