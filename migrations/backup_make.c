/*
 * migrations/backup_make.c - from a database in use to a backup on the list, in this order:
 *
 *   image    links to every file of the database, in the data directory
 *   look     sizes, and which files the newest backup already has (same name, size, inode, time)
 *   copy     the others, each under its hash; each link is removed once its file is safe
 *   count    opened read-only from the copies; tables that no backup had are read and counted
 *   list     ID.json is renamed into place: this makes it a backup
 *
 * After any failure, the image, the scratch directory and unnamed files are swept.
 *
 * 1. A table file never changes, and its number is never used again: the same name, size, inode
 *    and time mean the same content. Verification reads it again all the same.
 */
#define _GNU_SOURCE
#include "migrations/backup_internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#include "base/banned.h"

#define TABLE_SUFFIX ".sst"
#define NS_PER_S     1000000000LL

/* Of migrations/datadir.h; a restore writes FORMAT, the witness starts from scratch, the ballast
 * has no content, and erased tenants are in the ledger beside the backups. */
const char *const mig_backup_small_files[] = {
    "pepper",       "ca.pem",          "ca.key",          "server.pem", "server.key",
    "operator.key", "certificate.key", "certificate.pub", NULL,
};

struct making {
    struct mig_backups *b;
    struct mig_backup backup;
    struct mig_backup before; /* the newest backup; its files are known */
    bool is_before_sound;     /* no verification found it damaged */
    struct mig_backup_watch *watch;
    struct mig_copier copier;
    bool *known; /* one for each file */
};

/* --- look ------------------------------------------------------------------------------------- */

static bool is_table(const char *path)
{
    size_t len = strlen(path);
    size_t suffix = sizeof TABLE_SUFFIX - 1;
    return len > suffix && strcmp(path + len - suffix, TABLE_SUFFIX) == 0;
}

/* Reads the newest backup that can be read; it is fine if there is none. */
static void read_newest(struct making *m)
{
    struct mig_backup_entry *entries = base_new_array(LIM_BACKUPS, sizeof entries[0]);
    size_t count = mig_backups_list_of(m->b, SLICE_EMPTY, entries, LIM_BACKUPS);
    while (count > 0) {
        struct slice id = base_slice_text(entries[--count].backup.id);
        if (mig_backup_read(m->b->lists, id, &m->before, NULL) != ERR_OK)
            continue;
        m->is_before_sound = entries[count].verified.result == ERR_OK;
        break;
    }
    base_free(entries);
}

static int compare_files(const void *a, const void *b)
{
    const struct mig_backup_file *left = a;
    const struct mig_backup_file *right = b;
    return strcmp(left->path, right->path);
}

static const struct mig_backup_file *find_before(const struct making *m,
                                                 const struct mig_backup_file *file)
{
    if (m->before.file_count == 0 || !is_table(file->path))
        return NULL;
    return bsearch(file, m->before.files, m->before.file_count, sizeof *file, compare_files);
}

/* Returns the number of entries of a file with the same content, all of which was read when it was
 * new. */
static uint64_t entries_before(const struct making *m, const struct mig_backup_file *file)
{
    const struct mig_backup_file *old = find_before(m, file);
    bool is_same = old != NULL && m->is_before_sound && m->before.is_by_entries &&
                   strcmp(old->content.sha256, file->content.sha256) == 0;
    return is_same ? old->keys : 0;
}

static bool find_known(const struct making *m, struct mig_backup_file *file)
{
    const struct mig_backup_file *old = find_before(m, file);
    if (old == NULL || old->content.size != file->content.size || old->inode != file->inode ||
        old->modified_ns != file->modified_ns || !mig_files_has(m->b->dir, &old->content))
        return false;
    file->content = old->content;
    return true;
}

enum err mig_backup_add_file(struct mig_backup *backup, const char *path,
                             struct mig_backup_file **out, struct errbuf *eb)
{
    if (backup->file_count == LIM_BACKUP_FILES || strlen(path) >= MIG_BACKUP_PATH)
        return base_fail(eb, ERR_TOO_BIG, "the database has more than %d files", LIM_BACKUP_FILES);
    if ((backup->file_count & (backup->file_count + 1)) == 0) { /* 0, 1, 3, 7, ... */
        struct mig_backup_file *larger =
            base_new_array(2 * backup->file_count + 2, sizeof larger[0]);
        if (backup->file_count > 0)
            memcpy(larger, backup->files, backup->file_count * sizeof larger[0]);
        base_free(backup->files);
        backup->files = larger;
    }
    struct mig_backup_file *file = &backup->files[backup->file_count++];
    *file = (struct mig_backup_file){.mode = 0600};
    memcpy(file->path, path, strlen(path) + 1);
    *out = file;
    return ERR_OK;
}

static enum err add_file(struct making *m, const char *from, const char *path, struct errbuf *eb)
{
    struct stat st;
    struct mig_backup_file *file = NULL;
    if (stat(from, &st) != 0)
        return base_fail(eb, ERR_IO, "cannot look at %s: %s", from, strerror(errno));
    enum err rc = mig_backup_add_file(&m->backup, path, &file, eb);
    if (rc != ERR_OK)
        return rc;
    file->mode = st.st_mode & 0777;
    file->content.size = (uint64_t)st.st_size;
    file->inode = st.st_ino;
    file->modified_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    return ERR_OK;
}

