/*
 * tenancy/activity.h - which tenants did something lately, and what all tenants did together.
 *
 * Does:     walk all tenants once; add up states, thresholds and throttling; find the oldest purge;
 *           select the most active ones.
 * Owns:     the marks in the meters (tenancy/meter.h).
 * May use:  base/, tenancy/.
 * Knows no: who asks, formats.
 * Threads:  the control thread.
 * Blocks:   no; takes time in proportion to the number of tenants, some milliseconds for 100,000.
 * Fails by: does not fail.
 * Limits:   none here.
 * Promises: 1. A tenant that did something is active for TEN_ACTIVE_NS at least, and until it was
 *              looked at twice after that.
 *           2. At most as many as asked for are given, the most active ones; active counts all.
 */
#ifndef TENANCY_ACTIVITY_H
#define TENANCY_ACTIVITY_H

#include "tenancy/threshold.h"

#define TEN_ACTIVE_NS (5 * 60 * 1000000000ull)

struct ten_active {
    struct ten_tenant *tenant;
    uint64_t requests; /* lately, refused ones included */
};

struct ten_activity {
    uint64_t states[TEN_STATES];
    uint64_t throttled[TEN_POLICY_COUNT]; /* of all tenants, since the start */
    uint64_t throttled_ns[TEN_POLICY_COUNT];
    size_t at_threshold[TEN_USED_COUNT][TEN_THRESHOLDS]; /* tenants at this one or above */
    int64_t purging_since_us; /* of the tenant that has been PURGING for longest; 0: none is */
    size_t active;
};

/* Most active first, ties by ID; returns how many, at most limit. now_ns: monotonic. */
size_t ten_activity_look(struct ten_registry *r, uint64_t now_ns, struct ten_active *out,
                         size_t limit, struct ten_activity *sum);

#endif
