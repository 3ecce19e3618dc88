/*
 * migrations/backup_verified.c - DIR/verified/ID: fields by tag, append only.
 */
#include "migrations/backup_verified.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/record.h"

#include "base/banned.h"

enum {
    TAG_FINISHED = 1,
    TAG_RESULT = 2,
    TAG_ERROR = 3,
};

#define NOTE_BYTES (ERRBUF_BYTES + 64)

static enum err path_of(const char *dir, const char *id, char out[BASE_PATH_BYTES],
                        struct errbuf *eb)
{
    char notes[BASE_PATH_BYTES];
    enum err rc = base_path_join(notes, dir, MIG_VERIFIED_NAME, eb);
    return rc == ERR_OK ? base_path_join(out, notes, id, eb) : rc;
}

enum err mig_verified_store(const char *dir, const char *id, const struct mig_verified *verified,
                            struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf body;
    base_buf_init(&body, NOTE_BYTES);
    (void)base_record_put_u64(&body, TAG_FINISHED, (uint64_t)verified->finished_us);
    (void)base_record_put_u64(&body, TAG_RESULT, (uint64_t)verified->result);
    (void)base_record_put_bytes(&body, TAG_ERROR, base_slice_text(verified->error));
    enum err rc = body.error == ERR_OK ? path_of(dir, id, path, eb)
                                       : base_fail(eb, body.error, "the note does not fit");
    if (rc == ERR_OK)
        rc = base_file_replace(path, base_buf_slice(&body), 0600, eb);
    base_buf_fini(&body);
    return rc;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct mig_verified *v = ctx;
    uint64_t number = 0;
    enum err rc;
    switch (f->tag) {
    case TAG_FINISHED:
        return base_field_time(f, &v->finished_us);
    case TAG_RESULT:
        rc = base_field_number(f, &number);
        v->result = (enum err)number;
        return rc == ERR_OK && number >= ERR_COUNT ? ERR_CORRUPT : rc;
    case TAG_ERROR:
        return base_field_text(f, v->error, sizeof v->error);
    default:
        return ERR_OK; /* from a later program */
    }
}

enum err mig_verified_read(const char *dir, const char *id, struct mig_verified *out,
                           struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf body = {0};
    struct mig_verified found = {.finished_us = 0};
    struct errbuf detail = {{0}};
    *out = found;
    enum err rc = path_of(dir, id, path, &detail);
    if (rc == ERR_OK)
        rc = base_file_read(path, NOTE_BYTES, &body, &detail);
    bool is_none = rc == ERR_NOT_FOUND || rc == ERR_TOO_BIG || rc == ERR_CORRUPT;
    if (rc == ERR_OK && base_record_visit(base_buf_slice(&body), take_field, &found) == ERR_OK)
        *out = found;
    base_buf_fini(&body);
    return rc == ERR_OK || is_none ? ERR_OK : base_fail(eb, rc, "%s", detail.text);
}

enum err mig_verified_remove(const char *dir, const char *id, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = path_of(dir, id, path, eb);
    if (rc == ERR_OK && unlink(path) != 0 && errno != ENOENT)
        rc = base_fail(eb, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
    return rc;
}

enum err mig_verified_sweep(const char *dir, bool (*is_there)(void *ctx, struct slice id),
                            void *ctx, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, dir, MIG_VERIFIED_NAME, eb);
    DIR *notes = rc == ERR_OK ? opendir(path) : NULL;
    if (rc == ERR_OK && notes == NULL)
        rc = base_fail(eb, ERR_IO, "cannot look into %s", path);
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(notes)) != NULL;) {
        if (d->d_name[0] != '.' && !is_there(ctx, base_slice_text(d->d_name)))
            rc = mig_verified_remove(dir, d->d_name, eb);
    }
    if (notes != NULL)
        (void)closedir(notes); /* only read from */
    return rc;
}
