/*
 * base/memory.h - a budget for the memory that requests hold, in total and per share.
 *
 * Does:     counts bytes before they are allocated; refuses allocations that would leave too little
 *           for other shares.
 * Owns:     nothing: budgets and shares are plain structures.
 * May use:  base/.
 * Knows no: what the shares belong to, what the bytes are for.
 * Threads:  any; without a lock.
 * Blocks:   no.
 * Fails by: false.
 * Limits:   the budget's, and a share's own.
 * Promises: 1. A share never takes more than it then leaves free: one share alone gets half of the
 *              budget, two get a third each, and some memory is always left for the next one.
 *           2. The budget's limit is exceeded by base_memory_take_anyway only.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks up to this size are not counted: their number is bounded by the requests in flight. */
#define BASE_MEMORY_SMALL 4096

struct base_memory {
    size_t limit; /* set once, before there are shares */
    _Atomic size_t used;
    _Atomic uint64_t refused; /* number of refused calls */
};

struct base_memory_share {
    struct base_memory *budget; /* NULL: no budget */
    size_t most;                /* maximum of used; 0: only promise 1 bounds it */
    _Atomic size_t used;
};

static inline size_t base_memory_counted(size_t block_bytes)
{
    return block_bytes > BASE_MEMORY_SMALL ? block_bytes : 0;
}

/* Takes bytes from the budget; returns false if they are refused. A share that is NULL, or has no
 * budget, takes any number, uncounted. */
bool base_memory_take(struct base_memory_share *s, size_t bytes);
/* Counts bytes that are already allocated and cannot be refused. */
void base_memory_take_anyway(struct base_memory_share *s, size_t bytes);
void base_memory_give(struct base_memory_share *s, size_t bytes);

/* Returns whether the share has half of its current maximum or more: work that can wait should
 * wait. */
bool base_memory_is_scarce(const struct base_memory_share *s);
/* Returns the current maximum of the share, the bytes that it holds included. */
size_t base_memory_most(const struct base_memory_share *s);

#endif
