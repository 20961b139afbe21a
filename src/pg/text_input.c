/*
 * text_input.c
 *	  Strings from users, which can be up to a gigabyte long.
 *
 * A string that is too long to be valid is refused for its length alone, because reading it
 * would take seconds, during which the call cannot be cancelled.  Messages do not quote all of
 * a string, because that would copy it into the server log.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "pg/compat.h"
#include "pg/text_input.h"

char	   *
seqid_quotable(const char *text, size_t bytes)
{
	/* A character that begins within the limit can end beyond it. */
	int			looked_at = (int) Min(bytes, QUOTED_MAX_BYTES + MAX_MULTIBYTE_CHAR_LEN);

	if (bytes <= QUOTED_MAX_BYTES)
		return pnstrdup(text, bytes);
	return psprintf("%.*s...", pg_mbcliplen(text, looked_at, QUOTED_MAX_BYTES), text);
}

text	   *
seqid_short_text(Datum argument, int max_bytes, const char *what)
{
	Size		bytes = toast_raw_datum_size(argument) - VARHDRSZ;
	text	   *start;

	if (bytes <= (Size) max_bytes)
		return DatumGetTextPP(argument);

	start = DatumGetTextPSlice(argument, 0, QUOTED_MAX_BYTES + MAX_MULTIBYTE_CHAR_LEN);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input for %s: \"%s\"", what,
					seqid_quotable(VARDATA_ANY(start), VARSIZE_ANY_EXHDR(start))),
			 errdetail("It has %zu bytes, and at most %d are allowed.", bytes, max_bytes)));
}
