/*
 * tenant_key.c
 *	  Keys that contain a tenant and one of its entities.
 *
 * From the top, a key has the fields
 *
 *	 0 0 | tenant (22 bits) | entity (40 bits)
 */
#include "postgres.h"

#include "fmgr.h"
#include "pg/sequence_page.h"

#define TENANT_KEY_TENANT_BITS	22
#define TENANT_KEY_ENTITY_BITS	40
#define TENANT_KEY_MAX_TENANT		((INT64CONST(1) << TENANT_KEY_TENANT_BITS) - 1)
#define TENANT_KEY_MAX_ENTITY		((INT64CONST(1) << TENANT_KEY_ENTITY_BITS) - 1)
#define TENANT_KEY_MAX \
	((INT64CONST(1) << (TENANT_KEY_TENANT_BITS + TENANT_KEY_ENTITY_BITS)) - 1)

static int64
checked_part(int64 value, int64 max, const char *part)
{
	if (value < 0 || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s %lld is out of range", part, (long long) value),
				 errdetail("The %s must be between 0 and %lld.", part, (long long) max)));
	return value;
}

static int64
pack(int64 tenant, int64 entity)
{
	return tenant << TENANT_KEY_ENTITY_BITS |
		checked_part(entity, TENANT_KEY_MAX_ENTITY, "entity id");
}

/* The key of a tenant (22 bits) and an entity (40 bits).  22003 if either is out of range. */
PG_FUNCTION_INFO_V1(tenant_key_pack);
Datum
tenant_key_pack(PG_FUNCTION_ARGS)
{
	int64		tenant = checked_part(PG_GETARG_INT64(0), TENANT_KEY_MAX_TENANT, "tenant id");

	PG_RETURN_INT64(pack(tenant, PG_GETARG_INT64(1)));
}

/* The tenant of a key, its upper bits.  22003 for a number that is not a key. */
PG_FUNCTION_INFO_V1(tenant_key_tenant);
Datum
tenant_key_tenant(PG_FUNCTION_ARGS)
{
	int64		id = checked_part(PG_GETARG_INT64(0), TENANT_KEY_MAX, "tenant key");

	PG_RETURN_INT64(id >> TENANT_KEY_ENTITY_BITS);
}

/* The entity of a key, its lower 40 bits.  22003 for a number that is not a key. */
PG_FUNCTION_INFO_V1(tenant_key_entity);
Datum
tenant_key_entity(PG_FUNCTION_ARGS)
{
	int64		id = checked_part(PG_GETARG_INT64(0), TENANT_KEY_MAX, "tenant key");

	PG_RETURN_INT64(id & TENANT_KEY_MAX_ENTITY);
}

/* A key with the sequence's next value as entity.  22003 if either is out of range. */
PG_FUNCTION_INFO_V1(tenant_key_nextval);
Datum
tenant_key_nextval(PG_FUNCTION_ARGS)
{
	/* Check this first, so that an error does not use up a value. */
	int64		tenant = checked_part(PG_GETARG_INT64(0), TENANT_KEY_MAX_TENANT, "tenant id");

	PG_RETURN_INT64(pack(tenant, seqid_durable_nextval(PG_GETARG_OID(1), true)));
}
