/*
 * storage/rocksdb/tombstones.h - whose rows range tombstones may cover.
 *
 * Does:     counts batches with range tombstones among the rows, keeps whose they are, and has
 *           the files that hold them rewritten until none is left.
 * Owns:     the list of tenants with range tombstones of earlier runs.
 * May use:  base/, storage/.
 * Knows no: why rows were deleted as a range.
 * Threads:  mark and still from any; begin under docs_lock; load, clear, push and flushed where
 *           noted.
 * Blocks:   clear and push, on flushes and compactions; load, on the properties of every file.
 * Fails by: ERR_UNAVAILABLE; ERR_CORRUPT (a damaged file cannot be rewritten); clear: ERR_TIMEOUT
 *           (some are left). A failed flush latches the engine.
 * Limits:   RDB_TOMBSTONE_EARLIER tenants with range tombstones of earlier runs: if there are more,
 *           those count as everybody's.
 * Promises: 1. Between a mark and still, both true, no iterator was made that could see a range
 *              tombstone of that tenant.
 *           2. From an open until load has asked the files, there may be some of anybody; whatever
 *              is written meanwhile and later does not prolong that.
 *           3. A range tombstone that no snapshot needs is gone after push.
 */
#ifndef STORAGE_ROCKSDB_TOMBSTONES_H
#define STORAGE_ROCKSDB_TOMBSTONES_H

#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/range.h"

#define RDB_TOMBSTONE_EARLIER 1024

struct rdb_engine;

/* "<tenant>#", as in a scope. */
struct rdb_tombstone_owner {
    uint8_t prefix_len;
    uint8_t prefix[LIM_TENANT_ID + 1];
};

/* Numbers of batches with range tombstones, starting with those of earlier runs, which are one. An
 * account has the number of its own last one. */
struct rdb_tombstones {
    _Atomic uint64_t begun;              /* may be in the memtable */
    _Atomic uint64_t flushed;            /* up to here they are in files, or gone */
    _Atomic uint64_t gone;               /* up to here there is none any more */
    _Atomic uint64_t anybody;            /* up to here the owners are not known */
    struct rdb_tombstone_owner *earlier; /* of earlier runs, sorted; read when anybody is 0 */
    size_t earlier_count;
    bool is_loaded; /* reclaim thread: the files of earlier runs were asked */
};

/* After recovery, which leaves nothing in memtables. */
void sto_rdb_tombstones_init(struct rdb_tombstones *t);
void sto_rdb_tombstones_fini(struct rdb_tombstones *t);
/* The reclaim thread: asks the files of earlier runs, once, whether they have range tombstones, and
 * whose. False: not all of them could be asked; the same call tries again. */
bool sto_rdb_tombstones_load(struct rdb_engine *e);
/* Under docs_lock, which is held until the batch with it is written. owner NULL: anybody's. */
void sto_rdb_tombstones_begin(struct rdb_tombstones *t, struct sto_account *owner);

/* For flushes: what is begun before one is in files after it. Takes docs_lock. */
uint64_t sto_rdb_tombstones_before_flush(struct rdb_engine *e);
void sto_rdb_tombstones_flushed(struct rdb_tombstones *t, uint64_t begun);

bool sto_rdb_tombstones_are_earlier(const struct rdb_tombstones *t,
                                    const struct sto_tenant_scope *tenant);

static inline bool sto_rdb_tombstones_cover(const struct rdb_tombstones *t,
                                            const struct sto_tenant_scope *tenant)
{
    uint64_t gone = atomic_load(&t->gone);
    return atomic_load(&t->anybody) > gone ||
           atomic_load(&tenant->account->range_tombstones) > gone ||
           (gone == 0 && sto_rdb_tombstones_are_earlier(t, tenant));
}

/* Before an iterator over rows of the tenant is made; 0: it may meet range tombstones.
 * tenant NULL: over anybody's rows. */
static inline uint64_t sto_rdb_tombstones_mark(const struct rdb_tombstones *t,
                                               const struct sto_tenant_scope *tenant)
{
    uint64_t begun = atomic_load(&t->begun);
    if (atomic_load(&t->gone) == begun)
        return begun;
    return tenant == NULL || sto_rdb_tombstones_cover(t, tenant) ? 0 : begun;
}

/* After it was made: none has come. */
static inline bool sto_rdb_tombstones_still(const struct rdb_tombstones *t, uint64_t mark)
{
    return atomic_load(&t->begun) == mark;
}

/* Makes an iterator over rows of the tenant: one that reports each block that it cannot read,
 * unless range tombstones may cover those rows. The options belong to the caller. */
rocksdb_iterator_t *sto_rdb_rows_iterator(struct rdb_engine *e, rocksdb_readoptions_t *options,
                                          const struct sto_tenant_scope *tenant);

/* Has files with range tombstones of the family that overlap the span, NULL: any, rewritten until
 * there is none, or only such as a snapshot needs. out_none: there is none. ERR_CORRUPT: a damaged
 * file is in the way; those of other files were rewritten once. */
enum err sto_rdb_tombstones_push(struct rdb_engine *e, int family, const struct sto_span *within,
                                 bool *out_none, struct errbuf *eb) MUST_CHECK;
/* The reclaim thread: have those go that may be there. ERR_OK: there are none. out_rewrote: files
 * were replaced, and those before may still be on the disk. */
enum err sto_rdb_tombstones_clear(struct rdb_engine *e, bool *out_rewrote,
                                  struct errbuf *eb) MUST_CHECK;

#endif
