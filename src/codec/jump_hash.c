/*
 * jump_hash.c
 *	  Assigns keys to buckets by consistent hashing; see jump_hash.h for the source.
 *
 * The functions for different types have different names.  With one name, a driver that
 * sends parameters without a type would call the function for text, and a driver that
 * sends integers the function for bigint.  The two would look for a key in different
 * buckets.
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
				 errdetail("The number of buckets must be positive.")));
	return buckets;
}

/* The bucket of a key, from 0 to buckets - 1.  22023 if buckets is not positive. */
PG_FUNCTION_INFO_V1(jump_hash);
Datum
jump_hash(PG_FUNCTION_ARGS)
{
	int32		buckets = checked_buckets(PG_GETARG_INT32(1));

	PG_RETURN_INT32(jump_hash_bucket((uint64) PG_GETARG_INT64(0), buckets));
}

/* Hashes the bytes of the text in the encoding of the database, whatever the collation. */
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

/* Hashes all 16 bytes. */
PG_FUNCTION_INFO_V1(jump_hash_uuid);
Datum
jump_hash_uuid(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *key = PG_GETARG_UUID_P(0);
	int32		buckets = checked_buckets(PG_GETARG_INT32(1));

	PG_RETURN_INT32(jump_hash_bucket(hash_bytes_extended(key->data, UUID_LEN, 0),
									 buckets));
}
