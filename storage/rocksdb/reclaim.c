/*
 * storage/rocksdb/reclaim.c - a thread that empties a list of reclaim records.
 *
 *   step       what a crash right after it leaves            what the repeat does
 *   flush      tombstones in files, logs without the rows    flushes nothing
 *   compact    files without the rows, old ones about to go  rewrites little
 *   forget     no record, but its bytes and old files        the open removes old files
 *   settle     nothing                                       there is none
 *
 * 1. No files are deleted: that would have to happen before the tombstone, which is before the
 *    counters say that the rows are gone, or else could bring rows back (ranges.h).
 * 2. The compactions run where all do, at low priority (db.c); this thread only waits.
 * 3. The space of a large drop is reclaimed at once. Small drops wait for each other: the first of
 *    them that is due takes all of them along, and a large one takes none.
 * 4. Records contain row keys: their own bytes are rewritten away as well.
 * 5. The record of a whole table stands for its changes, too (change_drop.c).
 * 6. A damaged file that cannot be rewritten (damage.c, 3) stops only the work that needs that
 *    file. The records of that file are kept as records for later, due after a pause. Each step
 *    that fails because of it is retried after a pause of its own, and the steps after it run all
 *    the same.
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

#define STUCK_TRIES 8 /* compactions around one stretch that fail */

/* --- rewriting -------------------------------------------------------------------------------- */

/* Stored keys between which files are rewritten, for one record or many. */
struct stretch {
    bool is_set;
    struct sto_key_bounds bounds;
    size_t from; /* positions of those records */
    size_t to;
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

static enum err bounds_rewrite(struct rdb_engine *e, int family, const struct sto_key_bounds *b,
                               struct errbuf *eb)
{
    enum err rc = sto_rdb_usable(e, eb);
    if (rc == ERR_OK)
        sto_rdb_range_compact_deepest(e, family, begin_of(b), end_of(b));
    /* A compaction that was told to end, or failed, did nothing. */
    return rc == ERR_OK ? sto_rdb_compactions_check(e, eb) : rc;
}

/* Returns whether a record applies to the family. A removed table may leave changes; a drop of rows
 * keeps those of its table. */
static bool concerns(const struct rdb_note *note, int family)
{
    return family == RDB_CF_CELLS ||
           (base_slice_equal(begin_of(&note->bounds), sto_range_begin(&note->table)) &&
            base_slice_equal(end_of(&note->bounds), sto_range_end(&note->table)));
}

/* Handles a damaged file in a stretch: rewrites the range of each of its records alone, and keeps
 * the records for which that fails. RocksDB may include the damaged file in a compaction beside it,
 * so after a few failures the others are kept without an attempt. */
static enum err notes_rewrite_each(struct rdb_engine *e, int family, struct rdb_notes *notes,
                                   const struct stretch *s, struct errbuf *eb)
{
    struct rdb_note *note = base_new(sizeof *note);
    size_t position = s->from;
    int failures = 0;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && position < s->to && sto_rdb_notes_next(notes, &position, note)) {
        if (!concerns(note, family))
            continue;
        bool is_stuck =
            failures >= STUCK_TRIES ||
            sto_rdb_damage_stuck(e, family, begin_of(&note->bounds), end_of(&note->bounds)) != 0;
        if (!is_stuck) {
            rc = bounds_rewrite(e, family, &note->bounds, eb);
            is_stuck = rc == ERR_CORRUPT;
            failures += is_stuck;
        }
        if (is_stuck) {
            sto_rdb_notes_keep(notes, note);
            rc = ERR_OK;
        }
    }
    base_free(note);
    return rc;
}

static enum err stretch_rewrite(struct rdb_engine *e, int family, struct rdb_notes *notes,
                                struct stretch *s, struct errbuf *eb)
{
    enum err rc = s->is_set ? bounds_rewrite(e, family, &s->bounds, eb) : ERR_OK;
    s->is_set = false;
    return rc == ERR_CORRUPT ? notes_rewrite_each(e, family, notes, s, eb) : rc;
}

/* Rewrites the ranges of all records. A file with keys of many records is rewritten once. */
static enum err family_rewrite(struct rdb_engine *e, int family, struct rdb_notes *notes,
                               struct errbuf *eb)
{
    struct stretch *s = base_new(sizeof *s);
    struct rdb_note *note = base_new(sizeof *note);
    size_t position = 0;
    size_t from = 0;
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && sto_rdb_notes_next(notes, &position, note); from = position) {
        if (!concerns(note, family))
            continue;
        if (s->is_set && is_near(e, family, s, &note->bounds)) {
            if (base_slice_compare(end_of(&note->bounds), end_of(&s->bounds)) > 0) {
                memcpy(s->bounds.upper, note->bounds.upper, note->bounds.upper_len);
                s->bounds.upper_len = note->bounds.upper_len;
            }
            s->to = position;
            continue;
        }
        rc = stretch_rewrite(e, family, notes, s, eb);
        s->is_set = true;
        s->bounds = note->bounds;
        s->from = from;
        s->to = position;
    }
    if (rc == ERR_OK)
        rc = stretch_rewrite(e, family, notes, s, eb);
    base_free(note);
    base_free(s);
    return rc;
}

