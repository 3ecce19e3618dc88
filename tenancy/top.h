/*
 * tenancy/top.h - what tenants do at this moment: differences of their meters over a few seconds.
 *
 * Does:     keep two samples of every meter; give the tenants that did most between the older one
 *           and now, and what all did together.
 * Owns:     the samples in the meters.
 * May use:  base/, tenancy/.
 * Knows no: formats.
 * Threads:  the control thread.
 * Blocks:   no; takes time in proportion to the number of tenants.
 * Fails by: does not fail.
 * Limits:   two samples for each tenant that ever did something while anybody looked.
 * Promises: 1. Differences are over TEN_TOP_NS at least, and twice that plus the time since
 *              somebody looked last at most. 2. Any number may look at the same time.
 */
#ifndef TENANCY_TOP_H
#define TENANCY_TOP_H

#include "tenancy/registry.h"

#define TEN_TOP_NS 1000000000ull
/* A sample that is older tells of the past: then a new one is made, to be looked at later. */
#define TEN_TOP_OLD_NS (10 * TEN_TOP_NS)

enum ten_top_order { TEN_TOP_OPS, TEN_TOP_BYTES, TEN_TOP_THROTTLED, TEN_TOP_LATENCY };

struct ten_top {
    const struct ten_tenant *tenant;
    uint64_t value; /* what the order goes by */
    uint64_t read_ops;
    uint64_t write_ops;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t throttled;
    uint64_t p50_us; /* upper bounds of buckets; 0: no request about rows */
    uint64_t p99_us;
};

/* Of all tenants, listed or not. */
struct ten_top_sum {
    uint64_t over_ns; /* the time of the differences */
    uint64_t active;  /* tenants that did something */
    uint64_t read_ops;
    uint64_t write_ops;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t throttled;
};

/* At most limit, most first, ties by ID, only those that did something; *out_count says how many.
 * False: there is no sample yet that is young enough; one was made, and in TEN_TOP_NS there will be
 * an answer. now_ns: monotonic. */
bool ten_top_look(struct ten_registry *r, uint64_t now_ns, enum ten_top_order order,
                  struct ten_top *out, size_t limit, size_t *out_count,
                  struct ten_top_sum *out_sum) MUST_CHECK;

#endif
