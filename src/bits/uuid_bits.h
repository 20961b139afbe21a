/*
 * uuid_bits.h
 *	  A UUID as a number, and its version and variant (RFC 9562, section 4).
 *
 * The high half has the version in bits 15 to 12, and the low half the variant in its top two
 * bits.
 */
#ifndef SEQID_UUID_BITS_H
#define SEQID_UUID_BITS_H

#include "postgres.h"

#include "port/pg_bswap.h"
#include "utils/uuid.h"

static inline uint128
uuid_of_halves(uint64 high, uint64 low)
{
	return (uint128) high << 64 | low;
}

static inline uint128
uuid_number(const pg_uuid_t *uuid)
{
	uint64		halves[2];

	memcpy(halves, uuid->data, UUID_LEN);
	return uuid_of_halves(pg_ntoh64(halves[0]), pg_ntoh64(halves[1]));
}

/* Stores the number in *uuid, and returns uuid. */
static inline pg_uuid_t *
uuid_store(pg_uuid_t *uuid, uint128 number)
{
	uint64		halves[2] = {pg_hton64((uint64) (number >> 64)), pg_hton64((uint64) number)};

	memcpy(uuid->data, halves, UUID_LEN);
	return uuid;
}

/* Sets the version, and the variant of RFC 9562, which is 10. */
static inline uint128
uuid_stamp(uint64 high, uint64 low, int version)
{
	return uuid_of_halves((high & ~UINT64CONST(0xF000)) | (uint64) version << 12,
						  (low & ~(UINT64CONST(3) << 62)) | UINT64CONST(2) << 62);
}

/* Whether the UUID has the version, and the variant of RFC 9562. */
static inline bool
uuid_has_version(uint128 number, int version)
{
	return ((uint64) (number >> 64) & 0xF000) == (uint64) version << 12 &&
		(uint64) number >> 62 == 2;
}

#endif							/* SEQID_UUID_BITS_H */
