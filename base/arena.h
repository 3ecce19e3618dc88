/*
 * base/arena.h - memory of one request: many small allocations, one free.
 *
 * Does:     bump allocation in chained blocks; copy slices in.
 * Owns:     every byte handed out, until base_arena_fini.
 * May use:  base/.
 * Knows no: destructors; nothing in an arena needs one.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: NULL beyond max, or when memory or its share of it is out; _always by ending the
 *           process when memory is out.
 * Limits:   max given at init, counted over all blocks; the share's. _always exceeds both.
 * Promises: 1. Addresses stay valid until fini. 2. Alignment fits any type. 3. Its blocks are
 *           counted in its share before they are allocated, but for small ones.
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
    size_t counted;                  /* in it */
};

void base_arena_init(struct arena *a, size_t max);
void base_arena_fini(struct arena *a);
/* From now on, and with what it holds: whose memory it is. */
void base_arena_charge(struct arena *a, struct base_memory_share *share);

/* NULL when max would be exceeded or memory is out. base_arena_zalloc zeroes. */
void *base_arena_alloc(struct arena *a, size_t bytes);
void *base_arena_zalloc(struct arena *a, size_t bytes);
/* The same for what cannot be refused any more, of a size that the program knows. */
void *base_arena_zalloc_always(struct arena *a, size_t bytes);
/* A copy of s; {NULL,0} for an empty s; ptr NULL with len > 0 means out of memory. */
struct slice base_arena_copy(struct arena *a, struct slice s);
/* A NUL-terminated copy, NULL when out. */
char *base_arena_text(struct arena *a, struct slice s);

#endif
