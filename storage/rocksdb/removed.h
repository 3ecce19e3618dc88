/*
 * storage/rocksdb/removed.h - stretches of removed keys that reads had to walk through.
 *
 * Does:     add up, for each stretch, the removed keys that reads passed; have those rewritten that
 *           cost reads so much that it pays.
 * Owns:     the list of them, bytes of row keys included.
 * May use:  base/, storage/.
 * Knows no: who reads; why there are so many.
 * Threads:  note and forget from any; work is the reclaim thread's.
 * Blocks:   work, on a flush and compactions. The lock is held over copies of a few keys.
 * Fails by: work: those of sto_rdb_flush and sto_rdb_compactions_check.
 * Limits:   REMOVED_STRETCHES, REMOVED_STRETCHES_OF_ONE; of more, those that cost reads most are
 *           kept. REMOVED_REST_S.
 * Promises: 1. What is rewritten is in proportion to what reads passed: BYTES_A_KEY of files each.
 *           2. A rewriting removes nothing that a read would give.
 *           3. Behind forget nothing of the span is in the list, unless a read noted it later.
 */
#ifndef STORAGE_ROCKSDB_REMOVED_H
#define STORAGE_ROCKSDB_REMOVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/keycodec.h"
#include "storage/range.h"

#define REMOVED_STRETCHES        16
#define REMOVED_STRETCHES_OF_ONE 2 /* tenant */
#define REMOVED_REST_S           5 /* between two rounds: each of them flushes */

struct rdb_engine;

struct rdb_stretch {
    uint64_t passed;
    uint64_t due; /* it is worth a look when so many were passed */
    struct sto_key_bounds bounds;
};

struct rdb_removed {
    pthread_mutex_t lock;
    size_t count;
    struct rdb_stretch of[REMOVED_STRETCHES];
    uint64_t next_ns;        /* reclaim thread: no round before */
    _Atomic uint64_t passed; /* since the start, also what was forgotten */
    _Atomic uint64_t rounds; /* since the start: stretches that were rewritten */
};

void sto_rdb_removed_init(struct rdb_removed *r);
void sto_rdb_removed_fini(struct rdb_removed *r);

/* A read of rows between two stored keys passed so many removed ones. */
void sto_rdb_removed_note(struct rdb_engine *e, struct slice begin, struct slice end,
                          uint64_t passed);
/* Of a tenant that leaves. */
void sto_rdb_removed_forget(struct rdb_engine *e, struct sto_span span);

/* Rewrites what is due. *out_wait_ns: there may be something in so long; UINT64_MAX: not before a
 * read notes it. */
enum err sto_rdb_removed_work(struct rdb_engine *e, uint64_t *out_wait_ns,
                              struct errbuf *eb) MUST_CHECK;

#endif
