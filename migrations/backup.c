/*
 * migrations/backup.c - the catalogue: existing backups, and files that no longer belong to any.
 *
 * DIR/backups/ID.json is a backup, DIR/verified/ID the result of its verification. Everything else
 * in DIR is a file that a backup names, or was left by a process that died, and is swept at the
 * next open and after each work.
 *
 * 1. The list in memory matches the disk: an entry is added after its file is durable, and removed
 *    after its file is durably gone.
 * 2. One thread makes, verifies and sweeps, so a sweep never meets a backup in progress.
 * 3. While one list is damaged nothing is swept: it may name any file.
 */
#include "migrations/backup_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tenancy/job_doc.h"

#include "base/banned.h"

#define LOCK_NAME      "LOCK"
#define OWNER_NAME     "OWNER"
#define LIST_SUFFIX    ".json"
#define EXIT_AS_KILLED 137

/* --- test tool -------------------------------------------------------------------------------- */

static atomic_int die_at = -1;

void mig_backup_test_die_at(int point)
{
    atomic_store(&die_at, point);
}

void mig_backup_point(enum mig_backup_point point)
{
    const char *text = getenv("BIGTENT_TEST_DIE_IN_BACKUP");
    uint64_t number = MIG_POINT_COUNT;
    if (text != NULL && base_parse_u64(base_slice_text(text), &number) != ERR_OK)
        number = MIG_POINT_COUNT;
    if (atomic_load(&die_at) == (int)point || number == (uint64_t)point)
        _exit(EXIT_AS_KILLED);
}

/* --- lists on disk ---------------------------------------------------------------------------- */

enum err mig_backup_list_path(const char *lists, const char *id, char out[BASE_PATH_BYTES],
                              struct errbuf *eb)
{
    char name[MIG_BACKUP_ID + sizeof LIST_SUFFIX];
    (void)snprintf(name, sizeof name, "%.*s" LIST_SUFFIX, MIG_BACKUP_ID, id); /* fits */
    return base_path_join(out, lists, name, eb);
}

static enum err no_such(struct errbuf *eb)
{
    return base_fail(eb, ERR_NOT_FOUND, "there is no such backup");
}

enum err mig_backup_read(const char *lists, struct slice id, struct mig_backup *out,
                         struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf text = {0};
    if (!mig_backup_id_is_valid(id))
        return no_such(eb);
    enum err rc = mig_backup_list_path(lists, (const char *)id.ptr, path, eb);
    if (rc == ERR_OK)
        rc = base_file_read(path, LIM_BACKUP_MANIFEST_BYTES, &text, eb);
    if (rc == ERR_NOT_FOUND)
        rc = no_such(eb);
    if (rc == ERR_OK)
        rc = mig_backup_decode(base_buf_slice(&text), out, eb);
    base_buf_fini(&text);
    if (rc == ERR_OK && !base_slice_is(id, out->id)) {
        mig_backup_fini(out);
        rc = base_fail(eb, ERR_CORRUPT, "the list of files is that of another backup");
    }
    return rc;
}

/* --- the list in memory ----------------------------------------------------------------------- */

struct mig_trace mig_trace_of(const struct mig_backup *backup)
{
    struct mig_trace trace = {.created_us = backup->created_us, .expires_us = backup->expires_us};
    memcpy(trace.id, backup->id, sizeof trace.id);
    memcpy(trace.tenant, backup->scope.tenant, sizeof trace.tenant);
    return trace;
}

/* Called with the lock held. Returns the index of id, or where it belongs. */
static size_t find(const struct mig_backups *b, struct slice id, bool *out_found)
{
    size_t at = 0;
    while (at < b->count && base_slice_compare(base_slice_text(b->entries[at].backup.id), id) < 0)
        at++;
    *out_found = at < b->count && base_slice_is(id, b->entries[at].backup.id);
    return at;
}

static void insert(struct mig_backups *b, const struct mig_backup_entry *entry)
{
    bool found = false;
    size_t at = find(b, base_slice_text(entry->backup.id), &found);
    INVARIANT(!found && b->count < MIG_BACKUPS_MAX);
    memmove(b->entries + at + 1, b->entries + at, (b->count - at) * sizeof b->entries[0]);
    b->entries[at] = *entry;
    b->count++;
}

static void add(struct mig_backups *b, const struct mig_backup *backup)
{
    struct mig_backup_entry entry = {.backup = *backup};
    entry.backup.files = NULL;
    pthread_mutex_lock(&b->lock);
    insert(b, &entry);
    pthread_mutex_unlock(&b->lock);
}

size_t mig_backups_list(struct mig_backups *b, struct mig_backup_entry *out, size_t limit)
{
    pthread_mutex_lock(&b->lock);
    size_t count = b->count < limit ? b->count : limit;
    if (count > 0)
        memcpy(out, b->entries, count * sizeof out[0]);
    pthread_mutex_unlock(&b->lock);
    return count;
}

