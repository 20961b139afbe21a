/*
 * textcodec.c
 *	  Ids as text: base 62 for a bigint, Crockford's base 32 for a UUID.
 *
 * JavaScript's numbers have 53 bits; these forms can travel through it, and
 * through a URL, as they are.
 */
#include "postgres.h"

#include "bits/uuid_bits.h"
#include "common/int.h"
#include "fmgr.h"
#include "server/compat.h"
#include "utils/builtins.h"

static const char base62_digits[] =
"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char crockford32_digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#define BASE62_MAX_DIGITS	11	/* of 2^64 - 1 */
#define CROCKFORD32_DIGITS	26

static void
report_invalid(const char *format, text *input)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input for %s: \"%s\"", format, text_to_cstring(input))));
}

static void
report_overflow(const char *format, text *input)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("value of %s \"%s\" is out of range", format, text_to_cstring(input))));
}

/* -1 for what is no digit. */
static int
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

/* As Crockford wants it read: in either case, I and L as 1, O as 0, no U. */
static int
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
 * base62_encode(id bigint) returns text
 *	  The digits 0-9A-Za-z of the id, without padding; a negative one counts as
 *	  the 64-bit number of the same bits.
 */
PG_FUNCTION_INFO_V1(base62_encode);
Datum
base62_encode(PG_FUNCTION_ARGS)
{
	uint64		id = (uint64) PG_GETARG_INT64(0);
	char		digits[BASE62_MAX_DIGITS];
	char	   *end = digits + BASE62_MAX_DIGITS;
	char	   *p = end;

	do
	{
		*--p = base62_digits[id % 62];
		id /= 62;
	} while (id > 0);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(p, end - p));
}

/*
 * base62_decode(encoded text) returns bigint
 *	  The id that base62_encode made the text of.  22P02 for no text or other
 *	  characters, 22003 for more than 64 bits.
 */
PG_FUNCTION_INFO_V1(base62_decode);
Datum
base62_decode(PG_FUNCTION_ARGS)
{
	text	   *input = PG_GETARG_TEXT_PP(0);
	const char *p = VARDATA_ANY(input);
	const char *end = p + VARSIZE_ANY_EXHDR(input);
	uint64		id = 0;
	bool		overflow = false;

	if (p == end)
		report_invalid("base 62", input);

	/* Rubbish at the end is rubbish, however large what stands before it. */
	for (; p < end; p++)
	{
		int			digit = base62_digit(*p);

		if (digit < 0)
			report_invalid("base 62", input);
		if (pg_mul_u64_overflow(id, 62, &id) || pg_add_u64_overflow(id, digit, &id))
			overflow = true;
	}
	if (overflow)
		report_overflow("base 62", input);
	PG_RETURN_INT64((int64) id);
}

/*
 * crockford32_encode(id uuid) returns text
 *	  Its 26 characters in Crockford's base 32, as ULIDs are written; they sort
 *	  as the UUIDs do.
 */
PG_FUNCTION_INFO_V1(crockford32_encode);
Datum
crockford32_encode(PG_FUNCTION_ARGS)
{
	UuidHalves	halves = uuid_halves(PG_GETARG_UUID_P(0));
	char		digits[CROCKFORD32_DIGITS];

	for (int i = CROCKFORD32_DIGITS - 1; i >= 0; i--)
	{
		digits[i] = crockford32_digits[halves.low & 31];
		halves.low = halves.low >> 5 | halves.high << 59;
		halves.high >>= 5;
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(digits, CROCKFORD32_DIGITS));
}

/*
 * crockford32_decode(encoded text) returns uuid
 *	  The UUID of 26 characters: in either case, with I and L for 1, O for 0,
 *	  and hyphens anywhere.  22P02 for anything else, 22003 for more than 128
 *	  bits, that is a first character above 7.
 */
PG_FUNCTION_INFO_V1(crockford32_decode);
Datum
crockford32_decode(PG_FUNCTION_ARGS)
{
	text	   *input = PG_GETARG_TEXT_PP(0);
	const char *p = VARDATA_ANY(input);
	const char *end = p + VARSIZE_ANY_EXHDR(input);
	UuidHalves	halves = {0, 0};
	int			digits = 0;
	bool		overflow = false;

	for (; p < end; p++)
	{
		int			digit;

		if (*p == '-')
			continue;
		digit = crockford32_digit(*p);
		if (digit < 0 || ++digits > CROCKFORD32_DIGITS)
			report_invalid("Crockford's base 32", input);
		if (digits == 1)
			overflow = digit > 7;
		halves.high = halves.high << 5 | halves.low >> 59;
		halves.low = halves.low << 5 | digit;
	}
	if (digits != CROCKFORD32_DIGITS)
		report_invalid("Crockford's base 32", input);
	if (overflow)
		report_overflow("Crockford's base 32", input);
	PG_RETURN_UUID_P(uuid_from_halves(halves));
}
