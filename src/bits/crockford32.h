/*
 * crockford32.h
 *	  Writes and reads a UUID in 26 characters of Crockford's base 32.
 */
#ifndef SEQID_CROCKFORD32_H
#define SEQID_CROCKFORD32_H

#include "postgres.h"

#include "bits/text_decoding.h"
#include "bits/uuid_bits.h"

#define CROCKFORD32_DIGITS	26

static const char crockford32_digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static inline void
crockford32_write(UuidHalves halves, char digits[CROCKFORD32_DIGITS])
{
	for (int i = CROCKFORD32_DIGITS - 1; i >= 0; i--)
	{
		digits[i] = crockford32_digits[halves.low & 31];
		halves.low = halves.low >> 5 | halves.high << 59;
		halves.high >>= 5;
	}
}

/*
 * Returns the value of a digit, or -1 for any other character.  As Crockford specifies,
 * lower case is accepted, I and L are read as 1, and O is read as 0.
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
	found = c == '\0' ? NULL : strchr(crockford32_digits, c);
	return found ? (int) (found - crockford32_digits) : -1;
}

/*
 * Stores the UUID in *halves, which is only valid if the result is TEXT_DECODED.  Hyphens
 * are ignored.
 */
static inline TextDecoding
crockford32_read(const char *text, size_t length, UuidHalves *halves)
{
	int			digits = 0;
	bool		overflow = false;

	halves->high = halves->low = 0;
	for (size_t i = 0; i < length; i++)
	{
		int			digit;

		if (text[i] == '-')
			continue;
		digit = crockford32_digit(text[i]);
		if (digit < 0 || ++digits > CROCKFORD32_DIGITS)
			return TEXT_INVALID;
		if (digits == 1)
			overflow = digit > 7;
		halves->high = halves->high << 5 | halves->low >> 59;
		halves->low = halves->low << 5 | (uint64) digit;
	}
	if (digits != CROCKFORD32_DIGITS)
		return TEXT_INVALID;
	return overflow ? TEXT_OVERFLOWS : TEXT_DECODED;
}

#endif							/* SEQID_CROCKFORD32_H */
