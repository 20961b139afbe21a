/*
 * uuid_bits.h
 *	  A UUID as two numbers, and the bits that RFC 9562 gives a meaning.
 *
 * The first half is bytes 0 to 7, big-endian, with the version in bits 15 to
 * 12; the second half bytes 8 to 15, with the variant in its top two bits.
 */
#ifndef SEQID_UUID_BITS_H
#define SEQID_UUID_BITS_H

#include "postgres.h"

#include "port/pg_bswap.h"
#include "utils/uuid.h"

typedef struct UuidHalves
{
	uint64		high;
	uint64		low;
} UuidHalves;

static inline UuidHalves
uuid_halves(const pg_uuid_t *uuid)
{
	UuidHalves	halves;

	memcpy(&halves, uuid->data, UUID_LEN);
	halves.high = pg_ntoh64(halves.high);
	halves.low = pg_ntoh64(halves.low);
	return halves;
}

/* Stores the halves in *uuid, and returns uuid. */
static inline pg_uuid_t *
uuid_store(pg_uuid_t *uuid, UuidHalves halves)
{
	halves.high = pg_hton64(halves.high);
	halves.low = pg_hton64(halves.low);
	memcpy(uuid->data, &halves, UUID_LEN);
	return uuid;
}

static inline int
uuid_version(UuidHalves halves)
{
	return (int) ((halves.high >> 12) & 0xF);
}

/* RFC 9562's own variant is binary 10. */
static inline int
uuid_variant(UuidHalves halves)
{
	return (int) (halves.low >> 62);
}

static inline UuidHalves
uuid_stamp(UuidHalves halves, int version)
{
	halves.high = (halves.high & ~UINT64CONST(0xF000)) | (uint64) version << 12;
	halves.low = (halves.low & ~(UINT64CONST(3) << 62)) | UINT64CONST(2) << 62;
	return halves;
}

#endif							/* SEQID_UUID_BITS_H */
