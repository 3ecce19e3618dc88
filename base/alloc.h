/*
 * base/alloc.h - the only door to the heap.
 *
 * Does:     allocate and free; two policies for what happens when memory is out.
 * Owns:     nothing.
 * May use:  base/err.h.
 * Knows no: arenas, buffers.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: base_new* abort (a process out of memory restarts, docs/decisions/0001); base_try_*
 *           return NULL.
 * Limits:   none here; callers bound sizes before they ask.
 * Promises: 1. base_new* never return NULL.
 *           2. Tests can make the n-th base_try_* call fail (base_alloc_fail_after).
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory for structures whose size the program knows. Aborts when memory is out. */
void *base_new(size_t bytes);
void *base_new_array(size_t count, size_t bytes_each);
/* A NUL-terminated copy of len bytes. */
char *base_new_text(const void *bytes, size_t len);

/* Memory whose size came from input; not zeroed; NULL when out. */
void *base_try_alloc(size_t bytes);
void *base_try_realloc(void *old, size_t bytes);

void base_free(void *ptr);
/* Overwrite then free; for secrets. */
void base_free_secret(void *ptr, size_t bytes);

/* Bytes that this thread has allocated less those it has freed, whoever did so by whatever way,
 * modulo 2^64: what a piece of work holds is the difference between two calls. Two loads. The same
 * number always where the heap does not count (sanitizers). */
uint64_t base_alloc_of_thread(void);

/* Blocks below LIM_KEPT_BLOCK_BYTES of the calling thread stay in the heap for up to ten seconds
 * once they are freed, also where together they are a larger one: for memory that is needed again
 * at once. */
void base_alloc_keep_freed(void);

/* Test tool: let `count` more base_try_* calls succeed, then fail all; negative switches it off. */
void base_alloc_fail_after(long count);

#endif
