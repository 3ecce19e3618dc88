/*
 * storage/account.c - counters start at zero, ceilings at "none", limits at their default.
 *
 * 1. Only the tenant's committer stores to the counters, after the batch that changes them is
 *    durable. Readers may see numbers of two neighboring batches, but never a torn number.
 */
#include "storage/account.h"

#include <inttypes.h>

#include "base/banned.h"

void sto_account_init(struct sto_account *a, uint32_t shard)
{
    a->shard = shard;
    atomic_init(&a->total.bytes, 0);
    atomic_init(&a->total.rows, 0);
    atomic_init(&a->total.cells, 0);
    atomic_init(&a->bytes_max, STO_NO_CEILING);
    atomic_init(&a->rows_max, STO_NO_CEILING);
    atomic_init(&a->change_bytes_max, STO_NO_CEILING);
    atomic_init(&a->changes, NULL);
    atomic_init(&a->tokens_max, STO_NO_CEILING);
    for (enum sto_limit i = 0; i < STO_LIMIT_COUNT; i++)
        atomic_init(&a->limits[i], sto_limit_info(i)->standard);
    atomic_init(&a->gate, 0);
    atomic_init(&a->reads_open, 0);
    atomic_init(&a->range_tombstones, 0);
    atomic_init(&a->share.weight, STO_WEIGHT_DEFAULT);
    atomic_init(&a->share.reserved_per_s, 0);
    sto_fair_line_init(&a->writes, &a->share);
    sto_fair_line_init(&a->points, &a->share);
    sto_fair_line_init(&a->scans, &a->share);
}

void sto_account_share_set(struct sto_account *a, uint64_t weight, uint64_t reserved_ops_per_s)
{
    INVARIANT(weight >= 1);
    atomic_store(&a->share.weight, weight);
    atomic_store(&a->share.reserved_per_s, reserved_ops_per_s);
}

uint64_t sto_account_limit(const struct sto_account *a, enum sto_limit limit)
{
    INVARIANT(limit < STO_LIMIT_COUNT);
    return atomic_load_explicit(&a->limits[limit], memory_order_relaxed);
}

void sto_account_limit_set(struct sto_account *a, enum sto_limit limit, uint64_t value)
{
    const struct sto_limit_info *info = sto_limit_info(limit);
    INVARIANT(value == UINT64_MAX || (value >= 1 && value <= info->hard));
    atomic_store(&a->limits[limit], value == UINT64_MAX ? info->standard : value);
}

enum err sto_account_limit_check(const struct sto_account *a, enum sto_limit limit, uint64_t sent,
                                 struct errbuf *eb)
{
    const struct sto_limit_info *info = sto_limit_info(limit);
    uint64_t max = a == NULL ? info->hard : sto_account_limit(a, limit);
    if (sent <= max)
        return ERR_OK;
    bool is_own = a != NULL && max != info->standard;
    return base_fail(eb, ERR_TOO_BIG, "%s %" PRIu64 " %s; the limit is %" PRIu64 " (%s%s)",
                     info->subject, sent, info->unit, max, is_own ? "this tenant's " : "",
                     info->name);
}

struct sto_usage sto_counters_read(const struct sto_counters *c)
{
    return (struct sto_usage){
        .bytes = atomic_load_explicit(&c->bytes, memory_order_relaxed),
        .rows = atomic_load_explicit(&c->rows, memory_order_relaxed),
        .cells = atomic_load_explicit(&c->cells, memory_order_relaxed),
    };
}

uint64_t sto_account_change_bytes(const struct sto_account *a)
{
    const struct sto_change_sum *sum = atomic_load_explicit(&a->changes, memory_order_acquire);
    return sum == NULL ? 0 : atomic_load_explicit(&sum->bytes, memory_order_relaxed);
}
