/*
 * intern_ddl.c
 *	  Creates dictionaries, as the user could by hand.
 *
 * Only CREATE TABLE uses names.  Later steps use OIDs, because the owner of a schema can
 * rename the schema at any time, and create other tables and functions under the old name.  A
 * superuser who inserts a term must not run such a function.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "keys/scatter.h"
#include "nodes/makefuncs.h"
#include "pg/sql_function.h"
#include "pg/text_input.h"
#include "state/server_shard.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

/* Far more than three quoted names need, even with every quote doubled. */
#define NAME_MAX_BYTES 1024

/* A constant, in whose parse tree the name is replaced. */
#define CREATE_TABLE \
	"CREATE TABLE dictionary (id bigserial PRIMARY KEY," \
	" term pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL," \
	" EXCLUDE USING hash (term WITH OPERATOR(pg_catalog.=)))"

static void
create_table(RangeVar *name)
{
	CreateStmt *create = castNode(CreateStmt, linitial_node(RawStmt, pg_parse_query(CREATE_TABLE))->stmt);
	PlannedStmt *statement = makeNode(PlannedStmt);

	create->relation = name;
	statement->commandType = CMD_UTILITY;
	statement->utilityStmt = (Node *) create;
	statement->stmt_location = -1;
	PushActiveSnapshot(GetTransactionSnapshot());
	ProcessUtility(statement, CREATE_TABLE, false, PROCESS_UTILITY_QUERY, NULL, NULL,
				   None_Receiver, NULL);
	PopActiveSnapshot();
	CommandCounterIncrement();
}

/*
 * The sequence of the new table.  InvalidOid if the name belongs to another table by now, or
 * if an event trigger has changed the table.
 */
static Oid
sequence_of_new_table(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	List	   *sequences;

	if (rel == NULL)
		return InvalidOid;
	sequences = rel->rd_createSubid == InvalidSubTransactionId ? NIL : getOwnedSequences(relid);
	relation_close(rel, NoLock);
	return list_length(sequences) == 1 && get_attnum(relid, "id") != InvalidAttrNumber ?
		linitial_oid(sequences) : InvalidOid;
}

static Node *
make_constant(Oid type, Datum value)
{
	return (Node *) makeConst(type, -1, InvalidOid, sizeof(int32), value, false, true);
}

/* Sets the default of the column id to a call of the extension's function, by its OID. */
static void
set_default(Oid relid, Oid generator, Oid sequence, int prefix_bits)
{
	AlterTableStmt *statement = makeNode(AlterTableStmt);
	AlterTableCmd *command = makeNode(AlterTableCmd);

	statement->objtype = OBJECT_TABLE;
	command->subtype = AT_CookedColumnDefault;
	command->num = get_attnum(relid, "id");
	command->def = (Node *)
		makeFuncExpr(generator, INT8OID,
					 list_make2(make_constant(REGCLASSOID, ObjectIdGetDatum(sequence)),
								make_constant(INT4OID, Int32GetDatum(prefix_bits))),
					 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	/* If an event trigger calls us, its command collects this one. */
	EventTriggerAlterTableStart((Node *) statement);
	AlterTableInternal(relid, list_make1(command), false);
	EventTriggerAlterTableEnd();
}

/*
 * Reads the name of a dictionary like that of a table.  An empty name in quotes is refused,
 * because no statement and no dump can contain it.
 */
static RangeVar *
parse_name(Datum argument)
{
	char	   *name = text_to_cstring(seqid_short_text(argument, NAME_MAX_BYTES, "name"));
	List	   *parts;

	if (!SplitIdentifierString(pstrdup(name), '.', &parts) || parts == NIL ||
		*(char *) llast(parts) == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid dictionary name: \"%s\"", seqid_quotable(name, strlen(name))),
				 errhint("Enclose a name with spaces or capital letters in double quotes, for example SELECT intern_create('\"My Urls\"').")));
	return makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name)));
}

/*
 * intern_create(name text, prefix_bits int) returns regclass
 *	  Creates a dictionary.  The name is read as regclass reads one: it is folded to lower case
 *	  unless it is quoted, and its schema is the first one of the search_path by default.
 *	  Raises 22023 unless prefix_bits is between 0 and 32, 42602 for a name that is not an
 *	  identifier, 22P02 for a name of more than 1,024 bytes, 25006 on a standby, and the errors
 *	  of CREATE TABLE.
 */
PG_FUNCTION_INFO_V1(intern_create);
Datum
intern_create(PG_FUNCTION_ARGS)
{
	RangeVar   *name = parse_name(PG_GETARG_DATUM(0));
	int			prefix_bits = seqid_checked_prefix_bits(PG_GETARG_INT32(1));
	Oid			relid;
	Oid			sequence;
	Oid			generator;

	seqid_prevent_during_recovery("execute intern_create()");
	create_table(name);
	relid = get_relname_relid(name->relname, RangeVarGetCreationNamespace(name));
	sequence = sequence_of_new_table(relid);
	if (!OidIsValid(sequence))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("dictionary %s was changed while it was being created",
						quote_qualified_identifier(name->schemaname, name->relname)),
				 errhint("Check the event triggers of the database.")));

	/*
	 * An argument of the call might have dropped the extension.  A function
	 * that has its own settings is called through another one.
	 */
	generator = find_function(get_func_namespace(fcinfo->flinfo->fn_oid), "scatter_nextval",
							  REGCLASSOID, INT4OID, scatter_nextval);
	if (!OidIsValid(generator))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("cannot use function scatter_nextval"),
				 errdetail("The function was dropped after the call had begun, or has settings of its own."),
				 errhint("Run ALTER FUNCTION scatter_nextval(regclass, int) RESET ALL.")));
	set_default(relid, generator, sequence, prefix_bits);

	PG_RETURN_OID(relid);
}
