/*
 * storage/rocksdb/shuttle.h - operations that go to and fro between readers and committers.
 *
 * Does:     know how many there are, so that neither kind of thread ends before they have.
 * Owns:     nothing.
 * May use:  storage/rocksdb/.
 * Knows no: what they do.
 * Threads:  enter and leave from any, drain from the one that closes the engine.
 * Blocks:   drain waits for all.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Behind drain nobody sends a message from a reader to a committer or back.
 */
#ifndef STORAGE_ROCKSDB_SHUTTLE_H
#define STORAGE_ROCKSDB_SHUTTLE_H

struct rdb_engine;

/* From before the operation asks whether the engine is closing, to behind its answer. It asks again
 * before each slice. */
void sto_rdb_shuttle_enter(struct rdb_engine *e);
void sto_rdb_shuttle_leave(struct rdb_engine *e);
/* The engine is closing: wait until all have left. */
void sto_rdb_shuttle_drain(struct rdb_engine *e);

#endif
