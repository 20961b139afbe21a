/*
 * base62.h
 *	  Writes and reads a 64-bit number in the digits 0-9A-Za-z.
 */
#ifndef SEQID_BASE62_H
#define SEQID_BASE62_H

#include "postgres.h"

#include "bits/text_decoding.h"
#include "common/int.h"

#define BASE62_MAX_DIGITS	11	/* 2^64 - 1 has 11 digits */

static const char base62_digits[] =
"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/*
 * Writes the digits, without padding, to the end of the buffer, and returns their
 * number.
 */
static inline int
base62_write(uint64 id, char digits[BASE62_MAX_DIGITS])
{
	int			first = BASE62_MAX_DIGITS;

	do
	{
		digits[--first] = base62_digits[id % 62];
		id /= 62;
	} while (id > 0);

	return BASE62_MAX_DIGITS - first;
}

/* Returns the value of a digit, or -1 for any other character. */
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

/* Stores the number in *id, which is only valid if the result is TEXT_DECODED. */
static inline TextDecoding
base62_read(const char *text, size_t length, uint64 *id)
{
	bool		overflow = false;

	*id = 0;
	if (length == 0)
		return TEXT_INVALID;

	/*
	 * The loop goes on after an overflow, because an invalid character later
	 * in the text must be reported as such.
	 */
	for (size_t i = 0; i < length; i++)
	{
		int			digit = base62_digit(text[i]);

		if (digit < 0)
			return TEXT_INVALID;
		if (pg_mul_u64_overflow(*id, 62, id) ||
			pg_add_u64_overflow(*id, (uint64) digit, id))
			overflow = true;
	}
	return overflow ? TEXT_OVERFLOWS : TEXT_DECODED;
}

#endif							/* SEQID_BASE62_H */
