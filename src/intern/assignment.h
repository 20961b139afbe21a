/*
 * assignment.h
 *	  Assigning ids to terms.
 */
#ifndef SEQID_ASSIGNMENT_H
#define SEQID_ASSIGNMENT_H

#include "intern/dictionary.h"

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
 * Fills in the ids of terms, which are sorted and can repeat, and inserts those that
 * are new.  A failed call uses up no id if it raises 42501 because the user does not
 * have INSERT, or 25006 in a read-only transaction.  It raises 40001 if a term exists
 * that the snapshot of the transaction does not show, 55000 for a term that can be
 * neither found nor inserted, and the errors of INSERT.
 */
extern void seqid_assign_ids(Dictionary *dictionary, Term *terms, int count);

#endif							/* SEQID_ASSIGNMENT_H */
