/*
 * comb_check.h
 *	  Checks that whoever takes a COMB or its time from SQL makes.
 */
#ifndef SEQID_COMB_CHECK_H
#define SEQID_COMB_CHECK_H

#include "postgres.h"

#include "bits/uuid_bits.h"
#include "datatype/timestamp.h"

/* The halves of a COMB; invalid_parameter_value if it is another UUID. */
extern UuidHalves seqid_checked_comb(const pg_uuid_t *uuid);

/* The tick of a time; numeric_value_out_of_range if the format cannot tell it. */
extern int64 seqid_checked_comb_tick(TimestampTz time);

#endif							/* SEQID_COMB_CHECK_H */
