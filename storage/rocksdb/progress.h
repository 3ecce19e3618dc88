/*
 * storage/rocksdb/progress.h - a job says how far it is, to whoever watches.
 *
 * Does:     begin to count; count on.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: who watches.
 * Threads:  job threads write.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Nothing happens when nobody watches.
 */
#ifndef STORAGE_ROCKSDB_PROGRESS_H
#define STORAGE_ROCKSDB_PROGRESS_H

#include "storage/engine.h"

struct rdb_engine;

void sto_rdb_progress_watch(struct sto_engine *engine, struct sto_progress *progress);
/* all: 0 when it is not known. */
void sto_rdb_progress_begin(struct rdb_engine *e, enum sto_progress_unit unit, uint64_t all);
void sto_rdb_progress_add(struct rdb_engine *e, uint64_t done);

#endif
