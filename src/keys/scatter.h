/*
 * scatter.h
 *	  Scattered ids for other parts of the extension.
 */
#ifndef SEQID_SCATTER_H
#define SEQID_SCATTER_H

#include "postgres.h"

#include "fmgr.h"

/* The SQL entry point, by which a column default is recognized. */
extern Datum scatter_nextval(PG_FUNCTION_ARGS);

/* Returns the argument.  Raises invalid_parameter_value unless it is between 0 and 32. */
extern int	seqid_checked_prefix_bits(int32 prefix_bits);

/*
 * Returns the scattered id of the sequence's next value, as scatter_nextval() does.
 * prefix_bits must be between 0 and 32.  If check_permissions is false, the privileges on
 * the sequence are not checked, as for an identity column.
 */
extern int64 seqid_scatter_next(Oid sequence, int prefix_bits, bool check_permissions);

#endif							/* SEQID_SCATTER_H */
