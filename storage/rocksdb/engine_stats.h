/*
 * storage/rocksdb/engine_stats.h - collects the counts of the engine's parts.
 *
 * Does:     fills a struct sto_engine_stats.
 * Owns:     nothing.
 * May use:  storage/.
 * Knows no: its caller.
 * Threads:  any.
 * Blocks:   for RocksDB's own locks at most.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A call costs the committers and readers nothing.
 */
#ifndef STORAGE_ROCKSDB_ENGINE_STATS_H
#define STORAGE_ROCKSDB_ENGINE_STATS_H

#include "storage/engine.h"

void sto_rdb_stats_get(struct sto_engine *engine, struct sto_engine_stats *out);

#endif
