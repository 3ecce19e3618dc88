/*
 * storage/rocksdb/slice_clock.h - decides when a slice on a reader has used up its time.
 *
 * Does:     reads the clock every few steps; compares steps and processor time with the limits of a
 *           slice, which are lower while others wait for a reader.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the data that the slice reads.
 * Threads:  the reader that runs the slice.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_SLICE_STEPS; while others wait, LIM_SLICE_STEPS_SHARED and LIM_SLICE_SHARED_US.
 * Promises: 1. A slice that is over has made at least RDB_CLOCK_STEPS steps: it makes progress.
 *           2. The time is at most RDB_CLOCK_STEPS steps old.
 */
#ifndef STORAGE_ROCKSDB_SLICE_CLOCK_H
#define STORAGE_ROCKSDB_SLICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct rdb_pool;

#define RDB_CLOCK_STEPS 16 /* between two readings of the clock */

struct rdb_slice_clock {
    uint64_t now_ns;       /* monotonic, at the last reading */
    uint64_t steps_next;   /* number of steps at which the clock is read again */
    uint64_t began_cpu_ns; /* the thread's processor time at the start */
    uint64_t due_ns;       /* earliest time of the next reading of the thread's processor time */
};

/* Call before the first step of a slice. */
void sto_rdb_slice_clock_start(struct rdb_slice_clock *k);

/* Call after each step; steps: of the slice so far. */
static inline void sto_rdb_slice_clock_advance(struct rdb_slice_clock *k, uint64_t steps)
{
    if (steps < k->steps_next)
        return;
    k->steps_next = steps + RDB_CLOCK_STEPS;
    k->now_ns = base_monotonic_ns();
}

static inline bool sto_rdb_slice_clock_is_late(const struct rdb_slice_clock *k,
                                               uint64_t deadline_ns)
{
    return deadline_ns != 0 && k->now_ns >= deadline_ns;
}

/* Returns whether the slice has to end here: by its steps, by its time while others wait, or
 * because the watchdog reports it. */
bool sto_rdb_slice_clock_is_over(struct rdb_slice_clock *k, const struct rdb_pool *pool,
                                 uint64_t steps);

#endif
