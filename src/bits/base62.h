/*
 * base62.h
 *	  A number in the digits 0-9A-Za-z.
 */
#ifndef SEQID_BASE62_H
#define SEQID_BASE62_H

#include "postgres.h"

#include "bits/text_decoding.h"

#define BASE62_MAX_DIGITS	22	/* of 2^128 - 1 */

static const char base62_digits[] =
"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/*
 * Writes the digits without padding at the end of the buffer, and returns their number.
 */
static inline int
base62_write(uint128 number, char digits[BASE62_MAX_DIGITS])
{
	int			first = BASE62_MAX_DIGITS;
	uint64		low;

	/* A division of 128 bits costs several of 64. */
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

#endif							/* SEQID_BASE62_H */
