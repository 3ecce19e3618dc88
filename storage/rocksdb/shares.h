/*
 * storage/rocksdb/shares.h - sets the shares of flushes, compactions and erasures by how far they
 * lag.
 *
 * Does:     reports the lag of flushes, compactions and erasures to base/share.h.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: how a share takes effect.
 * Threads:  look on the maintenance thread; since from any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   RDB_ERASE_CALM_MS and the others below.
 * Promises: 1. An erasure that was requested RDB_ERASE_FULL_MS ago has the largest share, and so do
 *              the flushes and compactions, which it waits for.
 *           2. The share of compactions is full before any write is refused for them (pressure.h).
 */
#ifndef STORAGE_ROCKSDB_SHARES_H
#define STORAGE_ROCKSDB_SHARES_H

#include "storage/engine.h"
#include "storage/rocksdb/pressure.h"

struct rdb_engine;

/* Between the two values of each pair the lag of a class grows linearly. */
#define RDB_ERASE_CALM_MS  1000
#define RDB_ERASE_FULL_MS  8000
#define RDB_LEVEL0_CALM    4 /* where RocksDB starts to compact them */
#define RDB_LEVEL0_LAGS    (RDB_LEVEL0_SLOW / 2)
#define RDB_PENDING_CALM   GIB
#define RDB_PENDING_LAGS   (RDB_PENDING_SLOW / 2)
#define RDB_MEMTABLES_CALM 1
#define RDB_MEMTABLES_LAG  2

/* since_ns: monotonic, when the oldest unfinished erasure was requested; 0: there is none. */
void sto_rdb_erasing_since(struct sto_engine *engine, uint64_t since_ns);

void sto_rdb_shares_look(struct rdb_engine *e, uint64_t now_ns);

#endif
