/*
 * jump.c
 *	  Announces the server's long jumps to AddressSanitizer.
 *
 * An error leaves functions by siglongjmp().  The sanitizer must then forget their frames,
 * and has its own siglongjmp() for that.  The server finds libc's first (SeqidBuild.pm),
 * so this library comes before both.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

extern void __asan_handle_no_return(void);

#define JUMP(function, name) \
	extern void function(void *env, int value) __asm__(name); \
	void function(void *env, int value) \
	{ \
		void		(*next) (void *, int) = (void (*) (void *, int)) dlsym(RTLD_NEXT, name); \
		__asan_handle_no_return(); \
		next(env, value); \
		abort(); \
	}

JUMP(jump, "siglongjmp")
JUMP(jump_checked, "__longjmp_chk")
