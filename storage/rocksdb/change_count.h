/*
 * storage/rocksdb/change_count.h - bytes of stored changes, counted exactly for each tenant.
 *
 * Does:     keeps the sum of each tenant; counts recorded and removed changes; loads both.
 * Owns:     the sums, until the engine is closed; the keys "c/<tenant>/<table>".
 * May use:  base/, storage/.
 * Knows no: quotas, why changes are removed.
 * Threads:  as each function says.
 * Blocks:   on reads; sums_find on a short mutex.
 * Fails by: ERR_CORRUPT, ERR_IO.
 * Limits:   none.
 * Promises: 1. A change counts with its stored keys and values, encrypted or not.
 *           2. A table's stored bytes are all bytes ever recorded (stored with its counters, in the
 *              batch of the change), minus all bytes ever removed (in the batch of the deletes).
 *           3. The sum in memory is never below the stored bytes.
 */
#ifndef STORAGE_ROCKSDB_CHANGE_COUNT_H
#define STORAGE_ROCKSDB_CHANGE_COUNT_H

#include <pthread.h>
#include <rocksdb/c.h>

#include "base/hashmap.h"
#include "storage/range.h"
#include "storage/value.h"

struct rdb_engine;

struct rdb_change_counts {
    _Atomic uint64_t removals; /* batches that deleted changes; increases under docs_lock */
    pthread_mutex_t lock;
    struct base_epoch *epoch;     /* no reader joins it, so it frees at once */
    struct base_hashmap *tenants; /* under lock: struct sto_change_sum by tenant ID */
};

void sto_rdb_change_counts_init(struct rdb_change_counts *c);
void sto_rdb_change_counts_fini(struct rdb_change_counts *c);

/* Any thread. Returns the account's sum; creates it if there is none. */
struct sto_change_sum *sto_rdb_change_sum(struct rdb_engine *e,
                                          const struct sto_tenant_scope *tenant);
/* Subtracts removed bytes. Called after the batch of the deletes was written, before docs_lock is
 * released. */
void sto_rdb_changes_give_back(struct rdb_engine *e, struct slice tenant_id, uint64_t bytes);

enum err sto_rdb_changes_removed_decode(struct slice stored, uint64_t *out) MUST_CHECK;

/* Below, prefix is "<tenant>#<table>#". */

/* Returns all bytes ever removed. */
enum err sto_rdb_changes_removed(struct rdb_engine *e, struct slice prefix,
                                 uint64_t *out) MUST_CHECK;
/* Sets the same in a batch. The caller writes the batch only if `removals` has not changed since
 * before it read the old value. */
void sto_rdb_changes_removed_put(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                                 struct slice prefix, uint64_t bytes);
void sto_rdb_changes_removed_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                                    struct slice prefix);
/* At start. stored: of the table; if its format did not count changes, they are counted now, and
 * the table's counters are rewritten. */
enum err sto_rdb_changes_load(struct rdb_engine *e, const struct sto_table_scope *scope,
                              struct sto_stored_counters *stored) MUST_CHECK;

#endif
