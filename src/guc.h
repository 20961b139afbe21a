/*
 * guc.h
 *	  The settings of seqid.
 */
#ifndef SEQID_GUC_H
#define SEQID_GUC_H

/* The shard of snowflake_nextval() without an argument; -1 means none. */
extern int	seqid_shard_id;

/* How far a snowflake may be ahead of the clock, in milliseconds. */
extern int	seqid_max_clock_regression_ms;

extern void seqid_define_settings(void);

#endif							/* SEQID_GUC_H */
