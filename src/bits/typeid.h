/*
 * typeid.h
 *	  TypeIDs, specification 0.3: a prefix that names a type, an underscore, and a UUID.
 *
 * The UUID has 26 digits of base 32 in lower case, without Crockford's substitutes.  An
 * empty prefix has no underscore.
 */
#ifndef SEQID_TYPEID_H
#define SEQID_TYPEID_H

#include "postgres.h"

#include "bits/crockford32.h"

#define TYPEID_PREFIX_MAX	63
#define TYPEID_MAX			(TYPEID_PREFIX_MAX + 1 + CROCKFORD32_DIGITS_128)

/* Lower-case letters, with underscores between them. */
static inline bool
typeid_prefix_is_valid(const char *prefix, size_t length)
{
	if (length == 0)
		return true;
	if (length > TYPEID_PREFIX_MAX || prefix[0] == '_' || prefix[length - 1] == '_')
		return false;
	for (size_t i = 0; i < length; i++)
	{
		if (prefix[i] != '_' && (prefix[i] < 'a' || prefix[i] > 'z'))
			return false;
	}
	return true;
}

/* Writes a TypeID with a valid prefix, and returns its length. */
static inline int
typeid_write(const char *prefix, int length, uint128 uuid, char typeid[TYPEID_MAX])
{
	memcpy(typeid, prefix, length);
	if (length > 0)
		typeid[length++] = '_';
	crockford32_write(uuid, crockford32_lower, typeid + length, CROCKFORD32_DIGITS_128);
	return length + CROCKFORD32_DIGITS_128;
}

/* Reads the UUID and the length of the prefix; false if the text is no TypeID. */
static inline bool
typeid_read(const char *text, size_t length, size_t *prefix_length, uint128 *uuid)
{
	const char *suffix;

	if (length < CROCKFORD32_DIGITS_128 || length > TYPEID_MAX)
		return false;
	*prefix_length = length - CROCKFORD32_DIGITS_128;
	suffix = text +*prefix_length;

	if (*prefix_length > 0)
	{
		--*prefix_length;
		if (*prefix_length == 0 || suffix[-1] != '_' ||
			!typeid_prefix_is_valid(text, *prefix_length))
			return false;
	}

	for (int i = 0; i < CROCKFORD32_DIGITS_128; i++)
	{
		int			digit = crockford32_digit(suffix[i]);

		if (digit < 0 || crockford32_lower[digit] != suffix[i])
			return false;
	}
	return crockford32_read(suffix, CROCKFORD32_DIGITS_128, CROCKFORD32_DIGITS_128,
							~(uint128) 0, uuid) == TEXT_DECODED;
}

#endif							/* SEQID_TYPEID_H */
