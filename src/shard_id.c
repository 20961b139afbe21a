/*
 * shard_id.c
 *	  Ids that hold a client and an entity, and the hash that picks a shard.
 *
 *	 0 0 | client (22) | entity (40)
 */
#include "postgres.h"

#include "commands/sequence.h"
#include "common/hashfn.h"
#include "compat.h"
#include "fmgr.h"
#include "jump_hash.h"
#include "utils/uuid.h"

#define SHARD_ID_CLIENT_BITS	22
#define SHARD_ID_ENTITY_BITS	40
#define SHARD_ID_MAX_CLIENT		((INT64CONST(1) << SHARD_ID_CLIENT_BITS) - 1)
#define SHARD_ID_MAX_ENTITY		((INT64CONST(1) << SHARD_ID_ENTITY_BITS) - 1)
#define SHARD_ID_MAX \
	((INT64CONST(1) << (SHARD_ID_CLIENT_BITS + SHARD_ID_ENTITY_BITS)) - 1)

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
pack(int64 client, int64 entity)
{
	return client << SHARD_ID_ENTITY_BITS |
		checked_part(entity, SHARD_ID_MAX_ENTITY, "entity id");
}

/*
 * shard_id_pack(client_id bigint, entity_id bigint) returns bigint
 *	  Both in one id.  22003 unless client_id is below 2^22 and entity_id below
 *	  2^40, and neither negative.
 */
PG_FUNCTION_INFO_V1(shard_id_pack);
Datum
shard_id_pack(PG_FUNCTION_ARGS)
{
	int64		client = checked_part(PG_GETARG_INT64(0), SHARD_ID_MAX_CLIENT, "client id");

	PG_RETURN_INT64(pack(client, PG_GETARG_INT64(1)));
}

/*
 * shard_id_client(id bigint) returns bigint
 *	  The client of an id.  22003 unless id is from 0 to 2^62 - 1.
 */
PG_FUNCTION_INFO_V1(shard_id_client);
Datum
shard_id_client(PG_FUNCTION_ARGS)
{
	int64		id = checked_part(PG_GETARG_INT64(0), SHARD_ID_MAX, "packed id");

	PG_RETURN_INT64(id >> SHARD_ID_ENTITY_BITS);
}

/*
 * shard_id_entity(id bigint) returns bigint
 *	  The entity of an id.  22003 unless id is from 0 to 2^62 - 1.
 */
PG_FUNCTION_INFO_V1(shard_id_entity);
Datum
shard_id_entity(PG_FUNCTION_ARGS)
{
	int64		id = checked_part(PG_GETARG_INT64(0), SHARD_ID_MAX, "packed id");

	PG_RETURN_INT64(id & SHARD_ID_MAX_ENTITY);
}

/*
 * shard_id_nextval(client_id bigint, entities regclass) returns bigint
 *	  The client with the next value of a sequence.  22003 if one of them does
 *	  not fit; errors of nextval.
 */
PG_FUNCTION_INFO_V1(shard_id_nextval);
Datum
shard_id_nextval(PG_FUNCTION_ARGS)
{
	/* Checked first: a bad call takes no value from the sequence. */
	int64		client = checked_part(PG_GETARG_INT64(0), SHARD_ID_MAX_CLIENT, "client id");

	PG_RETURN_INT64(pack(client, nextval_internal(PG_GETARG_OID(1), true)));
}

static int32
checked_buckets(int32 buckets)
{
	if (buckets < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of buckets %d is out of range", buckets),
				 errdetail("There must be at least one bucket.")));
	return buckets;
}

/*
 * jump_hash(key bigint, buckets int) returns int
 *	  The bucket of a key, 0 to buckets - 1; the key goes in as it is.  22023
 *	  unless buckets is positive.
 */
PG_FUNCTION_INFO_V1(jump_hash_bigint);
Datum
jump_hash_bigint(PG_FUNCTION_ARGS)
{
	int32		buckets = checked_buckets(PG_GETARG_INT32(1));

	PG_RETURN_INT32(jump_hash_bucket((uint64) PG_GETARG_INT64(0), buckets));
}

/*
 * jump_hash(key text, buckets int) returns int
 *	  The same for a text, hashed by its bytes, whatever its collation.
 */
PG_FUNCTION_INFO_V1(jump_hash_text);
Datum
jump_hash_text(PG_FUNCTION_ARGS)
{
	text	   *key = PG_GETARG_TEXT_PP(0);
	int32		buckets = checked_buckets(PG_GETARG_INT32(1));
	uint64		hash = hash_bytes_extended((unsigned char *) VARDATA_ANY(key),
										   VARSIZE_ANY_EXHDR(key), 0);

	PG_FREE_IF_COPY(key, 0);
	PG_RETURN_INT32(jump_hash_bucket(hash, buckets));
}

/*
 * jump_hash(key uuid, buckets int) returns int
 *	  The same for a UUID, hashed by its bytes.
 */
PG_FUNCTION_INFO_V1(jump_hash_uuid);
Datum
jump_hash_uuid(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *key = PG_GETARG_UUID_P(0);
	int32		buckets = checked_buckets(PG_GETARG_INT32(1));

	PG_RETURN_INT32(jump_hash_bucket(hash_bytes_extended(key->data, UUID_LEN, 0),
									 buckets));
}
