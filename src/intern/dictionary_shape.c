/*
 * dictionary_shape.c
 *	  What makes a table a dictionary.
 *
 * A dictionary has a unique column "id" whose default is scatter_nextval() with constants, and
 * a unique column "term" that is compared byte by byte.  Either an exclusion constraint with a
 * hash index or a unique B-tree makes terms unique.  Nothing else is recorded, so a dictionary
 * can be dumped, copied and renamed like any table.
 *
 * The catalogs are read once per session and dictionary.  An invalidation of the
 * relation removes its entry, and that of any sequence removes all entries.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "bits/scatter_permutation.h"
#include "catalog/dependency.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "intern/dictionary.h"
#include "keys/scatter.h"
#include "optimizer/optimizer.h"
#include "pg/sql_function.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* The first value in a column of pg_index, which must be one that is never NULL. */
static Oid
index_oid(HeapTuple tuple, AttrNumber column)
{
	bool		isnull;

	return ((oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple, column, &isnull)))->values[0];
}

/*
 * Whether an index of that access method finds all rows of the column by equality, and keeps
 * the values unique.  A hash index cannot be unique, but it can have an exclusion
 * constraint, whose only possible operator is equality.
 */
static bool
covers_column(HeapTuple tuple, const FormData_pg_attribute *column, Oid access_method)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

	return (access_method == HASH_AM_OID ? index->indisexclusion : index->indisunique) &&
		index->indimmediate && index->indisvalid &&
		index->indnkeyatts == 1 && index->indkey.values[0] == column->attnum &&
		index_oid(tuple, Anum_pg_index_indcollation) == column->attcollation &&
		index_oid(tuple, Anum_pg_index_indclass) == GetDefaultOpClass(column->atttypid, access_method) &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
}

/* An index for which covers_column() is true, or InvalidOid. */
static Oid
unique_index(Relation rel, const FormData_pg_attribute *column, Oid access_method)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *cell;
	Oid			found = InvalidOid;

	foreach(cell, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			continue;
		if (covers_column(tuple, column, access_method))
			found = lfirst_oid(cell);
		ReleaseSysCache(tuple);
	}
	list_free(indexes);

	return found;
}

/* The column with this name, type and collation if it is NOT NULL, or a null pointer. */
static const FormData_pg_attribute *
required_column(Relation rel, const char *name, Oid type, Oid collation)
{
	AttrNumber	number = get_attnum(RelationGetRelid(rel), name);
	const FormData_pg_attribute *column;

	if (number <= 0)
		return NULL;
	column = TupleDescAttr(RelationGetDescr(rel), number - 1);
	if (column->atttypid != type || column->attcollation != collation || !column->attnotnull)
		return NULL;
	return column;
}

static bool
is_const(Node *node, Oid type)
{
	return IsA(node, Const) && !((Const *) node)->constisnull &&
		((Const *) node)->consttype == type;
}

/* Reads sequence and prefix bits from the default of the column "id". */
static bool
read_default(Relation rel, DictionaryShape *shape)
{
	Node	   *node = build_column_default(rel, shape->id_column);
	FuncExpr   *call;
	ListCell   *cell;

	if (node == NULL || !IsA(node, FuncExpr))
		return false;

	call = (FuncExpr *) node;
	if (!is_function(call->funcid, scatter_nextval))
		return false;
	foreach(cell, call->args)
	{
		Node	   *argument = lfirst(cell);

		if (IsA(argument, NamedArgExpr))
			argument = (Node *) ((NamedArgExpr *) argument)->arg;
		if (!IsA(argument, Const))
			return false;
	}

	/*
	 * Puts the arguments in order, and adds those that have their default
	 * values.  All of them are constants, so this does not call a function.
	 */
	call = (FuncExpr *) eval_const_expressions(NULL, node);
	if (!IsA(call, FuncExpr) || list_length(call->args) != 2 ||
		!is_const(linitial(call->args), REGCLASSOID) ||
		!is_const(lsecond(call->args), INT4OID))
		return false;

	shape->sequence = DatumGetObjectId(linitial_node(Const, call->args)->constvalue);
	shape->prefix_bits = DatumGetInt32(lsecond_node(Const, call->args)->constvalue);
	return shape->prefix_bits >= 0 && shape->prefix_bits <= SCATTER_MAX_PREFIX_BITS;
}

