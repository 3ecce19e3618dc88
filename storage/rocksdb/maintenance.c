/*
 * storage/rocksdb/maintenance.c - a loop around a timed wait.
 *
 * 1. A witness that cannot be written latches the engine: otherwise acknowledged writes would get
 *    ahead of the file without a bound. Lack of space is tolerated for a limited time, because
 *    deletes may end it. So is a lack of descriptors, because connections and other files are
 *    closed again.
 * 2. On a disk that is low only deletes are accepted, and their space is reclaimed by a compaction
 *    that nothing else would start: no growth, no flush. So deletes are flushed every few seconds;
 *    files full of them are compacted (RDB_DELETES_WINDOW), and growth resumes by itself.
 */
#include "storage/rocksdb/maintenance.h"

#include <time.h>

#include "base/clock.h"
#include "base/worker.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/descriptors.h"
#include "storage/rocksdb/long_row.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/shares.h"
#include "storage/rocksdb/witness.h"

#include "base/banned.h"

#define NS_PER_MS 1000000L
#define NS_PER_S  1000000000L

void sto_rdb_maintenance_witness(struct rdb_maintenance *m)
{
    struct rdb_witness w = {.sequence = atomic_load(&m->engine->acked_sequence)};
    if (w.sequence == m->witnessed)
        return;
    struct errbuf eb = {{0}};
    enum err rc = sto_rdb_witness_write(m->engine->dir, &w, &eb);
    uint64_t now_ns = base_monotonic_ns();
    uint64_t borne_s = rc == ERR_STORAGE_FULL ? RDB_WITNESS_SECONDS
                       : rc == ERR_OVERLOADED ? RDB_DESCRIPTOR_SECONDS
                                              : 0;
    if (rc == ERR_OK) {
        m->witnessed = w.sequence;
        m->unwitnessed_since_ns = 0;
        return;
    }
    if (m->unwitnessed_since_ns == 0) {
        m->unwitnessed_since_ns = now_ns;
        if (rc == ERR_OVERLOADED)
            sto_rdb_descriptor_missed();
    }
    if (borne_s == 0 || now_ns - m->unwitnessed_since_ns > borne_s * NS_PER_S)
        sto_rdb_fail_text(m->engine, eb.text);
}

/* Returns a property of the whole database; 7.8.3 keeps one of them at the default column
 * family. */
static uint64_t property(struct rdb_engine *e, const char *name)
{
    uint64_t value = 0;
    return rocksdb_property_int(e->db.handle, name, &value) == 0 ? value : 0;
}

bool sto_rdb_background_failed(struct rdb_engine *e)
{
    uint64_t errors = property(e, "rocksdb.background-errors");
    if (errors <= sto_rdb_damage_io_failures(e->db.damage_io)) /* read after it: never less */
        return false;
    char text[sizeof e->reason] = "a flush or compaction failed: ";
    size_t len = strlen(text);
    sto_rdb_damage_io_reason(e->db.damage_io, text + len, sizeof text - len);
    sto_rdb_fail_text(e, text);
    return true;
}

static void reclaim(struct rdb_maintenance *m)
{
    struct rdb_engine *e = m->engine;
    uint64_t sequence = atomic_load(&e->acked_sequence);
    bool is_due = sto_rdb_headroom_is_low(&e->headroom) && sequence != m->reclaimed;
    m->low_seconds = is_due ? m->low_seconds + 1 : 0;
    if (m->low_seconds < RDB_RECLAIM_SECONDS)
        return;
    m->low_seconds = 0;
    m->reclaimed = sequence;
    if (sto_rdb_flush(e) != ERR_OK)
        return; /* the engine is latched */
}

static void tokens_sweep(struct rdb_maintenance *m)
{
    bool more = true;
    for (int i = 0; more && i < RDB_SWEEPS_PER_SECOND; i++) {
        enum err rc = sto_rdb_tokens_sweep(m->engine, &m->tokens, base_wall_us(), &more);
        if (rc == ERR_CORRUPT) /* the tokens stay, and so do all after them */
            sto_rdb_damage_count(m->engine);
        if (rc != ERR_OK)
            return;
    }
}

