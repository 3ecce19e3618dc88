/*
 * storage/garbage.c - bytes per addition, times additions.
 *
 * 1. A pass that found no additions, only cells that became too old, does not halve the sums: the
 *    cells that it removed belong to earlier additions.
 */
#include "storage/garbage.h"

#include "base/banned.h"

static uint64_t get(const _Atomic uint64_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

static void set(_Atomic uint64_t *n, uint64_t value)
{
    atomic_store_explicit(n, value, memory_order_relaxed);
}

void sto_garbage_load(struct sto_garbage *g, uint64_t bytes, uint64_t made_by, uint64_t seen)
{
    set(&g->bytes, bytes);
    set(&g->made_by, made_by);
    set(&g->seen, seen);
}

void sto_garbage_get(const struct sto_garbage *g, uint64_t *out_bytes, uint64_t *out_made_by)
{
    *out_bytes = get(&g->bytes);
    *out_made_by = get(&g->made_by);
}

void sto_garbage_removed(struct sto_garbage *g, uint64_t bytes, uint64_t additions)
{
    uint64_t made_by = additions - get(&g->seen);
    if (made_by > 0) {
        set(&g->bytes, get(&g->bytes) / 2);
        set(&g->made_by, get(&g->made_by) / 2 + made_by);
    }
    set(&g->bytes, get(&g->bytes) + bytes);
    set(&g->seen, additions);
}

uint64_t sto_garbage_estimate(const struct sto_garbage *g, uint64_t additions, uint64_t most)
{
    uint64_t made_by = get(&g->made_by), seen = get(&g->seen);
    if (made_by == 0 || additions <= seen)
        return 0;
    double each = (double)get(&g->bytes) / (double)made_by;
    double bytes = each * (double)(additions - seen);
    return bytes < (double)most ? (uint64_t)bytes : most;
}