/* Removes range tombstones of removed tables, whose changes were deleted as ranges. Those of rows
 * are removed when there is nothing else to do. */
static enum err changes_clear(struct rdb_engine *e, struct rdb_notes *notes, struct errbuf *eb)
{
    bool has_none;
    enum err rc = sto_rdb_tombstones_push(e, RDB_CF_CHANGES, NULL, &has_none, eb);
    if (rc != ERR_CORRUPT)
        return rc;
    struct rdb_note *note = base_new(sizeof *note);
    for (size_t position = 0; sto_rdb_notes_next(notes, &position, note);)
        if (concerns(note, RDB_CF_CHANGES))
            sto_rdb_notes_keep(notes, note);
    base_free(note);
    return ERR_OK;
}

/* Rewrites the bytes of the records themselves. */
static enum err note_bytes_rewrite(struct rdb_engine *e, struct errbuf *eb)
{
    enum err rc = sto_rdb_flush(e);
    if (rc == ERR_OK)
        rc = sto_rdb_wait_for_snapshots(e, eb);
    if (rc == ERR_OK)
        sto_rdb_range_compact(e, RDB_CF_META, sto_doc_prefix(STO_DOC_RECLAIM),
                              sto_doc_prefix_end(STO_DOC_RECLAIM));
    return rc;
}

/* --- around a damaged file -------------------------------------------------------------------- */

static bool is_tried(const struct rdb_reclaim *r, enum rdb_stuck_work work)
{
    return base_monotonic_ns() >= r->stuck[work].next_ns;
}

/* Doubles the pause, because a damaged file blocks the work. eb: names the file. */
static void pause_double(struct rdb_reclaim *r, enum rdb_stuck_work work, const struct errbuf *eb)
{
    struct rdb_stuck *s = &r->stuck[work];
    uint64_t max = r->engine->options.reclaim_after_s;
    if (max > RDB_STUCK_MAX_S)
        max = RDB_STUCK_MAX_S;
    s->pause_s = s->pause_s == 0 ? RDB_STUCK_FIRST_S : 2 * s->pause_s;
    if (s->pause_s > max)
        s->pause_s = max;
    s->next_ns = base_monotonic_ns() + s->pause_s * NS_PER_S;
    pthread_mutex_lock(&r->lock);
    r->stuck_text = *eb;
    pthread_mutex_unlock(&r->lock);
}

/* Ends a step. Other steps do not depend on one that a damaged file blocks. */
static enum err step_end(struct rdb_reclaim *r, enum rdb_stuck_work work, enum err rc,
                         const struct errbuf *eb)
{
    if (rc == ERR_CORRUPT)
        pause_double(r, work, eb);
    else
        r->stuck[work] = (struct rdb_stuck){0};
    return rc;
}

void sto_rdb_reclaim_stuck(struct rdb_reclaim *r, struct errbuf *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->stuck_text;
    pthread_mutex_unlock(&r->lock);
}

