/*
 * storage/rocksdb/long_row.h - one state of a row, for a read that takes several slices of it.
 *
 * Does:     detects the first write to such a row, and keeps a snapshot taken before that write for
 *           a bounded time. As long as nothing writes to the row there is no snapshot.
 * Owns:     the snapshot.
 * May use:  base/, storage/.
 * Knows no: slices, cells, the reader.
 * Threads:  any. The lock of a list is held during one search in a batch for each row, or while an
 *           iterator is created.
 * Blocks:   open: until a batch that is being written is in the database.
 * Fails by: does not fail; sto_rdb_long_row_iterator returns NULL if the state is lost.
 * Limits:   LIM_ROW_SNAPSHOT_MS, LIM_ROW_SNAPSHOT_WAITED_MS. Each open row costs each batch of its
 *           committer one search.
 * Promises: 1. All iterators created for a row between open and close see the same state of it.
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
    size_t key_len;             /* length of key, which does not change while the row is open */

    /* under the lock of the list */
    struct rdb_long_row *next;
    struct rdb_long_row *previous;
    const rocksdb_snapshot_t *snapshot; /* from before the change; NULL: no change, or lost */
    uint64_t changed_ns;                /* monotonic */
    bool is_changed;
    bool is_read;     /* an iterator over the snapshot exists */
    bool is_given_up; /* the snapshot is released when that iterator is destroyed */

    uint8_t key[STO_KEY_ROW_MAX]; /* the prefix of the row's stored keys */
};

/* The long rows of one committer's tenants: only that committer writes to these rows. */
struct rdb_long_rows {
    struct rdb_engine *engine;
    /* batch writes started and finished; odd: one is in progress. Changed under the lock */
    _Atomic uint64_t turns;
    pthread_mutex_t lock;
    pthread_cond_t written; /* turns became even */
    struct rdb_long_row *first;
};

void sto_rdb_long_rows_init(struct rdb_long_rows *rows, struct rdb_engine *e);
void sto_rdb_long_rows_fini(struct rdb_long_rows *rows);

/* --- the read --------------------------------------------------------------------------------- */

/* Call before creating an iterator; the result is for sto_rdb_long_row_open. */
static inline uint64_t sto_rdb_long_rows_mark(const struct rdb_long_rows *rows)
{
    return atomic_load_explicit(&rows->turns, memory_order_acquire);
}

/* Opens a long row. row: the prefix of its stored keys, copied. True: an iterator created after the
 * mark shows the same state as all later ones. */
bool sto_rdb_long_row_open(struct rdb_long_row *r, struct rdb_long_rows *rows, struct slice row,
                           uint64_t mark) MUST_CHECK;
/* Closes the row, after its last iterator was destroyed. Accepts a closed one. */
void sto_rdb_long_row_close(struct rdb_long_row *r);
/* Creates an iterator. NULL: the row has changed, and the snapshot is gone. */
rocksdb_iterator_t *sto_rdb_long_row_iterator(struct rdb_long_row *r,
                                              rocksdb_readoptions_t *options);
/* Call after its iterator was destroyed. */
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

/* Called before and after a batch is written. range: rows that it deletes as a range; NULL:
 * none. */
void sto_rdb_long_rows_write_begin(struct rdb_long_rows *rows, struct rdb_overlay *overlay,
                                   const struct sto_span *range);
void sto_rdb_long_rows_write_end(struct rdb_long_rows *rows);

/* --- other callers ---------------------------------------------------------------------------- */

/* Releases snapshots that are older than age_ms, of all tenants. */
void sto_rdb_long_rows_expire(struct rdb_engine *e, uint64_t age_ms);

#endif
