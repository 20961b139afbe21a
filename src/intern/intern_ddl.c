/*
 * intern_ddl.c
 *	  Making and dropping dictionaries.
 *
 * Both do what the user could do by hand, as the current user: CREATE TABLE,
 * ALTER TABLE and DROP TABLE.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "intern/dictionary.h"
#include "keys/scatter.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/text_input.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/* Far more than three names can have, quoted and with every quote doubled. */
#define NAME_MAX_BYTES 1024

static void
run_utility(const char *sql)
{
	if (SPI_execute(sql, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute \"%s\"", sql);
}

/*
 * The schema that the extension is in.  Nothing holds the function that is running:
 * an argument of the call can have dropped the extension.
 */
static char *
schema_of_function(Oid function)
{
	char	   *name = get_namespace_name(get_func_namespace(function));

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function intern_create does not exist"),
				 errdetail("It was dropped after this call of it had begun.")));
	return name;
}

/*
 * Without a name of its schema the table would come to be in another, the first of
 * search_path.
 */
static char *
existing_schema_name(Oid schema)
{
	char	   *name = get_namespace_name(schema);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema with OID %u does not exist", schema)));
	return name;
}

/*
 * intern_create(name text, prefix_bits int) returns regclass
 *	  Makes a dictionary of that name, which is read as regclass reads one: in
 *	  the first schema of the search_path unless it says otherwise, in lower case
 *	  unless it is quoted.  22023 unless prefix_bits is between 0 and 32; 22P02 for
 *	  a name of more than 1,024 bytes; errors of CREATE TABLE.
 */
PG_FUNCTION_INFO_V1(intern_create);
Datum
intern_create(PG_FUNCTION_ARGS)
{
	text	   *argument = seqid_short_text(PG_GETARG_DATUM(0), NAME_MAX_BYTES, "name");
	RangeVar   *name = makeRangeVarFromNameList(textToQualifiedNameList(argument));
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));
	char	   *extension_schema = schema_of_function(fcinfo->flinfo->fn_oid);
	Oid			schema = RangeVarGetCreationNamespace(name);
	char	   *table = quote_qualified_identifier(existing_schema_name(schema), name->relname);
	List	   *sequences;
	Oid			relid;

	SPI_connect();
	/* With the id in the index, a term is looked up without the table. */
	run_utility(psprintf("CREATE TABLE %s (id bigserial PRIMARY KEY,"
						 " term pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL,"
						 " UNIQUE (term) INCLUDE (id))",
						 table));
	relid = get_relname_relid(name->relname, schema);
	sequences = OidIsValid(relid) ? getOwnedSequences(relid) : NIL;
	if (list_length(sequences) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("dictionary %s was changed while it was being created", table),
				 errhint("Look for event triggers.")));
	run_utility(psprintf("ALTER TABLE %s ALTER COLUMN id SET DEFAULT"
						 " %s.scatter_nextval(%s::pg_catalog.regclass, %d)",
						 table, quote_identifier(extension_schema),
						 quote_literal_cstr(seqid_quoted_name(linitial_oid(sequences))),
						 prefix_bits));
	SPI_finish();

	PG_RETURN_OID(relid);
}

/*
 * intern_drop(dictionary regclass) returns void
 *	  Drops a dictionary and its sequence.  42809 if that is no dictionary,
 *	  42501 if it is not the user's;
 *	  25006 on a standby; errors of DROP TABLE.
 */
PG_FUNCTION_INFO_V1(intern_drop);
Datum
intern_drop(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = get_rel_name(relid);

	PreventCommandDuringRecovery("intern_drop()");

	/* Who may not drop it must not lock it, either. */
	if (name != NULL && !compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, name);

	/* Were the lock raised later, two sessions could wait for each other. */
	LockRelationOid(relid, AccessExclusiveLock);
	(void) seqid_dictionary_open_locked(relid);

	SPI_connect();
	run_utility(psprintf("DROP TABLE %s", seqid_quoted_name(relid)));
	SPI_finish();

	/* The lock does not hold the schema's name. */
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access to a dictionary"),
				 errdetail("Its schema was renamed at this moment, and another table has its name now."),
				 errhint("Try again.")));

	PG_RETURN_VOID();
}