static void stuck_text_clear(struct rdb_reclaim *r)
{
    bool is_any = false;
    for (int i = 0; i < RDB_STUCK_WORKS; i++)
        is_any = is_any || r->stuck[i].pause_s > 0;
    if (is_any)
        return;
    pthread_mutex_lock(&r->lock);
    r->stuck_text.text[0] = '\0';
    pthread_mutex_unlock(&r->lock);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static enum err notes_work(struct rdb_reclaim *r, struct rdb_notes *notes, bool *out_kept,
                           struct errbuf *eb)
{
    struct rdb_engine *e = r->engine;
    enum err rc = sto_rdb_flush(e);
    sto_rdb_test_point(e, STO_DIE_FLUSHED);
    if (rc == ERR_OK)
        rc = sto_rdb_wait_for_snapshots(e, eb);
    if (rc == ERR_OK)
        rc = family_rewrite(e, RDB_CF_CELLS, notes, eb);
    if (rc == ERR_OK)
        rc = family_rewrite(e, RDB_CF_CHANGES, notes, eb);
    if (rc == ERR_OK)
        rc = changes_clear(e, notes, eb);
    sto_rdb_test_point(e, STO_DIE_COMPACTED);
    *out_kept = rc == ERR_OK && sto_rdb_notes_keep_any(notes);
    if (*out_kept)
        pause_double(r, RDB_STUCK_KEPT, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_notes_forget(e, notes, r->stuck[RDB_STUCK_KEPT].pause_s);
    sto_rdb_test_point(e, STO_DIE_FORGOTTEN);
    return rc;
}

static enum err due_work(struct rdb_reclaim *r, const struct rdb_notes_due *due, struct errbuf *eb)
{
    struct rdb_notes notes = {0};
    bool keeps_any = false;
    enum err rc = sto_rdb_notes_read(r->engine, due->takes_all, &notes);
    if (rc == ERR_OK && notes.stored.len == 0)
        rc = ERR_TIMEOUT; /* no memory for them, or a purge deleted them */
    if (rc == ERR_OK)
        rc = notes_work(r, &notes, &keeps_any, eb);
    if (rc == ERR_OK)
        r->is_unsettled = true;
    if (rc == ERR_OK && due->takes_all && !keeps_any)
        r->stuck[RDB_STUCK_KEPT] = (struct rdb_stuck){0}; /* the kept ones are among all */
    sto_rdb_notes_fini(&notes);
    return rc;
}

/* Processes records. ERR_OK: some were processed; ERR_NOT_FOUND: none is due. */
static enum err notes_run(struct rdb_reclaim *r, struct rdb_notes_due *due)
{
    struct errbuf eb = {{0}};
    enum err rc = sto_rdb_notes_due(r->engine, due);
    if (rc == ERR_OK) {
        atomic_store(&r->waiting, due->now + due->later);
        if (due->later == 0) /* none is kept */
            r->stuck[RDB_STUCK_KEPT] = (struct rdb_stuck){0};
        rc = due->now > 0 || due->takes_all ? due_work(r, due, &eb) : ERR_NOT_FOUND;
    }
    if (rc == ERR_CORRUPT && eb.text[0] == '\0') /* the records cannot be read */
        rc = sto_rdb_damage_blame(r->engine, 0, &eb);
    return step_end(r, RDB_STUCK_READING, rc, &eb);
}

/* Call after the last record: removes the replaced files, and the records' own bytes. */
static enum err settle(struct rdb_reclaim *r, struct errbuf *eb)
{
    enum err rc = note_bytes_rewrite(r->engine, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_files_settle(r->engine, eb);
    sto_rdb_test_point(r->engine, STO_DIE_SETTLED);
    if (rc == ERR_OK)
        r->is_unsettled = false;
    return rc;
}

/* Does the work for times when no record is due. */
static enum err idle_run(struct rdb_reclaim *r, struct rdb_notes_due *due)
{
    struct rdb_engine *e = r->engine;
    struct errbuf eb = {{0}};
    uint64_t removed_ns = NEVER;
    enum err cleared = ERR_TIMEOUT;
    if (r->is_unsettled && is_tried(r, RDB_STUCK_SETTLING)) {
        enum err rc = step_end(r, RDB_STUCK_SETTLING, settle(r, &eb), &eb);
        if (rc != ERR_CORRUPT)
            return rc;
    }
    /* Damage is reported elsewhere; reads will report stretches that were not rewritten again. */
    bool is_done = sto_rdb_removed_work(e, &removed_ns, &eb) == ERR_OK && removed_ns == NEVER;
    if (removed_ns != NEVER && removed_ns / NS_PER_US < due->wait_us)
        due->wait_us = removed_ns / NS_PER_US + 1;
    if (is_tried(r, RDB_STUCK_CLEARING)) {
        bool rewrote;
        cleared = sto_rdb_tombstones_clear(e, &rewrote, &eb);
        cleared = step_end(r, RDB_STUCK_CLEARING, cleared, &eb);
        r->is_unsettled = r->is_unsettled || rewrote;
        if (cleared == ERR_OK && rewrote)
            return ERR_OK; /* the next round settles */
    }
    return is_done && !r->is_unsettled && cleared == ERR_OK ? ERR_NOT_FOUND : ERR_TIMEOUT;
}

/* ERR_NOT_FOUND: there is nothing to do; ERR_TIMEOUT: there may be work, check again. */
static enum err run_round(struct rdb_reclaim *r, struct rdb_notes_due *due)
{
    enum err rc = sto_rdb_usable(r->engine, NULL);
    if (rc != ERR_OK)
        return rc;
    enum err noted = is_tried(r, RDB_STUCK_READING) ? notes_run(r, due) : ERR_CORRUPT;
    if (noted != ERR_NOT_FOUND && noted != ERR_CORRUPT)
        return noted;
    rc = idle_run(r, due);
    return rc == ERR_NOT_FOUND && noted == ERR_CORRUPT ? ERR_TIMEOUT : rc;
}

/* --- thread ----------------------------------------------------------------------------------- */

/* Waits until there is work, or for the retry interval. False: end the thread. */
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
    r->due_ns = NEVER; /* it checks now */
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

/* Sets the time of the next check; new work may have arrived since the last one. */
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
    /* first, because all reads wait until then; on failure, clear retries */
    (void)sto_rdb_tombstones_load(r->engine);
    while (rc == ERR_OK || wait_turn(r, rc == ERR_TIMEOUT)) {
        struct rdb_notes_due due = {.wait_us = UINT64_MAX};
        rc = run_round(r, &due);
        stuck_text_clear(r);
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
    /* the engine closes: all manual compactions end */
    rocksdb_disable_manual_compaction(r->engine->db.handle);
    INVARIANT(pthread_join(r->thread, NULL) == 0);
    r->started = false;
    (void)pthread_cond_destroy(&r->changed); /* no thread waits */
    (void)pthread_mutex_destroy(&r->lock);
}
