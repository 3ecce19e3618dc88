/*
 * storage/account.c - counters start at zero, ceilings at "none".
 *
 * 1. Only the tenant's committer stores to the counters, after the batch that changes them is
 *    durable; readers may see the three numbers of two neighbouring batches, never a torn number.
 */
#include "storage/account.h"

#include "base/limits.h"

#include "base/banned.h"

void sto_account_init(struct sto_account *a, uint32_t shard)
{
    a->shard = shard;
    atomic_init(&a->total.bytes, 0);
    atomic_init(&a->total.rows, 0);
    atomic_init(&a->total.cells, 0);
    atomic_init(&a->bytes_max, STO_NO_CEILING);
    atomic_init(&a->rows_max, STO_NO_CEILING);
    atomic_init(&a->cell_bytes_max, LIM_CELL_BYTES);
    atomic_init(&a->gate, 0);
    atomic_init(&a->reads_open, 0);
}

struct sto_usage sto_counters_read(const struct sto_counters *c)
{
    return (struct sto_usage){
        .bytes = atomic_load_explicit(&c->bytes, memory_order_relaxed),
        .rows = atomic_load_explicit(&c->rows, memory_order_relaxed),
        .cells = atomic_load_explicit(&c->cells, memory_order_relaxed),
    };
}