size_t mig_backups_list_of(struct mig_backups *b, struct slice tenant, struct mig_backup_entry *out,
                           size_t limit)
{
    size_t count = 0;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->count && count < limit; i++)
        if (base_slice_is(tenant, b->entries[i].backup.scope.tenant))
            out[count++] = b->entries[i];
    pthread_mutex_unlock(&b->lock);
    return count;
}

void mig_backups_last_id(struct mig_backups *b, char out_id[MIG_BACKUP_ID + 1])
{
    pthread_mutex_lock(&b->lock);
    if (b->count > 0)
        memcpy(out_id, b->entries[b->count - 1].backup.id, MIG_BACKUP_ID + 1);
    else
        out_id[0] = '\0';
    pthread_mutex_unlock(&b->lock);
}

enum err mig_backups_get(struct mig_backups *b, struct slice id, struct mig_backup_entry *out,
                         struct errbuf *eb)
{
    bool found = false;
    pthread_mutex_lock(&b->lock);
    size_t at = find(b, id, &found);
    if (found)
        *out = b->entries[at];
    pthread_mutex_unlock(&b->lock);
    return found ? ERR_OK : no_such(eb);
}

void mig_backups_set_reading(struct mig_backups *b, const char *id)
{
    size_t len = strnlen(id, MIG_BACKUP_ID);
    pthread_mutex_lock(&b->lock);
    memcpy(b->reading, id, len);
    b->reading[len] = '\0';
    pthread_mutex_unlock(&b->lock);
}

void mig_backups_set_making(struct mig_backups *b, const struct mig_trace *trace)
{
    pthread_mutex_lock(&b->lock);
    b->making = *trace;
    pthread_mutex_unlock(&b->lock);
}

/* --- storing a list --------------------------------------------------------------------------- */

static enum err store(struct mig_backups *b, const struct mig_backup *backup, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf text;
    base_buf_init(&text, LIM_BACKUP_MANIFEST_BYTES);
    enum err rc = mig_backup_encode(backup, &text, eb);
    if (rc == ERR_OK)
        rc = mig_backup_list_path(b->lists, backup->id, path, eb);
    if (rc == ERR_OK)
        rc = base_file_replace(path, base_buf_slice(&text), 0600, eb);
    base_buf_fini(&text);
    return rc;
}

enum err mig_backups_put(struct mig_backups *b, const struct mig_backup *backup, struct errbuf *eb)
{
    enum err rc = store(b, backup, eb);
    if (rc != ERR_OK)
        return rc;
    add(b, backup);
    mig_backup_point(MIG_POINT_LISTED);
    return ERR_OK;
}

/* Holds the lock to the end: a list that is removed at the same time must not be stored again. */
enum err mig_backups_set_expiry(struct mig_backups *b, struct slice id, int64_t expires_us,
                                struct errbuf *eb)
{
    struct mig_backup backup = {.files = NULL};
    bool found = false;
    pthread_mutex_lock(&b->lock);
    size_t at = find(b, id, &found);
    enum err rc = found ? mig_backup_read(b->lists, id, &backup, eb) : no_such(eb);
    backup.expires_us = expires_us;
    if (rc == ERR_OK)
        rc = store(b, &backup, eb);
    if (rc == ERR_OK)
        b->entries[at].backup.expires_us = expires_us;
    pthread_mutex_unlock(&b->lock);
    mig_backup_fini(&backup);
    return rc;
}

/* Holds the lock for the same reason. */
enum err mig_backups_set_verified(struct mig_backups *b, struct slice id,
                                  const struct mig_verified *verified, struct errbuf *eb)
{
    bool found = false;
    pthread_mutex_lock(&b->lock);
    size_t at = find(b, id, &found);
    enum err rc =
        found ? mig_verified_store(b->dir, b->entries[at].backup.id, verified, eb) : no_such(eb);
    if (rc == ERR_OK)
        b->entries[at].verified = *verified;
    pthread_mutex_unlock(&b->lock);
    return rc;
}

/* --- deleting --------------------------------------------------------------------------------- */

