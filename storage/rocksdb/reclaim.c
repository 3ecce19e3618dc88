/*
 * storage/rocksdb/reclaim.c - a thread that empties a list of notes.
 *
 *   step       what a crash right after it leaves           what the repeat does
 *   flush      tombstones in files, logs without the rows   flushes nothing
 *   compact    files without the rows, old ones about to go rewrites little
 *   forget     no note, but its bytes and old files         the open removes old files
 *   settle     nothing                                      there is none
 *
 * 1. There is no deleting of files: it would have to come before the tombstone, that is before the
 *    counters said that the rows are gone, or else could bring rows back (ranges.h).
 * 2. The compactions run where all do, at low priority (db.c); this thread only waits.
 * 3. A large drop wants its bytes gone at once. Small ones wait for each other: the first of them
 *    that is due takes all of them along, and a large one takes none.
 * 4. Notes tell where rows were: their own bytes are rewritten away as well.
 * 5. The note of a whole table stands for its changes, too (change_drop.c).
 */
#include "storage/rocksdb/reclaim.h"

#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/worker.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/reclaim_note.h"
#include "storage/rocksdb/removed.h"

#include "base/banned.h"

#define NS_PER_S  1000000000ULL
#define NS_PER_US 1000ULL
#define NEVER     UINT64_MAX

/* --- rewriting -------------------------------------------------------------------------------- */

/* Stored keys between which files are rewritten, of one note or of many. */
struct stretch {
    bool is_set;
    struct sto_key_bounds bounds;
};

static struct slice begin_of(const struct sto_key_bounds *b)
{
    return base_slice(b->lower, b->lower_len);
}

static struct slice end_of(const struct sto_key_bounds *b)
{
    return base_slice(b->upper, b->upper_len);
}

static bool is_near(struct rdb_engine *e, int family, const struct stretch *s,
                    const struct sto_key_bounds *b)
{
    if (base_slice_compare(begin_of(b), begin_of(&s->bounds)) < 0)
        return false;
    return base_slice_compare(begin_of(b), end_of(&s->bounds)) <= 0 ||
           sto_rdb_range_bytes(e, family, end_of(&s->bounds), begin_of(b)) < RDB_NEAR_BYTES;
}

static enum err stretch_rewrite(struct rdb_engine *e, int family, struct stretch *s,
                                struct errbuf *eb)
{
    enum err rc = s->is_set ? sto_rdb_usable(e, eb) : ERR_OK;
    if (rc == ERR_OK && s->is_set)
        sto_rdb_range_compact(e, family, begin_of(&s->bounds), end_of(&s->bounds));
    s->is_set = false;
    return rc;
}

/* A table that was removed may leave changes; a drop of rows leaves those of its table alone. */
static bool concerns(const struct rdb_note *note, int family)
{
    return family == RDB_CF_CELLS ||
           (base_slice_equal(begin_of(&note->bounds), sto_range_begin(&note->table)) &&
            base_slice_equal(end_of(&note->bounds), sto_range_end(&note->table)));
}

/* Files that hold keys of many notes are rewritten once. */
static enum err family_rewrite(struct rdb_engine *e, int family, const struct rdb_notes *notes,
                               struct errbuf *eb)
{
    struct stretch *s = base_new(sizeof *s);
    struct rdb_note *note = base_new(sizeof *note);
    size_t position = 0;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && sto_rdb_notes_next(notes, &position, note)) {
        if (!concerns(note, family))
            continue;
        if (s->is_set && is_near(e, family, s, &note->bounds)) {
            if (base_slice_compare(end_of(&note->bounds), end_of(&s->bounds)) > 0) {
                memcpy(s->bounds.upper, note->bounds.upper, note->bounds.upper_len);
                s->bounds.upper_len = note->bounds.upper_len;
            }
            continue;
        }
        rc = stretch_rewrite(e, family, s, eb);
        s->is_set = true;
        s->bounds = note->bounds;
    }
    if (rc == ERR_OK)
        rc = stretch_rewrite(e, family, s, eb);
    base_free(note);
    base_free(s);
    /* A compaction that was told to end, or failed, did nothing. */
    return rc == ERR_OK ? sto_rdb_compactions_check(e, eb) : rc;
}

