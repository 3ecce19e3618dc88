/*
 * storage/rocksdb/progress.h - reports the progress of a job.
 *
 * Does:     starts a count; adds to it.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the reader of the progress.
 * Threads:  job threads write.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Does nothing while no progress is requested.
 */
#ifndef STORAGE_ROCKSDB_PROGRESS_H
#define STORAGE_ROCKSDB_PROGRESS_H

#include "storage/engine.h"

struct rdb_engine;

void sto_rdb_progress_watch(struct sto_engine *engine, struct sto_progress *progress);
/* all: the total; 0: not known. */
void sto_rdb_progress_begin(struct rdb_engine *e, enum sto_progress_unit unit, uint64_t all);
void sto_rdb_progress_add(struct rdb_engine *e, uint64_t done);

#endif
