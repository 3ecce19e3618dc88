/*
 * storage/rocksdb/reclaim.c - a thread that empties a list of notes.
 *
 *   step       what a crash right after it leaves           what the repeat does
 *   flush      tombstones in files, logs without the rows   flushes nothing
 *   compact    files without the rows, old ones about to go rewrites little
 *   settle     nothing of the rows, but their notes         the same once more
 *   forget     nothing                                      there is none
 *
 * 1. There is no deleting of files: it would have to come before the tombstone, that is before the
 *    counters said that the rows are gone, or else could bring rows back (ranges.h).
 * 2. The compactions run where all do, at low priority (db.c); this thread only waits.
 */
#include "storage/rocksdb/reclaim.h"

#include <time.h>

#include "base/alloc.h"
#include "base/worker.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/reclaim_note.h"

#include "base/banned.h"

/* --- rounds ----------------------------------------------------------------------------------- */

static enum err tables_rewrite(struct rdb_engine *e, const struct rdb_note *notes, size_t count,
                               struct errbuf *eb)
{
    enum err rc = sto_rdb_flush(e);
    sto_rdb_test_point(e, STO_DIE_FLUSHED);
    if (rc == ERR_OK)
        rc = sto_rdb_wait_for_snapshots(e, eb);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        rc = sto_rdb_usable(e, eb);
        if (rc == ERR_OK)
            sto_rdb_range_compact(e, RDB_CF_CELLS, sto_rdb_note_span(&notes[i]));
    }
    if (rc == ERR_OK) /* a compaction that was told to end did nothing */
        rc = sto_rdb_usable(e, eb);
    sto_rdb_test_point(e, STO_DIE_COMPACTED);
    return rc == ERR_OK ? sto_rdb_files_settle(e, eb) : rc;
}

/* ERR_NOT_FOUND: there is nothing to do; ERR_TIMEOUT: range tombstones are left, look again. */
static enum err run_round(struct rdb_engine *e)
{
    struct errbuf eb = {{0}};
    struct rdb_note *notes = base_new_array(RDB_RECLAIM_TABLES, sizeof notes[0]);
    size_t count = 0;
    enum err rc = sto_rdb_usable(e, &eb);
    if (rc == ERR_OK)
        rc = sto_rdb_notes_read(e, notes, RDB_RECLAIM_TABLES, &count);
    if (rc == ERR_OK && count == 0)
        rc = sto_rdb_tombstones_look(e) ? ERR_NOT_FOUND : ERR_TIMEOUT;
    if (rc == ERR_OK)
        rc = tables_rewrite(e, notes, count, &eb);
    if (rc == ERR_OK) {
        sto_rdb_test_point(e, STO_DIE_SETTLED);
        rc = sto_rdb_notes_forget(e, notes, count);
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