static enum err notes_rewrite(struct rdb_engine *e, struct errbuf *eb)
{
    static const uint8_t begin[] = {RDB_NOTE_LETTER, '/'};
    static const uint8_t end[] = {RDB_NOTE_LETTER, '/' + 1};
    enum err rc = sto_rdb_flush(e);
    if (rc == ERR_OK)
        rc = sto_rdb_wait_for_snapshots(e, eb);
    if (rc == ERR_OK)
        sto_rdb_range_compact(e, RDB_CF_META, base_slice(begin, sizeof begin),
                              base_slice(end, sizeof end));
    return rc;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static enum err notes_work(struct rdb_engine *e, const struct rdb_notes *notes, struct errbuf *eb)
{
    bool has_none;
    enum err rc = sto_rdb_flush(e);
    sto_rdb_test_point(e, STO_DIE_FLUSHED);
    if (rc == ERR_OK)
        rc = sto_rdb_wait_for_snapshots(e, eb);
    if (rc == ERR_OK)
        rc = family_rewrite(e, RDB_CF_CELLS, notes, eb);
    if (rc == ERR_OK)
        rc = family_rewrite(e, RDB_CF_CHANGES, notes, eb);
    if (rc == ERR_OK) /* those of rows go when there is nothing else to do */
        rc = sto_rdb_tombstones_push(e, RDB_CF_CHANGES, NULL, &has_none, eb);
    sto_rdb_test_point(e, STO_DIE_COMPACTED);
    if (rc == ERR_OK)
        rc = sto_rdb_notes_forget(e, notes);
    sto_rdb_test_point(e, STO_DIE_FORGOTTEN);
    return rc;
}

/* Behind the last note: what was replaced, and what the notes were. */
static enum err settle(struct rdb_reclaim *r, struct errbuf *eb)
{
    enum err rc = notes_rewrite(r->engine, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_files_settle(r->engine, eb);
    sto_rdb_test_point(r->engine, STO_DIE_SETTLED);
    if (rc == ERR_OK)
        r->is_unsettled = false;
    return rc;
}

/* ERR_NOT_FOUND: there is nothing to do; ERR_TIMEOUT: there may be, look again. */
static enum err run_round(struct rdb_reclaim *r, struct rdb_notes_due *due)
{
    struct rdb_engine *e = r->engine;
    struct errbuf eb = {{0}};
    struct rdb_notes notes = {0};
    uint64_t removed_ns = NEVER;
    enum err rc = sto_rdb_usable(e, &eb);
    if (rc == ERR_OK)
        rc = sto_rdb_notes_due(e, due);
    if (rc != ERR_OK)
        return rc;
    atomic_store(&r->waiting, due->now + due->later);
    if (due->now == 0 && !due->takes_all) {
        if (r->is_unsettled)
            return settle(r, &eb);
        if (sto_rdb_removed_work(e, &removed_ns, &eb) != ERR_OK)
            return ERR_TIMEOUT; /* damage was told; what was not rewritten, reads will note again */
        bool is_clear = sto_rdb_tombstones_clear(e);
        if (removed_ns == NEVER)
            return is_clear ? ERR_NOT_FOUND : ERR_TIMEOUT;
        if (removed_ns / NS_PER_US < due->wait_us)
            due->wait_us = removed_ns / NS_PER_US + 1;
        return ERR_TIMEOUT;
    }
    rc = sto_rdb_notes_read(e, due->takes_all, &notes);
    if (rc == ERR_OK && notes.stored.len == 0)
        rc = ERR_TIMEOUT; /* no memory for them, or a purge took them */
    if (rc == ERR_OK)
        rc = notes_work(e, &notes, &eb);
    if (rc == ERR_OK)
        r->is_unsettled = true;
    sto_rdb_notes_fini(&notes);
    return rc;
}

/* --- thread ----------------------------------------------------------------------------------- */

/* Until there is something to do, or for a while when it has to be tried again. False: end. */
static bool wait_turn(struct rdb_reclaim *r, bool retries)
{
    uint64_t retry_ns = retries ? base_monotonic_ns() + RDB_RECLAIM_RETRY_S * NS_PER_S : NEVER;
    pthread_mutex_lock(&r->lock);
    int rc = 0;
    while (!r->stopping && !r->wanted && rc == 0) {
        uint64_t until_ns = retry_ns < r->due_ns ? retry_ns : r->due_ns;
        struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
                                 .tv_nsec = (long)(until_ns % NS_PER_S)};
        rc = until_ns == NEVER ? pthread_cond_wait(&r->changed, &r->lock)
                               : pthread_cond_timedwait(&r->changed, &r->lock, &until);
    }
    r->wanted = false;
    r->due_ns = NEVER; /* it looks now */
    atomic_store(&r->is_idle, false);
    bool goes_on = !r->stopping;
    pthread_mutex_unlock(&r->lock);
    return goes_on;
}

static void due_at(struct rdb_reclaim *r, uint64_t ns)
{
    if (ns < r->due_ns) {
        r->due_ns = ns;
        pthread_cond_signal(&r->changed);
    }
}

/* What was looked at says when to look again; something may have come meanwhile. */
static void rest(struct rdb_reclaim *r, const struct rdb_notes_due *due, bool is_idle)
{
    pthread_mutex_lock(&r->lock);
    if (due->wait_us != UINT64_MAX)
        due_at(r, base_monotonic_ns() + due->wait_us * NS_PER_US);
    atomic_store(&r->is_idle, is_idle && !r->wanted);
    pthread_mutex_unlock(&r->lock);
}

static void *thread_main(void *arg)
{
    struct rdb_reclaim *r = arg;
    enum err rc = ERR_OK;
    sto_rdb_uncounted();
    while (rc == ERR_OK || wait_turn(r, rc == ERR_TIMEOUT)) {
        struct rdb_notes_due due = {.wait_us = UINT64_MAX};
        rc = run_round(r, &due);
        if (rc != ERR_OK)
            rest(r, &due, rc == ERR_NOT_FOUND);
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

void sto_rdb_reclaim_expect(struct rdb_reclaim *r)
{
    pthread_mutex_lock(&r->lock);
    due_at(r, base_monotonic_ns() + r->engine->options.reclaim_after_s * NS_PER_S);
    pthread_mutex_unlock(&r->lock);
}

enum err sto_rdb_reclaim_start(struct rdb_reclaim *r, struct rdb_engine *e)
{
    r->engine = e;
    r->due_ns = NEVER;
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