static enum err add_image(struct making *m, struct errbuf *eb)
{
    DIR *image = opendir(m->b->checkpoint);
    enum err rc =
        image == NULL ? base_fail(eb, ERR_IO, "cannot look into %s", m->b->checkpoint) : ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(image)) != NULL;) {
        char from[BASE_PATH_BYTES], path[MIG_BACKUP_PATH + 256];
        if (d->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, MIG_BACKUP_DB "%s", d->d_name); /* fits */
        rc = base_path_join(from, m->b->checkpoint, d->d_name, eb);
        if (rc == ERR_OK)
            rc = add_file(m, from, path, eb);
    }
    if (image != NULL)
        (void)closedir(image); /* only read from */
    return rc;
}

static enum err add_small(struct making *m, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && mig_backup_small_files[i] != NULL; i++) {
        char from[BASE_PATH_BYTES];
        rc = base_path_join(from, m->b->data, mig_backup_small_files[i], eb);
        if (rc == ERR_OK && access(from, F_OK) == 0) /* a certificate may be stored elsewhere */
            rc = add_file(m, from, mig_backup_small_files[i], eb);
    }
    return rc;
}

/* Lists the files. A backup that does not fit is refused before a byte is copied. */
static enum err look(struct making *m, struct errbuf *eb)
{
    uint64_t needed = 0, free_bytes = 0;
    enum err rc = add_image(m, eb);
    if (rc == ERR_OK)
        rc = add_small(m, eb);
    if (rc == ERR_OK)
        rc = mig_files_free_bytes(m->b->dir, &free_bytes, eb);
    if (rc != ERR_OK)
        return rc;
    read_newest(m);
    qsort(m->backup.files, m->backup.file_count, sizeof m->backup.files[0], compare_files);
    m->known = base_new_array(m->backup.file_count, sizeof m->known[0]);
    for (size_t i = 0; i < m->backup.file_count; i++) {
        struct mig_backup_file *file = &m->backup.files[i];
        m->known[i] = find_known(m, file);
        m->backup.bytes += file->content.size;
        needed += m->known[i] ? 0 : file->content.size;
    }
    atomic_store(&m->watch->all_bytes, needed);
    if (free_bytes >= needed && free_bytes - needed >= m->b->keep_free_bytes)
        return ERR_OK;
    return base_fail(eb, ERR_STORAGE_FULL,
                     "the backup needs %" PRIu64 " bytes; %" PRIu64 " are free, of which %" PRIu64
                     " have to stay so",
                     needed, free_bytes, m->b->keep_free_bytes);
}

/* --- copy ------------------------------------------------------------------------------------- */

static enum err source_of(const struct making *m, const struct mig_backup_file *file,
                          char out[BASE_PATH_BYTES], struct errbuf *eb)
{
    size_t db = sizeof MIG_BACKUP_DB - 1;
    bool is_image = strncmp(file->path, MIG_BACKUP_DB, db) == 0;
    return is_image ? base_path_join(out, m->b->checkpoint, file->path + db, eb)
                    : base_path_join(out, m->b->data, file->path, eb);
}

static enum err copy_one(struct making *m, size_t i, struct errbuf *eb)
{
    struct mig_backup_file *file = &m->backup.files[i];
    char from[BASE_PATH_BYTES];
    bool is_new = false;
    enum err rc = source_of(m, file, from, eb);
    if (rc == ERR_OK && !m->known[i])
        rc = mig_files_take(&m->copier, m->b->dir, from, &file->content, &is_new, eb);
    if (rc != ERR_OK)
        return rc;
    file->keys = entries_before(m, file);
    m->backup.new_bytes += is_new ? file->content.size : 0;
    if (strncmp(file->path, MIG_BACKUP_DB, sizeof MIG_BACKUP_DB - 1) == 0)
        (void)unlink(from); /* may free its space early; the whole image is removed next */
    mig_backup_point(MIG_POINT_FILE_COPIED);
    return ERR_OK;
}

static enum err copy_all(struct making *m, struct errbuf *eb)
{
    enum err rc = mig_copier_init(&m->copier, &m->watch->done_bytes, eb);
    m->copier.stop = m->watch->stop;
    m->copier.ctx = m->watch->ctx;
    m->copier.bytes_per_s = LIM_BACKUP_BYTES_PER_S;
    for (size_t i = 0; rc == ERR_OK && i < m->backup.file_count; i++)
        rc = copy_one(m, i, eb);
    mig_copier_fini(&m->copier);
    if (rc == ERR_OK)
        rc = sto_rocksdb_checkpoint_remove(m->b->checkpoint, eb);
    if (rc == ERR_OK)
        mig_backup_point(MIG_POINT_ALL_COPIED);
    return rc;
}

/* --- the whole backup ------------------------------------------------------------------------- */

