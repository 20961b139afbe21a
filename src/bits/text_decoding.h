/*
 * text_decoding.h
 *	  Result of decoding a number from text.
 */
#ifndef SEQID_TEXT_DECODING_H
#define SEQID_TEXT_DECODING_H

typedef enum TextDecoding
{
	TEXT_DECODED,
	TEXT_INVALID,				/* wrong characters, or wrong length */
	TEXT_OVERFLOWS				/* the number has too many bits */
} TextDecoding;

#endif							/* SEQID_TEXT_DECODING_H */
