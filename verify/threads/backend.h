/*
 * backend.h
 *	  What a thread can ask of its copy of seqid.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include "postgres.h"

/* Whose keys are in one order: those of a layout's shard, or the COMBs. */
typedef struct KeySpace
{
	int			layout;			/* or COMBS */
	int			shard;
} KeySpace;

#define COMBS	2

/* Keys that were drawn together: first .. first + count - 1 are ticks. */
typedef struct DrawnKeys
{
	int64		first;
	int			count;
	int64		unix_ms;
} DrawnKeys;

typedef struct Backend
{
	/*
	 * number is its place among the processes, leader that of its leader, or
	 * -1.
	 */
	void		(*start) (int number, int leader, Oid database);

	void		(*begin) (void);
	void		(*in_parallel) (bool in_parallel);

	/* As the server does at the end of a transaction, under its lock. */
	void		(*end) (void);

	/* False if refused: what the error says is in message then. */
	bool		(*draw) (const KeySpace *space, int at_least, int at_most, DrawnKeys *keys);
	bool		(*settle_horizon) (int64 *horizon_ms);
	bool		(*read_mark) (int64 *mark_ms);

	/* How often a clock was found behind, over all shards. */
	uint64		(*clock_regressions) (void);

	const char *message;
} Backend;

/* Of each copy of the library. */
extern Backend backend;

#endif							/* BACKEND_H */
