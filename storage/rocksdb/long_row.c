/*
 * storage/rocksdb/long_row.c - a list of rows that committers check before they write.
 *
 *   the row           what an iterator of the next slice sees
 *   unchanged         the newest state, which is the one that previous slices saw
 *   changed           the snapshot that was taken before the change was written
 *   changed, lost     nothing: the read ends
 *
 * 1. Opening a row waits for the batch that is being written. Each later batch finds the row in the
 *    list before it is written.
 * 2. Iterators are created under the lock, so that no batch starts between the check of is_changed
 *    and the creation of the iterator.
 * 3. RocksDB uses an iterator's snapshot whenever the iterator enters another file: a snapshot is
 *    not released before its iterator is destroyed.
 */
#include "storage/rocksdb/long_row.h"

#include "base/clock.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_PER_MS 1000000ULL

void sto_rdb_long_rows_init(struct rdb_long_rows *rows, struct rdb_engine *e)
{
    rows->engine = e;
    (void)pthread_mutex_init(&rows->lock, NULL); /* default attributes: these two cannot fail */
    (void)pthread_cond_init(&rows->written, NULL);
}

void sto_rdb_long_rows_fini(struct rdb_long_rows *rows)
{
    INVARIANT(rows->first == NULL); /* reads are finished before the engine is closed */
    (void)pthread_cond_destroy(&rows->written);
    (void)pthread_mutex_destroy(&rows->lock);
}

/* --- the read --------------------------------------------------------------------------------- */

static void snapshot_release(struct rdb_long_row *r)
{
    if (r->snapshot != NULL)
        rocksdb_release_snapshot(r->rows->engine->db.handle, r->snapshot);
    r->snapshot = NULL;
}

bool sto_rdb_long_row_open(struct rdb_long_row *r, struct rdb_long_rows *rows, struct slice row,
                           uint64_t mark)
{
    INVARIANT(row.len <= sizeof r->key);
    memcpy(r->key, row.ptr, row.len);
    r->rows = rows;
    r->key_len = row.len;
    r->previous = NULL;
    r->snapshot = NULL;
    r->is_changed = r->is_read = r->is_given_up = false;
    pthread_mutex_lock(&rows->lock);
    uint64_t turns = atomic_load(&rows->turns);
    r->next = rows->first;
    if (r->next != NULL)
        r->next->previous = r;
    rows->first = r;
    while (turns % 2 != 0 && atomic_load(&rows->turns) == turns)
        pthread_cond_wait(&rows->written, &rows->lock);
    pthread_mutex_unlock(&rows->lock);
    return turns % 2 == 0 && turns == mark;
}

void sto_rdb_long_row_close(struct rdb_long_row *r)
{
    struct rdb_long_rows *rows = r->rows;
    if (rows == NULL)
        return;
    pthread_mutex_lock(&rows->lock);
    snapshot_release(r);
    if (r->previous != NULL)
        r->previous->next = r->next;
    else
        rows->first = r->next;
    if (r->next != NULL)
        r->next->previous = r->previous;
    pthread_mutex_unlock(&rows->lock);
    r->rows = NULL;
}

rocksdb_iterator_t *sto_rdb_long_row_iterator(struct rdb_long_row *r,
                                              rocksdb_readoptions_t *options)
{
    struct rdb_db *db = &r->rows->engine->db;
    rocksdb_iterator_t *it = NULL;
    pthread_mutex_lock(&r->rows->lock);
    r->is_read = r->snapshot != NULL && !r->is_given_up;
    if (r->is_read)
        rocksdb_readoptions_set_snapshot(options, r->snapshot);
    if (r->is_read || !r->is_changed)
        it = rocksdb_create_iterator_cf(db->handle, options, db->cells);
    pthread_mutex_unlock(&r->rows->lock);
    return it;
}

void sto_rdb_long_row_rests(struct rdb_long_row *r)
{
    pthread_mutex_lock(&r->rows->lock);
    r->is_read = false;
    if (r->is_given_up)
        snapshot_release(r);
    pthread_mutex_unlock(&r->rows->lock);
}

/* --- the committer ---------------------------------------------------------------------------- */

static bool batch_has_row(struct rdb_overlay *overlay, const struct sto_span *range,
                          struct slice row)
{
    if (range != NULL && base_slice_compare(range->begin, row) <= 0 &&
        base_slice_compare(row, range->end) < 0)
        return true;
    return sto_rdb_overlay_has(overlay, row);
}

void sto_rdb_long_rows_write_begin(struct rdb_long_rows *rows, struct rdb_overlay *overlay,
                                   const struct sto_span *range)
{
    pthread_mutex_lock(&rows->lock);
    for (struct rdb_long_row *r = rows->first; r != NULL; r = r->next) {
        if (r->is_changed || !batch_has_row(overlay, range, sto_rdb_long_row_key(r)))
            continue;
        r->is_changed = true;
        r->changed_ns = base_monotonic_ns();
        r->snapshot = rocksdb_create_snapshot(rows->engine->db.handle);
    }
    atomic_fetch_add(&rows->turns, 1);
    pthread_mutex_unlock(&rows->lock);
}

void sto_rdb_long_rows_write_end(struct rdb_long_rows *rows)
{
    pthread_mutex_lock(&rows->lock);
    atomic_fetch_add(&rows->turns, 1);
    pthread_cond_broadcast(&rows->written);
    pthread_mutex_unlock(&rows->lock);
}

/* --- other callers --------------------------------------------------------------------------- */

static void rows_expire(struct rdb_long_rows *rows, uint64_t now_ns, uint64_t age_ns)
{
    pthread_mutex_lock(&rows->lock);
    for (struct rdb_long_row *r = rows->first; r != NULL; r = r->next) {
        if (r->snapshot == NULL || now_ns < r->changed_ns + age_ns)
            continue;
        r->is_given_up = true;
        if (!r->is_read)
            snapshot_release(r);
    }
    pthread_mutex_unlock(&rows->lock);
}

void sto_rdb_long_rows_expire(struct rdb_engine *e, uint64_t age_ms)
{
    uint64_t now_ns = base_monotonic_ns();
    for (int i = 0; i < RDB_COMMITTERS_MAX; i++)
        rows_expire(&e->long_rows[i], now_ns, age_ms * NS_PER_MS);
}
