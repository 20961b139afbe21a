/*
 * text_decoding.h
 *	  How reading a number from its digits may end.
 */
#ifndef SEQID_TEXT_DECODING_H
#define SEQID_TEXT_DECODING_H

typedef enum TextDecoding
{
	TEXT_DECODED,
	TEXT_INVALID,				/* other characters, or not as many */
	TEXT_OVERFLOWS				/* more bits than there is room for */
} TextDecoding;

#endif							/* SEQID_TEXT_DECODING_H */
