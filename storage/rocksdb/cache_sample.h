/*
 * storage/rocksdb/cache_sample.h - samples block cache hits of reads, and counts removed keys that
 * an expensive slice passes.
 *
 * Does:     has RocksDB count one slice of reads in RDB_CACHE_SAMPLE of each thread, and no other;
 *           adds up the counts. Has RocksDB count the removed keys of a slice that may pass many.
 * Owns:     the perf level of RocksDB on reading threads.
 * May use:  base/, storage/.
 * Knows no: the data that is read.
 * Threads:  begin and end around a slice, on its thread; counts are read from any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A slice that is not sampled costs one countdown; including the sampled one, the cost
 *              is 0.3 % of the instructions of a read from memory.
 *           2. Outside of both pairs RocksDB counts nothing on this thread.
 */
#ifndef STORAGE_ROCKSDB_CACHE_SAMPLE_H
#define STORAGE_ROCKSDB_CACHE_SAMPLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "storage/engine.h"

/* Not every slice, because RocksDB then counts each comparison of keys as well, which costs a tenth
 * of a seek. A prime, so that no periodic pattern of requests hides from it. */
#define RDB_CACHE_SAMPLE 61

struct rdb_cache_sample {
    _Atomic uint64_t hits;   /* blocks found in the cache */
    _Atomic uint64_t misses; /* blocks read from a file */
    struct {
        _Atomic uint64_t slices;
        _Atomic uint64_t removed; /* removed keys that the slices passed */
    } reads[STO_READ_KINDS];
};

void sto_rdb_cache_sample_begin(void);
void sto_rdb_cache_sample_end(struct rdb_cache_sample *sample, enum sto_read_kind kind);

/* Inside a slice: count the keys that its iterators passed and that are removed, or hidden by newer
 * versions. */
uint64_t sto_rdb_passed_begin(void);
uint64_t sto_rdb_passed_end(uint64_t before); /* before: the result of begin */

#endif
