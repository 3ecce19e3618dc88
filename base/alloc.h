/*
 * base/alloc.h - the only access to the heap.
 *
 * Does:     allocates and frees; two policies for exhausted memory.
 * Owns:     nothing.
 * May use:  base/err.h.
 * Knows no: arenas, buffers.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: base_new* abort (a process out of memory restarts, docs/decisions/0001); base_try_*
 *           return NULL.
 * Limits:   none here; callers bound sizes before they allocate.
 * Promises: 1. base_new* never return NULL.
 *           2. Tests can make the n-th base_try_* call fail (base_alloc_fail_after).
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* Allocate zeroed memory for structures whose size the program knows. Abort if memory is
 * exhausted. */
void *base_new(size_t bytes);
void *base_new_array(size_t count, size_t bytes_each);
/* Returns a NUL-terminated copy of len bytes. */
char *base_new_text(const void *bytes, size_t len);

/* Allocate memory whose size came from input; not zeroed; NULL if memory is exhausted. */
void *base_try_alloc(size_t bytes);
void *base_try_realloc(void *old, size_t bytes);

void base_free(void *ptr);
/* Overwrites, then frees; for secrets. */
void base_free_secret(void *ptr, size_t bytes);

/* Returns the bytes that this thread has allocated minus those it has freed, by any allocator call
 * of any library, modulo 2^64. The memory held by a piece of work is the difference between two
 * calls. Costs two loads. Always returns the same number where the heap does not count
 * (sanitizers). */
uint64_t base_alloc_of_thread(void);

/* Keeps freed blocks below LIM_KEPT_BLOCK_BYTES of the calling thread in the heap for up to ten
 * seconds, also where they form a larger block together: for memory that is soon needed again. */
void base_alloc_keep_freed(void);

/* Test tool: lets `count` more base_try_* calls succeed, then fails all; a negative count turns it
 * off. */
void base_alloc_fail_after(long count);

#endif
