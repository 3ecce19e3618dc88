/*
 * storage/rocksdb/meta_copies.c - files beside files, under names that RocksDB does not know.
 *
 *   000012.sst        RocksDB's
 *   000012.sst.part   a copy in progress; one that a crash left is removed
 *   000012.sst.copy   the copy: synced, reread, then renamed
 *
 * A table file never changes, so neither does its copy. RocksDB leaves names that it does not know
 * alone, and neither backups nor MANIFEST name them.
 *
 * 1. A directory is listed before the live files are read: a copy whose file is not live then is of
 *    a file that was replaced.
 * 2. A file is replaced by a rename, because backups may have a hard link to the old one.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/meta_copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/file_copy.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NAME_BYTES     40
#define TABLE_ENDING   ".sst"
#define CHECKSUM_BYTES 4

static enum err fail_errno(struct errbuf *eb, const char *what, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", what, path,
                     strerrordesc_np(error));
}

/* Builds "db/000012.sst" with the suffix. */
static enum err path_make(char out[BASE_PATH_BYTES], const char *db, uint64_t number,
                          const char *ending, struct errbuf *eb)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%06llu" TABLE_ENDING "%s", (unsigned long long)number,
                   ending); /* it fits */
    return base_path_join(out, db, name, eb);
}

static enum err file_remove(const char *path, struct errbuf *eb)
{
    return unlink(path) == 0 || errno == ENOENT ? ERR_OK : fail_errno(eb, "remove", path);
}

/* --- whether a file is sound ------------------------------------------------------------------ */

static enum err any_block(void *ctx, const struct rdb_bad_block *block)
{
    (void)ctx;
    (void)block;
    return ERR_CORRUPT; /* one is enough */
}

/* bytes: the size in the MANIFEST. */
static bool is_sound(const char *path, uint64_t bytes)
{
    struct stat st;
    return stat(path, &st) == 0 && (uint64_t)st.st_size == bytes &&
           sto_rdb_table_check(path, any_block, NULL) == ERR_OK;
}

/* --- while the database is open --------------------------------------------------------------- */

void sto_rdb_meta_copies_init(struct rdb_meta_copies *c)
{
    (void)pthread_mutex_init(&c->lock, NULL); /* default attributes: cannot fail */
}

void sto_rdb_meta_copies_fini(struct rdb_meta_copies *c)
{
    (void)pthread_mutex_destroy(&c->lock);
}

/* Returns whether the name is a table file's with the suffix, and cuts the suffix off. */
static bool ending_cut(char *name, const char *ending)
{
    size_t len = strlen(name);
    size_t cut = strlen(TABLE_ENDING) + strlen(ending);
    if (len <= cut || len >= NAME_BYTES || strcmp(name + len - strlen(ending), ending) != 0)
        return false;
    name[len - strlen(ending)] = '\0';
    return strcmp(name + len - cut, TABLE_ENDING) == 0;
}

struct names {
    size_t count;
    size_t capacity;
    char (*of)[NAME_BYTES]; /* of table files that have a copy */
};

static void names_add(struct names *names, const char *name)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 16 : 2 * names->capacity;
        char(*of)[NAME_BYTES] = base_new_array(capacity, sizeof(of[0]));
        if (names->count > 0)
            memcpy(of, names->of, names->count * sizeof(of[0]));
        base_free(names->of);
        names->of = of;
        names->capacity = capacity;
    }
    memcpy(names->of[names->count++], name, strlen(name) + 1);
}

/* Lists copies and removes parts: the lock is held, so there is none in progress. */
static enum err list(const char *db, struct names *out, struct errbuf *eb)
{
    DIR *dir = opendir(db);
    if (dir == NULL)
        return fail_errno(eb, "look into", db);
    enum err rc = ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(dir)) != NULL;) {
        char name[NAME_BYTES];
        char path[BASE_PATH_BYTES];
        if (strlen(d->d_name) >= sizeof(name))
            continue;
        memcpy(name, d->d_name, strlen(d->d_name) + 1);
        if (ending_cut(name, RDB_COPY_ENDING))
            names_add(out, name);
        else if (ending_cut(name, RDB_PART_ENDING))
            rc = base_path_join(path, db, d->d_name, eb) == ERR_OK ? file_remove(path, eb)
                                                                   : ERR_TOO_BIG;
    }
    (void)closedir(dir); /* only read from */
    return rc;
}

