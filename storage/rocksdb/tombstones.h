/*
 * storage/rocksdb/tombstones.h - tenants whose rows may be covered by range tombstones.
 *
 * Does:     counts batches with range tombstones among the rows, records the owners, and has the
 *           files with range tombstones rewritten until none is left.
 * Owns:     the list of tenants with range tombstones of earlier runs.
 * May use:  base/, storage/.
 * Knows no: why rows were deleted as a range.
 * Threads:  mark and still from any; begin under docs_lock; load, clear, push and flushed where
 *           noted.
 * Blocks:   clear and push, on flushes and compactions; load, on the properties of every file.
 * Fails by: ERR_UNAVAILABLE; ERR_CORRUPT (a damaged file cannot be rewritten); clear: ERR_TIMEOUT
 *           (some are left). A failed flush latches the engine.
 * Limits:   RDB_TOMBSTONE_EARLIER tenants with range tombstones of earlier runs: if there are more,
 *           those range tombstones count for every tenant.
 * Promises: 1. If mark returned nonzero and still returned true, no iterator created between them
 *              could see a range tombstone of that tenant.
 *           2. From an open until load has read the files, any tenant may have some; writes during
 *              and after that time do not prolong it.
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

/* Batches with range tombstones have numbers in order. The first number is that of all earlier runs
 * together. An account stores the number of its own last batch. */
struct rdb_tombstones {
    _Atomic uint64_t begun;   /* last number started; its range tombstones may be in a memtable */
    _Atomic uint64_t flushed; /* range tombstones up to this number are in files, or gone */
    _Atomic uint64_t gone;    /* range tombstones up to this number are gone */
    _Atomic uint64_t anybody; /* owners up to this number are not known */
    /* owners of earlier runs, sorted; read when anybody is 0 */
    struct rdb_tombstone_owner *earlier;
    size_t earlier_count;
    bool is_loaded; /* reclaim thread: the files of earlier runs were read */
};

/* Call after recovery, which leaves nothing in memtables. */
void sto_rdb_tombstones_init(struct rdb_tombstones *t);
void sto_rdb_tombstones_fini(struct rdb_tombstones *t);
/* On the reclaim thread: reads, once, from the files of earlier runs whether they have range
 * tombstones, and of which tenants. False: some files could not be read; the same call retries. */
bool sto_rdb_tombstones_load(struct rdb_engine *e);
/* Announces a batch with a range tombstone. Under docs_lock, which is held until the batch is
 * written. owner NULL: any tenant's. */
void sto_rdb_tombstones_begin(struct rdb_tombstones *t, struct sto_account *owner);

/* For flushes: batches started before the flush are in files after it. Takes docs_lock. */
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

/* Call before creating an iterator over rows of the tenant; 0: the iterator may meet range
 * tombstones. tenant NULL: over rows of any tenant. */
static inline uint64_t sto_rdb_tombstones_mark(const struct rdb_tombstones *t,
                                               const struct sto_tenant_scope *tenant)
{
    uint64_t begun = atomic_load(&t->begun);
    if (atomic_load(&t->gone) == begun)
        return begun;
    return tenant == NULL || sto_rdb_tombstones_cover(t, tenant) ? 0 : begun;
}

/* Call after creating the iterator. Returns whether no range tombstone was added since the mark. */
static inline bool sto_rdb_tombstones_still(const struct rdb_tombstones *t, uint64_t mark)
{
    return atomic_load(&t->begun) == mark;
}

/* Creates an iterator over rows of the tenant. The iterator reports each block that it cannot read,
 * unless range tombstones may cover those rows. The options belong to the caller. */
rocksdb_iterator_t *sto_rdb_rows_iterator(struct rdb_engine *e, rocksdb_readoptions_t *options,
                                          const struct sto_tenant_scope *tenant);

/* Has the family's files with range tombstones that overlap the span (NULL: all) rewritten until
 * there is no such file, or only files with range tombstones that a snapshot needs. out_none: there
 * is none. ERR_CORRUPT: a damaged file cannot be rewritten; those of other files were rewritten
 * once. */
enum err sto_rdb_tombstones_push(struct rdb_engine *e, int family, const struct sto_span *within,
                                 bool *out_none, struct errbuf *eb) MUST_CHECK;
/* On the reclaim thread: removes the range tombstones that may exist. ERR_OK: there are none.
 * out_rewrote: files were replaced, and the replaced files may still be on the disk. */
enum err sto_rdb_tombstones_clear(struct rdb_engine *e, bool *out_rewrote,
                                  struct errbuf *eb) MUST_CHECK;

#endif