/* Backs up the whole database. */
static enum err take_all(struct making *m, struct errbuf *eb)
{
    struct mig_backups *b = m->b;
    enum err rc = look(m, eb);
    if (rc == ERR_OK)
        rc = copy_all(m, eb);
    if (rc == ERR_OK)
        rc = mig_backup_count_entries(b->dir, b->scratch, &m->backup, false, m->watch,
                                      &m->backup.counts, eb);
    m->backup.is_by_entries = true;
    return rc;
}

static enum err make(struct making *m, const struct mig_backup_wanted *wanted, struct errbuf *eb)
{
    struct mig_backups *b = m->b;
    enum err rc = sto_rocksdb_checkpoint_remove(b->checkpoint, eb);
    if (rc == ERR_OK)
        rc = sto_rocksdb_checkpoint(b->engine, b->checkpoint, &m->backup.sequence, eb);
    if (rc != ERR_OK)
        return rc;
    mig_backup_point(MIG_POINT_IMAGE_MADE);
    rc = sto_rocksdb_image_release(b->checkpoint, m->backup.rocksdb, eb);
    if (rc == ERR_OK && wanted->tenant == NULL)
        rc = take_all(m, eb);
    else if (rc == ERR_OK)
        rc = mig_backup_take_tenant(b, wanted, &m->backup, m->watch, eb);
    if (rc != ERR_OK)
        return rc;
    mig_backup_point(MIG_POINT_COUNTED);
    return mig_backups_put(b, &m->backup, eb);
}

/* Called with the lock held. */
static size_t count_kind(const struct mig_backups *b, bool is_scoped)
{
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        count += mig_backup_is_scoped(&b->entries[i].backup) == is_scoped;
    return count;
}

static enum err check_wanted(struct mig_backups *b, const struct mig_backup_wanted *wanted,
                             struct errbuf *eb)
{
    struct mig_backup_entry same;
    bool is_scoped = wanted->scope.tenant[0] != '\0';
    size_t limit = is_scoped ? LIM_BACKUPS_SCOPED : LIM_BACKUPS;
    pthread_mutex_lock(&b->lock);
    bool is_full = count_kind(b, is_scoped) >= limit;
    pthread_mutex_unlock(&b->lock);
    INVARIANT(mig_backup_id_is_valid(base_slice_text(wanted->id)));
    if (is_full)
        return base_fail(eb, ERR_TOO_BIG, "there are %zu backups, no more are kept; delete some",
                         limit);
    if (mig_backups_get(b, base_slice_text(wanted->id), &same, NULL) == ERR_OK)
        return base_fail(eb, ERR_CONFLICT, "there is a backup of this ID");
    return ERR_OK;
}

/* Sets the properties known before anything is read. */
static void begin(const struct mig_backups *b, const struct mig_backup_wanted *wanted,
                  struct mig_backup *out)
{
    out->scope = wanted->scope;
    out->created_us = wanted->now_us;
    out->expires_us = wanted->expires_us;
    out->data_format = b->data_format;
    memcpy(out->id, wanted->id, sizeof out->id);
    memcpy(out->software, b->software, sizeof out->software);
    (void)snprintf(out->note, sizeof out->note, "%s", wanted->note); /* checked: fits */
}

enum err mig_backups_make(struct mig_backups *b, const struct mig_backup_wanted *wanted,
                          struct mig_backup_watch *watch, struct errbuf *eb)
{
    struct making m = {.b = b, .watch = watch};
    static const struct mig_trace nothing;
    INVARIANT((wanted->tenant == NULL) == (wanted->scope.tenant[0] == '\0'));
    enum err rc = check_wanted(b, wanted, eb);
    if (rc != ERR_OK)
        return rc;
    begin(b, wanted, &m.backup);
    struct mig_trace trace = mig_trace_of(&m.backup);
    trace.tenant[0] = '\0'; /* the image holds all tenants */
    mig_backups_set_making(b, &trace);
    rc = make(&m, wanted, eb);
    mig_backup_fini(&m.backup);
    mig_backup_fini(&m.before);
    base_free(m.known);
    if (rc != ERR_OK && mig_backups_sweep(b, NULL) != ERR_OK)
        return rc; /* its trace stays until the next backup, or the next start, sweeps */
    mig_backups_set_making(b, &nothing);
    return rc;
}

enum err mig_backups_copy(struct mig_backups *b, struct slice from,
                          const struct mig_backup_wanted *wanted, struct errbuf *eb)
{
    struct mig_backup backup = {.files = NULL};
    enum err rc = check_wanted(b, wanted, eb);
    if (rc == ERR_OK)
        rc = mig_backup_read(b->lists, from, &backup, eb);
    if (rc != ERR_OK)
        return rc;
    INVARIANT(strcmp(backup.scope.tenant, wanted->scope.tenant) == 0);
    char table[sizeof backup.scope.table];
    memcpy(table, backup.scope.table, sizeof table);
    begin(b, wanted, &backup);
    memcpy(backup.scope.table, table, sizeof table);
    backup.new_bytes = 0;
    rc = mig_backups_put(b, &backup, eb);
    mig_backup_fini(&backup);
    return rc;
}
