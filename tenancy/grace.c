/*
 * tenancy/grace.c - tenants that wait for the end of a grace period, and when it has ended.
 *
 * The list is sorted by time, so that a check costs nothing while no tenant is due, however many
 * tenants there are. Held tenants are not in it: a release adds them again (hold.c).
 *
 * 1. It contains exactly the tenants that are in DELETE_REQUESTED and not held.
 * 2. A clock that jumps ahead starts no purge: the time that was left when the tenant was added to
 *    the list must pass as well. A process that starts with a wrong clock cannot know.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tenancy/internal.h"

#include "base/banned.h"

#define NS_PER_US 1000U
#define RETRY_NS  (10 * 1000000000ULL) /* after a failure, so that not every tick records one */

struct ten_waiting {
    struct ten_tenant *tenant;
    int64_t due_us;  /* wall clock */
    uint64_t due_ns; /* monotonic */
};

static struct ten_waiting waiting_of(struct ten_tenant *t)
{
    int64_t due_us = ten_tenant_details(t)->delete_at_us;
    int64_t now_us = base_wall_us();
    uint64_t left_us = due_us > now_us ? (uint64_t)(due_us - now_us) : 0;
    if (left_us > LIM_GRACE_US)
        left_us = LIM_GRACE_US; /* the clock was set back since */
    return (struct ten_waiting){t, due_us, base_monotonic_ns() + left_us * NS_PER_US};
}

static void reserve(struct ten_grace *g)
{
    if (g->count < g->capacity)
        return;
    size_t capacity = g->capacity == 0 ? 16 : g->capacity * 2;
    struct ten_waiting *larger = base_new_array(capacity, sizeof larger[0]);
    if (g->count > 0)
        memcpy(larger, g->waiting, g->count * sizeof larger[0]);
    base_free(g->waiting);
    g->waiting = larger;
    g->capacity = capacity;
}

void ten_grace_add(struct ten_registry *r, struct ten_tenant *t)
{
    struct ten_grace *g = &r->grace;
    struct ten_waiting added = waiting_of(t);
    reserve(g);
    size_t low = 0;
    size_t high = g->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->waiting[middle].due_us > added.due_us)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(g->waiting + low + 1, g->waiting + low, (g->count - low) * sizeof g->waiting[0]);
    g->waiting[low] = added;
    g->count++;
}

void ten_grace_remove(struct ten_registry *r, const struct ten_tenant *t)
{
    struct ten_grace *g = &r->grace;
    for (size_t i = 0; i < g->count; i++) {
        if (g->waiting[i].tenant != t)
            continue;
        g->count--;
        memmove(g->waiting + i, g->waiting + i + 1, (g->count - i) * sizeof g->waiting[0]);
        return;
    }
}

static int compare(const void *a, const void *b)
{
    const struct ten_waiting *left = a;
    const struct ten_waiting *right = b;
    return (left->due_us < right->due_us) - (left->due_us > right->due_us);
}

void ten_grace_load(struct ten_registry *r)
{
    struct ten_grace *g = &r->grace;
    for (size_t i = 0; i < r->tenant_count; i++) {
        struct ten_tenant *t = r->sorted[i];
        if (ten_tenant_state(t) != TEN_DELETE_REQUESTED || ten_tenant_details(t)->hold != NULL)
            continue;
        reserve(g);
        g->waiting[g->count++] = waiting_of(t);
    }
    if (g->count > 0)
        qsort(g->waiting, g->count, sizeof g->waiting[0], compare);
}

void ten_grace_tick(struct ten_registry *r)
{
    ten_control_check(r);
    struct ten_grace *g = &r->grace;
    while (g->count > 0 && !r->awaits_keys && !atomic_load(&r->stopping)) {
        const struct ten_waiting *first = &g->waiting[g->count - 1];
        uint64_t now_ns = base_monotonic_ns();
        if (first->due_us > base_wall_us() || first->due_ns > now_ns || g->retry_ns > now_ns)
            return;
        if (ten_offboard_grace_is_over(r, first->tenant, NULL) != ERR_OK) { /* is in the trail */
            g->retry_ns = now_ns + RETRY_NS;
            return;
        }
    }
}
