/*
 * dictionary.h
 *	  Opening dictionaries and searching them.
 */
#ifndef SEQID_DICTIONARY_H
#define SEQID_DICTIONARY_H

#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "intern/dictionary_shape.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* A dictionary that is open.  The shape is a copy. */
typedef struct Dictionary
{
	Relation	rel;
	DictionaryShape shape;
	bool		may_insert;		/* has the user INSERT, and we its lock? */
	bool		row_security;	/* do policies apply to the user? */
} Dictionary;

/*
 * Locks a dictionary until the end of the transaction and opens it.  Raises 42P01
 * if the relation does not exist, 42809 if it is not a dictionary, and 42501, before
 * the lock, if the user does not have SELECT on it.
 *
 * for_insert takes the lock of INSERT at once if the user has the privilege.  A lock
 * that is raised later can deadlock with REINDEX.
 */
extern Dictionary seqid_dictionary_open(Oid relid, bool for_insert);
extern void seqid_dictionary_close(Dictionary *dictionary);

/* Searches for many terms, or for many ids, one after the other. */
typedef struct Search
{
	const Dictionary *dictionary;
	AttrNumber	key_column;
	AttrNumber	result_column;
	Relation	index;
	IndexScanDesc scan;
	ScanKeyData key;
	TupleTableSlot *slot;		/* the row that was found */
	SPIPlanPtr	plan;			/* instead of the index, if policies apply */
	bool		read_only;		/* does it use the snapshot of the query? */
} Search;

/* With a snapshot that is not an MVCC snapshot, rows of running transactions are found. */
extern void seqid_search_begin(Search *search, const Dictionary *dictionary,
							   bool by_term, Snapshot snapshot);
extern void seqid_search_end(Search *search);

/*
 * The id of a term, or the term of an id, which is valid until the next search.
 * Returns false if there is none.
 */
extern bool seqid_search_find(Search *search, Datum value, Datum *result);

/* Releases what the last search has pinned. */
extern void seqid_search_let_go(Search *search);

#endif							/* SEQID_DICTIONARY_H */
