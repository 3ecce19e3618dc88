/*
 * tests/tenancy/ticks.h - waits for the registry's tick, which ends grace periods, checks
 * thresholds and runs the sweeper.
 *
 * Does:     wait until a number of ticks have completed their due work.
 * Owns:     nothing.
 * May use:  tenancy/, tests/tenancy/tent.h, libcheck.
 * Knows no: the due work.
 * Threads:  the test's main thread.
 * Blocks:   yes.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 */
#ifndef TESTS_TENANCY_TICKS_H
#define TESTS_TENANCY_TICKS_H

#include "tests/tenancy/tent.h"

#include "tenancy/internal.h"
#include "tenancy/sweeper.h"

struct tent_rounds_awaited {
    const struct ten_sweeper *sweeper;
    uint64_t rounds;
};

static inline bool tent_rounds_reached(void *arg)
{
    const struct tent_rounds_awaited *a = arg;
    return ten_sweeper_stats(a->sweeper).rounds >= a->rounds;
}

/* Waits until the registry has ticked `count` times since the call, and completed its due work.
 * With few tenants and nothing to sweep, each tick ends with a round of the sweeper. */
static inline void tent_await_ticks(struct tent *t, uint64_t count)
{
    struct tent_rounds_awaited a = {t->registry->sweeper, 0};
    a.rounds = ten_sweeper_stats(a.sweeper).rounds + count + 1; /* one is in progress */
    process_await(tent_rounds_reached, &a, "ticks of the registry");
}

#endif
