/*
 * compat.h
 *	  What differs between PostgreSQL 13 and 18.
 *
 * Every test of PG_VERSION_NUM in seqid is in this file.  The rest of the
 * source uses what is defined here and does not know which server it is
 * compiled for.
 *
 * These are macros, so that this file needs no other headers: who uses one
 * includes what PostgreSQL's documentation of the thing asks for.
 */
#ifndef SEQID_COMPAT_H
#define SEQID_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 130000 || PG_VERSION_NUM >= 190000
#error "seqid supports PostgreSQL 13 to 18"
#endif

/* VARDATA_ANY() and its kind were in postgres.h before. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* From 18 on a module can tell its name and version; see fmgr.h. */
#ifdef PG_MODULE_MAGIC_EXT
#define COMPAT_MODULE_MAGIC(module_name, module_version) \
	PG_MODULE_MAGIC_EXT(.name = module_name, .version = module_version)
#else
#define COMPAT_MODULE_MAGIC(module_name, module_version) PG_MODULE_MAGIC
#endif

/*
 * Segments of shared memory.  From 17 on the server hands out named ones on
 * demand.  Before, there is one that is made when the server starts, and from 15
 * on room in it is asked for in a hook.
 */
#define COMPAT_HAS_NAMED_SEGMENTS	(PG_VERSION_NUM >= 170000)
#define COMPAT_HAS_REQUEST_HOOK		(PG_VERSION_NUM >= 150000)

/*
 * GetLockConflicts() leaves out prepared transactions before 13.5 and 14.1, and who
 * compiles does not know which minor version it will be.
 */
#define COMPAT_CONFLICTS_HAVE_PREPARED	(PG_VERSION_NUM >= 150000)

/*
 * The local id of the transaction that a process is in, which no other that it was
 * in lately has; InvalidLocalTransactionId between transactions.
 */
#if PG_VERSION_NUM >= 170000
#define compat_lxid(proc)	((proc)->vxid.lxid)
#else
#define compat_lxid(proc)	((proc)->lxid)
#endif

/* The name of a wait in pg_stat_activity; before 17 modules share one. */
#if PG_VERSION_NUM >= 170000
#define compat_wait_event(name)		WaitEventExtensionNew(name)
#else
#define compat_wait_event(name)		PG_WAIT_EXTENSION
#endif

/* Memory for the "extra" of a setting, which the server frees; NULL if none. */
#if PG_VERSION_NUM >= 160000
#define compat_guc_malloc(size)		guc_malloc(LOG, size)
#else
#define compat_guc_malloc(size)		malloc(size)
#endif

/* Refuses settings of our prefix that do not exist; before 15 it warns. */
#if PG_VERSION_NUM >= 150000
#define compat_reserve_guc_prefix(prefix)	MarkGUCPrefixReserved(prefix)
#else
#define compat_reserve_guc_prefix(prefix)	EmitWarningsOnPlaceholders(prefix)
#endif

/*
 * The timeline that the server writes.  Not during recovery; before 15 it is known
 * to a process that has asked whether it is over.
 */
#if PG_VERSION_NUM >= 150000
#define compat_insertion_timeline()	GetWALInsertionTimeLine()
#else
#define compat_insertion_timeline()	ThisTimeLineID
#endif

#if PG_VERSION_NUM >= 140000
#define COMPAT_READ_ALL_SETTINGS	ROLE_PG_READ_ALL_SETTINGS
#else
#define COMPAT_READ_ALL_SETTINGS	DEFAULT_ROLE_READ_ALL_SETTINGS
#endif

#if PG_VERSION_NUM >= 160000
#define compat_owns_relation(relid, user) \
	object_ownercheck(RelationRelationId, relid, user)
#else
#define compat_owns_relation(relid, user) \
	pg_class_ownercheck(relid, user)
#endif

/*
 * The number of a relation's file within its database and tablespace, and the
 * subtransaction of the open transaction that gave it this file.
 */
#if PG_VERSION_NUM >= 160000
#define compat_file_number(rel)		((rel)->rd_locator.relNumber)
#define compat_file_subid(rel)		((rel)->rd_firstRelfilelocatorSubid)
#else
#define compat_file_number(rel)		((rel)->rd_node.relNode)
#define compat_file_subid(rel)		((rel)->rd_firstRelfilenodeSubid)
#endif

#endif							/* SEQID_COMPAT_H */
