/*
 * storage/rocksdb/rocksdb_engine.c - open, close, fail.
 *
 *   db/      witness    what open does
 *   none     none       a new database: witness "adopting", create, witness "live"
 *   any      adopting   opens what is there, or creates it; witness "live"
 *   some     live       opens; refuses if its last sequence number is below the witness
 *   some     none       refuses: the witness was lost, or the files are not ours
 *   none     live       refuses: the database was lost
 *
 * 1. Threads start after the database is open and checked, and end before it closes.
 * 2. The first failure stays: reason is written once, failed is never cleared.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/rocksdb_engine.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/machine.h"
#include "base/share.h"
#include "storage/rocksdb/change_read.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/descriptors.h"
#include "storage/rocksdb/docs.h"
#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/engine_stats.h"
#include "storage/rocksdb/fence.h"
#include "storage/rocksdb/log_check.h"
#include "storage/rocksdb/meta_copies.h"
#include "storage/rocksdb/options.h"
#include "storage/rocksdb/progress.h"
#include "storage/rocksdb/purge.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/reader.h"
#include "storage/rocksdb/recount.h"
#include "storage/rocksdb/sample.h"
#include "storage/rocksdb/search.h"
#include "storage/rocksdb/shares.h"
#include "storage/rocksdb/shuttle.h"
#include "storage/rocksdb/witness.h"

#include "base/banned.h"

#define OPEN_BYTES   (8 * MIB) /* a new log, a new MANIFEST, and the first writes */
#define LAYOUT_KEY   "!layout"
#define LAYOUT_VALUE "1"

/* --- failing -------------------------------------------------------------------------------- */

/* Classifies the failure by its text, because RocksDB returns no errno. */
static enum sto_disk disk_of(const struct rdb_engine *e, const char *reason)
{
    if (strstr(reason, strerrordesc_np(ENOSPC)) != NULL ||
        strstr(reason, strerrordesc_np(EDQUOT)) != NULL)
        return STO_DISK_FULL;
    if (strstr(reason, strerrordesc_np(EROFS)) != NULL || atomic_load(&e->headroom.read_only))
        return STO_DISK_READ_ONLY;
    return STO_DISK_FAILED;
}

void sto_rdb_fail_text(struct rdb_engine *e, const char *reason)
{
    pthread_mutex_lock(&e->reason_lock);
    if (!atomic_load(&e->failed)) {
        (void)snprintf(e->reason, sizeof(e->reason), "%s", reason); /* cut is fine */
        e->failed_disk = disk_of(e, reason);
        atomic_store(&e->failed, true);
    }
    pthread_mutex_unlock(&e->reason_lock);
}

enum err sto_rdb_fail(struct rdb_engine *e, const char *doing, char *rocksdb_error)
{
    enum err rc = sto_rdb_error_class(rocksdb_error);
    char reason[sizeof(e->reason)];
    (void)snprintf(reason, sizeof(reason), "%s: %s", doing, rocksdb_error); /* cut is fine */
    rocksdb_free(rocksdb_error);
    sto_rdb_fail_text(e, reason);
    return rc;
}

enum err sto_rdb_sound(struct rdb_engine *e, struct errbuf *eb)
{
    if (!atomic_load_explicit(&e->failed, memory_order_relaxed))
        return ERR_OK;
    return base_fail(eb, ERR_UNAVAILABLE, "the storage engine has stopped after a failure");
}

enum err sto_rdb_usable(struct rdb_engine *e, struct errbuf *eb)
{
    if (atomic_load_explicit(&e->closing, memory_order_relaxed))
        return base_fail(eb, ERR_UNAVAILABLE, "the storage engine is closing");
    return sto_rdb_sound(e, eb);
}

/* --- writing -------------------------------------------------------------------------------- */

/* Raises acked_sequence to the last durable change. */
static void acknowledge(struct rdb_engine *e)
{
    uint64_t now = rocksdb_get_latest_sequence_number(e->db.handle);
    uint64_t before = atomic_load_explicit(&e->acked_sequence, memory_order_relaxed);
    while (before < now && !atomic_compare_exchange_weak(&e->acked_sequence, &before, now))
        continue;
}

