/*
 * tests/storage/committer_counts.h - counts a committer's reads: keys, and removed keys that its
 * iterators pass.
 *
 * Does:     run a function on the first tenant's committer; count between two such calls.
 * Owns:     nothing.
 * May use:  tests/storage/fixture.h.
 * Knows no: the committer's work.
 * Threads:  the test's main thread, and that committer's.
 * Blocks:   until the committer has run the function.
 * Fails by: does not fail.
 * Limits:   one count at a time.
 * Promises: none.
 */
#ifndef TESTS_STORAGE_COMMITTER_COUNTS_H
#define TESTS_STORAGE_COMMITTER_COUNTS_H

#include "fixture.h"

struct passed {
    uint64_t tombstones; /* skipped by its iterators */
    uint64_t hidden;     /* keys skipped below a tombstone or a newer version */
    uint64_t key_reads;  /* proportional to its reads of keys; in a memtable, by a fixed factor */
};

static rocksdb_perfcontext_t *committer_counts;

UNUSED_FN static void count_begin(struct rdb_committer *c, void *ctx)
{
    (void)c;
    (void)ctx;
    rocksdb_set_perf_level(rocksdb_enable_count);
    committer_counts = rocksdb_perfcontext_create();
    rocksdb_perfcontext_reset(committer_counts);
}

/* Ends the count. ctx: a struct passed, which receives the result. */
UNUSED_FN static void count_end(struct rdb_committer *c, void *ctx)
{
    (void)c;
    *(struct passed *)ctx = (struct passed){
        rocksdb_perfcontext_metric(committer_counts, rocksdb_internal_delete_skipped_count),
        rocksdb_perfcontext_metric(committer_counts, rocksdb_internal_key_skipped_count),
        rocksdb_perfcontext_metric(committer_counts, rocksdb_get_from_memtable_count)};
    rocksdb_perfcontext_destroy(committer_counts);
    rocksdb_set_perf_level(rocksdb_disable);
}

UNUSED_FN static void on_committer(void (*fn)(struct rdb_committer *c, void *ctx), void *ctx)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    sto_rdb_committer_call(sto_rdb_committer_of(e, &fix.accounts[0]), &fix.accounts[0],
                           STO_PRIORITY_MEDIUM, fn, ctx);
}

#endif
