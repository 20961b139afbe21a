/*
 * text_input.h
 *	  Texts from users, which can have up to a gigabyte.
 */
#ifndef SEQID_TEXT_INPUT_H
#define SEQID_TEXT_INPUT_H

#include "postgres.h"

/* How much of a text an error message quotes. */
#define QUOTED_MAX_BYTES 64

/* The text for an error message: all of it, or its first characters and "...". */
extern char *seqid_quotable(const char *text, size_t bytes);

/*
 * The text of an argument that has at most max_bytes, of which what names the type.
 * Raises invalid_text_representation for a longer one, without decompressing it.
 */
extern text *seqid_short_text(Datum argument, int max_bytes, const char *what);

#endif							/* SEQID_TEXT_INPUT_H */
