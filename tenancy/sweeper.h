/*
 * tenancy/sweeper.h - removes garbage cells in small portions.
 *
 * Does:     scans all tables that have gc rules in a cycle and removes, through the write path, the
 *           cells that no read shows any more, at a bounded rate, while the service works.
 * Owns:     its ticker thread.
 * May use:  base/, storage/, tenancy/.
 * Knows no: what garbage is (storage/gc_rule.h), how it is removed (sto_drop_rows).
 * Threads:  start and stop from the opening thread; everything else is the control thread's.
 * Blocks:   stop waits for the portion in progress.
 * Fails by: start: ERR_NO_MEMORY. A table that cannot be swept now is left for the next round.
 * Limits:   TEN_SWEEP_KEYS_PER_S stored keys scanned, TEN_SWEEP_PORTION at once; a tenth of one
 *           processor, however long a key takes. Up to 8 times as much in a table that is mostly
 *           garbage.
 * Promises: 1. Only cells that are garbage under the table's newest rules are removed
 *              (storage/engine.h).
 *           2. A table without rules, or one that got no cells since it was swept and none of whose
 *              cells became too old, is not scanned, also after a restart.
 *           3. A pass that a stop interrupts continues where it was.
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
#define TEN_SWEEP_REST_S     1    /* minimum between two passes over a table */
#define TEN_SWEEP_AGES_S     60   /* with ages: this, or a quarter of the shortest age */

/* Fields of 0 mean the values above; a server leaves all of them at 0. */
struct ten_sweeper_options {
    uint32_t tick_ms;
    uint32_t rest_ms;
    uint32_t keys_per_s;
};

enum err ten_sweeper_start(struct ten_registry *r, const struct ten_sweeper_options *options,
                           struct ten_sweeper **out) MUST_CHECK;
/* Stops the sweeper; the control worker must still run. Accepts NULL. */
void ten_sweeper_stop(struct ten_sweeper *s);

struct ten_sweep_stats {
    uint64_t rounds;            /* passes over all tables */
    uint64_t keys;              /* scanned */
    uint64_t charged;           /* keys charged against TEN_SWEEP_KEYS_PER_S */
    uint64_t cells;             /* removed */
    uint64_t bytes;             /* of the removed cells */
    uint64_t uncollected_bytes; /* of all tables, as the last round estimated them */
    uint64_t saves;             /* of restart state, each for many tables */
};
/* Any thread; the numbers are read at slightly different times. */
struct ten_sweep_stats ten_sweeper_stats(const struct ten_sweeper *s);
struct ten_sweep_stats ten_sweep_stats_of(const struct ten_registry *r);

/* For tests: starts no portion once `keys` are scanned. UINT64_MAX: no such limit. Any thread. */
void ten_sweeper_test_hold_at(struct ten_sweeper *s, uint64_t keys);
/* For tests: treats a portion that takes ns or longer as one that had to wait. Any thread. */
void ten_sweeper_test_slow_at(struct ten_sweeper *s, int64_t ns);

#endif
