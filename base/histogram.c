/*
 * base/histogram.c - counters and histograms of durations that one thread writes and any reads.
 */
#include "base/histogram.h"

#include "base/err.h"

#include "base/banned.h"

uint64_t base_histogram_bound_ns(size_t bucket)
{
    INVARIANT(bucket < BASE_HISTOGRAM_BUCKETS);
    if (bucket == BASE_HISTOGRAM_BUCKETS - 1)
        return UINT64_MAX;
    return (uint64_t)BASE_HISTOGRAM_FIRST_NS << bucket;
}

void base_histogram_add(struct base_histogram *h, uint64_t ns)
{
    size_t bucket = 0;
    while (ns > base_histogram_bound_ns(bucket))
        bucket++;
    base_count_up(&h->count[bucket], 1);
    base_count_up(&h->sum_ns, ns);
}

void base_histogram_sum(struct base_histogram_now *into, const struct base_histogram *h)
{
    for (size_t i = 0; i < BASE_HISTOGRAM_BUCKETS; i++)
        into->count[i] += base_count_read(&h->count[i]);
    into->sum_ns += base_count_read(&h->sum_ns);
}
