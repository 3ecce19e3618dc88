/*
 * storage/garbage.h - an estimate of what of a table is garbage that the sweeper has not removed.
 *
 * Does:     remember what passes of the sweeper removed for what was added, newer ones more; say
 *           what that makes of what was added since.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: rules, passes, tables.
 * Threads:  one writes; any reads, numbers of slightly different moments.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Nothing was added, or nothing was ever removed: 0.
 *           2. Passes that remove the same for the same additions: that, but for rounding.
 */
#ifndef STORAGE_GARBAGE_H
#define STORAGE_GARBAGE_H

#include <stdatomic.h>
#include <stdint.h>

/* All 0: nothing is known. */
struct sto_garbage {
    _Atomic uint64_t bytes;   /* that passes removed, half as many with each newer pass */
    _Atomic uint64_t made_by; /* additions that they came from, likewise */
    _Atomic uint64_t seen;    /* of the table's additions, those before the newest pass began */
};

/* As it was got. 0 and 0: what passes removed is forgotten, since it says nothing of new rules. */
void sto_garbage_load(struct sto_garbage *g, uint64_t bytes, uint64_t made_by, uint64_t seen);
void sto_garbage_get(const struct sto_garbage *g, uint64_t *out_bytes, uint64_t *out_made_by);

/* A pass has ended that removed so many bytes. additions: the table's when it began. */
void sto_garbage_removed(struct sto_garbage *g, uint64_t bytes, uint64_t additions);

/* Bytes, at most `most`. additions: the table's now. */
uint64_t sto_garbage_estimate(const struct sto_garbage *g, uint64_t additions, uint64_t most);

#endif
