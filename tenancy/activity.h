/*
 * tenancy/activity.h - recently active tenants, and totals over all tenants.
 *
 * Does:     walks all tenants once; adds up states, thresholds and throttling; finds the oldest
 *           purge; selects the most active tenants.
 * Owns:     the marks in the meters (tenancy/meter.h).
 * May use:  base/, tenancy/.
 * Knows no: who requests it, formats.
 * Threads:  the control thread.
 * Blocks:   no; takes time in proportion to the number of tenants, some milliseconds for 100,000.
 * Fails by: does not fail.
 * Limits:   none here.
 * Promises: 1. A tenant that did something stays active for at least TEN_ACTIVE_NS, and until two
 *              later passes have examined it.
 *           2. Returns at most `limit` tenants, the most active ones; `active` counts all active
 *              tenants.
 */
#ifndef TENANCY_ACTIVITY_H
#define TENANCY_ACTIVITY_H

#include "tenancy/threshold.h"

#define TEN_ACTIVE_NS (5 * 60 * 1000000000ull)

struct ten_active {
    struct ten_tenant *tenant;
    uint64_t requests; /* since the previous marks, refused ones included */
};

struct ten_activity {
    uint64_t states[TEN_STATES];
    uint64_t throttled[TEN_POLICY_COUNT]; /* of all tenants, since the start */
    uint64_t throttled_ns[TEN_POLICY_COUNT];
    size_t at_threshold[TEN_USED_COUNT][TEN_THRESHOLDS]; /* tenants at this threshold or above */
    int64_t purging_since_us; /* when the tenant that has been PURGING longest started; 0: none */
    size_t active;
};

/* Writes the most active tenants, ties by ID, to out; returns how many, at most limit. now_ns:
 * monotonic. */
size_t ten_activity_look(struct ten_registry *r, uint64_t now_ns, struct ten_active *out,
                         size_t limit, struct ten_activity *sum);

#endif
