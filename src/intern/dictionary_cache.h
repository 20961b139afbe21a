/*
 * dictionary_cache.h
 *	  What the process knows of dictionaries.
 */
#ifndef SEQID_DICTIONARY_CACHE_H
#define SEQID_DICTIONARY_CACHE_H

#include "postgres.h"

#include "executor/spi.h"
#include "intern/dictionary.h"
#include "intern/dictionary_shape.h"
#include "lib/ilist.h"
#include "utils/acl.h"

typedef enum DictionaryStatement
{
	FIND_IDS,
	FIND_TERMS,
	INSERT_TERMS
} DictionaryStatement;

#define DICTIONARY_STATEMENTS (INSERT_TERMS + 1)

struct Dictionary
{
	Oid			relid;			/* hash key: must be first */
	bool		valid;			/* cleared by invalidation, at any time */
	int			running;		/* statements under way, which may nest */
	uint32		sequence_hash;	/* what the sequence is invalidated by */
	DictionaryShape shape;
	SPIPlanPtr	plans[DICTIONARY_STATEMENTS];	/* NULL until needed */
	dlist_node	recency;		/* where it is among those used last */
};

/* Learns its shape anew if that has been invalidated.  42809 if it has none. */
extern void seqid_dictionary_refresh(Dictionary *dictionary);

/*
 * 42501 unless the user may do that with ids and terms.  To be asked before a lock
 * is taken or a value drawn: the statement itself, which asks again, comes after.
 */
extern void seqid_dictionary_check_privilege(Oid relid, AclMode mode);

#endif							/* SEQID_DICTIONARY_CACHE_H */
