/*
 * base/arena.h - memory of one request: many small allocations, one free.
 *
 * Does:     bump allocation in chained blocks; copies slices in.
 * Owns:     every allocated byte, until base_arena_fini.
 * May use:  base/.
 * Knows no: destructors; nothing in an arena needs one.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: NULL beyond max, or if memory or its share is exhausted; _always aborts the process if
 *           memory is exhausted.
 * Limits:   max set at init, counted over all blocks; the share's. _always exceeds both.
 * Promises: 1. Addresses stay valid until fini. 2. Alignment fits any type. 3. Blocks are counted
 *              in the share before they are allocated, except for small ones.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"

struct arena_block;
struct base_memory_share;

struct arena {
    struct arena_block *blocks;
    uint8_t *next;
    size_t left;
    size_t used;
    size_t max;
    struct base_memory_share *share; /* NULL: not counted */
    size_t counted;                  /* counted in the share */
};

void base_arena_init(struct arena *a, size_t max);
void base_arena_fini(struct arena *a);
/* Charges the memory held now and all later memory to this share. */
void base_arena_charge(struct arena *a, struct base_memory_share *share);

/* Allocate; NULL if max would be exceeded or memory is exhausted. base_arena_zalloc zeroes. */
void *base_arena_alloc(struct arena *a, size_t bytes);
void *base_arena_zalloc(struct arena *a, size_t bytes);
/* Allocates zeroed memory that cannot be refused any more, of a size that the program knows. */
void *base_arena_zalloc_always(struct arena *a, size_t bytes);
/* Returns a copy of s; {NULL,0} for an empty s; ptr NULL with len > 0 means out of memory. */
struct slice base_arena_copy(struct arena *a, struct slice s);
/* Returns a NUL-terminated copy; NULL if memory is exhausted. */
char *base_arena_text(struct arena *a, struct slice s);

#endif
