/*
 * textcodec.c
 *	  Encodes ids as text: a bigint in base 62, a UUID in Crockford's base 32.
 *
 * These forms contain only letters and digits.  They can be part of a URL, and JavaScript
 * does not round them as it rounds numbers of more than 53 bits.
 */
#include "postgres.h"

#include "bits/base62.h"
#include "bits/crockford32.h"
#include "fmgr.h"
#include "pg/compat.h"
#include "pg/text_input.h"
#include "utils/builtins.h"

/*
 * Largest size of a text to be decoded.  It allows for leading zeros in base 62 and for
 * hyphens in Crockford's base 32, and error messages can quote the whole text.
 */
#define ENCODED_MAX_BYTES QUOTED_MAX_BYTES

/* Raises an error unless the decoding succeeded. */
static void
check_decoding(TextDecoding decoding, const char *format, text *input)
{
	if (decoding == TEXT_INVALID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input for %s: \"%s\"", format, text_to_cstring(input))));
	if (decoding == TEXT_OVERFLOWS)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value of %s \"%s\" is out of range", format, text_to_cstring(input))));
}

/*
 * base62_encode(id bigint) returns text
 *	  Returns the id in 1 to 11 digits 0-9A-Za-z, without padding.  A negative id is
 *	  encoded as the unsigned 64-bit number with the same bits.
 */
PG_FUNCTION_INFO_V1(base62_encode);
Datum
base62_encode(PG_FUNCTION_ARGS)
{
	char		digits[BASE62_MAX_DIGITS];
	int			count = base62_write((uint64) PG_GETARG_INT64(0), digits);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(digits + BASE62_MAX_DIGITS - count, count));
}

/*
 * base62_decode(encoded text) returns bigint
 *	  Returns the id of a text.  Leading zeros are accepted.
 *	  Errors: 22P02 if the text is empty, has other characters than 0-9A-Za-z, or has
 *	  more than 64 bytes; 22003 if the number has more than 64 bits.
 */
PG_FUNCTION_INFO_V1(base62_decode);
Datum
base62_decode(PG_FUNCTION_ARGS)
{
	text	   *input = seqid_short_text(PG_GETARG_DATUM(0), ENCODED_MAX_BYTES, "base 62");
	uint64		id;

	check_decoding(base62_read(VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input), &id),
				   "base 62", input);
	PG_RETURN_INT64((int64) id);
}

/*
 * crockford32_encode(id uuid) returns text
 *	  Returns the UUID in 26 characters of Crockford's base 32, the form of a ULID.
 *	  The texts sort like the UUIDs.
 */
PG_FUNCTION_INFO_V1(crockford32_encode);
Datum
crockford32_encode(PG_FUNCTION_ARGS)
{
	char		digits[CROCKFORD32_DIGITS];

	crockford32_write(uuid_halves(PG_GETARG_UUID_P(0)), digits);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(digits, CROCKFORD32_DIGITS));
}

/*
 * crockford32_decode(encoded text) returns uuid
 *	  Returns the UUID of a text that has 26 characters and any number of hyphens.  Both
 *	  cases are accepted, I and L are read as 1, and O is read as 0.
 *	  Errors: 22P02 if the text is not of this form or has more than 64 bytes; 22003 if
 *	  the first character is greater than 7, because the UUID would have more than
 *	  128 bits.
 */
PG_FUNCTION_INFO_V1(crockford32_decode);
Datum
crockford32_decode(PG_FUNCTION_ARGS)
{
	text	   *input = seqid_short_text(PG_GETARG_DATUM(0), ENCODED_MAX_BYTES,
										 "Crockford's base 32");
	UuidHalves	halves;

	check_decoding(crockford32_read(VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input), &halves),
				   "Crockford's base 32", input);
	PG_RETURN_UUID_P(uuid_store(palloc(UUID_LEN), halves));
}
