/*
 * dictionary_shape.c
 *	  What makes a table a dictionary.
 *
 * A unique id whose default is scatter_nextval() of a certain sequence, and a
 * unique term that compares byte by byte.  Users can arrange tables, indexes,
 * defaults and functions as they like, and this is where it is found out what
 * they are; nothing that users have defined runs meanwhile.
 */
#include "postgres.h"

#include "bits/scatter_permutation.h"
#include "catalog/dependency.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "intern/dictionary_shape.h"
#include "keys/scatter.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* A column of pg_index that is never NULL. */
static oidvector *
index_vector(HeapTuple tuple, AttrNumber column)
{
	bool		isnull;

	return (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple, column, &isnull));
}

/*
 * Whether an index sees to it that each value of the column is there once, and
 * finds it.
 */
static bool
is_unique_index(HeapTuple tuple, AttrNumber column, Oid type, Oid collation)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);
	oidvector  *collations = index_vector(tuple, Anum_pg_index_indcollation);
	oidvector  *opclasses = index_vector(tuple, Anum_pg_index_indclass);

	return index->indisunique && index->indimmediate && index->indisvalid &&
		index->indnkeyatts == 1 && index->indkey.values[0] == column &&
		collations->values[0] == collation &&
		opclasses->values[0] == GetDefaultOpClass(type, BTREE_AM_OID) &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
}

/* One that is, or 0. */
static Oid
unique_index(Relation rel, AttrNumber column, Oid type, Oid collation)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *cell;
	Oid			found = InvalidOid;

	foreach(cell, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			continue;
		if (is_unique_index(tuple, column, type, collation))
			found = lfirst_oid(cell);
		ReleaseSysCache(tuple);
	}
	list_free(indexes);

	return found;
}

/* Whether that is the scatter_nextval() of this library, under any name. */
static bool
is_scatter_nextval(Oid function)
{
	FmgrInfo	info;

	fmgr_info(function, &info);
	return info.fn_addr == scatter_nextval;
}

static bool
is_const(Node *node, Oid type)
{
	return IsA(node, Const) && !((Const *) node)->constisnull &&
		((Const *) node)->consttype == type;
}

/* A constant, or one in named notation. */
static bool
is_const_argument(Node *node)
{
	return IsA(node, Const) ||
		(IsA(node, NamedArgExpr) && IsA(((NamedArgExpr *) node)->arg, Const));
}

/*
 * Reads sequence and prefix bits off a default that is scatter_nextval() with
 * constant arguments.
 */
static bool
read_default(Relation rel, DictionaryShape *shape)
{
	Node	   *node = build_column_default(rel, shape->id_column);
	FuncExpr   *call;
	ListCell   *cell;

	if (node == NULL || !IsA(node, FuncExpr))
		return false;

	call = (FuncExpr *) node;
	if (!is_scatter_nextval(call->funcid))
		return false;
	foreach(cell, call->args)
	{
		if (!is_const_argument(lfirst(cell)))
			return false;
	}

	/*
	 * Puts arguments in their order, and fills in those left to their
	 * defaults. With nothing but constants, this calls no function.
	 */
	call = (FuncExpr *) eval_const_expressions(NULL, node);
	if (!IsA(call, FuncExpr) || list_length(call->args) != 2 ||
		!is_const(linitial(call->args), REGCLASSOID) ||
		!is_const(lsecond(call->args), INT4OID))
		return false;

	shape->sequence = DatumGetObjectId(((Const *) linitial(call->args))->constvalue);
	shape->prefix_bits = DatumGetInt32(((Const *) lsecond(call->args))->constvalue);

	return shape->prefix_bits >= 0 &&
		shape->prefix_bits <= SCATTER_MAX_PREFIX_BITS;
}

static bool
owns_sequence(Oid table, const DictionaryShape *shape)
{
	Oid			relid;
	int32		column;

	return sequenceIsOwned(shape->sequence, DEPENDENCY_AUTO, &relid, &column) &&
		relid == table && column == shape->id_column;
}

static bool
has_insert_triggers(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;

	return triggers != NULL &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
		 triggers->trig_insert_before_statement || triggers->trig_insert_after_statement);
}

/* If the column is of that kind, and unique, an index that sees to it; or 0. */
static Oid
column_index(Relation rel, AttrNumber column, Oid type, Oid collation)
{
	Form_pg_attribute attribute;

	if (column == InvalidAttrNumber)
		return InvalidOid;
	attribute = TupleDescAttr(RelationGetDescr(rel), column - 1);
	if (attribute->atttypid != type || attribute->attcollation != collation ||
		!attribute->attnotnull)
		return InvalidOid;

	return unique_index(rel, column, type, collation);
}

bool
seqid_describe_dictionary(Relation rel, DictionaryShape *shape)
{
	Oid			relid = RelationGetRelid(rel);
	AttrNumber	term_column;
	Oid			id_index;
	char	   *id_index_name;

	if (rel->rd_rel->relkind != RELKIND_RELATION)
		return false;

	shape->id_column = get_attnum(relid, "id");
	term_column = get_attnum(relid, "term");
	id_index = column_index(rel, shape->id_column, INT8OID, InvalidOid);

	if (!OidIsValid(id_index) ||
		!OidIsValid(column_index(rel, term_column, TEXTOID, C_COLLATION_OID)) ||
		!read_default(rel, shape))
		return false;

	id_index_name = get_rel_name(id_index);
	if (id_index_name == NULL)
		return false;
	namestrcpy(&shape->id_index, id_index_name);
	shape->owns_sequence = owns_sequence(relid, shape);
	shape->has_triggers = has_insert_triggers(rel);
	return true;
}
