/*
 * tenancy/activity.c - recently active tenants, and totals over all tenants.
 *
 * Each meter has two marks: the count of requests when marks were last made, and at the time before
 * that. Recent requests are those since the older mark, so that the period is never shorter than
 * TEN_ACTIVE_NS, and does not depend on how many callers ask how often.
 */
#include "tenancy/activity.h"

#include <stdlib.h>

#include "tenancy/internal.h"

#include "base/banned.h"

static uint64_t read_each(const struct ten_meter *m, enum ten_metered what)
{
    return atomic_load_explicit(&m->each[what], memory_order_relaxed);
}

/* Requests refused before any work was done count as well: a tenant that is refused all the time
 * deserves attention. */
static uint64_t requests_of(const struct ten_meter *m)
{
    return read_each(m, TEN_METER_READ_OPS) + read_each(m, TEN_METER_WRITE_OPS) +
           read_each(m, TEN_METER_OTHER_OPS) + read_each(m, TEN_METER_REFUSALS) +
           read_each(m, TEN_METER_ERRORS);
}

static bool is_before(const struct ten_active *a, const struct ten_active *b)
{
    if (a->requests != b->requests)
        return a->requests > b->requests;
    return base_slice_compare(ten_tenant_id(a->tenant), ten_tenant_id(b->tenant)) < 0;
}

static int compare(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : 1; /* no tenant occurs twice */
}

/* Restores the heap; its root is the last item in sort order. */
static void sift_down(struct ten_active *heap, size_t count)
{
    size_t at = 0;
    for (;;) {
        size_t last = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_before(&heap[last], &heap[child]))
                last = child;
        if (last == at)
            return;
        struct ten_active moved = heap[at];
        heap[at] = heap[last];
        heap[last] = moved;
        at = last;
    }
}

/* The first `limit` items are sorted in reverse, which is already a heap. */
static void keep(struct ten_active *out, size_t limit, size_t seen, struct ten_active item)
{
    if (seen < limit)
        out[seen] = item;
    if (seen + 1 == limit) {
        qsort(out, limit, sizeof out[0], compare);
        for (size_t i = 0; i < limit / 2; i++) {
            struct ten_active moved = out[i];
            out[i] = out[limit - 1 - i];
            out[limit - 1 - i] = moved;
        }
    }
    if (seen >= limit && limit > 0 && is_before(&item, &out[0])) {
        out[0] = item;
        sift_down(out, limit);
    }
}

static void add_thresholds(struct ten_activity *sum, const struct ten_tenant *t)
{
    for (size_t what = 0; what < TEN_USED_COUNT; what++) {
        uint8_t level = ten_threshold_level(t, (enum ten_used)what);
        for (size_t n = 0; level != 0 && n < TEN_THRESHOLDS; n++)
            sum->at_threshold[what][n] += level >= ten_threshold_percent(n);
    }
}

static void add_throttling(struct ten_activity *sum, const struct ten_meter *m)
{
    for (size_t p = 0; p < TEN_POLICY_COUNT; p++) {
        sum->throttled[p] += atomic_load_explicit(&m->throttled[p], memory_order_relaxed);
        sum->throttled_ns[p] += atomic_load_explicit(&m->throttled_ns[p], memory_order_relaxed);
    }
}

/* The state and its time are durable: the age is the same after a restart, and whether the purge
 * runs, waits or has failed. */
static void add_purging(struct ten_activity *sum, const struct ten_tenant *t)
{
    int64_t since_us = ten_tenant_details(t)->state_since_us;
    if (sum->purging_since_us == 0 || since_us < sum->purging_since_us)
        sum->purging_since_us = since_us;
}

size_t ten_activity_look(struct ten_registry *r, uint64_t now_ns, struct ten_active *out,
                         size_t limit, struct ten_activity *sum)
{
    ten_control_check(r);
    bool marks = now_ns - r->activity_marked_ns >= TEN_ACTIVE_NS;
    *sum = (struct ten_activity){.active = 0};
    for (size_t i = 0; i < r->tenant_count; i++) {
        struct ten_tenant *t = r->sorted[i];
        struct ten_meter *m = atomic_load_explicit(&t->meter, memory_order_acquire);
        sum->states[ten_tenant_state(t)]++;
        add_thresholds(sum, t);
        if (ten_tenant_state(t) == TEN_PURGING)
            add_purging(sum, t);
        if (m == NULL)
            continue;
        add_throttling(sum, m);
        uint64_t requests = requests_of(m);
        uint64_t lately = requests - m->marks[1];
        if (marks) {
            m->marks[1] = m->marks[0];
            m->marks[0] = requests;
        }
        if (lately > 0)
            keep(out, limit, sum->active++, (struct ten_active){t, lately});
    }
    if (marks)
        r->activity_marked_ns = now_ns;
    size_t count = sum->active < limit ? sum->active : limit;
    qsort(out, count, sizeof out[0], compare);
    return count;
}
