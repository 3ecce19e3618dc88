/*
 * base/memory.h - how many bytes everybody's requests may hold together, and each user of them.
 *
 * Does:     count bytes before they are allocated; refuse those that would leave the others too
 *           little.
 * Owns:     nothing: budgets and shares are plain structures.
 * May use:  base/.
 * Knows no: who the users are, what the bytes are.
 * Threads:  any; without a lock.
 * Blocks:   no.
 * Fails by: false.
 * Limits:   the budget's, and a share's own.
 * Promises: 1. A share never takes more than what is left for others then: one alone gets half
 *              of the budget, two a third each, and there is always something for the next one.
 *           2. The budget's limit is exceeded by base_memory_take_anyway only.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks up to this are not counted: how many there are is bounded by the requests under way. */
#define BASE_MEMORY_SMALL 4096

struct base_memory {
    size_t limit; /* set once, before there are shares */
    _Atomic size_t used;
    _Atomic uint64_t refused; /* times */
};

struct base_memory_share {
    struct base_memory *budget; /* NULL: none */
    size_t most;                /* 0: whatever promise 1 gives it */
    _Atomic size_t used;
};

static inline size_t base_memory_counted(size_t block_bytes)
{
    return block_bytes > BASE_MEMORY_SMALL ? block_bytes : 0;
}

/* A share that is NULL, or has no budget, takes everything, uncounted. */
bool base_memory_take(struct base_memory_share *s, size_t bytes);
/* What is there already, and cannot be refused. */
void base_memory_take_anyway(struct base_memory_share *s, size_t bytes);
void base_memory_give(struct base_memory_share *s, size_t bytes);

/* Has half of what it could get, or more: what can wait should. */
bool base_memory_is_scarce(const struct base_memory_share *s);
/* What it could hold at this moment, with what it holds. */
size_t base_memory_most(const struct base_memory_share *s);

#endif
