/*
 * storage/rocksdb/tombstones.h - whether range tombstones may stand among the rows.
 *
 * Does:     count range tombstones that are written, and ask the files whether any is left.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: whose rows they cover; how they are brought to leave (reclaim.h, purge.h).
 * Threads:  mark and still from any; begin under docs_lock; look and flushed where noted.
 * Blocks:   look, on a flush and on the properties of every file.
 * Fails by: what cannot be asked counts as there; a failed flush latches the engine.
 * Limits:   none.
 * Promises: 1. Between a mark and still, both true, no iterator was made that could see one.
 *           2. As long as it was not looked since the engine was opened, there may be some.
 */
#ifndef STORAGE_ROCKSDB_TOMBSTONES_H
#define STORAGE_ROCKSDB_TOMBSTONES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rdb_engine;

/* Numbers of batches with range tombstones, beginning with those of earlier runs, which are one. */
struct rdb_tombstones {
    _Atomic uint64_t begun;   /* may be in the memtable */
    _Atomic uint64_t flushed; /* up to here they are in files, or gone */
    _Atomic uint64_t gone;    /* up to here there is none any more */
};

/* Behind recovery, which leaves nothing in memtables. */
void sto_rdb_tombstones_init(struct rdb_tombstones *t);
/* Under docs_lock, which is held until the batch with it is written. */
void sto_rdb_tombstones_begin(struct rdb_tombstones *t);

/* For flushes: what is begun in front of one is in files behind it. Takes docs_lock. */
uint64_t sto_rdb_tombstones_before_flush(struct rdb_engine *e);
void sto_rdb_tombstones_flushed(struct rdb_tombstones *t, uint64_t begun);

/* Before an iterator is made; 0: there may be some. */
static inline uint64_t sto_rdb_tombstones_mark(const struct rdb_tombstones *t)
{
    uint64_t begun = atomic_load(&t->begun);
    return atomic_load(&t->gone) == begun ? begun : 0;
}

/* Behind it: none has come. */
static inline bool sto_rdb_tombstones_still(const struct rdb_tombstones *t, uint64_t mark)
{
    return atomic_load(&t->begun) == mark;
}

/* Ask the files, if there may be some. True: there are none. */
bool sto_rdb_tombstones_look(struct rdb_engine *e);

#endif
