/*
 * base/banned.h - calls that this code base does not use; include it last.
 *
 * Does:     turns each forbidden name into a compile error.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: anything.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: refusing to compile.
 * Limits:   none.
 * Promises: 1. No unbounded string copy, locale- or time-zone-dependent call, shell or raw
 *              allocation is compiled outside base/alloc.c.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#undef alloca /* the C library makes it a macro */

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets
#pragma GCC poison scanf sscanf fscanf atoi atol atoll strtol strtoul strtoll strtoull
#pragma GCC poison gmtime localtime ctime rand srand alloca mktemp system popen
#ifndef BASE_ALLOC_IMPLEMENTATION
#pragma GCC poison malloc calloc realloc free strdup strndup
#endif

#endif
