/*
 * storage/rocksdb/heldfiles.c - compares the files on the disk with the live ones, until there are
 * no others.
 *
 * 1. File numbers are never reused: a name that is gone stays gone.
 * 2. The output of a compaction in progress is on the disk but not live yet; it becomes live or is
 *    removed.
 * 3. A file whose last user was a point read, or a superversion cached by a thread, is released but
 *    not removed: RocksDB removes files at the end of flushes, compactions and iterators only. In
 *    an idle database none of these happens, so the removal is provoked here.
 * 4. The directory is listed before the live files are read: a file that becomes obsolete in
 *    between is waited for, one that is created in between is not.
 * 5. RocksDB 7.8.3 loses track of a log that an open found with nothing to recover: it is removed
 *    by the provoked removal, else within six hours.
 */
#include "storage/rocksdb/heldfiles.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/compat.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/meta_copies.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define TABLE         ".sst"
#define WRITE_LOG     ".log"
#define NAME_BYTES    32
#define NAMES_FIRST   256 /* first capacity, doubled as needed */
#define PROVOKE_EVERY 10  /* rounds of 10 ms */

struct names {
    size_t count;
    size_t capacity;
    char (*text)[NAME_BYTES];
};

static bool has_ending(const char *name, const char *ending)
{
    size_t len = strlen(name);
    return len > 4 && len < NAME_BYTES && strcmp(name + len - 4, ending) == 0;
}

static void names_add(struct names *names, const char *name)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? NAMES_FIRST : 2 * names->capacity;
        char(*text)[NAME_BYTES] = base_new_array(capacity, sizeof text[0]);
        if (names->count > 0)
            memcpy(text, names->text, names->count * sizeof text[0]);
        base_free(names->text);
        names->text = text;
        names->capacity = capacity;
    }
    memcpy(names->text[names->count++], name, strlen(name) + 1);
}

static enum err list(const char *db_path, const char *ending, struct names *out, struct errbuf *eb)
{
    DIR *dir = opendir(db_path);
    if (dir == NULL)
        return base_fail(eb, ERR_IO, "cannot look into %s", db_path);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;)
        if (has_ending(d->d_name, ending))
            names_add(out, d->d_name);
    (void)closedir(dir); /* only read from */
    return ERR_OK;
}

/* Returns whether the file is a table of the current version, or a log that a start would read. */
static bool is_live(const struct rdb_live_files *live, uint64_t oldest_log, const char *name)
{
    return has_ending(name, TABLE) ? sto_rdb_live_files_find(live, name) >= 0
                                   : sto_rdb_file_number(name) >= oldest_log;
}

/* Keeps only the names that are still on the disk and not live. */
static void sift(struct rdb_engine *e, const char *db_path, struct names *names)
{
    struct rdb_live_files live;
    uint64_t oldest_log = 0; /* unknown: all are live */
    (void)rocksdb_property_int(e->db.handle, "rocksdb.min-log-number-to-keep", &oldest_log);
    sto_rdb_live_files_open(e->db.handle, &live);
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        char path[BASE_PATH_BYTES];
        if (is_live(&live, oldest_log, names->text[i]) ||
            base_path_join(path, db_path, names->text[i], NULL) != ERR_OK ||
            access(path, F_OK) != 0)
            continue;
        if (kept != i)
            memcpy(names->text[kept], names->text[i], NAME_BYTES);
        kept++;
    }
    names->count = kept;
    sto_rdb_live_files_close(&live);
}

/* Enables file deletions, which makes RocksDB search for every file that is not in use. */
static void provoke_removal(struct rdb_engine *e)
{
    char *error = NULL;
    rocksdb_disable_file_deletions(e->db.handle, &error);
    if (error == NULL)
        sto_rdb_enable_file_deletions(e->db.handle, &error);
    if (error != NULL)
        rocksdb_free(error); /* the wait continues, and reports a timeout */
}

static enum err wait_for_held_files(struct rdb_engine *e, int seconds, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, e->dir, "db", eb);
    if (rc != ERR_OK)
        return rc;
    struct names names = {0};
    rc = list(path, TABLE, &names, eb);
    if (rc == ERR_OK)
        rc = list(path, WRITE_LOG, &names, eb);
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; rc == ERR_OK && i < seconds * 100; i++) {
        rc = sto_rdb_usable(e, eb);
        sift(e, path, &names);
        if (names.count == 0)
            break;
        if (i % PROVOKE_EVERY == 0)
            provoke_removal(e);
        (void)nanosleep(&pause, NULL); /* a wake-up only checks earlier */
    }
    if (rc == ERR_OK && names.count > 0)
        rc =
            base_fail(eb, ERR_TIMEOUT, "%zu replaced files are still held by open reads after %d s",
                      names.count, seconds);
    base_free(names.text);
    return rc;
}

enum err sto_rdb_wait_for_held_files(struct rdb_engine *e, int seconds, struct errbuf *eb)
{
    atomic_fetch_add(&e->old_state_waited, 1);
    enum err rc = wait_for_held_files(e, seconds, eb);
    atomic_fetch_sub(&e->old_state_waited, 1);
    return rc == ERR_OK ? sto_rdb_meta_copies_tidy(e, eb) : rc;
}

enum err sto_rdb_held_bytes(struct rdb_engine *e, uint64_t *out, struct errbuf *eb)
{
    char db_path[BASE_PATH_BYTES];
    struct names names = {0};
    uint64_t bytes = 0;
    enum err rc = base_path_join(db_path, e->dir, "db", eb);
    if (rc == ERR_OK)
        rc = list(db_path, TABLE, &names, eb);
    if (rc == ERR_OK)
        sift(e, db_path, &names);
    for (size_t i = 0; rc == ERR_OK && i < names.count; i++) {
        char path[BASE_PATH_BYTES];
        struct stat st;
        if (base_path_join(path, db_path, names.text[i], NULL) == ERR_OK && stat(path, &st) == 0)
            bytes += (uint64_t)st.st_size; /* a removed file counts nothing */
    }
    base_free(names.text);
    if (rc == ERR_OK)
        *out = bytes;
    return rc;
}
