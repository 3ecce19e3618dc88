/*
 * storage/rocksdb/cache_sample.c - samples RocksDB's own counts of a thread.
 */
#include "storage/rocksdb/cache_sample.h"

#include <rocksdb/c.h>
#include <stdbool.h>

#include "storage/rocksdb/db.h"

#include "base/banned.h"

/* Slices until the next one that is sampled; a thread's first one is. */
static _Thread_local unsigned left;
static _Thread_local bool is_counting;

void sto_rdb_cache_sample_begin(void)
{
    if (left > 0) {
        left--;
        return;
    }
    left = RDB_CACHE_SAMPLE - 1;
    is_counting = true;
    rocksdb_set_perf_level(rocksdb_enable_count);
    rocksdb_perfcontext_t *mine = rocksdb_perfcontext_create();
    rocksdb_perfcontext_reset(mine);
    rocksdb_perfcontext_destroy(mine);
}

static uint64_t removed_passed(void)
{
    rocksdb_perfcontext_t *mine = rocksdb_perfcontext_create();
    uint64_t passed = rocksdb_perfcontext_metric(mine, rocksdb_internal_delete_skipped_count) +
                      rocksdb_perfcontext_metric(mine, rocksdb_internal_key_skipped_count);
    rocksdb_perfcontext_destroy(mine);
    return passed;
}

uint64_t sto_rdb_passed_begin(void)
{
    rocksdb_set_perf_level(rocksdb_enable_count);
    return removed_passed();
}

uint64_t sto_rdb_passed_end(uint64_t before)
{
    if (!is_counting)
        sto_rdb_uncounted();
    return removed_passed() - before;
}

void sto_rdb_cache_sample_end(struct rdb_cache_sample *sample, enum sto_read_kind kind)
{
    if (!is_counting)
        return;
    is_counting = false;
    sto_rdb_uncounted();
    rocksdb_perfcontext_t *mine = rocksdb_perfcontext_create();
    uint64_t hits = rocksdb_perfcontext_metric(mine, rocksdb_block_cache_hit_count);
    uint64_t misses = rocksdb_perfcontext_metric(mine, rocksdb_block_read_count);
    rocksdb_perfcontext_destroy(mine);
    atomic_fetch_add_explicit(&sample->hits, hits, memory_order_relaxed);
    atomic_fetch_add_explicit(&sample->misses, misses, memory_order_relaxed);
    atomic_fetch_add_explicit(&sample->reads[kind].slices, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sample->reads[kind].removed, removed_passed(), memory_order_relaxed);
}
