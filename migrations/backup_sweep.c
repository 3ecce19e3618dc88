/*
 * migrations/backup_sweep.c - removes files that no backup names, and remains of dead processes.
 *
 * 1. It runs on the thread that makes backups: files that a backup in progress relies on are never
 *    swept.
 * 2. While one list is damaged nothing is swept: it may name any file.
 */
#include "migrations/backup_internal.h"

#include <stdlib.h>

#include "base/alloc.h"

#include "base/banned.h"

struct names {
    char (*hashes)[MIG_SHA256_TEXT + 1]; /* sorted, with duplicates */
    size_t count;
    size_t capacity;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool is_named(const void *ctx, const char *name)
{
    const struct names *n = ctx;
    return n->count > 0 &&
           bsearch(name, n->hashes, n->count, sizeof n->hashes[0], compare_names) != NULL;
}

static void names_add(struct names *n, const struct mig_backup *backup)
{
    if (n->count + backup->file_count > n->capacity) {
        size_t capacity = 2 * (n->count + backup->file_count);
        char(*larger)[MIG_SHA256_TEXT + 1] = base_new_array(capacity, sizeof larger[0]);
        if (n->count > 0)
            memcpy(larger, n->hashes, n->count * sizeof larger[0]);
        base_free(n->hashes);
        n->hashes = larger;
        n->capacity = capacity;
    }
    for (size_t i = 0; i < backup->file_count; i++)
        memcpy(n->hashes[n->count++], backup->files[i].content.sha256, sizeof n->hashes[0]);
}

/* Reads the names in all lists. Only this thread adds lists; the files of a list deleted during the
 * call are kept until the next sweep. */
static enum err names_read(struct mig_backups *b, struct names *n, bool *out_known,
                           struct errbuf *eb)
{
    struct mig_backup_entry *entries = base_new_array(MIG_BACKUPS_MAX, sizeof entries[0]);
    size_t count = mig_backups_list(b, entries, MIG_BACKUPS_MAX);
    enum err rc = ERR_OK;
    *out_known = true;
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        struct mig_backup backup = {.files = NULL};
        rc = mig_backup_read(b->lists, base_slice_text(entries[i].backup.id), &backup, eb);
        if (rc == ERR_OK)
            names_add(n, &backup);
        else if (rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED)
            *out_known = false;
        if (rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED || rc == ERR_NOT_FOUND)
            rc = ERR_OK;
        mig_backup_fini(&backup);
    }
    base_free(entries);
    if (n->count > 0)
        qsort(n->hashes, n->count, sizeof n->hashes[0], compare_names);
    return rc;
}

/* Forgets the traces of backups deleted before the sweep: none of their files is left. */
static void forget_leaving(struct mig_backups *b, size_t count)
{
    pthread_mutex_lock(&b->lock);
    b->leaving_count -= count;
    memmove(b->leaving, b->leaving + count, b->leaving_count * sizeof b->leaving[0]);
    pthread_mutex_unlock(&b->lock);
}

enum err mig_backups_sweep(struct mig_backups *b, struct errbuf *eb)
{
    pthread_mutex_lock(&b->lock);
    size_t leaving = b->leaving_count;
    pthread_mutex_unlock(&b->lock);
    struct names names = {.hashes = NULL};
    bool is_known = false;
    enum err rc = base_dir_remove(b->scratch, eb);
    if (rc == ERR_OK)
        rc = sto_rocksdb_checkpoint_remove(b->checkpoint, eb);
    if (rc == ERR_OK)
        rc = names_read(b, &names, &is_known, eb);
    if (rc == ERR_OK && is_known)
        rc = mig_files_sweep(b->dir, is_named, &names, eb);
    if (rc == ERR_OK && is_known)
        forget_leaving(b, leaving);
    base_free(names.hashes);
    return rc;
}
