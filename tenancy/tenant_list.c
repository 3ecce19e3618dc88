/*
 * tenancy/tenant_list.c - by ID along the sorted array; in other orders the best of all tenants.
 *
 * The other orders keep the best `limit` tenants seen so far in a heap whose root is the worst of
 * them: a tenant that does not beat the root costs one comparison.
 */
#include "tenancy/tenant_list.h"

#include <stdlib.h>

#include "tenancy/internal.h"

#include "base/banned.h"

static bool fits(const struct ten_list_wanted *w, const struct ten_tenant *t)
{
    return base_slice_starts_with(ten_tenant_id(t), w->prefix) &&
           (w->state == 0 || ten_tenant_state(t) == w->state) &&
           (!w->has_plan || ten_tenant_details(t)->plan == w->plan);
}

static uint64_t value_of(enum ten_order order, const struct ten_tenant *t)
{
    switch (order) {
    case TEN_BY_ID:
        return 0;
    case TEN_BY_BYTES:
        return atomic_load_explicit(&t->account.total.bytes, memory_order_relaxed);
    case TEN_BY_ROWS:
        return atomic_load_explicit(&t->account.total.rows, memory_order_relaxed);
    case TEN_BY_CREATED:
        return (uint64_t)ten_tenant_details(t)->created_us;
    }
    INVARIANT(!"an order this program does not know");
    return 0;
}

/* Compares values; ties are ordered by ID, in the same direction. */
static int compare(uint64_t a_value, struct slice a_id, uint64_t b_value, struct slice b_id)
{
    if (a_value != b_value)
        return a_value < b_value ? -1 : 1;
    return base_slice_compare(a_id, b_id);
}

/* Returns whether a precedes b in the list. */
static bool is_before(const struct ten_list_wanted *w, const struct ten_listed *a,
                      const struct ten_listed *b)
{
    int order = compare(a->value, ten_tenant_id(a->tenant), b->value, ten_tenant_id(b->tenant));
    return w->descending ? order > 0 : order < 0;
}

static bool is_behind_place(const struct ten_list_wanted *w, const struct ten_listed *item)
{
    if (!w->has_after)
        return true;
    int order = compare(item->value, ten_tenant_id(item->tenant), w->after_value, w->after_id);
    return w->descending ? order < 0 : order > 0;
}

/* --- by ID ------------------------------------------------------------------------------------ */

static size_t by_id(struct ten_registry *r, const struct ten_list_wanted *w, struct ten_listed *out,
                    size_t limit)
{
    size_t from = ten_registry_bound(r, w->prefix, false);
    size_t to = from;
    size_t count = 0;
    if (w->has_after && !w->descending && base_slice_compare(w->after_id, w->prefix) >= 0)
        from = ten_registry_bound(r, w->after_id, true);
    if (!w->descending) {
        for (size_t i = from; i < r->tenant_count && count < limit; i++) {
            if (!base_slice_starts_with(ten_tenant_id(r->sorted[i]), w->prefix))
                break;
            if (fits(w, r->sorted[i]))
                out[count++] = (struct ten_listed){0, r->sorted[i]};
        }
        return count;
    }
    size_t end = w->has_after ? ten_registry_bound(r, w->after_id, false) : r->tenant_count;
    for (size_t i = end; i > to && count < limit; i--)
        if (fits(w, r->sorted[i - 1]))
            out[count++] = (struct ten_listed){0, r->sorted[i - 1]};
    return count;
}

/* --- in other orders -------------------------------------------------------------------------- */

static void sift_down(const struct ten_list_wanted *w, struct ten_listed *heap, size_t count,
                      size_t at)
{
    for (;;) {
        size_t worst = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_before(w, &heap[worst], &heap[child]))
                worst = child;
        if (worst == at)
            return;
        struct ten_listed moved = heap[at];
        heap[at] = heap[worst];
        heap[worst] = moved;
        at = worst;
    }
}

static void sift_up(const struct ten_list_wanted *w, struct ten_listed *heap, size_t at)
{
    while (at > 0 && is_before(w, &heap[(at - 1) / 2], &heap[at])) {
        struct ten_listed moved = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = moved;
        at = (at - 1) / 2;
    }
}

/* Moves the root, the worst, to the end, until the heap is the sorted list. */
static void unwind(const struct ten_list_wanted *w, struct ten_listed *heap, size_t count)
{
    for (size_t left = count; left > 1; left--) {
        struct ten_listed worst = heap[0];
        heap[0] = heap[left - 1];
        heap[left - 1] = worst;
        sift_down(w, heap, left - 1, 0);
    }
}

size_t ten_tenant_list_page(struct ten_registry *r, const struct ten_list_wanted *w,
                            struct ten_listed *out, size_t limit)
{
    ten_control_check(r);
    if (w->order == TEN_BY_ID || limit == 0)
        return by_id(r, w, out, limit);
    size_t count = 0;
    for (size_t i = ten_registry_bound(r, w->prefix, false); i < r->tenant_count; i++) {
        struct ten_listed item = {value_of(w->order, r->sorted[i]), r->sorted[i]};
        if (!base_slice_starts_with(ten_tenant_id(item.tenant), w->prefix))
            break;
        if (!fits(w, item.tenant) || !is_behind_place(w, &item))
            continue;
        if (count < limit) {
            out[count] = item;
            sift_up(w, out, count++);
        } else if (is_before(w, &item, &out[0])) {
            out[0] = item;
            sift_down(w, out, count, 0);
        }
    }
    unwind(w, out, count);
    return count;
}
