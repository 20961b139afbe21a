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
	Oid			sequence;		/* that the default of id draws from */
	bool		owns_sequence;	/* is it the id's own, as that of a serial is? */
	int			prefix_bits;
	bool		has_triggers;	/* on INSERT: may change what is inserted */
	AttrNumber	id_column;
	NameData	id_index;		/* an index that keeps ids unique */
} DictionaryShape;

/*
 * Whether the relation, which is open, is a dictionary; if so, fills *shape.
 * Reads the catalogs, and runs nothing that users have defined.
 */
extern bool seqid_describe_dictionary(Relation rel, DictionaryShape *shape);

#endif							/* SEQID_DICTIONARY_SHAPE_H */
