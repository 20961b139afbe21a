/*
 * bitpack.c
 *	  Packs up to 63 fields into one bigint.
 *
 * A layout consists of the widths of its fields, in bits.  The first field has the highest
 * bits.  A packed id has no bits above its first field, so it is never negative.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#define MAX_BITS	63

typedef struct BitLayout
{
	int			fields;
	int			bits;			/* sum of the widths */
	int			width[MAX_BITS];
} BitLayout;

static int64
max_of_bits(int bits)
{
	return (int64) ((UINT64CONST(1) << bits) - 1);
}

/*
 * Returns the number of the array's elements, and stores the elements in *elements unless
 * there are more than MAX_BITS.  The caller must refuse such a number.
 */
static int
array_elements(ArrayType *array, Oid type, int16 size, const char *what, Datum **elements)
{
	int			count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a one-dimensional array", what)));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain nulls", what)));

	if (count <= MAX_BITS)
		deconstruct_array(array, type, size, true, size == 8 ? TYPALIGN_DOUBLE : TYPALIGN_INT,
						  elements, NULL, &count);
	return count;
}

static void
read_layout(ArrayType *widths, BitLayout *layout)
{
	Datum	   *elements;
	int			count = array_elements(widths, INT4OID, 4, "widths", &elements);

	if (count < 1 || count > MAX_BITS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of widths %d is out of range", count),
				 errdetail("A layout must have between 1 and %d fields.", MAX_BITS)));

	layout->fields = count;
	layout->bits = 0;
	for (int i = 0; i < count; i++)
	{
		int32		width = DatumGetInt32(elements[i]);

		if (width < 1 || width > MAX_BITS - layout->bits)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("width %d of field %d is out of range", width, i + 1),
					 errdetail("A field must have at least 1 bit, and all fields together can have at most %d.",
							   MAX_BITS)));
		layout->width[i] = width;
		layout->bits += width;
	}
}

/* Stores the fields of an id in fields[].  Raises 22003 for bits above the first field. */
static void
unpack(const BitLayout *layout, int64 id, int64 *fields)
{
	if (id < 0 || id > max_of_bits(layout->bits))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("packed id %lld is out of range", (long long) id),
				 errdetail("An id of %d bits must be between 0 and %lld.",
						   layout->bits, (long long) max_of_bits(layout->bits))));

	for (int i = layout->fields - 1; i >= 0; i--)
	{
		fields[i] = id & max_of_bits(layout->width[i]);
		id >>= layout->width[i];
	}
}

/* The id that contains fields (bigint[]), whose widths (int[]) are in bits. */
PG_FUNCTION_INFO_V1(bits_pack);
Datum
bits_pack(PG_FUNCTION_ARGS)
{
	BitLayout	layout;
	Datum	   *fields;
	int			count;
	int64		id = 0;

	read_layout(PG_GETARG_ARRAYTYPE_P(0), &layout);
	count = array_elements(PG_GETARG_ARRAYTYPE_P(1), INT8OID, 8, "fields", &fields);
	if (count != layout.fields || count > MAX_BITS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of fields %d does not match number of widths %d",
						count, layout.fields)));

	for (int i = 0; i < count; i++)
	{
		int64		field = DatumGetInt64(fields[i]);

		if (field < 0 || field > max_of_bits(layout.width[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("value %lld of field %d is out of range",
							(long long) field, i + 1),
					 errdetail("A field of %d bits must be between 0 and %lld.",
							   layout.width[i], (long long) max_of_bits(layout.width[i]))));

		/* The sum of the widths is at most 63, so no bit is lost. */
		id = (int64) ((uint64) id << layout.width[i]) | field;
	}
	PG_RETURN_INT64(id);
}

/* The fields (bigint[]) of an id.  22023 for invalid widths, 22003 if the id has more bits. */
PG_FUNCTION_INFO_V1(bits_unpack);
Datum
bits_unpack(PG_FUNCTION_ARGS)
{
	BitLayout	layout;
	int64		fields[MAX_BITS];
	Datum		elements[MAX_BITS];

	read_layout(PG_GETARG_ARRAYTYPE_P(0), &layout);
	unpack(&layout, PG_GETARG_INT64(1), fields);
	for (int i = 0; i < layout.fields; i++)
		elements[i] = Int64GetDatum(fields[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(elements, layout.fields, INT8OID, 8, true,
										  TYPALIGN_DOUBLE));
}

/* The binary digits of an id, with a vertical bar between fields. */
PG_FUNCTION_INFO_V1(bits_text);
Datum
bits_text(PG_FUNCTION_ARGS)
{
	BitLayout	layout;
	int64		fields[MAX_BITS];
	char		picture[2 * MAX_BITS];
	char	   *p = picture;

	read_layout(PG_GETARG_ARRAYTYPE_P(0), &layout);
	unpack(&layout, PG_GETARG_INT64(1), fields);
	for (int i = 0; i < layout.fields; i++)
	{
		if (i > 0)
			*p++ = '|';
		for (int bit = layout.width[i] - 1; bit >= 0; bit--)
			*p++ = (fields[i] >> bit) & 1 ? '1' : '0';
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(picture, p - picture));
}