/* Whether INSERT has nothing to do beyond the two columns, the indexes and the checks. */
static bool
is_plain_insert(Relation rel)
{
	TupleDesc	columns = RelationGetDescr(rel);
	const TriggerDesc *triggers = rel->trigdesc;
	int			count = 0;

	for (int i = 0; i < columns->natts; i++)
		count += !TupleDescAttr(columns, i)->attisdropped;

	return count == 2 && !rel->rd_rel->relispartition && !rel->rd_rel->relhasrules &&
		!columns->constr->has_generated_stored &&
		(triggers == NULL ||
		 (!triggers->trig_insert_before_row && !triggers->trig_insert_after_row &&
		  !triggers->trig_insert_before_statement && !triggers->trig_insert_after_statement));
}

static bool
describe(Relation rel, DictionaryShape *shape)
{
	const FormData_pg_attribute *id;
	const FormData_pg_attribute *term;
	char	   *id_index_name;
	Oid			owner;
	int32		owner_column;

	if (rel->rd_rel->relkind != RELKIND_RELATION)
		return false;
	id = required_column(rel, "id", INT8OID, InvalidOid);
	term = required_column(rel, "term", TEXTOID, C_COLLATION_OID);
	if (id == NULL || term == NULL)
		return false;

	shape->id_column = id->attnum;
	shape->term_column = term->attnum;
	shape->id_index = unique_index(rel, id, BTREE_AM_OID);
	shape->term_index = unique_index(rel, term, HASH_AM_OID);
	shape->second_term_index = unique_index(rel, term, BTREE_AM_OID);
	shape->hashed = OidIsValid(shape->term_index);
	if (!shape->hashed)
	{
		shape->term_index = shape->second_term_index;
		shape->second_term_index = InvalidOid;
	}
	if (!OidIsValid(shape->id_index) || !OidIsValid(shape->term_index) ||
		!read_default(rel, shape))
		return false;

	id_index_name = get_rel_name(shape->id_index);
	if (id_index_name == NULL)
		return false;
	namestrcpy(&shape->id_index_name, id_index_name);
	shape->owns_sequence =
		sequenceIsOwned(shape->sequence, DEPENDENCY_AUTO, &owner, &owner_column) &&
		owner == RelationGetRelid(rel) && owner_column == shape->id_column;
	shape->plain_insert = is_plain_insert(rel);
	return true;
}

typedef struct RememberedShape
{
	Oid			relid;			/* hash key, must be first */
	DictionaryShape shape;
} RememberedShape;

static HTAB *remembered = NULL;
static uint64 invalidations = 0;	/* of any relation or sequence */

/* Removes the entry of a relation, or all entries. */
static void
invalidate_relation(Datum arg pg_attribute_unused(), Oid relid)
{
	HASH_SEQ_STATUS scan;
	RememberedShape *entry;

	invalidations++;
	hash_seq_init(&scan, remembered);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (relid == InvalidOid || relid == entry->relid)
			hash_search(remembered, &entry->relid, HASH_REMOVE, NULL);
	}
}

/*
 * ALTER SEQUENCE ... OWNED BY changes pg_depend, which sends no invalidation, but it also
 * updates pg_sequence, which sends one.
 */
static void
invalidate_sequence(Datum arg, int cache pg_attribute_unused(), uint32 hash pg_attribute_unused())
{
	invalidate_relation(arg, InvalidOid);
}

void
seqid_dictionary_shape(Relation rel, DictionaryShape *shape)
{
	Oid			relid = RelationGetRelid(rel);
	RememberedShape *entry;
	uint64		invalidations_before;

	if (remembered == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(RememberedShape)};

		remembered = hash_create("seqid dictionaries", 64, &control, HASH_ELEM | HASH_BLOBS);
		CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
		CacheRegisterSyscacheCallback(SEQRELID, invalidate_sequence, (Datum) 0);
	}
	entry = hash_search(remembered, &relid, HASH_FIND, NULL);
	if (entry != NULL)
	{
		*shape = entry->shape;
		return;
	}

	invalidations_before = invalidations;
	if (!describe(rel, shape))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a dictionary", RelationGetRelationName(rel)),
				 errdetail("A dictionary is a table with a unique column \"id\" whose default is scatter_nextval(), and a unique column \"term\" of collation \"C\"."),
				 errhint("Create a dictionary with intern_create().")));
	/* If anything was invalidated meanwhile, the shape must be read again. */
	if (invalidations == invalidations_before)
	{
		entry = hash_search(remembered, &relid, HASH_ENTER, NULL);
		entry->shape = *shape;
	}
}
