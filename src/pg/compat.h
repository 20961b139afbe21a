/*
 * compat.h
 *	  The differences between PostgreSQL 15 and 19.
 *
 * Every test of PG_VERSION_NUM in seqid is in this file.  The names are macros, so that this
 * file needs few headers.  A file that uses one must include what the macro requires.
 */
#ifndef SEQID_COMPAT_H
#define SEQID_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "seqid needs PostgreSQL 15 or later"
#elif PG_VERSION_NUM >= 200000
/* Not a warning, because -Werror would make it an error. */
#pragma message("seqid has not been tested with this version of PostgreSQL")
#endif

/*
 * From 16 on, VARDATA_ANY() and similar macros are in a separate header.  The server frees the
 * "extra" of a setting, so guc_malloc(), which can return NULL, must allocate it.
 *
 * compat_setting_has_value() returns whether a setting has a value that is not its default.
 * From 16 on, GetConfigOption() does not show this by NULL: it returns an empty string for a
 * setting of an unknown library if its line was removed from the configuration file.
 *
 * The last three macros: the number of a relation's file within its database and tablespace,
 * this tablespace, and the open transaction's subtransaction that created the file.
 */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#define compat_setting_has_value(name) \
	(find_option(name, false, true, 0) != NULL && \
	 find_option(name, false, true, 0)->source != PGC_S_DEFAULT)
#define compat_guc_malloc(size)		guc_malloc(LOG, size)
#define compat_can_execute(function, user) \
	(object_aclcheck(ProcedureRelationId, function, user, ACL_EXECUTE) == ACLCHECK_OK)
#define compat_file_number(rel)		((rel)->rd_locator.relNumber)
#define compat_file_tablespace(rel)	((rel)->rd_locator.spcOid)
#define compat_file_subid(rel)		((rel)->rd_firstRelfilelocatorSubid)
#else
#define compat_setting_has_value(name)	(GetConfigOption(name, true, false) != NULL)
#define compat_guc_malloc(size)		malloc(size)
#define compat_can_execute(function, user) \
	(pg_proc_aclcheck(function, user, ACL_EXECUTE) == ACLCHECK_OK)
#define compat_file_number(rel)		((rel)->rd_node.relNode)
#define compat_file_tablespace(rel)	((rel)->rd_node.spcNode)
#define compat_file_subid(rel)		((rel)->rd_firstRelfilenodeSubid)
#endif

/*
 * From 17 on, the server creates named segments of shared memory on demand.  Before, it has
 * one segment, which is created when it starts.  From 17 on, a wait has a name in
 * pg_stat_activity; before, all modules share one name.
 *
 * compat_lxid() is the local id of the transaction that a process is in.  It differs from
 * those of the process's recent transactions, and is InvalidLocalTransactionId between
 * transactions.  The next two are the number of a process in its virtual transaction ids: from
 * the process, and from an id.
 */
#define COMPAT_HAS_NAMED_SEGMENTS	(PG_VERSION_NUM >= 170000)
#if PG_VERSION_NUM >= 170000
#define compat_wait_event(name)		WaitEventExtensionNew(name)
#define compat_lxid(proc)			((proc)->vxid.lxid)
#define compat_process(proc)		((proc)->vxid.procNumber)
#define compat_vxid_process(vxid)	((vxid).procNumber)
#else
#define compat_wait_event(name)		PG_WAIT_EXTENSION
#define compat_lxid(proc)			((proc)->lxid)
#define compat_process(proc)		((proc)->backendId)
#define compat_vxid_process(vxid)	((vxid).backendId)
#endif

/* Whether the server has the minor version of the headers, so that all its structs are theirs. */
#define compat_headers_are_of_server() \
	(atoi(GetConfigOption("server_version_num", false, false)) == PG_VERSION_NUM)

/* From 18 on, a module has a name and a version; see fmgr.h. */
#ifdef PG_MODULE_MAGIC_EXT
#define COMPAT_MODULE_MAGIC(module_name, module_version) \
	PG_MODULE_MAGIC_EXT(.name = module_name, .version = module_version)
#else
#define COMPAT_MODULE_MAGIC(module_name, module_version) PG_MODULE_MAGIC
#endif

/*
 * From 19 on, the name of a tranche of LWLocks belongs to shared memory; before, each process
 * registers it.  From 19 on, the function that initializes a named segment has a second
 * argument, and each kind of process has its own level for the server log.
 */
#define COMPAT_SEGMENT_INIT_HAS_ARGUMENT	(PG_VERSION_NUM >= 190000)
#if PG_VERSION_NUM >= 190000
#define compat_new_tranche(name)			LWLockNewTrancheId(name)
#define compat_register_tranche(id, name)	((void) (id))
#else
#define compat_new_tranche(name)			LWLockNewTrancheId()
#define compat_register_tranche(id, name)	LWLockRegisterTranche(id, name)
#endif

/* From 18 on, the scan of an index counts its searches; from 19 on, it has flags. */
#if PG_VERSION_NUM >= 190000
#define compat_index_beginscan(table, index, snapshot, keys) \
	index_beginscan(table, index, snapshot, NULL, keys, 0, 0)
#elif PG_VERSION_NUM >= 180000
#define compat_index_beginscan(table, index, snapshot, keys) \
	index_beginscan(table, index, snapshot, NULL, keys, 0)
#else
#define compat_index_beginscan(table, index, snapshot, keys) \
	index_beginscan(table, index, snapshot, keys, 0)
#endif

/* Inserts the index entries of a speculative row. */
#if PG_VERSION_NUM >= 190000
#define compat_insert_index_tuples(result_rel, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples(result_rel, estate, EIIT_NO_DUPE_ERROR, slot, arbiters, conflict)
#elif PG_VERSION_NUM >= 160000
#define compat_insert_index_tuples(result_rel, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples(result_rel, slot, estate, false, true, conflict, arbiters, false)
#else
#define compat_insert_index_tuples(result_rel, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples(result_rel, slot, estate, false, true, conflict, arbiters)
#endif

#endif							/* SEQID_COMPAT_H */
