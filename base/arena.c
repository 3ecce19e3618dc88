/*
 * base/arena.c - bump allocation in chained blocks.
 *
 * Mechanism: next/left describe the free part of the first block of the chain. A request that does
 * not fit gets a new block. A request that would fill most of a new block gets a block of its own,
 * chained second, and the first block stays in use: at most a quarter of a block is ever wasted.
 *
 * Invariants:
 *   1. used = allocated bytes plus the padding between them; used <= max.
 *   2. Every block starts aligned for any type (the header's size is a multiple of ALIGNMENT).
 */
#include "base/arena.h"

#include <stdalign.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/memory.h"

#include "base/banned.h"

#define ALIGNMENT       alignof(max_align_t)
#define BLOCK_BYTES_MIN ((size_t)4064) /* with header and the heap's own word: one page */
#define BLOCK_BYTES_MAX ((size_t)64 * 1024)
/* A giant arena gets blocks that are returned to the system when freed (LIM_KEPT_BLOCK_BYTES):
 * thousands of small ones would fragment the heap between other allocations. */
#define GIANT_FROM        ((size_t)16 * MIB)
#define BLOCK_BYTES_GIANT (2 * LIM_KEPT_BLOCK_BYTES)

struct arena_block {
    alignas(max_align_t) struct arena_block *next;
    alignas(max_align_t) uint8_t bytes[];
};

void base_arena_init(struct arena *a, size_t max)
{
    *a = (struct arena){.max = max};
}

void base_arena_fini(struct arena *a)
{
    if (a == NULL)
        return;
    struct arena_block *block = a->blocks;
    while (block != NULL) {
        struct arena_block *next = block->next;
        base_free(block);
        block = next;
    }
    if (a->counted > 0)
        base_memory_give(a->share, a->counted);
    *a = (struct arena){0};
}

void base_arena_charge(struct arena *a, struct base_memory_share *share)
{
    if (a->counted > 0) {
        base_memory_take_anyway(share, a->counted);
        base_memory_give(a->share, a->counted);
    }
    a->share = share;
}

static struct arena_block *block_new(struct arena *a, size_t payload_bytes)
{
    if (payload_bytes > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    size_t counted = base_memory_counted(payload_bytes);
    if (counted > 0 && !base_memory_take(a->share, counted))
        return NULL;
    struct arena_block *block = base_try_alloc(sizeof(struct arena_block) + payload_bytes);
    if (block == NULL)
        base_memory_give(a->share, counted);
    else
        a->counted += counted;
    return block;
}

/* Returns the next block's size: blocks grow with the arena, but never beyond the rest of max. */
static size_t next_block_bytes(const struct arena *a)
{
    size_t bytes = a->used;
    if (bytes < BLOCK_BYTES_MIN)
        bytes = BLOCK_BYTES_MIN;
    if (bytes >= GIANT_FROM)
        bytes = BLOCK_BYTES_GIANT;
    else if (bytes > BLOCK_BYTES_MAX)
        bytes = BLOCK_BYTES_MAX;
    return bytes < a->max - a->used ? bytes : a->max - a->used;
}

/* Chains a block of its own; the first block, if there is one, stays in use. */
static void *own_block_join(struct arena *a, struct arena_block *block, size_t bytes)
{
    if (a->blocks == NULL) {
        block->next = NULL;
        a->blocks = block;
    } else {
        block->next = a->blocks->next;
        a->blocks->next = block;
    }
    a->used += bytes;
    return block->bytes;
}

static void *alloc_own_block(struct arena *a, size_t bytes)
{
    struct arena_block *block = block_new(a, bytes);
    return block == NULL ? NULL : own_block_join(a, block, bytes);
}

static void *alloc_new_block(struct arena *a, size_t bytes)
{
    if (bytes > a->max - a->used)
        return NULL;
    size_t payload_bytes = next_block_bytes(a);
    if (bytes > payload_bytes / 4 * 3)
        return alloc_own_block(a, bytes);
    struct arena_block *block = block_new(a, payload_bytes);
    if (block == NULL)
        return NULL;
    block->next = a->blocks;
    a->blocks = block;
    a->next = block->bytes + bytes;
    a->left = payload_bytes - bytes;
    a->used += bytes;
    return block->bytes;
}

void *base_arena_alloc(struct arena *a, size_t bytes)
{
    INVARIANT(a->used <= a->max);
    if (bytes == 0)
        bytes = 1; /* so that success is never NULL */
    size_t padding = (ALIGNMENT - (uintptr_t)a->next % ALIGNMENT) % ALIGNMENT;
    if (a->left < padding || bytes > a->left - padding)
        return alloc_new_block(a, bytes);
    if (padding + bytes > a->max - a->used)
        return NULL;
    void *ptr = a->next + padding;
    a->next += padding + bytes;
    a->left -= padding + bytes;
    a->used += padding + bytes;
    return ptr;
}

void *base_arena_zalloc(struct arena *a, size_t bytes)
{
    void *ptr = base_arena_alloc(a, bytes);
    if (ptr != NULL)
        memset(ptr, 0, bytes);
    return ptr;
}

void *base_arena_zalloc_always(struct arena *a, size_t bytes)
{
    void *ptr = base_arena_zalloc(a, bytes);
    if (ptr != NULL)
        return ptr;
    size_t counted = base_memory_counted(bytes);
    struct arena_block *block = base_new(sizeof *block + bytes); /* zeroed */
    base_memory_take_anyway(a->share, counted);
    a->counted += counted;
    a->max += bytes;
    return own_block_join(a, block, bytes);
}

struct slice base_arena_copy(struct arena *a, struct slice s)
{
    if (s.len == 0)
        return SLICE_EMPTY;
    void *ptr = base_arena_alloc(a, s.len);
    if (ptr != NULL)
        memcpy(ptr, s.ptr, s.len);
    return base_slice(ptr, s.len);
}

char *base_arena_text(struct arena *a, struct slice s)
{
    if (s.len == SIZE_MAX)
        return NULL;
    char *text = base_arena_alloc(a, s.len + 1);
    if (text == NULL)
        return NULL;
    if (s.len > 0)
        memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    return text;
}
