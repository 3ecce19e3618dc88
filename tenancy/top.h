/*
 * tenancy/top.h - current activity of tenants: differences of their meters over a few seconds.
 *
 * Does:     keeps two samples of every meter; returns the most active tenants between the older
 *           sample and now, and totals over all tenants.
 * Owns:     the samples in the meters.
 * May use:  base/, tenancy/.
 * Knows no: formats.
 * Threads:  the control thread.
 * Blocks:   no; takes time in proportion to the number of tenants.
 * Fails by: does not fail.
 * Limits:   two samples for each tenant that had activity while top was in use.
 * Promises: 1. Differences cover at least TEN_TOP_NS, and at most twice that plus the time since
 *              the previous call. 2. Any number of callers may use it at the same time.
 */
#ifndef TENANCY_TOP_H
#define TENANCY_TOP_H

#include "tenancy/registry.h"

#define TEN_TOP_NS 1000000000ull
/* A sample older than this is too old to compare with: a new one is made for later calls. */
#define TEN_TOP_OLD_NS (10 * TEN_TOP_NS)

enum ten_top_order { TEN_TOP_OPS, TEN_TOP_BYTES, TEN_TOP_THROTTLED, TEN_TOP_LATENCY };

struct ten_top {
    const struct ten_tenant *tenant;
    uint64_t value; /* the sort value of the order */
    uint64_t read_ops;
    uint64_t write_ops;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t throttled;
    uint64_t p50_us; /* upper bounds of buckets; 0: no request for rows */
    uint64_t p99_us;
};

/* Of all tenants, listed or not. */
struct ten_top_sum {
    uint64_t over_ns; /* the time of the differences */
    uint64_t active;  /* tenants with activity */
    uint64_t read_ops;
    uint64_t write_ops;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t throttled;
};

/* Writes at most limit tenants with activity, most active first, ties by ID; *out_count says how
 * many. False: no sample is recent enough; one was made, and a call after TEN_TOP_NS succeeds.
 * now_ns: monotonic. */
bool ten_top_look(struct ten_registry *r, uint64_t now_ns, enum ten_top_order order,
                  struct ten_top *out, size_t limit, size_t *out_count,
                  struct ten_top_sum *out_sum) MUST_CHECK;

#endif