static enum err unlist(struct mig_backups *b, const char *id, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = mig_backup_list_path(b->lists, id, path, eb);
    if (rc == ERR_OK && unlink(path) != 0 && errno != ENOENT)
        rc = base_fail(eb, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
    return rc == ERR_OK ? base_dir_sync(b->lists, eb) : rc;
}

enum err mig_backups_delete(struct mig_backups *b, struct slice id, struct errbuf *eb)
{
    bool found = false;
    pthread_mutex_lock(&b->lock);
    size_t at = find(b, id, &found);
    enum err rc = found ? ERR_OK : no_such(eb);
    if (rc == ERR_OK && base_slice_is(id, b->reading))
        rc = base_fail(eb, ERR_CONFLICT,
                       "the backup is being verified, or restored from; try again behind it");
    if (rc == ERR_OK && b->leaving_count == MIG_BACKUPS_MAX)
        rc = base_fail(eb, ERR_CONFLICT, "files of deleted backups are still being removed");
    if (rc == ERR_OK)
        rc = unlist(b, b->entries[at].backup.id, eb);
    if (rc == ERR_OK) {
        enum err left = mig_verified_remove(b->dir, b->entries[at].backup.id, NULL);
        (void)left; /* if it failed, the next open removes it */
        b->leaving[b->leaving_count++] = mig_trace_of(&b->entries[at].backup);
        b->count--;
        memmove(b->entries + at, b->entries + at + 1, (b->count - at) * sizeof b->entries[0]);
    }
    pthread_mutex_unlock(&b->lock);
    if (rc == ERR_OK)
        mig_backup_point(MIG_POINT_UNLISTED);
    return rc;
}

bool mig_backups_find_left(struct mig_backups *b, bool (*is_left)(void *ctx, const char *tenant),
                           void *ctx, char out_id[MIG_BACKUP_ID + 1])
{
    bool found = false;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; !found && i < b->count; i++) {
        const struct mig_backup *backup = &b->entries[i].backup;
        found = mig_backup_is_scoped(backup) && strcmp(backup->id, b->reading) != 0 &&
                is_left(ctx, backup->scope.tenant);
        if (found)
            memcpy(out_id, backup->id, sizeof backup->id);
    }
    pthread_mutex_unlock(&b->lock);
    return found;
}

bool mig_backups_expired(struct mig_backups *b, int64_t now_us, char out_id[MIG_BACKUP_ID + 1])
{
    bool is_due = false;
    pthread_mutex_lock(&b->lock);
    size_t newest = b->count; /* the newest that can be restored, plus 1 */
    while (newest > 0 && (b->entries[newest - 1].is_damaged ||
                          mig_backup_is_scoped(&b->entries[newest - 1].backup)))
        newest--;
    for (size_t i = 0; !is_due && i < b->count; i++) {
        const struct mig_backup *backup = &b->entries[i].backup;
        bool may_go = mig_backup_is_scoped(backup) || i + 1 < newest;
        is_due = may_go && backup->expires_us != 0 && backup->expires_us <= now_us;
        if (is_due)
            memcpy(out_id, backup->id, sizeof backup->id);
    }
    pthread_mutex_unlock(&b->lock);
    return is_due;
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum err make_dir(const char *path, struct errbuf *eb)
{
    struct errbuf detail = {{0}};
    enum err rc = base_dir_make(path, 0700, &detail);
    return rc == ERR_OK || rc == ERR_EXISTS ? ERR_OK : base_fail(eb, rc, "%s", detail.text);
}

struct slice mig_backup_id_of(const char *name)
{
    struct slice text = base_slice_text(name);
    size_t suffix = sizeof LIST_SUFFIX - 1;
    if (text.len != MIG_BACKUP_ID + suffix || strcmp(name + MIG_BACKUP_ID, LIST_SUFFIX) != 0)
        return SLICE_EMPTY;
    text.len = MIG_BACKUP_ID;
    return mig_backup_id_is_valid(text) ? text : SLICE_EMPTY;
}

static enum err load_one(struct mig_backups *b, struct slice id, struct errbuf *eb)
{
    struct mig_backup_entry entry = {.is_damaged = false};
    uint64_t made_ms = 0;
    if (b->count == MIG_BACKUPS_MAX)
        return base_fail(eb, ERR_TOO_BIG, "%s holds more than %d backups", b->dir, MIG_BACKUPS_MAX);
    enum err rc = mig_backup_read(b->lists, id, &entry.backup, eb);
    if (rc != ERR_OK && rc != ERR_CORRUPT && rc != ERR_UNSUPPORTED)
        return rc;
    if (rc != ERR_OK) {
        entry = (struct mig_backup_entry){.is_damaged = true};
        rc = ten_job_id_parse(id, &made_ms);
        entry.backup.created_us = (int64_t)made_ms * 1000;
        memcpy(entry.backup.id, id.ptr, id.len);
    }
    base_free(entry.backup.files);
    entry.backup.files = NULL;
    if (rc == ERR_OK)
        rc = mig_verified_read(b->dir, entry.backup.id, &entry.verified, eb);
    insert(b, &entry);
    return rc;
}

/* Ignores other names: files that were being written when a process died. */
static enum err load(struct mig_backups *b, struct errbuf *eb)
{
    DIR *lists = opendir(b->lists);
    enum err rc = lists == NULL ? base_fail(eb, ERR_IO, "cannot look into %s", b->lists) : ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(lists)) != NULL;) {
        struct slice id = mig_backup_id_of(d->d_name);
        if (id.len > 0)
            rc = load_one(b, id, eb);
        else if (d->d_name[0] != '.' && unlinkat(dirfd(lists), d->d_name, 0) != 0)
            rc = base_fail(eb, ERR_IO, "cannot remove %s/%s", b->lists, d->d_name);
    }
    if (lists != NULL)
        (void)closedir(lists); /* only read from */
    return rc;
}

