/*
 * jump.c
 *	  Tells AddressSanitizer of the server's long jumps.
 *
 * An error leaves functions by siglongjmp().  The sanitizer must forget what it
 * knows of their frames then, and does so in a function that it puts in the place
 * of libc's.  That does not happen here, as the server runs with libc before the
 * sanitizer, see scripts/hard/sanitized.sh; so we do it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>

typedef void (*Jump) (void *, int);

extern void __asan_handle_no_return(void);
extern void jump_sig(void *env, int value) __asm__("siglongjmp");
extern void jump_checked(void *env, int value) __asm__("__longjmp_chk");

static void
jump(const char *name, void *env, int value)
{
	Jump		next = (Jump) dlsym(RTLD_NEXT, name);

	__asan_handle_no_return();
	next(env, value);
	abort();
}

void
jump_sig(void *env, int value)
{
	jump("siglongjmp", env, value);
}

void
jump_checked(void *env, int value)
{
	jump("__longjmp_chk", env, value);
}