static bool test_fails(struct rdb_engine *e)
{
    int left = atomic_load_explicit(&e->fail_commit, memory_order_relaxed);
    return left > 0 && atomic_fetch_sub(&e->fail_commit, 1) == 1;
}

enum err sto_rdb_write(struct rdb_engine *e, rocksdb_writebatch_t *batch)
{
    if (sto_rdb_sound(e, NULL) != ERR_OK)
        return ERR_UNAVAILABLE;
    if (test_fails(e)) {
        sto_rdb_fail_text(e, "write: failed by a test");
        return ERR_OUTCOME_UNKNOWN;
    }
    char *error = NULL;
    size_t bytes = 0;
    (void)rocksdb_writebatch_data(batch, &bytes); /* only its size */
    rocksdb_write(e->db.handle, e->db.synced, batch, &error);
    if (error != NULL) {
        (void)sto_rdb_fail(e, "write", error); /* any class: the write may be there or not */
        sto_rdb_headroom_check(&e->headroom);
        return ERR_OUTCOME_UNKNOWN;
    }
    acknowledge(e);
    sto_rdb_headroom_wrote(&e->headroom, bytes);
    return ERR_OK;
}

/* --- operations without a file of their own --------------------------------------------------- */

static void mutate_row(struct sto_engine *engine, struct sto_mutate_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    sto_rdb_committer_submit(sto_rdb_committer_of(e, op->scope.tenant.account), op);
}

static void health_get(struct sto_engine *engine, struct sto_health *out)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    *out = (struct sto_health){
        .failed = atomic_load(&e->failed),
        .disk_low = sto_rdb_headroom_is_low(&e->headroom),
        .disk_free_bytes = atomic_load(&e->headroom.free_bytes),
        .descriptors_missed = sto_rdb_descriptors_missed(),
        .sequence = rocksdb_get_latest_sequence_number(e->db.handle),
    };
    pthread_mutex_lock(&e->reason_lock);
    memcpy(out->reason, e->reason, sizeof(out->reason));
    out->disk = out->failed ? e->failed_disk : out->disk_low ? STO_DISK_FULL : STO_DISK_OK;
    pthread_mutex_unlock(&e->reason_lock);
}

/* --- closing -------------------------------------------------------------------------------- */

enum err sto_rdb_flush_family(struct rdb_engine *e, int family)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(options, 1);
    char *error = NULL;
    rocksdb_flush_cf(e->db.handle, options, e->db.cf[family], &error);
    rocksdb_flushoptions_destroy(options);
    return error == NULL ? ERR_OK : sto_rdb_fail(e, "flush", error);
}

enum err sto_rdb_flush(struct rdb_engine *e)
{
    uint64_t tombstones = sto_rdb_tombstones_before_flush(e);
    enum err rc = ERR_OK;
    for (int i = 0; rc == ERR_OK && i < RDB_CF_COUNT; i++)
        rc = sto_rdb_flush_family(e, i);
    if (rc == ERR_OK)
        sto_rdb_tombstones_flushed(&e->tombstones, tombstones);
    return rc;
}

/* Accepts an engine that was created in part. */
static void engine_free(struct rdb_engine *e)
{
    for (int i = 0; i < e->committer_count; i++)
        sto_rdb_committer_stop(e->committers[i]);
    sto_rdb_pool_stop(&e->pool);
    sto_rdb_maintenance_stop(&e->maintenance);
    sto_rdb_reclaim_stop(&e->reclaim);
    sto_rdb_scrub_stop(&e->scrub);
    sto_rdb_damage_stop(&e->damage);
    sto_rdb_db_close(&e->db);
    sto_rdb_headroom_fini(&e->headroom);
    base_free(e->purging.of);
    (void)pthread_mutex_destroy(&e->reason_lock); /* no thread holds them */
    (void)pthread_mutex_destroy(&e->compact_lock);
    (void)pthread_mutex_destroy(&e->docs_lock);
    (void)pthread_mutex_destroy(&e->image_lock);
    sto_rdb_scrub_fini(&e->scrub);
    for (int i = 0; i < RDB_COMMITTERS_MAX; i++)
        sto_rdb_long_rows_fini(&e->long_rows[i]);
    sto_rdb_file_lists_fini(&e->file_lists);
    sto_rdb_damage_fini(&e->damage);
    sto_rdb_meta_copies_fini(&e->meta_copies);
    sto_rdb_lost_fini(&e->lost);
    sto_rdb_removed_fini(&e->removed);
    sto_rdb_tombstones_fini(&e->tombstones);
    sto_rdb_change_counts_fini(&e->change_counts);
    e->base.magic = 0;
    base_free(e);
}

