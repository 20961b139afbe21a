/*
 * dictionary.h
 *	  The tables that intern terms, and the statements on them.
 */
#ifndef SEQID_DICTIONARY_H
#define SEQID_DICTIONARY_H

#include "access/nbtree.h"

/*
 * The most that a tuple of a B-tree can have.  BTMaxItemSize, which takes a page
 * in some versions and none in others; the value is the same in all.
 */
#define BTREE_MAX_ITEM_BYTES \
	(MAXALIGN_DOWN((BLCKSZ - \
					MAXALIGN(SizeOfPageHeaderData + 3 * sizeof(ItemIdData)) - \
					MAXALIGN(sizeof(BTPageOpaqueData))) / 3) - \
	 MAXALIGN(sizeof(ItemPointerData)))

/*
 * The longest term in bytes: what an index tuple has left beside its header,
 * the text's, and the id.  A longer one might fit where it compresses well; that would make
 * which terms are refused a matter of luck.
 */
#define DICTIONARY_MAX_TERM_BYTES \
	((int) (BTREE_MAX_ITEM_BYTES - sizeof(IndexTupleData) - VARHDRSZ - \
			sizeof(int64)))

/* How many terms or ids a statement takes at most: bounds its memory. */
#define DICTIONARY_RUN	10000

typedef struct Dictionary Dictionary;

/*
 * Locks the table until the end of the transaction and returns what is known
 * of it.  42P01 if there is no such relation; 42501 if the user may not read ids and
 * terms, before anything is locked; 42809 if it is no dictionary.
 *
 * The result is good while the caller runs, not across calls from SQL.
 */
extern Dictionary *seqid_dictionary_open(Oid relid);

/* The same for a caller who has locked it, and answers for the right to do so. */
extern Dictionary *seqid_dictionary_open_locked(Oid relid);

/*
 * The name of a relation for a statement: with its schema, and quoted.  Raises
 * undefined_table if the relation or its schema does not exist.
 */
extern char *seqid_quoted_name(Oid relid);

/*
 * Looks up count (1 to DICTIONARY_RUN) terms and fills ids[] and known[].  With
 * read_only, as the query that is running sees the table, otherwise with a
 * snapshot of its own.
 */
extern void seqid_dictionary_find_ids(Dictionary *dictionary, const Datum *terms,
									  int count, bool read_only,
									  int64 *ids, bool *known);

/*
 * The inverse.  The terms are made in the memory context of the caller.  *room is
 * how many bytes they may take in an array, and is lowered by what they do; 54000
 * before it is exceeded.
 */
extern void seqid_dictionary_find_terms(Dictionary *dictionary, const Datum *ids,
										int count, Datum *terms, bool *known,
										Size *room);

/*
 * Draws an id for each of count (1 to DICTIONARY_RUN) terms and inserts them, in
 * the order given.  Returns false if some may not be there under these ids, because
 * another transaction has inserted them first, or because of a trigger; which is
 * for the caller to find out, and ids[] is then rubbish.  42501 before anything is
 * locked or drawn if the user may not insert.
 */
extern bool seqid_dictionary_insert(Dictionary *dictionary, const Datum *terms,
									int count, int64 *ids);

#endif							/* SEQID_DICTIONARY_H */
