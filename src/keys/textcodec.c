/*
 * textcodec.c
 *	  Ids as text: base 62 for a bigint, Crockford's base 32 for a UUID.
 *
 * JavaScript's numbers have 53 bits; these forms can travel through it, and
 * through a URL, as they are.
 */
#include "postgres.h"

#include "bits/base62.h"
#include "bits/crockford32.h"
#include "fmgr.h"
#include "pg/compat.h"
#include "pg/text_input.h"
#include "utils/builtins.h"

/*
 * The longest text that is read.  It has room for leading zeros in base 62, and for
 * hyphens in Crockford's base 32, and a message can quote all of it.
 */
#define ENCODED_MAX_BYTES QUOTED_MAX_BYTES

/* Raises an error unless the input was decoded. */
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
 *	  The digits 0-9A-Za-z of the id, without padding; a negative one counts as
 *	  the 64-bit number of the same bits.
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
 *	  The id that base62_encode made the text of.  22P02 for no text, other
 *	  characters or more than 64 bytes, 22003 for more than 64 bits.
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
 *	  Its 26 characters in Crockford's base 32, as ULIDs are written; they sort
 *	  as the UUIDs do.
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
 *	  The UUID of 26 characters: in either case, with I and L for 1, O for 0,
 *	  and hyphens anywhere, in at most 64 bytes.  22P02 for anything else, 22003
 *	  for more than 128 bits, that is a first character above 7.
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