static void engine_close(struct sto_engine *engine)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    atomic_store(&e->closing, true);
    sto_rdb_shuttle_drain(e);
    sto_rdb_reclaim_stop(&e->reclaim);
    sto_rdb_scrub_stop(&e->scrub);
    sto_rdb_damage_stop(&e->damage);
    for (int i = 0; i < e->committer_count; i++)
        sto_rdb_committer_stop(e->committers[i]);
    e->committer_count = 0;
    sto_rdb_pool_stop(&e->pool);
    sto_rdb_maintenance_stop(&e->maintenance);
    if (!atomic_load(&e->failed) && sto_rdb_flush(e) == ERR_OK)
        sto_rdb_maintenance_witness(&e->maintenance);
    engine_free(e);
}

/* --- opening -------------------------------------------------------------------------------- */

/* Returns in *out whether the directory exists and is not empty. */
static enum err has_content(const char *path, bool *out, struct errbuf *eb)
{
    *out = false;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT
                   ? ERR_OK
                   : base_fail(eb, ERR_IO, "cannot look into %s: %s", path, strerrordesc_np(errno));
    for (const struct dirent *d; !*out && (d = readdir(dir)) != NULL;)
        *out = strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
    (void)closedir(dir); /* only read from */
    return ERR_OK;
}

/* Returns the bytes that recovery turns into tables. */
static enum err logs_measure(const char *path, uint64_t *out, struct errbuf *eb)
{
    DIR *dir = opendir(path);
    *out = 0;
    if (dir == NULL)
        return errno == ENOENT
                   ? ERR_OK
                   : base_fail(eb, ERR_IO, "cannot look into %s: %s", path, strerrordesc_np(errno));
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        struct stat st;
        const char *ending = strrchr(d->d_name, '.');
        if (ending != NULL && strcmp(ending, ".log") == 0 &&
            fstatat(dirfd(dir), d->d_name, &st, 0) == 0)
            *out += (uint64_t)st.st_size;
    }
    (void)closedir(dir); /* only read from */
    return ERR_OK;
}

/* Implements the table at the top of this file, up to the open of the database. */
static enum err witness_prepare(struct rdb_engine *e, const char *db_path, struct rdb_witness *out,
                                struct errbuf *eb)
{
    bool db_exists = false;
    enum err rc = has_content(db_path, &db_exists, eb);
    if (rc != ERR_OK)
        return rc;
    rc = sto_rdb_witness_read(e->dir, out, eb);
    if (rc == ERR_NOT_FOUND && db_exists)
        return base_fail(eb, ERR_CORRUPT,
                         "%s holds a database but its witness file is missing, so lost writes "
                         "could not be noticed; restore a backup",
                         e->dir);
    if (rc == ERR_NOT_FOUND) {
        *out = (struct rdb_witness){.adopting = true};
        if (eb != NULL)
            eb->text[0] = '\0';
        return sto_rdb_witness_write(e->dir, out, eb);
    }
    if (rc == ERR_OK && !out->adopting && !db_exists)
        return base_fail(eb, ERR_CORRUPT,
                         "%s has a witness of %" PRIu64
                         " acknowledged changes but no database; restore a backup",
                         e->dir, out->sequence);
    return rc;
}

