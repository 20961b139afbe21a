/*
 * textcodec.c
 *	  Ids as text: base 62, Crockford's base 32, and TypeIDs.
 *
 * In base 62 and base 32, a negative bigint is the unsigned number that has the same bits.
 */
#include "postgres.h"

#include "bits/text_forms.h"
#include "bits/uuid_bits.h"
#include "fmgr.h"
#include "pg/compat.h"
#include "pg/text_input.h"
#include "utils/builtins.h"

#define MAX_UUID	(~(uint128) 0)

/* How a type is written, and the errors for invalid strings. */
typedef struct Encoding
{
	const char *name;
	TextDecoding (*read) (const char *text, size_t length, uint128 max, uint128 *number);
	int			bits;			/* of the type */
	const char *rule;			/* which strings are valid */
} Encoding;

static TextDecoding
read_crockford32(const char *text, size_t length, uint128 max, uint128 *number)
{
	return crockford32_read(text, length,
							max == MAX_UUID ? CROCKFORD32_DIGITS_128 : CROCKFORD32_DIGITS_64,
							max, number);
}

#define BASE62(bits) {"base 62", base62_read, bits, \
	"The text must have at least one digit, and only the digits 0-9, A-Z and a-z."}
#define CROCKFORD32(bits, digits) {"Crockford's base 32", read_crockford32, bits, \
	"The text must have " #digits " digits, which are 0-9 and the letters except U. It can have hyphens."}

static const Encoding base62_bigint = BASE62(64);
static const Encoding base62_uuid = BASE62(128);
static const Encoding crockford32_bigint = CROCKFORD32(64, 13);
static const Encoding crockford32_uuid = CROCKFORD32(128, 26);

static uint128
decode(Datum argument, const Encoding *encoding)
{
	/*
	 * This is enough for leading zeros and hyphens, and messages can quote
	 * all of it.
	 */
	text	   *input = seqid_short_text(argument, QUOTED_MAX_BYTES, encoding->name);
	uint128		number;
	TextDecoding result;

	result = encoding->read(VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input),
							encoding->bits == 64 ? PG_UINT64_MAX : MAX_UUID, &number);
	if (result == TEXT_INVALID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input for %s: \"%s\"", encoding->name, text_to_cstring(input)),
				 errdetail("%s", encoding->rule)));
	if (result == TEXT_OVERFLOWS)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value of %s \"%s\" is out of range", encoding->name, text_to_cstring(input)),
				 errdetail("It has more than %d bits.", encoding->bits)));
	return number;
}

static text *
encode_base62(uint128 number)
{
	char		digits[BASE62_MAX_DIGITS];
	int			count = base62_write(number, digits);

	return cstring_to_text_with_len(digits + BASE62_MAX_DIGITS - count, count);
}

static text *
encode_crockford32(uint128 number, int count)
{
	char		digits[CROCKFORD32_DIGITS_128];

	crockford32_write(number, crockford32_upper, digits, count);
	return cstring_to_text_with_len(digits, count);
}

static Datum
uuid_result(uint128 number)
{
	return UUIDPGetDatum(uuid_store(palloc(UUID_LEN), number));
}

/* The digits 0-9A-Za-z, at most 11, without leading zeros. */
PG_FUNCTION_INFO_V1(base62_encode_bigint);
Datum
base62_encode_bigint(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(encode_base62((uint64) PG_GETARG_INT64(0)));
}

/* Allows leading zeros.  22P02 for an invalid string, 22003 for more than 64 bits. */
PG_FUNCTION_INFO_V1(base62_decode_bigint);
Datum
base62_decode_bigint(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) decode(PG_GETARG_DATUM(0), &base62_bigint));
}

/* The digits 0-9A-Za-z, at most 22, without leading zeros. */
PG_FUNCTION_INFO_V1(base62_encode_uuid);
Datum
base62_encode_uuid(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(encode_base62(uuid_number(PG_GETARG_UUID_P(0))));
}

