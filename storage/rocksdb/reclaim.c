/*
 * storage/rocksdb/reclaim.c - a thread that empties a list of notes.
 *
 *   step       what a crash right after it leaves           what the repeat does
 *   flush      tombstones in files, logs without the rows   flushes nothing
 *   compact    files without the rows, old ones about to go rewrites little
 *   settle     nothing of the tables, but their notes       the same once more
 *   forget     nothing                                      there is none
 *
 * 1. There is no deleting of files: it would have to come before the tombstone, that is before the
 *    counters said that the rows are gone, or else could bring rows back (ranges.h).
 * 2. A note's value is the sequence number before its batch: two of one table are never the same.
 *    It is compared and deleted under docs_lock, which whoever writes one holds, too; a purge that
 *    took it away meanwhile leaves nothing to delete, so no trace of the tenant is written behind
 *    its purge.
 * 3. The compactions run where all do, at low priority (db.c); this thread only waits.
 */
#include "storage/rocksdb/reclaim.h"

#include <time.h>

#include "base/alloc.h"
#include "base/worker.h"
#include "storage/rocksdb/batch.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NOTE_BYTES 8

struct note {
    size_t key_len;
    uint8_t key[RDB_COUNTER_KEY_MAX];
    uint64_t value;
    struct sto_range range;
};

/* --- notes ------------------------------------------------------------------------------------ */

void sto_rdb_reclaim_note(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                          const struct sto_table_scope *scope)
{
    uint8_t key[RDB_COUNTER_KEY_MAX];
    uint8_t value[NOTE_BYTES];
    size_t len = sto_rdb_counter_key(&scope->tenant, scope->schema->table, key);
    key[0] = RDB_RECLAIM_LETTER;
    sto_put_be64(value, rocksdb_get_latest_sequence_number(e->db.handle));
    rocksdb_writebatch_put_cf(batch, e->db.meta, (const char *)key, len, (const char *)value,
                              sizeof value);
}

static enum err note_read(rocksdb_iterator_t *it, struct note *out, struct errbuf *eb)
{
    struct slice key, value;
    key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
    value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
    if (key.len > sizeof out->key || value.len != NOTE_BYTES)
        return base_fail(eb, ERR_CORRUPT, "a note of a removed table is damaged");
    memcpy(out->key, key.ptr, key.len);
    out->key_len = key.len;
    out->value = sto_get_be64(value.ptr);
    return sto_range_of_table_named(base_slice_skip(key, 2), &out->range, eb);
}

/* The first ones, at most RDB_RECLAIM_TABLES. */
static enum err notes_read(struct rdb_engine *e, struct note *out, size_t *out_count,
                           struct errbuf *eb)
{
    static const uint8_t begin[] = {RDB_RECLAIM_LETTER, '/'};
    static const uint8_t end[] = {RDB_RECLAIM_LETTER, '/' + 1};
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(begin, sizeof begin), base_slice(end, sizeof end));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.meta);
    enum err rc = ERR_OK;
    size_t count = 0;
    rocksdb_iter_seek_to_first(it);
    for (; rc == ERR_OK && count < RDB_RECLAIM_TABLES && rocksdb_iter_valid(it); count++) {
        rc = note_read(it, &out[count], eb);
        rocksdb_iter_next(it);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        rc = base_fail(eb, sto_rdb_fail(e, "read", error), "notes cannot be read");
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    *out_count = count;
    return rc;
}

/* Whether the note is there and no newer one. */
static enum err note_is_there(struct rdb_engine *e, const struct note *note, bool *out)
{
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(
        e->db.handle, e->db.point, e->db.meta, (const char *)note->key, note->key_len, &error);
    if (error != NULL)
        return sto_rdb_fail(e, "read", error);
    struct slice value = SLICE_EMPTY;
    if (pinned != NULL)
        value.ptr = (const uint8_t *)rocksdb_pinnableslice_value(pinned, &value.len);
    *out = value.len == NOTE_BYTES && sto_get_be64(value.ptr) == note->value;
    if (pinned != NULL)
        rocksdb_pinnableslice_destroy(pinned);
    return ERR_OK;
}