static bool names_have(const struct names *names, uint64_t number)
{
    for (size_t i = 0; i < names->count; i++)
        if (sto_rdb_file_number(names->of[i]) == number)
            return true;
    return false;
}

/* Creates a copy. False: there is none now. Damage of the file is reported, so that it is examined;
 * a file that is replaced in the meantime needs no copy; a full disk or a lack of descriptors is
 * temporary. */
static bool copy_make(struct rdb_engine *e, const char *db, uint64_t number)
{
    char from[BASE_PATH_BYTES], part[BASE_PATH_BYTES], to[BASE_PATH_BYTES];
    uint64_t bytes = 0;
    if (path_make(from, db, number, "", NULL) != ERR_OK ||
        path_make(part, db, number, RDB_PART_ENDING, NULL) != ERR_OK ||
        path_make(to, db, number, RDB_COPY_ENDING, NULL) != ERR_OK)
        return false;
    enum err rc = sto_file_copy(from, part, 0600, false, &bytes, NULL);
    bool is_right = rc == ERR_OK && is_sound(part, bytes);
    if (is_right && rename(part, to) == 0)
        return true;
    if (rc == ERR_IO || (rc == ERR_OK && !is_right))
        sto_rdb_damage_found(e, &(struct sto_damaged_file){.number = number});
    (void)unlink(part); /* else the next call removes it */
    return false;
}

static void copies_make(struct rdb_engine *e, const char *db, const struct names *there,
                        const struct rdb_live_files *live)
{
    unsigned missing = 0;
    bool may = !sto_rdb_headroom_is_low(&e->headroom);
    for (size_t i = 0; i < live->count; i++) {
        struct rdb_live_file f;
        sto_rdb_live_files_get(live, live->names[i].index, &f);
        if (strcmp(f.family, RDB_FAMILY_NAMES[RDB_CF_META]) != 0 || names_have(there, f.number))
            continue;
        missing += !may || atomic_load(&e->closing) || sto_rdb_damage_is_known(e, f.number) ||
                   !copy_make(e, db, f.number);
    }
    atomic_store(&e->meta_copies.missing, missing);
}

static enum err copies_remove(const char *db, const struct names *there,
                              const struct rdb_live_files *live, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < there->count; i++) {
        char path[BASE_PATH_BYTES];
        if (sto_rdb_live_files_find(live, there->of[i]) >= 0)
            continue;
        rc = path_make(path, db, sto_rdb_file_number(there->of[i]), RDB_COPY_ENDING, eb);
        if (rc == ERR_OK)
            rc = file_remove(path, eb);
    }
    return rc;
}

static enum err look(struct rdb_engine *e, bool makes, struct errbuf *eb)
{
    char db[BASE_PATH_BYTES];
    struct names there = {0};
    struct rdb_live_files live;
    enum err rc = base_path_join(db, e->dir, "db", eb);
    if (rc != ERR_OK)
        return rc;
    pthread_mutex_lock(&e->meta_copies.lock);
    rc = list(db, &there, eb);
    sto_rdb_live_files_open(e->db.handle, &live);
    if (rc == ERR_OK)
        rc = copies_remove(db, &there, &live, eb);
    if (rc == ERR_OK && makes)
        copies_make(e, db, &there, &live);
    sto_rdb_live_files_close(&live);
    base_free(there.of);
    pthread_mutex_unlock(&e->meta_copies.lock);
    return rc;
}

void sto_rdb_meta_copies_keep(struct rdb_engine *e)
{
    struct errbuf eb = {{0}};
    if (look(e, true, &eb) == ERR_IO)
        sto_rdb_fail_text(e, eb.text);
}

enum err sto_rdb_meta_copies_tidy(struct rdb_engine *e, struct errbuf *eb)
{
    return look(e, false, eb);
}

enum err sto_rdb_meta_copies_scrub(struct rdb_engine *e, uint64_t number, rdb_table_pass *pass,
                                   void *ctx)
{
    const struct rdb_table_scrub how = {.pass = pass, .bad = any_block, .ctx = ctx};
    char db[BASE_PATH_BYTES], path[BASE_PATH_BYTES];
    if (base_path_join(db, e->dir, "db", NULL) != ERR_OK ||
        path_make(path, db, number, RDB_COPY_ENDING, NULL) != ERR_OK)
        return ERR_OK; /* then there is no copy */
    enum err rc = sto_rdb_table_scrub(path, &how);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    if (rc != ERR_CORRUPT && rc != ERR_IO)
        return rc;
    pthread_mutex_lock(&e->meta_copies.lock);
    if (!sto_rdb_headroom_is_low(&e->headroom))
        (void)copy_make(e, db, number); /* else its sound parts stay, for the next scrub */
    pthread_mutex_unlock(&e->meta_copies.lock);
    return ERR_CORRUPT;
}

