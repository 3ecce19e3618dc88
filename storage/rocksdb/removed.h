/*
 * storage/rocksdb/removed.h - stretches of removed keys (tombstones, and versions that they hide)
 * that reads had to walk through.
 *
 * Does:     adds up the removed keys that reads passed, by stretch; rewrites the files of a stretch
 *           when the reads have cost enough to justify it.
 * Owns:     the list of stretches, which contains bytes of row keys.
 * May use:  base/, storage/.
 * Knows no: the reads; why the keys were removed.
 * Threads:  note and forget from any; work is the reclaim thread's.
 * Blocks:   work, on a flush and compactions. The lock is held while a few keys are copied.
 * Fails by: work: those of sto_rdb_flush and sto_rdb_compactions_check.
 * Limits:   REMOVED_STRETCHES, REMOVED_STRETCHES_OF_ONE; those with the fewest keys passed are
 *           evicted. REMOVED_REST_S.
 * Promises: 1. The bytes rewritten are proportional to the keys that reads passed (removed.c).
 *           2. A rewriting removes nothing that a read would return.
 *           3. After forget the list has no key of the span, unless a later read reports one.
 */
#ifndef STORAGE_ROCKSDB_REMOVED_H
#define STORAGE_ROCKSDB_REMOVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/engine.h"
#include "storage/keycodec.h"
#include "storage/range.h"

#define REMOVED_STRETCHES        STO_REMOVED_TABLES
#define REMOVED_STRETCHES_OF_ONE 2 /* stretches of one tenant */
#define REMOVED_REST_S           5 /* between two rounds: each lists the files, and may flush */

struct rdb_engine;

struct rdb_stretch {
    uint64_t passed;
    uint64_t due; /* keys passed at which their cost is compared with that of a rewriting */
    struct sto_key_bounds bounds;
};

struct rdb_removed {
    pthread_mutex_t lock;
    size_t count;
    struct rdb_stretch of[REMOVED_STRETCHES];
    uint64_t forgets;        /* calls of forget */
    uint64_t next_ns;        /* reclaim thread: earliest next round */
    _Atomic uint64_t passed; /* keys, since the start, of evicted stretches as well */
    _Atomic uint64_t rounds; /* stretches rewritten since the start */
};

void sto_rdb_removed_init(struct rdb_removed *r);
void sto_rdb_removed_fini(struct rdb_removed *r);

/* Records that a read passed `passed` removed keys between two stored keys. */
void sto_rdb_removed_note(struct rdb_engine *e, struct slice begin, struct slice end,
                          uint64_t passed);
/* Drops the stretches of an offboarded tenant. */
void sto_rdb_removed_forget(struct rdb_engine *e, struct sto_span span);

/* Returns the tables of the stretches that were not rewritten yet, each once, and their number. */
size_t sto_rdb_removed_tables(struct rdb_removed *r,
                              struct sto_removed_table out[REMOVED_STRETCHES]);

/* Rewrites the stretches that are due. *out_wait_ns: time until the next round; UINT64_MAX: none is
 * due before another read reports one. */
enum err sto_rdb_removed_work(struct rdb_engine *e, uint64_t *out_wait_ns,
                              struct errbuf *eb) MUST_CHECK;

#endif