/* Allows leading zeros.  22P02 for an invalid string, 22003 for more than 128 bits. */
PG_FUNCTION_INFO_V1(base62_decode_uuid);
Datum
base62_decode_uuid(PG_FUNCTION_ARGS)
{
	return uuid_result(decode(PG_GETARG_DATUM(0), &base62_uuid));
}

/*
 * In collation "C", the results sort like the ids if these are not negative, and the results
 * for UUIDs sort like the UUIDs.
 */
PG_FUNCTION_INFO_V1(crockford32_encode_bigint);
Datum
crockford32_encode_bigint(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(encode_crockford32((uint64) PG_GETARG_INT64(0), CROCKFORD32_DIGITS_64));
}

/* Reads 13 digits.  22P02 for an invalid string, 22003 for more than 64 bits. */
PG_FUNCTION_INFO_V1(crockford32_decode_bigint);
Datum
crockford32_decode_bigint(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) decode(PG_GETARG_DATUM(0), &crockford32_bigint));
}

/* The 26 digits that a ULID has. */
PG_FUNCTION_INFO_V1(crockford32_encode_uuid);
Datum
crockford32_encode_uuid(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(encode_crockford32(uuid_number(PG_GETARG_UUID_P(0)), CROCKFORD32_DIGITS_128));
}

/* Reads 26 digits.  22P02 for an invalid string, 22003 for more than 128 bits. */
PG_FUNCTION_INFO_V1(crockford32_decode_uuid);
Datum
crockford32_decode_uuid(PG_FUNCTION_ARGS)
{
	return uuid_result(decode(PG_GETARG_DATUM(0), &crockford32_uuid));
}

/* The TypeID of a prefix and a UUID, such as order_01h455vb4pex5vsknk084sn02q. */
PG_FUNCTION_INFO_V1(typeid_encode);
Datum
typeid_encode(PG_FUNCTION_ARGS)
{
	text	   *prefix = seqid_short_text(PG_GETARG_DATUM(0), TYPEID_PREFIX_MAX, "TypeID prefix");
	int			length = VARSIZE_ANY_EXHDR(prefix);
	char		typeid[TYPEID_MAX];

	if (!typeid_prefix_is_valid(VARDATA_ANY(prefix), length))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input for TypeID prefix: \"%s\"", text_to_cstring(prefix)),
				 errdetail("A prefix has only lower-case letters and underscores, and begins and ends with a letter.")));
	length = typeid_write(VARDATA_ANY(prefix), length, uuid_number(PG_GETARG_UUID_P(1)), typeid);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(typeid, length));
}

/* Returns the text of a valid TypeID, and sets its UUID and the length of its prefix. */
static text *
checked_typeid(Datum argument, size_t *prefix_length, uint128 *uuid)
{
	text	   *input = seqid_short_text(argument, TYPEID_MAX, "TypeID");

	if (!typeid_read(VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input), prefix_length, uuid))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input for TypeID: \"%s\"",
						seqid_quotable(VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input))),
				 errdetail("A TypeID is 26 digits of base 32 in lower case, the first from 0 to 7, after an optional prefix and an underscore.")));
	return input;
}

/* The UUID of a TypeID with any prefix.  22P02 for an invalid string. */
PG_FUNCTION_INFO_V1(typeid_decode);
Datum
typeid_decode(PG_FUNCTION_ARGS)
{
	size_t		prefix_length;
	uint128		uuid;

	(void) checked_typeid(PG_GETARG_DATUM(0), &prefix_length, &uuid);
	return uuid_result(uuid);
}

/* The prefix of a TypeID, '' if it has none.  22P02 for an invalid string. */
PG_FUNCTION_INFO_V1(typeid_prefix);
Datum
typeid_prefix(PG_FUNCTION_ARGS)
{
	size_t		prefix_length;
	uint128		uuid;
	text	   *input = checked_typeid(PG_GETARG_DATUM(0), &prefix_length, &uuid);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(VARDATA_ANY(input), (int) prefix_length));
}
