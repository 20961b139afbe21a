/*
 * text_forms.h
 *	  Numbers and UUIDs as text: base 62, Crockford's base 32, and TypeIDs.
 *
 * In base 32, a TSID has 13 digits for 64 bits.  A ULID and the suffix of a TypeID have 26
 * digits for 128 bits.  Because these digits have room for more bits, the range of the first
 * digit is limited.
 *
 * A TypeID, specification 0.3, is a prefix that names a type, an underscore, and the 26
 * digits of a UUID in lower case, without Crockford's substitutes.  An empty prefix has no
 * underscore.
 */
#ifndef SEQID_TEXT_FORMS_H
#define SEQID_TEXT_FORMS_H

#include "postgres.h"

typedef enum TextDecoding
{
	TEXT_DECODED,
	TEXT_INVALID,				/* wrong characters, or wrong length */
	TEXT_OVERFLOWS				/* the number has too many bits */
} TextDecoding;

#define BASE62_MAX_DIGITS		22	/* of 2^128 - 1 */
#define CROCKFORD32_DIGITS_64	13
#define CROCKFORD32_DIGITS_128	26
#define TYPEID_PREFIX_MAX		63
#define TYPEID_MAX				(TYPEID_PREFIX_MAX + 1 + CROCKFORD32_DIGITS_128)

static const char base62_digits[] =
"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char crockford32_upper[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char crockford32_lower[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* Writes the digits, without padding, to the end of the buffer.  Returns their number. */
static inline int
base62_write(uint128 number, char digits[BASE62_MAX_DIGITS])
{
	int			first = BASE62_MAX_DIGITS;
	uint64		low;

	/* A 128-bit division costs as much as several 64-bit divisions. */
	for (; number > PG_UINT64_MAX; number /= 62)
		digits[--first] = base62_digits[number % 62];

	low = (uint64) number;
	do
	{
		digits[--first] = base62_digits[low % 62];
		low /= 62;
	} while (low > 0);

	return BASE62_MAX_DIGITS - first;
}

/* The value of a digit, or -1 for any other character. */
static inline int
base62_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 36;
	return -1;
}

/*
 * Reads a number of at most max.  A wrong character makes the text invalid, even if the
 * digits before it overflow.
 */
static inline TextDecoding
base62_read(const char *text, size_t length, uint128 max, uint128 *number)
{
	TextDecoding result = length == 0 ? TEXT_INVALID : TEXT_DECODED;

	*number = 0;
	for (size_t i = 0; i < length; i++)
	{
		int			digit = base62_digit(text[i]);

		if (digit < 0)
			return TEXT_INVALID;
		if (*number > max / 62 || *number * 62 > max - digit)
			result = TEXT_OVERFLOWS;
		*number = *number * 62 + digit;
	}
	return result;
}

static inline void
crockford32_write(uint128 number, const char *alphabet, char *digits, int count)
{
	for (int i = count - 1; i >= 0; i--)
	{
		digits[i] = alphabet[number & 31];
		number >>= 5;
	}
}

/*
 * The value of a digit in either case, with I and L for 1 and O for 0, as Crockford
 * describes; -1 for any other character.
 */
static inline int
crockford32_digit(char c)
{
	const char *found;

	if (c >= 'a' && c <= 'z')
		c -= 'a' - 'A';
	if (c == 'I' || c == 'L')
		return 1;
	if (c == 'O')
		return 0;
	found = c == '\0' ? NULL : strchr(crockford32_upper, c);
	return found ? (int) (found - crockford32_upper) : -1;
}

/* Reads a number of at most max from count digits, with hyphens anywhere. */
static inline TextDecoding
crockford32_read(const char *text, size_t length, int count, uint128 max, uint128 *number)
{
	int			digits = 0;
	bool		overflow = false;

	*number = 0;
	for (size_t i = 0; i < length; i++)
	{
		int			digit;

		if (text[i] == '-')
			continue;
		digit = crockford32_digit(text[i]);
		if (digit < 0 || ++digits > count)
			return TEXT_INVALID;
		overflow = overflow || *number > max >> 5;
		*number = *number << 5 | (uint128) digit;
	}
	if (digits != count)
		return TEXT_INVALID;
	return overflow ? TEXT_OVERFLOWS : TEXT_DECODED;
}

/* Whether a prefix is empty, or has lower-case letters with underscores between them. */
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

/* Reads the UUID and the length of the prefix; false if the text is not a TypeID. */
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

#endif							/* SEQID_TEXT_FORMS_H */
