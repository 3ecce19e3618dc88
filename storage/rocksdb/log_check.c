/*
 * storage/rocksdb/log_check.c - distinguishes a torn end from lost writes.
 *
 * All writes are synced, one after the other: a write starts when the previous one is on disk. So
 * at most one record of all logs can be incomplete, and no record comes after it.
 *
 *   the logs hold                                      meaning
 *   damage, and after it the start of a batch          the damaged one was synced: lost, refuse
 *   damage, and a later log that does not continue     the same
 *     with the next change
 *   changes that skip some                             a log or a part of one is missing: the same
 *   damage, and fewer changes before it than the       an acknowledged write was there: the same
 *     witness names
 *   damage, and none of these                          a write that was never acknowledged: a tear
 *
 * 1. Everything is read before anything is cut, so that a refusal leaves all files as they are.
 * 2. A log that RocksDB no longer reads is not read here: its damage does not matter.
 * 3. While a database is adopted, missing changes are accepted, but damage before other records is
 *    not: RocksDB would refuse it, or silently leave it out.
 * 4. No copy of the cut bytes is kept: they may be a tenant's, and a purge would have to find them.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/log_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "storage/rocksdb/file_lock.h"
#include "storage/rocksdb/log_file.h"
#include "storage/rocksdb/manifest.h"

#include "base/banned.h"

#define LOGS_MAX 65536

struct log {
    uint64_t number;
    bool is_torn;
    struct sto_rocksdb_tear tear;
};

struct walk {
    const char *db_path;
    const struct rdb_witness *witness;
    struct rdb_manifest manifest;
    struct buf list; /* of struct log, sorted by number */
    size_t count;
    bool is_torn;    /* one of the logs read so far is torn */
    bool is_reached; /* a change was found */
    uint64_t reached;
};

/* Returns the last change that is certainly present. */
static uint64_t reached(const struct walk *w)
{
    return w->is_reached ? w->reached : w->manifest.sequence;
}

static struct log *logs_of(const struct walk *w)
{
    return (struct log *)(void *)w->list.ptr;
}

/* --- finding the logs ------------------------------------------------------------------------ */

static int compare_logs(const void *a, const void *b)
{
    const struct log *left = a;
    const struct log *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/* Parses "000012.log". */
static bool log_number(const char *name, uint64_t *out)
{
    size_t digits = strspn(name, "0123456789");
    size_t zeros = strspn(name, "0");
    if (digits == zeros || strcmp(name + digits, ".log") != 0)
        return false;
    return base_parse_u64(base_slice(name + zeros, digits - zeros), out) == ERR_OK;
}

static enum err logs_list(struct walk *w, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    DIR *dir = opendir(w->db_path);
    if (dir == NULL)
        return base_fail(eb, ERR_IO, "cannot look into %s: %s", w->db_path, strerrordesc_np(errno));
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(dir)) != NULL;) {
        struct log log = {.number = 0};
        if (!log_number(d->d_name, &log.number) || log.number < w->manifest.oldest_log)
            continue;
        rc = base_buf_append(&w->list, base_slice(&log, sizeof log));
        w->count++;
    }
    (void)closedir(dir); /* only read from */
    if (rc != ERR_OK)
        return base_fail(eb, rc, "%s holds too many logs", w->db_path);
    if (w->count > 0)
        qsort(logs_of(w), w->count, sizeof(struct log), compare_logs);
    return ERR_OK;
}

static enum err log_path(const struct walk *w, const struct log *log, char out[BASE_PATH_BYTES],
                         struct errbuf *eb)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%06" PRIu64 ".log", log->number); /* fits */
    return base_path_join(out, w->db_path, name, eb);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Checks that changes are numbered without gaps, from log to log. */
static enum err changes_follow(struct walk *w, const struct log *log,
                               const struct rdb_log_record *record, struct errbuf *eb)
{
    bool may_skip = w->witness->adopting && !w->is_torn;
    if (!may_skip && record->sequence > reached(w) + 1)
        return base_fail(eb, ERR_CORRUPT,
                         "the log %06" PRIu64 " goes on with change %" PRIu64 " at byte %" PRIu64
                         ", but the one before ends at change %" PRIu64
                         ": acknowledged writes are lost; restore a backup",
                         log->number, record->sequence, record->offset, reached(w));
    w->is_reached = true;
    w->reached = record->sequence + record->count - 1;
    return ERR_OK;
}

