/*
 * comb_check.h
 *	  Checks of arguments for all functions that take a COMB or its time.
 */
#ifndef SEQID_COMB_CHECK_H
#define SEQID_COMB_CHECK_H

#include "postgres.h"

#include "bits/uuid_bits.h"
#include "datatype/timestamp.h"

/* Returns the halves of a COMB.  Raises invalid_parameter_value for any other UUID. */
extern UuidHalves seqid_checked_comb(const pg_uuid_t *uuid);

/*
 * Returns the tick in which the time's microsecond begins.  Raises
 * numeric_value_out_of_range if a COMB cannot contain the time.
 */
extern int64 seqid_checked_comb_tick(TimestampTz time);

#endif							/* SEQID_COMB_CHECK_H */
