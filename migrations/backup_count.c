/*
 * migrations/backup_count.c - the files of a backup, opened as a database.
 *
 *   entries   RocksDB opens the copies: its MANIFEST names the table files, which must exist with
 *             their sizes, and its logs are read. Each table file has a number of entries: counted
 *             when its content was new, by reading all of it. The backup's contents are their sums
 *             by family, and the entries of the logs.
 *   keys      every key is read through RocksDB, as a restored server would.
 *
 * 1. A file is named by the hash of its content, so a file that was read once need not be read
 *    again to know its number of entries. Whether the copy still has that content, only reading
 *    shows: that is verification.
 */
#define _GNU_SOURCE
#include "migrations/backup_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/places.h"

#include "base/banned.h"

/* --- linking files ---------------------------------------------------------------------------- */

static enum err link_one(const char *dir, const char *scratch, const struct mig_backup_file *file,
                         struct errbuf *eb)
{
    char target[BASE_PATH_BYTES], name[BASE_PATH_BYTES];
    enum err rc = mig_files_path(dir, file->content.sha256, target, eb);
    if (rc == ERR_OK)
        rc = base_path_join(name, scratch, file->path + sizeof MIG_BACKUP_DB - 1, eb);
    if (rc == ERR_OK && symlink(target, name) != 0)
        rc = base_fail(eb, ERR_IO, "cannot make %s: %s", name, strerror(errno));
    return rc;
}

enum err mig_backup_lay_out(const char *dir, const char *scratch, const struct mig_backup *backup,
                            struct errbuf *eb)
{
    char full[PATH_MAX]; /* a relative link is resolved from its own directory */
    if (realpath(dir, full) == NULL)
        return base_fail(eb, ERR_IO, "cannot find %s: %s", dir, strerror(errno));
    enum err rc = base_dir_remove(scratch, eb);
    if (rc == ERR_OK)
        rc = base_dir_make(scratch, 0700, eb);
    for (size_t i = 0; rc == ERR_OK && i < backup->file_count; i++)
        if (strncmp(backup->files[i].path, MIG_BACKUP_DB, sizeof MIG_BACKUP_DB - 1) == 0)
            rc = link_one(full, scratch, &backup->files[i], eb);
    return rc;
}

/* --- keys ------------------------------------------------------------------------------------- */

enum err mig_backup_count(const char *dir, const char *scratch, const struct mig_backup *backup,
                          struct mig_backup_watch *watch, struct sto_image_counts *out,
                          struct errbuf *eb)
{
    enum err rc = mig_backup_lay_out(dir, scratch, backup, eb);
    if (rc == ERR_OK)
        rc = sto_rocksdb_image_count(scratch, sto_doc_prefix(STO_DOC_TENANT), watch->stop,
                                     watch->ctx, out, eb);
    enum err removed = base_dir_remove(scratch, rc == ERR_OK ? eb : NULL);
    return rc == ERR_OK ? removed : rc;
}

/* --- entries ---------------------------------------------------------------------------------- */

struct entry_counting {
    const char *dir;
    struct mig_backup *backup;
    struct mig_backup_watch *watch;
    bool is_known;
    struct sto_image_counts counts;
    struct errbuf *eb;
};

static int compare_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct mig_backup_file *)file)->path);
}

/* Reads the copy and counts its entries. */
static enum err table_count(const struct entry_counting *c, struct mig_backup_file *file)
{
    const struct sto_table_count how = {
        .stop = c->watch->stop, .ctx = c->watch->ctx, .bytes = &c->watch->counted_bytes};
    char path[BASE_PATH_BYTES];
    struct errbuf detail = {{0}};
    enum err rc = mig_files_path(c->dir, file->content.sha256, path, c->eb);
    if (rc != ERR_OK)
        return rc;
    rc = sto_rocksdb_table_count(path, &how, &file->keys, &detail);
    return rc == ERR_OK ? rc : base_fail(c->eb, rc, "%s: %s", file->path, detail.text);
}

static enum err visit_table(void *ctx, const char *name, size_t family)
{
    struct entry_counting *c = ctx;
    char path[BASE_PATH_BYTES];
    (void)snprintf(path, sizeof path, MIG_BACKUP_DB "%s", name); /* a longer name does not exist */
    struct mig_backup_file *file = bsearch(path, c->backup->files, c->backup->file_count,
                                           sizeof *c->backup->files, compare_path);
    if (file == NULL || (file->keys == 0 && c->is_known))
        return base_fail(c->eb, ERR_CORRUPT, "%s: %s", path,
                         file == NULL ? "the backup does not hold it"
                                      : "the list does not say how many entries it has");
    enum err rc = file->keys == 0 ? table_count(c, file) : ERR_OK;
    c->counts.keys[family] += file->keys;
    return rc;
}

static enum err visit_document(void *ctx, struct slice key, struct slice body)
{
    struct entry_counting *c = ctx;
    (void)key;
    (void)body;
    c->counts.documents++;
    return ERR_OK;
}

static enum err image_count(struct entry_counting *c, const char *scratch)
{
    struct sto_image *image = NULL;
    enum err rc = sto_image_open(scratch, &image, c->eb);
    if (rc == ERR_OK)
        rc = sto_image_visit_tables(image, visit_table, c);
    for (size_t i = 0; rc == ERR_OK && i < STO_IMAGE_FAMILIES; i++) {
        uint64_t logged = 0;
        rc = sto_image_count_logged(image, i, &logged, c->eb);
        c->counts.keys[i] += logged;
    }
    if (rc == ERR_OK)
        rc = sto_image_visit_docs(image, sto_doc_prefix(STO_DOC_TENANT), visit_document, c, c->eb);
    sto_image_close(image);
    return rc;
}

enum err mig_backup_count_entries(const char *dir, const char *scratch, struct mig_backup *backup,
                                  bool is_known, struct mig_backup_watch *watch,
                                  struct sto_image_counts *out, struct errbuf *eb)
{
    struct entry_counting c = {
        .dir = dir, .backup = backup, .watch = watch, .is_known = is_known, .eb = eb};
    enum err rc = mig_backup_lay_out(dir, scratch, backup, eb);
    if (rc == ERR_OK)
        rc = image_count(&c, scratch);
    enum err removed = base_dir_remove(scratch, rc == ERR_OK ? eb : NULL);
    if (rc == ERR_OK)
        *out = c.counts;
    return rc == ERR_OK ? removed : rc;
}
