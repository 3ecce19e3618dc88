/*
 * storage/rocksdb/slice_clock.c - decides when a slice on a reader has used up its time.
 *
 * Readers run at low priority, so elapsed time says little. Only after enough of it is the thread's
 * processor time read, which is a system call.
 *
 * When the watchdog reports a thread as overdue, the slice ends, not its request. One step may take
 * longer than BASE_WATCHDOG_MS for a good reason: a value of up to LIM_CELL_BYTES_HARD is read and
 * written out in one step, and takes as long the next time. If the request ended with an error,
 * such a row could never be read. A request that continues slice by slice is ended by its deadline,
 * its client, its key or its tenant, and waits while its tenant is over its rate.
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

/* Returns whether the thread has worked for as long as a slice may while others wait. */
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
