/*
 * crockford32.h
 *	  A number in a fixed count of digits of Crockford's base 32.
 *
 * 13 digits hold 64 bits, as TSIDs are written; 26 digits hold 128 bits, as ULIDs and the
 * suffixes of TypeIDs are written.  The first digit has room for more bits than that, so
 * its range is limited.
 */
#ifndef SEQID_CROCKFORD32_H
#define SEQID_CROCKFORD32_H

#include "postgres.h"

#include "bits/text_decoding.h"

#define CROCKFORD32_DIGITS_64	13
#define CROCKFORD32_DIGITS_128	26

static const char crockford32_upper[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char crockford32_lower[] = "0123456789abcdefghjkmnpqrstvwxyz";

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

#endif							/* SEQID_CROCKFORD32_H */
