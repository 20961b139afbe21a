/*
 * intern_ddl.c
 *	  Creates dictionaries, as the user could by hand: CREATE TABLE and ALTER TABLE, as the
 *	  current user.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "intern/dictionary.h"
#include "keys/scatter.h"
#include "miscadmin.h"
#include "pg/compat.h"
#include "pg/text_input.h"
#include "rewrite/rewriteHandler.h"
#include "state/server_shard.h"
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
 * The schema of the extension.  The function that is running is not locked: an
 * argument of the call can have dropped the extension.
 */
static char *
schema_of_function(Oid function)
{
	char	   *name = get_namespace_name(get_func_namespace(function));

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function intern_create does not exist"),
				 errdetail("The function was dropped after the call had begun.")));
	return name;
}

/* Without the name of its schema, the table would be created in another one. */
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
 * Refuses a default that is not the generator of this extension.  While CREATE TABLE
 * waited, the owner of the extension's schema can have renamed it, and put a function
 * into another schema of that name.  A superuser who inserts must not run that function.
 */
static void
check_generator(Oid relid, Oid function)
{
	Oid			types[] = {REGCLASSOID, INT4OID};
	Oid			generator = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
											CStringGetDatum("scatter_nextval"),
											PointerGetDatum(buildoidvector(types, lengthof(types))),
											ObjectIdGetDatum(get_func_namespace(function)));
	Relation	rel = table_open(relid, NoLock);
	Node	   *expression = build_column_default(rel, get_attnum(relid, "id"));

	if (expression == NULL || !IsA(expression, FuncExpr) ||
		((FuncExpr *) expression)->funcid != generator)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access to a dictionary"),
				 errdetail("A schema was renamed while the dictionary was created."),
				 errhint("Try again.")));
	table_close(rel, NoLock);
}

/* The name of a dictionary, read like the name of a table. */
static RangeVar *
parse_name(Datum argument)
{
	char	   *name = text_to_cstring(seqid_short_text(argument, NAME_MAX_BYTES, "name"));
	List	   *parts;

	if (!SplitIdentifierString(pstrdup(name), '.', &parts) || parts == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid dictionary name: \"%s\"", seqid_quotable(name, strlen(name))),
				 errhint("Enclose a name with spaces, hyphens or capital letters in double quotes, for example SELECT intern_create('\"My Urls\"').")));
	return makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name)));
}

/*
 * intern_create(name text, prefix_bits int) returns regclass
 *	  Creates a dictionary.  The name is read as regclass reads one: in the first schema
 *	  of the search_path unless it says otherwise, in lower case unless it is quoted.
 *	  Raises 22023 unless prefix_bits is between 0 and 32, 42602 for a name that is no
 *	  identifier, 22P02 for a name of more than 1,024 bytes, 25006 on a standby, 40001 if
 *	  a schema is renamed meanwhile, and the errors of CREATE TABLE.
 */
PG_FUNCTION_INFO_V1(intern_create);
Datum
intern_create(PG_FUNCTION_ARGS)
{
	RangeVar   *name = parse_name(PG_GETARG_DATUM(0));
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));
	char	   *extension_schema = schema_of_function(fcinfo->flinfo->fn_oid);
	Oid			schema;
	char	   *table;
	List	   *sequences;
	Oid			relid;

	seqid_prevent_during_recovery("execute intern_create()");
	schema = RangeVarGetCreationNamespace(name);
	table = quote_qualified_identifier(existing_schema_name(schema), name->relname);

	SPI_connect();
	run_utility(psprintf("CREATE TABLE %s (id bigserial PRIMARY KEY,"
						 " term pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL,"
						 " EXCLUDE USING hash (term WITH OPERATOR(pg_catalog.=)))",
						 table));
	relid = get_relname_relid(name->relname, schema);
	sequences = OidIsValid(relid) ? getOwnedSequences(relid) : NIL;
	if (list_length(sequences) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("dictionary %s was changed while it was created", table),
				 errhint("Check the event triggers of the database.")));
	run_utility(psprintf("ALTER TABLE %s ALTER COLUMN id SET DEFAULT"
						 " %s.scatter_nextval(%s::pg_catalog.regclass, %d)",
						 table, quote_identifier(extension_schema),
						 quote_literal_cstr(seqid_quoted_name(linitial_oid(sequences))),
						 prefix_bits));
	check_generator(relid, fcinfo->flinfo->fn_oid);
	SPI_finish();

	PG_RETURN_OID(relid);
}
