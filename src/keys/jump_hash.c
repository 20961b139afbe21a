/*
 * jump_hash.c
 *	  The bucket, or shard, of a key by consistent hashing; see jump_hash.h.
 *
 * Each type has a function of a name of its own.  Under one name, a driver that
 * sends its parameters untyped would get the one for text where another that sends
 * integers gets the one for bigint, and they would look for a key in different
 * places.
 */
#include "postgres.h"

#include "bits/jump_hash.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "pg/compat.h"
#include "utils/uuid.h"

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
PG_FUNCTION_INFO_V1(jump_hash);
Datum
jump_hash(PG_FUNCTION_ARGS)
{
	int32		buckets = checked_buckets(PG_GETARG_INT32(1));

	PG_RETURN_INT32(jump_hash_bucket((uint64) PG_GETARG_INT64(0), buckets));
}

/*
 * jump_hash_text(key text, buckets int) returns int
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
 * jump_hash_uuid(key uuid, buckets int) returns int
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