static enum err damage_judge(struct walk *w, struct log *log, struct rdb_log_file *f,
                             uint64_t offset, struct errbuf *eb)
{
    struct rdb_log_record later;
    bool is_found = false;
    uint64_t sequence = w->is_reached ? w->reached : 0;
    enum err rc = sto_rdb_log_find_later(f, offset, sequence, &is_found, &later, eb);
    if (rc != ERR_OK)
        return rc;
    if (is_found)
        return base_fail(eb, ERR_CORRUPT,
                         "the log %06" PRIu64 " is damaged at byte %" PRIu64
                         ", behind change %" PRIu64 ", and a later write follows at byte %" PRIu64
                         ": acknowledged writes are lost; restore a backup",
                         log->number, offset, reached(w), later.offset);
    log->is_torn = w->is_torn = true;
    log->tear = (struct sto_rocksdb_tear){.log = log->number,
                                          .offset = offset,
                                          .bytes = sto_rdb_log_bytes(f) - offset,
                                          .sequence = reached(w)};
    return ERR_OK;
}

static enum err log_read(struct walk *w, struct log *log, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct rdb_log_file *f = NULL;
    enum rdb_log_found found = RDB_LOG_RECORD;
    enum err rc = log_path(w, log, path, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_log_open(path, &f, eb);
    while (rc == ERR_OK && found == RDB_LOG_RECORD) {
        struct rdb_log_record record;
        rc = sto_rdb_log_next(f, NULL, &found, &record, eb);
        if (rc == ERR_OK && found == RDB_LOG_RECORD && record.bytes < RDB_LOG_BATCH_HEAD)
            found = RDB_LOG_DAMAGE;
        if (rc == ERR_OK && found == RDB_LOG_RECORD)
            rc = changes_follow(w, log, &record, eb);
        if (rc == ERR_OK && found == RDB_LOG_DAMAGE)
            rc = damage_judge(w, log, f, record.offset, eb);
    }
    sto_rdb_log_close(f);
    return rc;
}

/* Compares a torn database with the witness. RocksDB's open does that for one without damage. */
static enum err witness_compare(const struct walk *w, struct errbuf *eb)
{
    const struct log *torn = NULL;
    for (size_t i = 0; torn == NULL && i < w->count; i++)
        if (logs_of(w)[i].is_torn)
            torn = &logs_of(w)[i];
    if (torn == NULL || w->witness->adopting || reached(w) >= w->witness->sequence)
        return ERR_OK;
    return base_fail(eb, ERR_CORRUPT,
                     "the log %06" PRIu64 " is damaged at byte %" PRIu64 ", behind change %" PRIu64
                     ", but %" PRIu64 " were acknowledged: it lost writes; restore a backup",
                     torn->number, torn->tear.offset, reached(w), w->witness->sequence);
}

/* --- cutting ---------------------------------------------------------------------------------- */

static enum err logs_cut(const struct walk *w, const struct sto_rocksdb_tears *on_tear, bool cut,
                         struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < w->count; i++) {
        const struct log *log = &logs_of(w)[i];
        if (!log->is_torn)
            continue;
        if (on_tear->found != NULL)
            on_tear->found(on_tear->ctx, &log->tear);
        if (!cut)
            continue;
        rc = log_path(w, log, path, eb);
        if (rc == ERR_OK)
            rc = sto_rdb_log_append(path, log->tear.offset, NULL, 0, eb);
    }
    return rc;
}

/* Reads the MANIFEST. *out_is_known false: RocksDB will report what is wrong with it. */
static enum err manifest_look(struct walk *w, bool *out_is_known, struct errbuf *eb)
{
    struct errbuf detail = {{0}};
    sto_rdb_manifest_fini(&w->manifest);
    enum err rc = sto_rdb_manifest_read(w->db_path, &w->manifest, &detail);
    *out_is_known = rc == ERR_OK;
    if (rc == ERR_OK || rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED)
        return ERR_OK;
    return base_fail(eb, rc, "%s", detail.text);
}

enum err sto_rdb_logs_check(const char *db_path, const struct rdb_witness *witness,
                            const struct sto_rocksdb_tears *on_tear, bool cut, struct errbuf *eb)
{
    struct walk w = {.db_path = db_path, .witness = witness};
    struct rdb_file_lock *lock = NULL;
    bool is_known = false;
    enum err rc = manifest_look(&w, &is_known, eb);
    if (rc != ERR_OK || !is_known)
        return rc; /* there is no list */
    base_buf_init(&w.list, LOGS_MAX * sizeof(struct log));
    rc = sto_rdb_file_lock(db_path, &lock, eb);
    if (rc == ERR_OK) /* again, because now it cannot change */
        rc = manifest_look(&w, &is_known, eb);
    if (rc == ERR_OK && is_known)
        rc = logs_list(&w, eb);
    for (size_t i = 0; rc == ERR_OK && i < w.count; i++)
        rc = log_read(&w, &logs_of(&w)[i], eb);
    if (rc == ERR_OK)
        rc = witness_compare(&w, eb);
    if (rc == ERR_OK)
        rc = logs_cut(&w, on_tear, cut, eb);
    sto_rdb_file_unlock(lock);
    sto_rdb_manifest_fini(&w.manifest);
    base_buf_fini(&w.list);
    return rc;
}
