/*
 * storage/rocksdb/cache_sample.h - how often reads find their blocks in the block cache, and how
 * many removed keys a dear one passes.
 *
 * Does:     have RocksDB count one slice of reads in RDB_CACHE_SAMPLE of each thread, and no other;
 *           add up what it counted. Have it count the removed keys of a slice that may pass many.
 * Owns:     how RocksDB counts on threads that read.
 * May use:  base/, storage/.
 * Knows no: what is read.
 * Threads:  begin and end around a slice, on its thread; counts are read from any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A slice that is not counted pays for counting down; with the one that is, it is
 *              0.3 % of the instructions of a read from memory.
 *           2. Outside of both pairs RocksDB counts nothing on this thread.
 */
#ifndef STORAGE_ROCKSDB_CACHE_SAMPLE_H
#define STORAGE_ROCKSDB_CACHE_SAMPLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "storage/engine.h"

/* RocksDB counts each comparison of keys as well, a tenth of a seek: so not always. A prime, so
 * that no rhythm of requests hides from it. */
#define RDB_CACHE_SAMPLE 61

struct rdb_cache_sample {
    _Atomic uint64_t hits;   /* blocks */
    _Atomic uint64_t misses; /* read from a file */
    struct {
        _Atomic uint64_t slices;
        _Atomic uint64_t removed; /* keys that they passed */
    } reads[STO_READ_KINDS];
};

void sto_rdb_cache_sample_begin(void);
void sto_rdb_cache_sample_end(struct rdb_cache_sample *sample, enum sto_read_kind kind);

/* Inside a slice: how many keys its iterators passed that are removed, or older than others. */
uint64_t sto_rdb_passed_begin(void);
uint64_t sto_rdb_passed_end(uint64_t before); /* before: what begin returned */

#endif