static enum err notes_forget(struct rdb_engine *e, const struct note *notes, size_t count)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    enum err rc = ERR_OK;
    pthread_mutex_lock(&e->docs_lock);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        bool is_there = false;
        rc = note_is_there(e, &notes[i], &is_there);
        if (is_there)
            rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)notes[i].key,
                                         notes[i].key_len);
    }
    if (rc == ERR_OK && rocksdb_writebatch_count(batch) > 0)
        rc = sto_rdb_write(e, batch);
    pthread_mutex_unlock(&e->docs_lock);
    rocksdb_writebatch_destroy(batch);
    return rc;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static enum err tables_rewrite(struct rdb_engine *e, const struct note *notes, size_t count,
                               struct errbuf *eb)
{
    enum err rc = sto_rdb_flush(e);
    sto_rdb_test_point(e, STO_DIE_FLUSHED);
    if (rc == ERR_OK)
        rc = sto_rdb_wait_for_snapshots(e, eb);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        rc = sto_rdb_usable(e, eb);
        if (rc == ERR_OK)
            sto_rdb_range_compact(e, RDB_CF_CELLS, &notes[i].range);
    }
    if (rc == ERR_OK) /* a compaction that was told to end did nothing */
        rc = sto_rdb_usable(e, eb);
    sto_rdb_test_point(e, STO_DIE_COMPACTED);
    return rc == ERR_OK ? sto_rdb_files_settle(e, eb) : rc;
}

/* ERR_NOT_FOUND: there is nothing to do. */
static enum err run_round(struct rdb_engine *e)
{
    struct errbuf eb = {{0}};
    struct note *notes = base_new_array(RDB_RECLAIM_TABLES, sizeof notes[0]);
    size_t count = 0;
    enum err rc = sto_rdb_usable(e, &eb);
    if (rc == ERR_OK)
        rc = notes_read(e, notes, &count, &eb);
    if (rc == ERR_CORRUPT)
        sto_rdb_fail_text(e, eb.text);
    if (rc == ERR_OK && count == 0)
        rc = ERR_NOT_FOUND;
    if (rc == ERR_OK)
        rc = tables_rewrite(e, notes, count, &eb);
    if (rc == ERR_OK) {
        sto_rdb_test_point(e, STO_DIE_SETTLED);
        rc = notes_forget(e, notes, count);
        sto_rdb_test_point(e, STO_DIE_FORGOTTEN);
    }
    base_free(notes);
    return rc;
}

/* --- thread ----------------------------------------------------------------------------------- */

/* Until there is something to do, or for a while when it has to be tried again. False: end. */
static bool wait_turn(struct rdb_reclaim *r, bool retries)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
    until.tv_sec += RDB_RECLAIM_RETRY_S;
    pthread_mutex_lock(&r->lock);
    int rc = 0;
    while (!r->stopping && !r->wanted && rc == 0)
        rc = retries ? pthread_cond_timedwait(&r->changed, &r->lock, &until)
                     : pthread_cond_wait(&r->changed, &r->lock);
    r->wanted = false;
    bool goes_on = !r->stopping;
    pthread_mutex_unlock(&r->lock);
    return goes_on;
}

/* Nothing was found; unless something came meanwhile. */
static void rest(struct rdb_reclaim *r)
{
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->is_idle, !r->wanted);
    pthread_mutex_unlock(&r->lock);
}

static void *thread_main(void *arg)
{
    struct rdb_reclaim *r = arg;
    enum err rc = ERR_OK;
    sto_rdb_uncounted();
    while (rc == ERR_OK || wait_turn(r, rc == ERR_TIMEOUT)) {
        rc = run_round(r->engine);
        if (rc == ERR_NOT_FOUND)
            rest(r);
    }
    return NULL;
}

void sto_rdb_reclaim_wake(struct rdb_reclaim *r)
{
    pthread_mutex_lock(&r->lock);
    r->wanted = true;
    atomic_store(&r->is_idle, false);
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

enum err sto_rdb_reclaim_start(struct rdb_reclaim *r, struct rdb_engine *e)
{
    r->engine = e;
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr); /* these four cannot fail on Linux */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&r->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&r->lock, NULL); /* default attributes: cannot fail */
    enum err rc = base_thread_start(&r->thread, "reclaim", thread_main, r);
    r->started = rc == ERR_OK;
    return rc;
}

void sto_rdb_reclaim_stop(struct rdb_reclaim *r)
{
    if (!r->started)
        return;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    rocksdb_disable_manual_compaction(r->engine->db.handle); /* the engine closes: nobody's else */
    INVARIANT(pthread_join(r->thread, NULL) == 0);
    r->started = false;
    (void)pthread_cond_destroy(&r->changed); /* nobody waits */
    (void)pthread_mutex_destroy(&r->lock);
}