static void changes_sweep(struct rdb_maintenance *m)
{
    uint64_t begun_ns = base_monotonic_ns();
    uint64_t now_ns = begun_ns;
    bool more = true;
    if (m->changes.at_len == 0 && begun_ns < m->changes_next_ns)
        return;
    for (int i = 0; more && i < RDB_SWEEPS_PER_SECOND &&
                    now_ns - begun_ns < (uint64_t)RDB_CHANGES_SWEEP_MS * NS_PER_MS;
         i++) {
        enum err rc = sto_rdb_changes_sweep(m->engine, &m->changes, base_wall_us(), &more);
        if (rc == ERR_CORRUPT)
            sto_rdb_damage_count(m->engine);
        if (rc != ERR_OK)
            return;
        now_ns = base_monotonic_ns();
    }
    m->changes_walk_ns += now_ns - begun_ns;
    if (more)
        return;
    uint64_t rest_ns = m->changes_walk_ns * RDB_CHANGES_REST_FACTOR;
    uint64_t most_ns = (uint64_t)RDB_CHANGES_REST_S * NS_PER_S;
    m->changes_next_ns = now_ns + (rest_ns < most_ns ? rest_ns : most_ns);
    m->changes_walk_ns = 0;
}

/* Does the work that must not wait for a second. */
static void look_often(struct rdb_maintenance *m)
{
    struct rdb_engine *e = m->engine;
    sto_rdb_pressure_look(e);
    sto_rdb_shares_look(e, base_monotonic_ns());
    sto_rdb_headroom_check(&e->headroom);
    if (!atomic_load(&e->failed) && atomic_load(&e->headroom.read_only))
        sto_rdb_fail_text(e, "the file system is mounted read-only");
    if (!atomic_load(&e->failed))
        sto_rdb_maintenance_witness(m);
}

static void look(struct rdb_maintenance *m)
{
    struct rdb_engine *e = m->engine;
    if (atomic_load(&e->failed))
        return;
    (void)sto_rdb_background_failed(e); /* the other threads check the latch */
    m->stalled_seconds = property(e, "rocksdb.is-write-stopped") != 0 ? m->stalled_seconds + 1 : 0;
    if (m->stalled_seconds >= RDB_STALL_SECONDS)
        sto_rdb_fail_text(e, "writes have been stopped for too long");
    sto_rdb_db_choose_parts(&e->db);
    sto_rdb_long_rows_expire(e, e->options.row_snapshot_ms);
    tokens_sweep(m);
    changes_sweep(m);
    reclaim(m);
}

/* Waits. Returns true when the thread has to end. */
static bool wait_moment(struct rdb_maintenance *m)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
    until.tv_nsec += RDB_PRESSURE_LOOK_MS * NS_PER_MS;
    if (until.tv_nsec >= NS_PER_S) {
        until.tv_nsec -= NS_PER_S;
        until.tv_sec++;
    }
    pthread_mutex_lock(&m->lock);
    int rc = 0;
    while (!m->stopping && rc == 0)
        rc = pthread_cond_timedwait(&m->changed, &m->lock, &until);
    bool stopping = m->stopping;
    pthread_mutex_unlock(&m->lock);
    return stopping;
}

static void *thread_main(void *arg)
{
    struct rdb_maintenance *m = arg;
    while (!wait_moment(m)) {
        uint64_t now_ns = base_monotonic_ns();
        look_often(m);
        if (now_ns < m->next_look_ns)
            continue;
        m->next_look_ns = now_ns + NS_PER_S;
        look(m);
    }
    return NULL;
}

enum err sto_rdb_maintenance_start(struct rdb_maintenance *m, struct rdb_engine *e)
{
    m->engine = e;
    m->next_look_ns = base_monotonic_ns() + NS_PER_S;
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr); /* these four cannot fail on Linux */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&m->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&m->lock, NULL); /* default attributes: cannot fail */
    enum err rc = base_thread_start(&m->thread, "storage-care", thread_main, m);
    m->started = rc == ERR_OK;
    return rc;
}

void sto_rdb_maintenance_stop(struct rdb_maintenance *m)
{
    if (!m->started)
        return;
    pthread_mutex_lock(&m->lock);
    m->stopping = true;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
    INVARIANT(pthread_join(m->thread, NULL) == 0);
    m->started = false;
    (void)pthread_cond_destroy(&m->changed); /* no thread waits */
    (void)pthread_mutex_destroy(&m->lock);
}
