/*
 * inputs.c
 *	  Makes inputs up for t/fuzz/rooms.c where libFuzzer is not wanted: a fixed series,
 *	  two thirds of it of characters that texts or lists consist of.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 1;

/* Sixty-four bits; Marsaglia's xorshift. */
static uint64_t
next_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Of any value, of a text, or of a list. */
static uint8_t
next_byte(int kind)
{
	static const char *const characters[] = {
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-",
		"0123456789,-,- "
	};
	uint64_t	number = next_number() >> 32;

	if (kind == 0)
		return (uint8_t) number;
	return (uint8_t) characters[kind - 1][number % strlen(characters[kind - 1])];
}

int
main(int argc, char **argv)
{
	int			count = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < count; i++)
	{
		int			kind = (int) ((next_number() >> 32) % 3);
		size_t		size = 1 + next_number() % 40;
		uint8_t    *data = malloc(size);

		/* The first byte chooses the subject. */
		data[0] = (uint8_t) i;
		for (size_t k = 1; k < size; k++)
			data[k] = next_byte(kind);
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	return count > 0 ? 0 : 1;
}
