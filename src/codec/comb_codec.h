/*
 * comb_codec.h
 *	  Checks of arguments for all functions that take a COMB or its time.
 */
#ifndef SEQID_COMB_CODEC_H
#define SEQID_COMB_CODEC_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/uuid.h"

/* Returns the tick of a COMB.  Raises invalid_parameter_value for any other UUID. */
extern int64 seqid_checked_comb(const pg_uuid_t *uuid);

/*
 * Returns the tick in which the time's microsecond begins.  Raises
 * numeric_value_out_of_range if a COMB cannot contain the time.
 */
extern int64 seqid_checked_comb_time(TimestampTz time);

/* A UUID as text, for messages. */
extern char *seqid_uuid_text(const pg_uuid_t *uuid);

#endif							/* SEQID_COMB_CODEC_H */