static enum err layout_check(struct rdb_engine *e, bool adopting, struct errbuf *eb)
{
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(
        e->db.handle, e->db.point, e->db.meta, LAYOUT_KEY, sizeof(LAYOUT_KEY) - 1, &error);
    if (error != NULL)
        return base_fail(eb, sto_rdb_read_failed(e, error), "the database cannot be read");
    if (pinned != NULL) {
        size_t len = 0;
        const char *value = rocksdb_pinnableslice_value(pinned, &len);
        bool known = base_slice_is(base_slice(value, len), LAYOUT_VALUE);
        rocksdb_pinnableslice_destroy(pinned);
        return known ? ERR_OK
                     : base_fail(eb, ERR_UNSUPPORTED,
                                 "the database was written by a newer version of this program");
    }
    if (!adopting)
        return base_fail(eb, ERR_CORRUPT, "the database does not say which layout it has");
    /* This write also has to precede the first snapshot: 7.8.3 mistakes a snapshot at sequence
     * 0. */
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_put_cf(batch, e->db.meta, LAYOUT_KEY, sizeof(LAYOUT_KEY) - 1, LAYOUT_VALUE,
                              sizeof(LAYOUT_VALUE) - 1);
    enum err rc = sto_rdb_write(e, batch);
    rocksdb_writebatch_destroy(batch);
    return rc == ERR_OK ? rc : base_fail(eb, ERR_IO, "the first write failed: %s", e->reason);
}

