/*
 * storage/rocksdb/tombstones.h - whose rows range tombstones may cover.
 *
 * Does:     counts batches with range tombstones among the rows, keeps whose they are, and has
 *           the files that hold them rewritten until none is left.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: why rows were deleted as a range.
 * Threads:  mark and still from any; begin under docs_lock; clear, push and flushed where noted.
 * Blocks:   clear and push, on flushes, compactions and, once, on the properties of every file.
 * Fails by: ERR_UNAVAILABLE; ERR_CORRUPT (a damaged file cannot be rewritten); clear: ERR_TIMEOUT
 *           (some are left). A failed flush latches the engine.
 * Limits:   RDB_TOMBSTONE_OWNERS tenants at a time; beyond that they count as everybody's.
 * Promises: 1. Between a mark and still, both true, no iterator was made that could see a range
 *              tombstone of that tenant.
 *           2. Until the files were asked once after an open, there may be some of anybody.
 *           3. A range tombstone that no snapshot needs is gone after push.
 */
#ifndef STORAGE_ROCKSDB_TOMBSTONES_H
#define STORAGE_ROCKSDB_TOMBSTONES_H

#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/account.h"
#include "storage/range.h"

#define RDB_TOMBSTONE_OWNERS 32

struct rdb_engine;

/* Numbers of batches with range tombstones, starting with those of earlier runs, which are one. */
struct rdb_tombstones {
    _Atomic uint64_t begun;   /* may be in the memtable */
    _Atomic uint64_t flushed; /* up to here they are in files, or gone */
    _Atomic uint64_t gone;    /* up to here there is none any more */
    _Atomic bool is_anybody;  /* the owners are not all known */
    _Atomic(const struct sto_account *) owners[RDB_TOMBSTONE_OWNERS]; /* of those not gone */
    bool is_loaded; /* reclaim thread: the files of earlier runs were asked */
};

/* After recovery, which leaves nothing in memtables. */
void sto_rdb_tombstones_init(struct rdb_tombstones *t);
/* Under docs_lock, which is held until the batch with it is written. owner NULL: anybody's. */
void sto_rdb_tombstones_begin(struct rdb_tombstones *t, const struct sto_account *owner);

/* For flushes: what is begun before one is in files after it. Takes docs_lock. */
uint64_t sto_rdb_tombstones_before_flush(struct rdb_engine *e);
void sto_rdb_tombstones_flushed(struct rdb_tombstones *t, uint64_t begun);

static inline bool sto_rdb_tombstones_cover(const struct rdb_tombstones *t,
                                            const struct sto_account *account)
{
    bool is_owner = atomic_load(&t->is_anybody);
    for (size_t i = 0; !is_owner && i < RDB_TOMBSTONE_OWNERS; i++)
        is_owner = atomic_load_explicit(&t->owners[i], memory_order_relaxed) == account;
    return is_owner;
}

/* Before an iterator over rows of the account is made; 0: it may meet range tombstones.
 * account NULL: over anybody's rows. */
static inline uint64_t sto_rdb_tombstones_mark(const struct rdb_tombstones *t,
                                               const struct sto_account *account)
{
    uint64_t begun = atomic_load(&t->begun);
    if (atomic_load(&t->gone) == begun)
        return begun;
    return account == NULL || sto_rdb_tombstones_cover(t, account) ? 0 : begun;
}

/* After it was made: none has come. */
static inline bool sto_rdb_tombstones_still(const struct rdb_tombstones *t, uint64_t mark)
{
    return atomic_load(&t->begun) == mark;
}

/* Makes an iterator over rows of the account: one that reports each block that it cannot read,
 * unless range tombstones may cover those rows. The options belong to the caller. */
rocksdb_iterator_t *sto_rdb_rows_iterator(struct rdb_engine *e, rocksdb_readoptions_t *options,
                                          const struct sto_account *account);

/* Has files with range tombstones of the family that overlap the span, NULL: any, rewritten until
 * there is none, or only such as a snapshot needs. out_none: there is none. ERR_CORRUPT: a damaged
 * file is in the way; those of other files were rewritten once. */
enum err sto_rdb_tombstones_push(struct rdb_engine *e, int family, const struct sto_span *within,
                                 bool *out_none, struct errbuf *eb) MUST_CHECK;
/* The reclaim thread: have those go that may be there. ERR_OK: there are none. */
enum err sto_rdb_tombstones_clear(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;

#endif
