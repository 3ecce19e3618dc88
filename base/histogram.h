/*
 * base/histogram.h - counters and histograms of durations that one thread writes and any reads.
 *
 * Does:     counts up without a lock and without an atomic read-modify-write; adds the counts of
 *           several writers for a reader.
 * Owns:     nothing; embedded in the counted object.
 * May use:  base/.
 * Knows no: the meaning of the counts.
 * Threads:  one writer of each; any reader.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   BASE_HISTOGRAM_BUCKETS; the last bounded one ends at 16.384 s.
 * Promises: 1. A reader never sees a counter decrease, and eventually sees every count.
 *           2. A duration is in the first bucket whose bound it does not exceed.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define BASE_HISTOGRAM_BUCKETS  20
#define BASE_HISTOGRAM_FIRST_NS 62500 /* bounds: this, twice this, four times, ... */

struct base_histogram {
    _Atomic uint64_t count[BASE_HISTOGRAM_BUCKETS];
    _Atomic uint64_t sum_ns;
};

/* Sums of one or several histograms; starts zeroed. */
struct base_histogram_now {
    uint64_t count[BASE_HISTOGRAM_BUCKETS];
    uint64_t sum_ns;
};

/* Adds to a counter. Called by its one writer only. */
static inline void base_count_up(_Atomic uint64_t *counter, uint64_t by)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + by, memory_order_relaxed);
}

static inline uint64_t base_count_read(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Returns the largest duration in a bucket; UINT64_MAX for the last one. */
uint64_t base_histogram_bound_ns(size_t bucket);
void base_histogram_add(struct base_histogram *h, uint64_t ns);
void base_histogram_sum(struct base_histogram_now *into, const struct base_histogram *h);

#endif