static bool bytes_read(const char *path, uint8_t *out, size_t len, uint64_t offset)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    ssize_t n = 1;
    while (fd >= 0 && done < len && n != 0) {
        n = pread(fd, out + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        done += (size_t)n;
    }
    if (fd >= 0)
        (void)close(fd); /* it was only read */
    return done == len;
}

static bool block_matches(const uint8_t *bytes, const struct rdb_bad_block *block)
{
    uint32_t stored = 0;
    for (int i = 0; i < CHECKSUM_BYTES; i++)
        stored |= (uint32_t)bytes[block->bytes + 1 + (uint64_t)i] << (8 * i);
    return stored == sto_rdb_block_checksum(block->checksum_type, bytes, block->bytes + 1);
}

bool sto_rdb_meta_copies_use(struct rdb_engine *e, uint64_t number,
                             const struct rdb_bad_block *block)
{
    char db[BASE_PATH_BYTES], path[BASE_PATH_BYTES];
    size_t len = (size_t)block->bytes + RDB_BLOCK_TRAILER_BYTES;
    if (base_path_join(db, e->dir, "db", NULL) != ERR_OK ||
        path_make(path, db, number, RDB_COPY_ENDING, NULL) != ERR_OK)
        return false;
    uint8_t *bytes = base_new(len);
    bool is_sound = bytes_read(path, bytes, len, block->offset) && block_matches(bytes, block);
    if (is_sound)
        sto_rdb_damage_io_mend(e->db.damage_io, number, block->offset, base_slice(bytes, len));
    base_free(bytes);
    return is_sound;
}

/* --- while the database is closed ------------------------------------------------------------ */

enum err sto_rdb_meta_copies_take(const char *from_db, const char *to_db, uint64_t number,
                                  uint64_t bytes, bool *out_is_sound, struct errbuf *eb)
{
    char from[BASE_PATH_BYTES], part[BASE_PATH_BYTES], to[BASE_PATH_BYTES];
    uint64_t copied = 0;
    enum err rc = path_make(from, from_db, number, RDB_COPY_ENDING, eb);
    if (rc == ERR_OK)
        rc = path_make(part, to_db, number, RDB_PART_ENDING, eb);
    if (rc == ERR_OK)
        rc = path_make(to, to_db, number, "", eb);
    if (rc != ERR_OK)
        return rc;
    *out_is_sound = is_sound(to, bytes);
    if (*out_is_sound || !is_sound(from, bytes))
        return ERR_OK;
    rc = file_remove(part, eb);
    if (rc == ERR_OK)
        rc = sto_file_copy(from, part, 0600, false, &copied, eb);
    if (rc == ERR_OK && rename(part, to) != 0)
        rc = fail_errno(eb, "rename", part);
    *out_is_sound = rc == ERR_OK;
    return rc == ERR_OK ? base_dir_sync(to_db, eb) : rc;
}

static enum err file_mend(const char *db, const struct rdb_manifest_file *file,
                          const struct sto_rocksdb_mended *mended, struct errbuf *eb)
{
    char own[BASE_PATH_BYTES], copy[BASE_PATH_BYTES];
    bool is_mended = false;
    enum err rc = path_make(own, db, file->number, "", eb);
    if (rc == ERR_OK)
        rc = path_make(copy, db, file->number, RDB_COPY_ENDING, eb);
    if (rc != ERR_OK || access(copy, F_OK) != 0 || is_sound(own, file->bytes))
        return rc;
    rc = sto_rdb_meta_copies_take(db, db, file->number, file->bytes, &is_mended, eb);
    if (rc == ERR_OK && is_mended && mended->file != NULL)
        mended->file(mended->ctx, file->number);
    return rc;
}

enum err sto_rdb_meta_copies_mend(const char *db, const struct sto_rocksdb_mended *mended,
                                  struct errbuf *eb)
{
    struct rdb_manifest m;
    if (sto_rdb_manifest_read(db, &m, NULL) != ERR_OK)
        return ERR_OK; /* there is no database yet, or the open reports what is wrong */
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < m.file_count; i++)
        if (m.files[i].family == RDB_CF_META)
            rc = file_mend(db, &m.files[i], mended, eb);
    sto_rdb_manifest_fini(&m);
    return rc;
}
