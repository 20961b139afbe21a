/*
 * dictionary.h
 *	  Dictionaries: what they are, and how they are searched and filled.
 */
#ifndef SEQID_DICTIONARY_H
#define SEQID_DICTIONARY_H

#include "access/attnum.h"
#include "access/genam.h"
#include "access/skey.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* --- dictionary_shape.c: what makes a table a dictionary --- */

typedef struct DictionaryShape
{
	Oid			sequence;		/* the default of id generates from it */
	bool		owns_sequence;	/* does the column id own the sequence? */
	int			prefix_bits;
	bool		plain_insert;	/* does INSERT only check and add id and term? */
	bool		hashed;			/* is term_index a hash index? */
	AttrNumber	id_column;
	AttrNumber	term_column;
	Oid			id_index;		/* makes ids unique */
	NameData	id_index_name;
	Oid			term_index;		/* makes terms unique */
	Oid			second_term_index;	/* a B-tree beside a hash index */
} DictionaryShape;

/*
 * Fills in the shape of an open relation, from memory if the relation has not changed.  Raises
 * 42809 if it is not a dictionary.  Does not run code that users have defined.
 */
extern void seqid_dictionary_shape(Relation rel, DictionaryShape *shape);

/* --- dictionary.c: opening and searching --- */

/* A dictionary that is open. */
typedef struct Dictionary
{
	Relation	rel;
	DictionaryShape shape;
	bool		may_insert;		/* user has INSERT, we hold its lock */
	bool		row_security;	/* do policies apply to the user? */
} Dictionary;

/*
 * Locks a dictionary until the end of the transaction and opens its relation.  Raises 42P01
 * if the relation does not exist, 42809 if it is not a dictionary, and 42501, before
 * the lock, if the user does not have SELECT on it.
 *
 * With for_insert, acquires the lock of INSERT at once if the user has the privilege, because
 * a lock that is upgraded later can deadlock with REINDEX.
 */
extern Dictionary seqid_dictionary_open(Oid relid, bool for_insert);

/* --- dictionary_sql.c: searching and inserting by SQL statements --- */

typedef enum StatementKind
{
	FIND_ID,					/* the id of a term */
	FIND_TERM,					/* the term of an id */
	INSERT_TERM					/* id and term; nothing if the term is there */
} StatementKind;

typedef struct Statement Statement;

/*
 * Plans a statement so that it uses an index, or takes the plan of an earlier call.  The
 * caller must call SPI_finish() in the same memory context, which remains current.  If several
 * statements are open, the last one must be finished first.
 */
extern Statement *seqid_sql_begin(const Dictionary *dictionary, StatementKind kind);

/*
 * Runs a statement.  If it returns a row, returns true and sets *result to the first column of
 * the row, which is valid until the next statement.  Raises 40001 if the name of the
 * dictionary has become the name of another table.
 */
extern bool seqid_sql_run(Statement *statement, Datum *arguments, bool read_only, Datum *result);

/* Searches for many terms, or for many ids, one after the other. */
typedef struct Search
{
	const Dictionary *dictionary;
	AttrNumber	result_column;
	Relation	index;
	IndexScanDesc scan;
	ScanKeyData key;
	TupleTableSlot *slot;		/* the row that was found */
	Statement  *statement;		/* instead of the index */
} Search;

/*
 * A dirty snapshot also finds rows that policies hide, and rows of open transactions; see
 * SnapshotData.  Such a row can contain another term if both terms are toasted, so the caller
 * must search again after that transaction.
 */
extern void seqid_search_begin(Search *search, const Dictionary *dictionary,
							   bool by_term, Snapshot snapshot);
extern void seqid_search_end(Search *search);

/* The id of a term, or the term of an id, which is valid until the next search. */
extern bool seqid_search_find(Search *search, Datum value, Datum *result);

/* Releases what the last search has pinned. */
extern void seqid_search_unpin(Search *search);

/* --- assignment.c: assigning ids to terms --- */

typedef struct Term
{
	Datum		term;			/* a text that is not toasted */
	int64		id;
	uint32		order;			/* see seqid_sort_terms() */
	int			position;		/* in the caller's array */
} Term;

/* Sorts terms in the order in which all calls insert them. */
extern void seqid_sort_terms(const Dictionary *dictionary, Term *terms, int count);

/*
 * Fills in the ids of terms, which are sorted and can repeat, and inserts those that are new.
 * A failed call does not use up an id if it raises 42501 because the user does not have
 * INSERT, or 25006 in a read-only transaction.  It raises 40001 if a term exists that the
 * snapshot of the transaction does not show, 55000 for a term that can be neither found nor
 * inserted, and the errors of INSERT.
 */
extern void seqid_assign_ids(Dictionary *dictionary, Term *terms, int count);

#endif							/* SEQID_DICTIONARY_H */