static enum err db_open(struct rdb_engine *e, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, e->dir, "db", eb);
    if (rc != ERR_OK)
        return rc;
    struct rdb_witness witness = {0};
    uint64_t log_bytes = 0;
    rc = logs_measure(path, &log_bytes, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_headroom_probe(&e->headroom, log_bytes + OPEN_BYTES, eb);
    if (rc == ERR_OK)
        rc = witness_prepare(e, path, &witness, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_logs_check(path, &witness, &e->options.tears, true, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_meta_copies_mend(path, &e->options.mended, eb);
    if (rc == ERR_OK)
        e->db.damage_io = sto_rdb_damage_io_new(sto_rdb_damage_met, e);
    if (rc == ERR_OK)
        rc = sto_rdb_db_open(&e->db, path, &e->options, witness.adopting, &e->pace, eb);
    if (rc != ERR_OK)
        return rc;
    uint64_t sequence = rocksdb_get_latest_sequence_number(e->db.handle);
    if (sequence < witness.sequence)
        return base_fail(eb, ERR_CORRUPT,
                         "the database in %s ends at change %" PRIu64 " but %" PRIu64
                         " were acknowledged: it lost writes; restore a backup",
                         e->dir, sequence, witness.sequence);
    rc = layout_check(e, witness.adopting, eb);
    if (rc != ERR_OK)
        return rc;
    rc = sto_rdb_lost_load(e);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the records of lost rows cannot be read");
    rc = sto_rdb_scrub_load(&e->scrub, witness.adopting, eb);
    if (rc != ERR_OK)
        return rc;
    acknowledge(e);
    if (!witness.adopting) {
        e->maintenance.witnessed = witness.sequence;
        return ERR_OK;
    }
    witness = (struct rdb_witness){.sequence = atomic_load(&e->acked_sequence)};
    e->maintenance.witnessed = witness.sequence;
    return sto_rdb_witness_write(e->dir, &witness, eb);
}

static enum err threads_start(struct rdb_engine *e, struct errbuf *eb)
{
    enum err rc = sto_rdb_pool_start(&e->pool, e->options.readers, base_machine_processors());
    for (int i = 0; rc == ERR_OK && i < e->options.committers; i++) {
        e->committers[i] = sto_rdb_committer_start(e, i);
        if (e->committers[i] == NULL)
            rc = ERR_NO_MEMORY;
        else
            e->committer_count++;
    }
    if (rc == ERR_OK)
        rc = sto_rdb_maintenance_start(&e->maintenance, e);
    if (rc == ERR_OK)
        rc = sto_rdb_reclaim_start(&e->reclaim, e);
    if (rc == ERR_OK)
        rc = sto_rdb_damage_start(&e->damage);
    if (rc == ERR_OK)
        rc = sto_rdb_scrub_start(&e->scrub);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the engine's threads cannot be started");
}

static const struct sto_engine_ops OPS = {
    .mutate_row = mutate_row,
    .read_rows = sto_rdb_read_rows,
    .read_finish = sto_rdb_read_finish,
    .read_changes = sto_rdb_read_changes,
    .sample_row_keys = sto_rdb_sample_row_keys,
    .drop_rows = sto_rdb_drop_rows,
    .recount = sto_rdb_recount,
    .fence = sto_rdb_fence,
    .docs_commit = sto_rdb_docs_commit,
    .doc_get = sto_rdb_doc_get,
    .docs_read = sto_rdb_docs_read,
    .counters_load = sto_rdb_counters_load,
    .table_forget = sto_rdb_table_forget,
    .purge_run = sto_rdb_purge_run,
    .purge_run_all = sto_rdb_purge_run_all,
    .audit_range = sto_rdb_audit_range,
    .canaries_plant = sto_rdb_canaries_plant,
    .search_files = sto_rdb_search_files,
    .erasing_since = sto_rdb_erasing_since,
    .progress_watch = sto_rdb_progress_watch,
    .health_get = health_get,
    .damage_get = sto_rdb_damage_get,
    .stats_get = sto_rdb_stats_get,
    .close = engine_close,
};

enum err sto_rocksdb_open(const struct sto_rocksdb_options *options, struct sto_engine **out,
                          struct errbuf *eb)
{
    struct rdb_engine *e = base_new(sizeof(*e));
    e->base = (struct sto_engine){.magic = STO_ENGINE_MAGIC, .ops = &OPS};
    (void)pthread_mutex_init(&e->reason_lock, NULL); /* default attributes: cannot fail */
    (void)pthread_mutex_init(&e->docs_lock, NULL);
    (void)pthread_mutex_init(&e->compact_lock, NULL);
    (void)pthread_mutex_init(&e->image_lock, NULL);
    for (int i = 0; i < RDB_COMMITTERS_MAX; i++)
        sto_rdb_long_rows_init(&e->long_rows[i], e);
    sto_rdb_damage_init(&e->damage, e);
    sto_rdb_meta_copies_init(&e->meta_copies);
    sto_rdb_lost_init(&e->lost);
    sto_rdb_scrub_init(&e->scrub, e);
    sto_rdb_file_lists_init(&e->file_lists);
    sto_rdb_tombstones_init(&e->tombstones);
    sto_rdb_removed_init(&e->removed);
    sto_rdb_change_counts_init(&e->change_counts);
    sto_rdb_pace_init(&e->pace, e);
    e->wait_seconds = RDB_WAIT_SECONDS;
    atomic_init(&e->apply_steps, LIM_APPLY_STEPS);
    atomic_init(&e->held_free_ns, LIM_HELD_FREE_MS * 1000000ULL);
    e->options = *options;
    struct rdb_machine machine;
    sto_rdb_machine_get(&machine);
    sto_rdb_options_complete(&e->options, &machine);
    enum err rc = base_path_join(e->dir, options->dir, "", eb);
    if (rc == ERR_OK) {
        e->dir[strlen(options->dir)] = '\0';
        e->options.dir = e->dir;
        rc = sto_rdb_headroom_init(&e->headroom, e->dir, options->headroom_bytes,
                                   options->ballast_bytes, eb);
    }
    if (rc == ERR_OK)
        rc = db_open(e, eb);
    if (rc == ERR_OK)
        rc = threads_start(e, eb);
    if (rc != ERR_OK) {
        engine_free(e);
        return rc;
    }
    *out = &e->base;
    return ERR_OK;
}

enum err sto_rocksdb_logs_read(const char *dir, const struct sto_rocksdb_tears *tears,
                               struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct rdb_witness witness;
    enum err rc = sto_rdb_witness_read(dir, &witness, eb);
    if (rc == ERR_OK)
        rc = base_path_join(path, dir, "db", eb);
    return rc == ERR_OK ? sto_rdb_logs_check(path, &witness, tears, false, eb) : rc;
}

enum err sto_rocksdb_adopt(const char *dir, struct errbuf *eb)
{
    struct rdb_witness witness = {.adopting = true};
    return sto_rdb_witness_write(dir, &witness, eb);
}
