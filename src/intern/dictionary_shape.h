/*
 * dictionary_shape.h
 *	  What makes a table a dictionary.
 */
#ifndef SEQID_DICTIONARY_SHAPE_H
#define SEQID_DICTIONARY_SHAPE_H

#include "postgres.h"

#include "access/attnum.h"
#include "utils/relcache.h"

typedef struct DictionaryShape
{
	Oid			sequence;		/* the default of id generates from it */
	bool		owns_sequence;	/* does the column id own the sequence? */
	int			prefix_bits;
	bool		plain_insert;	/* can INSERT do no more than add id and term? */
	bool		hashed;			/* is term_index a hash index? */
	AttrNumber	id_column;
	AttrNumber	term_column;
	Oid			id_index;		/* makes ids unique */
	NameData	id_index_name;
	Oid			term_index;		/* makes terms unique */
} DictionaryShape;

/*
 * Fills in the shape of an open relation, from memory if the relation has not
 * changed.  Raises 42809 if it is not a dictionary.  Runs nothing that users defined.
 */
extern void seqid_dictionary_shape(Relation rel, DictionaryShape *shape);

#endif							/* SEQID_DICTIONARY_SHAPE_H */
