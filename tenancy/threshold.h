/*
 * tenancy/threshold.h - soft thresholds: how near a tenant is to its quota.
 *
 * Does:     determines which of 80, 90 and 100 percent of its quota a tenant's usage has reached;
 *           detects changes, and reports them to a listener.
 * Owns:     ten_tenant.levels and .keys.
 * May use:  base/, storage/, tenancy/.
 * Knows no: logs, metrics; of API keys only how many there are.
 * Threads:  the pass on the control thread; levels are read from any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A level that lasts TEN_THRESHOLD_ROUND_MS is detected; one that comes and goes in
 *              between may not be. Writers pay nothing.
 *           2. Levels reached before the start are not reported again.
 */
#ifndef TENANCY_THRESHOLD_H
#define TENANCY_THRESHOLD_H

#include "tenancy/registry.h"

#define TEN_THRESHOLD_ROUND_MS 1000

/* Returns 0, 80, 90 or 100: the highest level that used has reached of limit. UINT64_MAX: no limit,
 * returns 0. */
uint8_t ten_threshold_of(uint64_t used, uint64_t limit);
/* Returns the level that the last pass found. */
static inline uint8_t ten_threshold_level(const struct ten_tenant *t, enum ten_used what)
{
    return atomic_load_explicit(&t->levels[what], memory_order_relaxed);
}

struct ten_threshold_event {
    const struct ten_tenant *tenant;
    const char *field; /* of the quota */
    uint8_t from;      /* percent */
    uint8_t to;
    uint64_t used;
    uint64_t limit;
};

enum { TEN_THRESHOLDS = 3 };
/* Returns the percentage of the n-th threshold: 80, 90, 100. */
uint8_t ten_threshold_percent(size_t n);
/* Returns the name of the quota field. */
const char *ten_threshold_field(enum ten_used what);

/* Since the start, of all tenants together. */
struct ten_threshold_counts {
    uint64_t reached[TEN_USED_COUNT][TEN_THRESHOLDS];
    uint64_t left[TEN_USED_COUNT][TEN_THRESHOLDS]; /* fell below it */
};
/* Control thread. */
const struct ten_threshold_counts *ten_threshold_counts(const struct ten_registry *r);

/* Sets the listener, which runs on the control thread. Set once, before or after the registry
 * serves. */
void ten_threshold_listen(struct ten_registry *r,
                          void (*told)(const struct ten_threshold_event *event));

/* --- keys: control thread --------------------------------------------------------------------- */

/* Sets the tenant's number of API keys; called by the holder of the keys. */
void ten_threshold_keys_set(struct ten_registry *r, struct ten_tenant *t, size_t keys);
/* Does the same for keys from before the start: levels they reach are not reported. */
void ten_threshold_keys_load(struct ten_registry *r, struct ten_tenant *t, size_t keys);

/* --- tenancy's own: control thread, or before it runs ----------------------------------------- */

/* Checks the next part of the tenants: all of them in TEN_THRESHOLD_ROUND_MS. */
void ten_threshold_tick(struct ten_registry *r, uint64_t tick_ms);
/* Checks all of them, without reports. */
void ten_threshold_load(struct ten_registry *r);

#endif
