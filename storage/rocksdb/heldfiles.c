/*
 * storage/rocksdb/heldfiles.c - what is on the disk, less what is live, until that is nothing.
 *
 * 1. File numbers are never used again: a name that is gone stays gone.
 * 2. The output of a compaction under way is on the disk but not live yet; it becomes live or goes.
 * 3. A file whose last holder was a point read, or a superversion some thread kept, is let go of
 * but not removed: RocksDB removes at the end of flushes, compactions and iterators only. In a
 * quiet database nothing of that happens, so the removal is provoked here.
 * 4. The directory is listed before the live files are asked for: a file that becomes obsolete in
 *    between is waited for, one that is made in between is not.
 */
#include "storage/rocksdb/heldfiles.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NAME_BYTES    32
#define PROVOKE_EVERY 10 /* rounds of 10 ms */

struct names {
    size_t count;
    char text[RDB_HELD_FILES_MAX][NAME_BYTES];
};

static bool is_table_file(const char *name)
{
    size_t len = strlen(name);
    return len > 4 && len < NAME_BYTES && strcmp(name + len - 4, ".sst") == 0;
}

static enum err list(const char *db_path, struct names *out, struct errbuf *eb)
{
    DIR *dir = opendir(db_path);
    if (dir == NULL)
        return base_fail(eb, ERR_IO, "cannot look into %s", db_path);
    for (const struct dirent *d; out->count < RDB_HELD_FILES_MAX && (d = readdir(dir)) != NULL;)
        if (is_table_file(d->d_name)) {
            memcpy(out->text[out->count], d->d_name, strlen(d->d_name) + 1);
            out->count++;
        }
    (void)closedir(dir); /* only read from */
    return ERR_OK;
}

static bool is_live(const rocksdb_livefiles_t *live, const char *name)
{
    for (int i = 0; i < rocksdb_livefiles_count(live); i++) {
        const char *at = rocksdb_livefiles_name(live, i); /* "/000012.sst" */
        if (strcmp(at + (at[0] == '/'), name) == 0)
            return true;
    }
    return false;
}

/* Keep only the names that are still on the disk and not live. */
static void sift(struct rdb_engine *e, const char *db_path, struct names *names)
{
    const rocksdb_livefiles_t *live = rocksdb_livefiles(e->db.handle);
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        char path[BASE_PATH_BYTES];
        if (is_live(live, names->text[i]) ||
            base_path_join(path, db_path, names->text[i], NULL) != ERR_OK ||
            access(path, F_OK) != 0)
            continue;
        if (kept != i)
            memcpy(names->text[kept], names->text[i], NAME_BYTES);
        kept++;
    }
    names->count = kept;
    rocksdb_livefiles_destroy(live);
}

/* Letting deletions go on makes RocksDB look for every file that nobody holds. */
static void provoke_removal(struct rdb_engine *e)
{
    char *error = NULL;
    rocksdb_disable_file_deletions(e->db.handle, &error);
    if (error == NULL)
        rocksdb_enable_file_deletions(e->db.handle, 0, &error);
    if (error != NULL)
        rocksdb_free(error); /* the wait goes on, and says so when it was in vain */
}

enum err sto_rdb_wait_for_held_files(struct rdb_engine *e, int seconds, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, e->dir, "db", eb);
    if (rc != ERR_OK)
        return rc;
    struct names *names = base_new(sizeof(*names));
    rc = list(path, names, eb);
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; rc == ERR_OK && i < seconds * 100; i++) {
        sift(e, path, names);
        if (names->count == 0)
            break;
        if (i % PROVOKE_EVERY == 0)
            provoke_removal(e);
        (void)nanosleep(&pause, NULL); /* woken early: looks early */
    }
    if (rc == ERR_OK && names->count > 0)
        rc =
            base_fail(eb, ERR_TIMEOUT, "%zu replaced files are still held by open reads after %d s",
                      names->count, seconds);
    base_free(names);
    return rc;
}
