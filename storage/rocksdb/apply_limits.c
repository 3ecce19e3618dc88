/*
 * storage/rocksdb/apply_limits.c - gate, deadline, quota: limits that can refuse an operation on
 * any row.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "storage/rocksdb/apply.h"

#include "base/banned.h"

enum err sto_rdb_gate_check(const struct sto_account *account, bool writes, struct errbuf *eb)
{
    uint32_t gate = atomic_load(&account->gate);
    if ((gate & STO_GATE_GONE) != 0)
        return base_fail(eb, ERR_GONE, "the tenant is being deleted");
    if ((gate & (writes ? STO_GATE_NO_WRITES : STO_GATE_NO_READS)) != 0)
        return base_fail(eb, ERR_SUSPENDED, "the tenant is suspended: %s are refused",
                         writes ? "writes" : "reads");
    return ERR_OK;
}

enum err sto_rdb_deadline_check(uint64_t deadline_ns, struct errbuf *eb)
{
    if (deadline_ns == 0 || base_monotonic_ns() < deadline_ns)
        return ERR_OK;
    return base_fail(eb, ERR_TIMEOUT, "the deadline passed before its turn came; nothing was done");
}

enum err sto_rdb_quota_check(const struct sto_account *account, const struct sto_usage *used,
                             const struct sto_delta *delta, struct errbuf *eb)
{
    uint64_t bytes_max = atomic_load_explicit(&account->bytes_max, memory_order_relaxed);
    uint64_t rows_max = atomic_load_explicit(&account->rows_max, memory_order_relaxed);
    if (delta->bytes > 0 &&
        (used->bytes > bytes_max || (uint64_t)delta->bytes > bytes_max - used->bytes))
        return base_fail(eb, ERR_QUOTA,
                         "stored bytes quota: %" PRIu64
                         " used, with garbage that was not removed yet, %" PRId64
                         " would be added, limit %" PRIu64 "; deletes still pass",
                         used->bytes, delta->bytes, bytes_max);
    if (delta->rows > 0 && (used->rows > rows_max || (uint64_t)delta->rows > rows_max - used->rows))
        return base_fail(eb, ERR_QUOTA,
                         "stored rows quota: %" PRIu64 " used, %" PRId64
                         " would be added, limit %" PRIu64 "; deletes still pass",
                         used->rows, delta->rows, rows_max);
    return ERR_OK;
}

enum err sto_rdb_change_quota_check(const struct sto_account *account, uint64_t used,
                                    uint64_t added, struct errbuf *eb)
{
    uint64_t max = atomic_load_explicit(&account->change_bytes_max, memory_order_relaxed);
    if (added == 0 || used <= max)
        return ERR_OK;
    return base_fail(eb, ERR_QUOTA,
                     "stored changes quota (change_bytes): %" PRIu64 " used, %" PRIu64
                     " would be added, limit %" PRIu64
                     "; changes go when change_stream_retention has passed, or with their "
                     "streams; deletes still pass",
                     used - added, added, max);
}
