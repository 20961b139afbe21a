/*
 * dictionary_sql.h
 *	  SQL statements on dictionaries.
 */
#ifndef SEQID_DICTIONARY_SQL_H
#define SEQID_DICTIONARY_SQL_H

#include "executor/spi.h"
#include "intern/dictionary.h"

/* Statements are planned and run in between.  The memory context stays the caller's. */
extern void seqid_sql_begin(void);
extern void seqid_sql_end(void);

/* Plans a statement so that it uses an index. */
extern SPIPlanPtr seqid_sql_plan(const char *sql, int argument_count, Oid *types);

/*
 * Runs a statement.  Returns whether it returned a row, and the first column of the
 * row, which is valid until the next statement.  Raises 40001 if the name of the
 * dictionary has become the name of another table.
 */
extern bool seqid_sql_run(const Dictionary *dictionary, SPIPlanPtr plan, Datum *arguments,
						  bool read_only, Datum *result);

/*
 * INSERT INTO a dictionary (id, term) VALUES ($1, $2), which does nothing if the term
 * is there.
 */
extern SPIPlanPtr seqid_sql_plan_insert(const Dictionary *dictionary);

/* Schema and name of a relation, quoted.  Raises 42P01 if it does not exist. */
extern char *seqid_quoted_name(Oid relid);

#endif							/* SEQID_DICTIONARY_SQL_H */
