/*
 * storage/rocksdb/shuttle.h - counts operations that travel between readers and committers.
 *
 * Does:     counts them, so that neither kind of thread ends while there are any.
 * Owns:     nothing.
 * May use:  storage/rocksdb/.
 * Knows no: their purpose.
 * Threads:  enter and leave from any, drain from the one that closes the engine.
 * Blocks:   drain waits for all.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. After drain no message is sent from a reader to a committer or back.
 */
#ifndef STORAGE_ROCKSDB_SHUTTLE_H
#define STORAGE_ROCKSDB_SHUTTLE_H

struct rdb_engine;

/* enter: before the operation checks whether the engine is closing; leave: after it has returned.
 * The operation repeats the check before each slice. */
void sto_rdb_shuttle_enter(struct rdb_engine *e);
void sto_rdb_shuttle_leave(struct rdb_engine *e);
/* Called while the engine closes: waits until all have left. */
void sto_rdb_shuttle_drain(struct rdb_engine *e);

#endif
