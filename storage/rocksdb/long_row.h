/*
 * storage/rocksdb/long_row.h - one state of a row, for a read that takes several slices of it.
 *
 * Does:     notices the first write to such a row, and keeps a snapshot of before that write for a
 *           bounded time. As long as nobody writes to the row there is no snapshot.
 * Owns:     the snapshot.
 * May use:  base/, storage/.
 * Knows no: slices, cells, who reads.
 * Threads:  any. The lock of a list is held over one search in a batch for each row, or over the
 *           making of an iterator.
 * Blocks:   open: until a batch that is on its way into the database is there.
 * Fails by: does not fail; sto_rdb_long_row_iterator returns NULL when the state is lost.
 * Limits:   LIM_ROW_SNAPSHOT_MS, LIM_ROW_SNAPSHOT_WAITED_MS. Each row that is open costs each batch
 *           of its committer one search.
 * Promises: 1. All iterators made for a row between open and close see the same state of it.
 *           2. No snapshot outlives its limit by more than a slice, whatever the client does.
 */
#ifndef STORAGE_ROCKSDB_LONG_ROW_H
#define STORAGE_ROCKSDB_LONG_ROW_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "storage/keycodec.h"
#include "storage/range.h"
#include "storage/rocksdb/overlay.h"

struct rdb_engine;

struct rdb_long_row {
    struct rdb_long_rows *rows; /* NULL: closed */
    size_t key_len;             /* of key, which does not change while it is open */

    /* under the lock of the list */
    struct rdb_long_row *next;
    struct rdb_long_row *previous;
    const rocksdb_snapshot_t *snapshot; /* of before the change; NULL: no change, or lost */
    uint64_t changed_ns;                /* monotonic */
    bool is_changed;
    bool is_read;     /* an iterator over the snapshot is there */
    bool is_given_up; /* the snapshot goes when that iterator is destroyed */

    uint8_t key[STO_KEY_ROW_MAX]; /* the prefix of the row's stored keys */
};

/* Of the tenants of one committer: only that one writes to these rows. */
struct rdb_long_rows {
    struct rdb_engine *engine;
    _Atomic uint64_t turns; /* batches begun and ended; odd: one is on its way. Under the lock */
    pthread_mutex_t lock;
    pthread_cond_t written; /* turns became even */
    struct rdb_long_row *first;
};

void sto_rdb_long_rows_init(struct rdb_long_rows *rows, struct rdb_engine *e);
void sto_rdb_long_rows_fini(struct rdb_long_rows *rows);

/* --- the read --------------------------------------------------------------------------------- */

/* Before the making of an iterator: for sto_rdb_long_row_open. */
static inline uint64_t sto_rdb_long_rows_mark(const struct rdb_long_rows *rows)
{
    return atomic_load_explicit(&rows->turns, memory_order_acquire);
}

/* row: the prefix of its stored keys, copied. True: an iterator that was made behind the mark shows
 * what all later ones will show. */
bool sto_rdb_long_row_open(struct rdb_long_row *r, struct rdb_long_rows *rows, struct slice row,
                           uint64_t mark) MUST_CHECK;
/* After the last iterator was destroyed. Accepts a closed one. */
void sto_rdb_long_row_close(struct rdb_long_row *r);
/* NULL: the row has changed, and the snapshot is gone. */
rocksdb_iterator_t *sto_rdb_long_row_iterator(struct rdb_long_row *r,
                                              rocksdb_readoptions_t *options);
/* Its iterator was destroyed. */
void sto_rdb_long_row_rests(struct rdb_long_row *r);

static inline bool sto_rdb_long_row_is_open(const struct rdb_long_row *r)
{
    return r->rows != NULL;
}
static inline struct slice sto_rdb_long_row_key(const struct rdb_long_row *r)
{
    return base_slice(r->key, r->key_len);
}

/* --- the committer ---------------------------------------------------------------------------- */

/* Around the writing of a batch. range: rows that it deletes as a range; NULL: none. */
void sto_rdb_long_rows_write_begin(struct rdb_long_rows *rows, struct rdb_overlay *overlay,
                                   const struct sto_span *range);
void sto_rdb_long_rows_write_end(struct rdb_long_rows *rows);

/* --- others ----------------------------------------------------------------------------------- */

/* Gives up snapshots that are older, of all tenants. */
void sto_rdb_long_rows_expire(struct rdb_engine *e, uint64_t age_ms);

#endif
