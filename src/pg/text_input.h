/*
 * text_input.h
 *	  Strings from users, which can be up to a gigabyte long.
 */
#ifndef SEQID_TEXT_INPUT_H
#define SEQID_TEXT_INPUT_H

/* The largest length of a string that an error message quotes in full. */
#define QUOTED_MAX_BYTES 64

/* Returns the string for an error message, or its first characters and "...". */
extern char *seqid_quotable(const char *text, size_t bytes);

/*
 * Returns the text of an argument that has at most max_bytes.  If it is longer, raises
 * invalid_text_representation without decompressing all of it.  The message contains "what",
 * the name of the type.
 */
extern text *seqid_short_text(Datum argument, int max_bytes, const char *what);

#endif							/* SEQID_TEXT_INPUT_H */
