/*
 * storage/rocksdb/pressure.h - how near RocksDB is to delaying or stopping all writes.
 *
 * Does:     reads the number of level 0 files, bytes to be compacted, memtables to be flushed, and
 *           delays that RocksDB already imposes; combines them into one number.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the writers (admit.h).
 * Threads:  look on the maintenance thread; level from any.
 * Blocks:   look holds RocksDB's own mutex briefly.
 * Fails by: does not fail.
 * Limits:   RDB_LEVEL0_SLOW and the others below; db.c derives RocksDB's own from them.
 * Promises: 1. 0 while RocksDB is far from a delay, RDB_PRESSURE_FULL at the point where it would
 *              delay.
 */
#ifndef STORAGE_ROCKSDB_PRESSURE_H
#define STORAGE_ROCKSDB_PRESSURE_H

#include <stdatomic.h>

#include "base/limits.h"
#include "storage/engine.h"

struct rdb_engine;

#define RDB_PRESSURE_FULL 1000

/* Where RocksDB delays writes, and where it stops them. */
#define RDB_LEVEL0_SLOW  20
#define RDB_LEVEL0_STOP  36
#define RDB_PENDING_SLOW (64 * GIB)
#define RDB_PENDING_STOP (256 * GIB)
/* of cells; one is written, and RocksDB delays when all but one are full */
#define RDB_MEMTABLES        4
#define RDB_PRESSURE_LOOK_MS 250

/* RocksDB's properties of the column family of cells. */
struct rdb_signs {
    uint64_t level0_files;
    uint64_t pending_bytes;
    uint64_t memtables_waiting;
    uint64_t delayed_write_rate;
    bool stopped;
};

struct rdb_pressure {
    _Atomic uint32_t level;
    _Atomic uint64_t level0_files;
    _Atomic uint64_t pending_bytes;
    _Atomic uint64_t memtables_waiting;
    _Atomic uint64_t delayed_write_rate;
    _Atomic bool stopped;
    _Atomic uint64_t delayed_ns; /* total since the start */
    _Atomic uint64_t stopped_ns;
    _Atomic uint64_t looked_ns; /* last reading; maintenance thread, and tests */
    _Atomic uint32_t pretended; /* test tool: lower bound of level */
};

/* Returns 0 up to calm, RDB_PRESSURE_FULL from slow on, and a proportional value in between. */
uint32_t sto_rdb_sign(uint64_t value, uint64_t calm, uint64_t slow);
uint32_t sto_rdb_pressure_of(const struct rdb_signs *signs);
/* Adds the time since the last reading to the delayed and stopped totals, if that reading saw a
 * delay or stop. */
void sto_rdb_pressure_pass(struct rdb_pressure *p, uint64_t now_ns);
void sto_rdb_pressure_look(struct rdb_engine *e);
static inline uint32_t sto_rdb_pressure_level(const struct rdb_pressure *p)
{
    return atomic_load_explicit(&p->level, memory_order_relaxed);
}

#endif