static bool is_listed(void *ctx, struct slice id)
{
    bool found = false;
    (void)find(ctx, id, &found);
    return found;
}

static enum err load_verified(struct mig_backups *b, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, b->dir, MIG_VERIFIED_NAME, eb);
    if (rc == ERR_OK)
        rc = make_dir(path, eb);
    return rc == ERR_OK ? mig_verified_sweep(b->dir, is_listed, b, eb) : rc;
}

static enum err name_parts(struct mig_backups *b, const struct mig_backups_options *o,
                           struct errbuf *eb)
{
    enum err rc = base_path_join(b->dir, o->dir, "", eb);
    if (rc == ERR_OK)
        rc = base_path_join(b->data, o->data, "", eb);
    if (rc == ERR_OK)
        rc = base_path_join(b->lists, o->dir, MIG_LISTS_NAME, eb);
    if (rc == ERR_OK)
        rc = base_path_join(b->scratch, o->dir, MIG_SCRATCH_NAME, eb);
    if (rc == ERR_OK)
        rc = base_path_join(b->checkpoint, o->data, MIG_CHECKPOINT_NAME, eb);
    return rc;
}

/* The first server to use the directory writes its identity there. */
static enum err check_owner(const struct mig_backups *b, const char *owner, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf found = {0};
    enum err rc = base_path_join(path, b->dir, OWNER_NAME, eb);
    if (rc == ERR_OK)
        rc = base_file_read(path, MIG_OWNER, &found, eb);
    if (rc == ERR_NOT_FOUND)
        return base_file_create(path, base_slice_text(owner), 0600, eb);
    if (rc == ERR_OK && !base_slice_is(base_buf_slice(&found), owner))
        rc = base_fail(eb, ERR_EXISTS,
                       "the backups in %s are those of another data directory: give each server a "
                       "directory of its own",
                       b->dir);
    base_buf_fini(&found);
    return rc;
}

static enum err prepare(struct mig_backups *b, const char *owner, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct errbuf detail = {{0}};
    enum err rc = make_dir(b->dir, eb);
    if (rc == ERR_OK)
        rc = base_path_join(path, b->dir, LOCK_NAME, eb);
    if (rc == ERR_OK)
        rc = base_file_lock(path, &b->lock_fd, &detail);
    if (rc == ERR_LOCKED)
        return base_fail(eb, rc, "the backups in %s are another server's", b->dir);
    if (rc != ERR_OK && detail.text[0] != '\0')
        return base_fail(eb, rc, "%s", detail.text);
    if (rc == ERR_OK)
        rc = check_owner(b, owner, eb);
    if (rc == ERR_OK)
        rc = make_dir(b->lists, eb);
    if (rc == ERR_OK)
        rc = mig_files_prepare(b->dir, eb);
    if (rc == ERR_OK)
        rc = load(b, eb);
    if (rc == ERR_OK)
        rc = load_verified(b, eb);
    return rc == ERR_OK ? mig_backups_sweep(b, eb) : rc;
}

enum err mig_backups_open(const struct mig_backups_options *options, struct mig_backups **out,
                          struct errbuf *eb)
{
    struct mig_backups *b = base_new(sizeof *b);
    b->data_format = options->data_format;
    b->keep_free_bytes = options->keep_free_bytes;
    b->engine = options->engine;
    b->lock_fd = -1;
    b->entries = base_new_array(MIG_BACKUPS_MAX, sizeof b->entries[0]);
    b->leaving = base_new_array(MIG_BACKUPS_MAX, sizeof b->leaving[0]);
    (void)snprintf(b->software, sizeof b->software, "%s", options->software); /* may be truncated */
    (void)pthread_mutex_init(&b->lock, NULL); /* default attributes: cannot fail */
    enum err rc = name_parts(b, options, eb);
    if (rc == ERR_OK)
        rc = prepare(b, options->owner, eb);
    if (rc != ERR_OK) {
        mig_backups_close(b);
        return rc;
    }
    *out = b;
    return ERR_OK;
}

void mig_backups_close(struct mig_backups *b)
{
    if (b == NULL)
        return;
    if (b->lock_fd >= 0)
        (void)close(b->lock_fd);           /* releases the lock */
    (void)pthread_mutex_destroy(&b->lock); /* no thread holds it */
    base_free(b->entries);
    base_free(b->leaving);
    base_free(b);
}
