/*
 * storage/garbage.h - an estimate of a table's garbage that the sweeper has not removed yet.
 *
 * Does:     records how many bytes the sweeper's passes removed per addition, newer passes weighted
 *           higher; estimates from that the garbage among the cells added since.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: rules, passes, tables.
 * Threads:  one writes; any reads, numbers of slightly different moments.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. If nothing was added, or nothing was ever removed, the estimate is 0.
 *           2. If all passes remove the same for the same additions, the estimate is exactly that,
 *              except for rounding.
 */
#ifndef STORAGE_GARBAGE_H
#define STORAGE_GARBAGE_H

#include <stdatomic.h>
#include <stdint.h>

/* All 0: nothing is known. */
struct sto_garbage {
    _Atomic uint64_t bytes;   /* removed by passes; older ones are halved with each newer pass */
    _Atomic uint64_t made_by; /* additions that these came from, halved likewise */
    _Atomic uint64_t seen;    /* the table's additions before the start of the newest pass */
};

/* Restores an estimate: bytes and made_by from sto_garbage_get, and the additions seen. bytes 0 and
 * made_by 0: discards the removals of earlier passes, because they say nothing about new rules. */
void sto_garbage_load(struct sto_garbage *g, uint64_t bytes, uint64_t made_by, uint64_t seen);
void sto_garbage_get(const struct sto_garbage *g, uint64_t *out_bytes, uint64_t *out_made_by);

/* Records a finished pass. additions: the table's when the pass started. */
void sto_garbage_removed(struct sto_garbage *g, uint64_t bytes, uint64_t additions);

/* Estimates the bytes, at most `most`. additions: the table's now. */
uint64_t sto_garbage_estimate(const struct sto_garbage *g, uint64_t additions, uint64_t most);

#endif
