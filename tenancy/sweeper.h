/*
 * tenancy/sweeper.h - garbage cells go, a little at a time.
 *
 * Does:     walk round all tables that have gc rules and remove, through the write path, the cells
 *           that no read shows any more, at a bounded rate, while the service works.
 * Owns:     its ticker thread.
 * May use:  base/, storage/, tenancy/.
 * Knows no: what garbage is (storage/gc_rule.h), how it is removed (sto_drop_rows).
 * Threads:  start and stop from the opening thread; everything else is the control thread's.
 * Blocks:   stop waits for the portion under way.
 * Fails by: start: ERR_NO_MEMORY. A table that cannot be swept now is left for the next round.
 * Limits:   TEN_SWEEP_KEYS_PER_S stored keys looked at, TEN_SWEEP_PORTION at once; a tenth of one
 *           processor, however long a key takes. Up to 8 times as much in a table that is mostly
 *           garbage.
 * Promises: 1. Only cells that are garbage under the table's newest rules go (storage/engine.h).
 *           2. A table without rules, or that got no cells since it was swept and none of whose
 *              cells became too old, is not looked at, also after a restart.
 *           3. A pass that a stop interrupts goes on where it was.
 */
#ifndef TENANCY_SWEEPER_H
#define TENANCY_SWEEPER_H

#include <stdint.h>

#include "base/err.h"

struct ten_registry;
struct ten_sweeper;

#define TEN_SWEEP_KEYS_PER_S 50000
#define TEN_SWEEP_PORTION    4096
#define TEN_SWEEP_TICK_MS    100
#define TEN_SWEEP_KEY_NS     2000 /* a key that takes longer counts as several */
#define TEN_SWEEP_REST_S     1    /* at least, between two looks through a table */
#define TEN_SWEEP_AGES_S     60   /* the same of a table with ages, or a quarter of the shortest */

/* Fields of 0 stand for the values above; a server leaves all of them at 0. */
struct ten_sweeper_options {
    uint32_t tick_ms;
    uint32_t rest_ms;
    uint32_t keys_per_s;
};

enum err ten_sweeper_start(struct ten_registry *r, const struct ten_sweeper_options *options,
                           struct ten_sweeper **out) MUST_CHECK;
/* The control worker must still run. NULL is fine. */
void ten_sweeper_stop(struct ten_sweeper *s);

struct ten_sweep_stats {
    uint64_t rounds;            /* every table seen once */
    uint64_t keys;              /* looked at */
    uint64_t charged;           /* the same as taken off the allowance, TEN_SWEEP_KEYS_PER_S */
    uint64_t cells;             /* removed */
    uint64_t bytes;             /* of them */
    uint64_t uncollected_bytes; /* of all tables, as the last round estimated them */
    uint64_t saves;             /* of what a restart needs, each of many tables */
};
/* Any thread; numbers of slightly different moments. */
struct ten_sweep_stats ten_sweeper_stats(const struct ten_sweeper *s);
struct ten_sweep_stats ten_sweep_stats_of(const struct ten_registry *r);

/* For tests: starts no portion once `keys` are looked at. UINT64_MAX: goes on. Any thread. */
void ten_sweeper_test_hold_at(struct ten_sweeper *s, uint64_t keys);
/* For tests: a portion that takes ns or longer had to wait. Any thread. */
void ten_sweeper_test_slow_at(struct ten_sweeper *s, int64_t ns);

#endif
