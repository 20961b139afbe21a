/*
 * macros.h
 *	  What the models share.
 */
#define max(a, b)	((a) > (b) -> (a) : (b))
#define min(a, b)	((a) < (b) -> (a) : (b))
#define when(condition, action) \
	if :: condition -> action :: else fi
