/*
 * storage/rocksdb/slice_clock.c - when a slice on a reader has had its time.
 *
 * Readers run behind others, so the time that passes says little: only when enough of it has, the
 * thread's own is asked for, which is a system call.
 *
 * What the watchdog calls overdue ends the slice, not its request. One step may take longer than
 * BASE_WATCHDOG_MS for a good reason: a value of up to LIM_CELL_BYTES_HARD is read and written out
 * in one, and takes as long the next time. A request that ends with an error could never read such
 * a row; one that comes back for each slice is ended by its deadline, its client, its key or its
 * tenant, and waits for what its tenant owes.
 */
#include "storage/rocksdb/slice_clock.h"

#include "base/limits.h"
#include "base/watchdog.h"
#include "storage/rocksdb/pool.h"

#include "base/banned.h"

#define SHARED_NS (LIM_SLICE_SHARED_US * 1000)

void sto_rdb_slice_clock_start(struct rdb_slice_clock *k)
{
    k->steps_next = 0;
    sto_rdb_slice_clock_advance(k, 0);
    k->began_cpu_ns = base_thread_cpu_ns();
    k->due_ns = k->now_ns + SHARED_NS;
}

/* Whether the thread has worked for as long as a slice may, while others wait. */
static bool has_had_its_time(struct rdb_slice_clock *k, uint64_t steps)
{
    if (steps >= LIM_SLICE_STEPS_SHARED)
        return true;
    if (k->now_ns < k->due_ns)
        return false;
    uint64_t used_ns = base_thread_cpu_ns() - k->began_cpu_ns;
    if (used_ns < SHARED_NS)
        k->due_ns = k->now_ns + SHARED_NS - used_ns;
    return used_ns >= SHARED_NS;
}

bool sto_rdb_slice_clock_is_over(struct rdb_slice_clock *k, const struct rdb_pool *pool,
                                 uint64_t steps)
{
    if (steps >= LIM_SLICE_STEPS)
        return true;
    if (steps < RDB_CLOCK_STEPS)
        return false;
    return base_watchdog_is_overdue() || (sto_rdb_pool_is_busy(pool) && has_had_its_time(k, steps));
}
