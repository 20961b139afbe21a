/*
 * compat.h
 *	  What differs between PostgreSQL 13 and 18.
 *
 * Every test of PG_VERSION_NUM in seqid is in this file.  The rest of the
 * source calls what is defined here and does not know which server it is
 * compiled for.
 */
#ifndef SEQID_COMPAT_H
#define SEQID_COMPAT_H

#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/rel.h"

#if PG_VERSION_NUM < 130000 || PG_VERSION_NUM >= 190000
#error "seqid supports PostgreSQL 13 to 18"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

/* From 18 on a module can tell its name and version. */
#ifdef PG_MODULE_MAGIC_EXT
#define SEQID_MODULE_MAGIC(module_name, module_version) \
	PG_MODULE_MAGIC_EXT(.name = module_name, .version = module_version)
#else
#define SEQID_MODULE_MAGIC(module_name, module_version) PG_MODULE_MAGIC
#endif

/* Refuses settings of our prefix that do not exist; before 15 it warns. */
static inline void
compat_reserve_guc_prefix(const char *prefix)
{
#if PG_VERSION_NUM >= 150000
	MarkGUCPrefixReserved(prefix);
#else
	EmitWarningsOnPlaceholders(prefix);
#endif
}

/* Memory for the "extra" of a setting, which the server frees; NULL if none. */
static inline void *
compat_guc_malloc(size_t size)
{
#if PG_VERSION_NUM >= 160000
	return guc_malloc(LOG, size);
#else
	return malloc(size);
#endif
}

/* The name under which a wait shows in pg_stat_activity; before 17 it has none. */
static inline uint32
compat_wait_event(const char *name pg_attribute_unused())
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

/*
 * The most that a tuple of a B-tree can have.  BTMaxItemSize, which takes a page
 * in some versions and none in others; the value is the same in all.
 */
#define COMPAT_BTREE_MAX_ITEM_BYTES \
	(MAXALIGN_DOWN((BLCKSZ - \
					MAXALIGN(SizeOfPageHeaderData + 3 * sizeof(ItemIdData)) - \
					MAXALIGN(sizeof(BTPageOpaqueData))) / 3) - \
	 MAXALIGN(sizeof(ItemPointerData)))

static inline bool
compat_owns_relation(Oid relid, Oid user)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relid, user);
#else
	return pg_class_ownercheck(relid, user);
#endif
}

static inline bool
compat_may_read_all_settings(Oid user)
{
#if PG_VERSION_NUM >= 140000
	return has_privs_of_role(user, ROLE_PG_READ_ALL_SETTINGS);
#else
	return has_privs_of_role(user, DEFAULT_ROLE_READ_ALL_SETTINGS);
#endif
}

/* The timeline that the server writes.  Not during recovery. */
static inline TimeLineID
compat_insertion_timeline(void)
{
#if PG_VERSION_NUM >= 150000
	return GetWALInsertionTimeLine();
#else
	/* Set when this process found that recovery is over. */
	return ThisTimeLineID;
#endif
}

/* The number of the relation's file, within its database and tablespace. */
static inline uint32
compat_file_number(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_locator.relNumber;
#else
	return rel->rd_node.relNode;
#endif
}

/*
 * Whether the relation, or the file that it has now, was made by the transaction
 * that is open.  A parallel worker does not know that.
 */
static inline bool
compat_is_new_in_transaction(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	SubTransactionId file_subid = rel->rd_firstRelfilelocatorSubid;
#else
	SubTransactionId file_subid = rel->rd_firstRelfilenodeSubid;
#endif

	return rel->rd_createSubid != InvalidSubTransactionId ||
		file_subid != InvalidSubTransactionId;
}

/* The schema of an extension. */
static inline Oid
compat_extension_schema(Oid extension)
{
#if PG_VERSION_NUM >= 160000
	return get_extension_schema(extension);
#else
	Oid			schema = InvalidOid;
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return schema;
#endif
}

/*
 * Shared memory.
 *
 * From 17 on the server hands out named segments of dynamic shared memory on
 * demand, so nothing has to be reserved while it starts.  Before, a module
 * that is preloaded asks for its share, and one that is not takes a small
 * piece of the slack the server keeps for such callers.
 */
#if PG_VERSION_NUM >= 170000

#define COMPAT_SEGMENT_HINT \
	"Free some space in /dev/shm, or raise \"min_dynamic_shared_memory\" and restart the server."

static inline void
compat_reserve_segment(Size size pg_attribute_unused(),
					   void (*startup) (void) pg_attribute_unused())
{
}

/* Returns the segment of that name; the first caller creates and fills it. */
static inline void *
compat_attach_segment(const char *name, Size size, void (*init) (void *))
{
	bool		found;

	return GetNamedDSMSegment(name, size, init, &found);
}

#else

#define COMPAT_SEGMENT_HINT \
	"Add seqid to \"shared_preload_libraries\" and restart the server."

static Size compat_segment_size;
static void (*compat_segment_startup) (void);
static shmem_startup_hook_type compat_prev_shmem_startup_hook;
#if PG_VERSION_NUM >= 150000
static shmem_request_hook_type compat_prev_shmem_request_hook;

static inline void
compat_shmem_request(void)
{
	if (compat_prev_shmem_request_hook)
		compat_prev_shmem_request_hook();
	RequestAddinShmemSpace(compat_segment_size);
}
#endif

static inline void
compat_shmem_startup(void)
{
	if (compat_prev_shmem_startup_hook)
		compat_prev_shmem_startup_hook();
	compat_segment_startup();
}

/*
 * To be called from _PG_init while shared_preload_libraries is processed.
 * startup is called when shared memory has been created, and must attach, so
 * that nobody else can take the reserved room.
 */
static inline void
compat_reserve_segment(Size size, void (*startup) (void))
{
	compat_segment_size = size;
	compat_segment_startup = startup;
#if PG_VERSION_NUM >= 150000
	compat_prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = compat_shmem_request;
#else
	RequestAddinShmemSpace(size);
#endif
	compat_prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = compat_shmem_startup;
}

/* Returns the segment of that name; the first caller creates and fills it. */
static inline void *
compat_attach_segment(const char *name, Size size, void (*init) (void *))
{
	void	   *segment;
	bool		found;

	/* Nobody may see the segment before it is filled. */
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	segment = ShmemInitStruct(name, size, &found);
	if (!found)
		init(segment);
	LWLockRelease(AddinShmemInitLock);

	return segment;
}

#endif

#endif							/* SEQID_COMPAT_H */
