/*
 * tenancy/certificate_store.c - key, ledger and index, under one lock.
 *
 * The lock is held during disk operations: the job worker and the control thread issue
 * certificates, and each line to be signed names the previous one.
 *
 * 1. The index holds the tenant and the position of every line of the ledger.
 */
#define _GNU_SOURCE

#include "tenancy/certificate_store.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/erasure_page.h"
#include "base/file.h"
#include "base/sealed_line.h"

#include "base/banned.h"

#define LINES_FIRST 16

struct line {
    struct ten_erasure erasure;
    uint64_t offset;
    uint32_t len;
    bool has_copies; /* of a first line: it names copies */
};

struct ten_certificates {
    EVP_PKEY *key;
    struct ten_erasure_ledger *ledger;
    char path[BASE_PATH_BYTES]; /* of the ledger */
    ten_copies_visit *copies;
    void *copies_ctx;
    pthread_mutex_t lock;
    struct line *lines;
    size_t count;
    size_t capacity;
    uint64_t bytes;
};

/* --- the key ---------------------------------------------------------------------------------- */

static void wipe(struct buf *secret)
{
    if (secret->ptr != NULL)
        OPENSSL_cleanse(secret->ptr, secret->capacity);
    base_buf_fini(secret);
}

static enum err make_key(const char *path, EVP_PKEY **out, struct errbuf *eb)
{
    EVP_PKEY *key = NULL;
    struct buf pem;
    base_buf_init(&pem, BASE_SEAL_PEM_MAX);
    enum err rc = base_seal_key_make(&key, eb);
    if (rc == ERR_OK)
        rc = base_seal_key_write(key, &pem, eb);
    if (rc == ERR_OK)
        rc = base_file_create(path, base_buf_slice(&pem), 0600, eb);
    if (rc != ERR_OK)
        base_seal_key_free(key);
    else
        *out = key;
    wipe(&pem);
    return rc;
}

static enum err read_key(const char *path, EVP_PKEY **out, struct errbuf *eb)
{
    struct errbuf why = {{0}};
    struct buf pem;
    enum err rc = base_file_read(path, BASE_SEAL_PEM_MAX, &pem, &why);
    if (rc == ERR_NOT_FOUND)
        rc = make_key(path, out, eb);
    else if (rc != ERR_OK)
        rc = base_fail(eb, rc, "%s", why.text);
    else if (base_seal_key_read(base_buf_slice(&pem), out, &why) != ERR_OK)
        rc = base_fail(eb, ERR_CORRUPT, "%s: %s", path, why.text);
    wipe(&pem);
    return rc;
}

/* Writes the public file, if it does not match the private one. */
static enum err write_public(const char *path, EVP_PKEY *key, struct errbuf *eb)
{
    struct buf pem;
    struct buf old;
    base_buf_init(&pem, BASE_SEAL_PEM_MAX);
    enum err rc = base_seal_public_write(key, &pem, eb);
    enum err had = base_file_read(path, BASE_SEAL_PEM_MAX, &old, NULL);
    bool is_same = had == ERR_OK && base_slice_equal(base_buf_slice(&old), base_buf_slice(&pem));
    if (rc == ERR_OK && !is_same)
        rc = base_file_replace(path, base_buf_slice(&pem), 0644, eb);
    base_buf_fini(&old);
    base_buf_fini(&pem);
    return rc;
}

static enum err open_key(const char *dir, EVP_PKEY **out, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, dir, TEN_CERTIFICATE_KEY_FILE, eb);
    if (rc == ERR_OK)
        rc = read_key(path, out, eb);
    if (rc == ERR_OK)
        rc = base_path_join(path, dir, TEN_CERTIFICATE_PUBLIC_FILE, eb);
    return rc == ERR_OK ? write_public(path, *out, eb) : rc;
}

enum err ten_certificates_public_key(struct ten_certificates *c, struct buf *out, struct errbuf *eb)
{
    return base_seal_public_write(c->key, out, eb);
}

enum err ten_certificates_seal_take(struct ten_certificates *c, json_t *object, struct buf *out,
                                    struct errbuf *eb)
{
    return ten_certificate_seal_take(object, c->key, out, eb);
}

/* --- the index -------------------------------------------------------------------------------- */

/* jansson writes nothing between the brackets of an empty list. */
static bool names_copies(struct slice line)
{
    const struct slice none = SLICE_LIT("\"copies\":[]");
    return memmem(line.ptr, line.len, none.ptr, none.len) == NULL;
}

static enum err index_line(void *ctx, const struct ten_erasure *erasure, struct slice line)
{
    struct ten_certificates *c = ctx;
    if (c->count == c->capacity) {
        size_t capacity = c->capacity == 0 ? LINES_FIRST : c->capacity * 2;
        struct line *larger = base_new_array(capacity, sizeof larger[0]);
        if (c->count > 0)
            memcpy(larger, c->lines, c->count * sizeof larger[0]);
        base_free(c->lines);
        c->lines = larger;
        c->capacity = capacity;
    }
    c->lines[c->count++] = (struct line){*erasure, c->bytes, (uint32_t)line.len,
                                         !erasure->is_expired && names_copies(line)};
    c->bytes += line.len + 1;
    return ERR_OK;
}

static const struct line *find(const struct ten_certificates *c, struct slice tenant,
                               bool is_expired)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->lines[i].erasure.is_expired == is_expired &&
            base_slice_is(tenant, c->lines[i].erasure.tenant))
            return &c->lines[i];
    return NULL;
}

static enum err read_line(const struct ten_certificates *c, const struct line *line,
                          struct buf *out, struct errbuf *eb)
{
    enum err rc = base_buf_reserve(out, line->len);
    int fd = rc == ERR_OK ? open(c->path, O_RDONLY | O_CLOEXEC) : -1;
    size_t got = 0;
    while (fd >= 0 && got < line->len) {
        ssize_t n =
            pread(fd, base_buf_end(out) + got, line->len - got, (off_t)(line->offset + got));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)close(fd); /* it was only read */
    if (rc == ERR_OK && got < line->len)
        rc = ERR_IO;
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the certificate cannot be read");
    out->len += line->len;
    return ERR_OK;
}

enum err ten_certificates_find(struct ten_certificates *c, struct slice tenant, bool is_expired,
                               struct buf *out, struct errbuf *eb)
{
    pthread_mutex_lock(&c->lock);
    const struct line *line = find(c, tenant, is_expired);
    enum err rc = line == NULL
                      ? base_fail(eb, ERR_NOT_FOUND, "there is no such certificate of the tenant")
                      : read_line(c, line, out, eb);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

enum err ten_certificates_page(struct ten_certificates *c, struct slice tenant, bool is_expired,
                               struct buf *out, struct errbuf *eb)
{
    struct errbuf why = {{0}};
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    enum err rc = ten_certificates_find(c, tenant, is_expired, &line, eb);
    if (rc == ERR_OK) {
        rc = base_erasure_page(c->key, base_buf_slice(&line), out, &why);
        if (rc == ERR_FORBIDDEN || rc == ERR_INVALID || rc == ERR_UNSUPPORTED)
            rc = base_fail(eb, ERR_CONFLICT,
                           "no page is made of the certificate, because it does not verify with "
                           "this server's key: %s. An older key can check it: bigtent certificate "
                           "html FILE --pubkey KEY",
                           why.text);
    }
    base_buf_fini(&line);
    return rc;
}

/* --- open and close --------------------------------------------------------------------------- */

static enum err open_ledger(struct ten_certificates *c, const char *mirror_dir, struct errbuf *eb)
{
    char mirror[BASE_PATH_BYTES];
    enum err rc = ERR_OK;
    if (mirror_dir != NULL)
        rc = base_path_join(mirror, mirror_dir, TEN_LEDGER_FILE, eb);
    if (rc == ERR_OK)
        rc = ten_erasure_ledger_open(c->path, mirror_dir == NULL ? NULL : mirror, &c->ledger, eb);
    return rc == ERR_OK ? ten_erasure_ledger_read(c->path, index_line, c, eb) : rc;
}

enum err ten_certificates_open(const struct ten_certificates_options *options,
                               struct ten_certificates **out, struct errbuf *eb)
{
    struct ten_certificates *c = base_new(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->copies = options->copies;
    c->copies_ctx = options->copies_ctx;
    enum err rc = base_path_join(c->path, options->dir, TEN_LEDGER_FILE, eb);
    if (rc == ERR_OK)
        rc = open_key(options->dir, &c->key, eb);
    if (rc == ERR_OK)
        rc = open_ledger(c, options->mirror_dir, eb);
    if (rc == ERR_OK)
        *out = c;
    else
        ten_certificates_close(c);
    return rc;
}

void ten_certificates_close(struct ten_certificates *c)
{
    if (c == NULL)
        return;
    ten_erasure_ledger_close(c->ledger);
    base_seal_key_free(c->key);
    base_free(c->lines);
    pthread_mutex_destroy(&c->lock);
    base_free(c);
}

/* --- issuing ---------------------------------------------------------------------------------- */

struct copies {
    struct slice tenant;
    int64_t purged_us;
    struct buf found; /* struct ten_copy */
};

/* Returns whether the copy holds the tenant's bytes from before that time. */
static bool copy_holds(const struct ten_copy *copy, struct slice tenant, int64_t purged_us)
{
    bool is_of_another = copy->tenant[0] != '\0' && !base_slice_is(tenant, copy->tenant);
    return !is_of_another && copy->created_us < purged_us;
}

static enum err take_copy(void *ctx, const struct ten_copy *copy)
{
    struct copies *copies = ctx;
    return copy_holds(copy, copies->tenant, copies->purged_us)
               ? base_buf_append(&copies->found, base_slice(copy, sizeof *copy))
               : ERR_OK;
}

/* Collects the copies that still hold the tenant. The caller frees them with base_buf_fini. */
static enum err copies_before(const struct ten_certificates *c, struct slice tenant,
                              int64_t purged_us, struct copies *out, struct errbuf *eb)
{
    *out = (struct copies){.tenant = tenant, .purged_us = purged_us};
    base_buf_init(&out->found, 2 * TEN_CERTIFICATE_MAX); /* wider here than in a line */
    return c->copies == NULL ? ERR_OK : c->copies(c->copies_ctx, take_copy, out, eb);
}

struct listing {
    struct slice tenant;
    int64_t purged_us;
    struct ten_copies *out;
};

static bool copy_outlasts(const struct ten_copy *a, const struct ten_copy *b)
{
    return b->expires_us != 0 && (a->expires_us == 0 || a->expires_us > b->expires_us);
}

static enum err list_copy(void *ctx, const struct ten_copy *copy)
{
    const struct listing *l = ctx;
    struct ten_copies *out = l->out;
    if (!copy_holds(copy, l->tenant, l->purged_us))
        return ERR_OK;
    size_t at = out->listed;
    while (at > 0 && copy_outlasts(copy, &out->of[at - 1]))
        at--;
    out->count++;
    if (at == TEN_COPIES_LISTED)
        return ERR_OK;
    size_t kept = out->listed < TEN_COPIES_LISTED ? out->listed : TEN_COPIES_LISTED - 1;
    memmove(&out->of[at + 1], &out->of[at], (kept - at) * sizeof out->of[0]);
    out->of[at] = *copy;
    out->listed = kept + 1;
    return ERR_OK;
}

enum err ten_certificates_copies(struct ten_certificates *c, struct slice tenant,
                                 struct ten_copies *out, struct errbuf *eb)
{
    *out = (struct ten_copies){.count = 0};
    pthread_mutex_lock(&c->lock);
    const struct line *line = find(c, tenant, false);
    struct listing l = {.tenant = tenant,
                        .purged_us = line != NULL ? line->erasure.purged_us : INT64_MAX,
                        .out = out};
    enum err rc = c->copies == NULL ? ERR_OK : c->copies(c->copies_ctx, list_copy, &l, eb);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static enum err append(struct ten_certificates *c, struct slice line, struct errbuf *eb)
{
    struct ten_erasure erasure;
    enum err rc = ten_erasure_ledger_append(c->ledger, line, eb);
    if (rc == ERR_OK)
        rc = ten_erasure_parse(line, &erasure, eb);
    return rc == ERR_OK ? index_line(c, &erasure, line) : rc;
}

static enum err issue(struct ten_certificates *c, struct ten_certificate *certificate,
                      struct copies *copies, struct errbuf *eb)
{
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    certificate->previous = ten_erasure_ledger_head(c->ledger);
    certificate->copies = (const struct ten_copy *)(const void *)copies->found.ptr;
    certificate->copy_count = copies->found.len / sizeof(struct ten_copy);
    enum err rc = ten_certificate_write(certificate, c->key, &line, eb);
    if (rc == ERR_OK)
        rc = append(c, base_buf_slice(&line), eb);
    base_buf_fini(&line);
    return rc;
}

enum err ten_certificates_issue(struct ten_certificates *c, const struct ten_job *job,
                                uint64_t audit_days, struct slice range_begin,
                                struct slice range_end, bool *out_has_copies, struct errbuf *eb)
{
    struct copies copies;
    pthread_mutex_lock(&c->lock);
    const struct line *line = find(c, base_slice_text(job->tenant), false);
    struct ten_certificate certificate = {
        .job = job,
        .purged_us = line != NULL ? line->erasure.purged_us : base_wall_us(),
        .audit_days = audit_days,
        .range_begin = range_begin,
        .range_end = range_end,
    };
    enum err rc =
        copies_before(c, base_slice_text(job->tenant), certificate.purged_us, &copies, eb);
    if (rc == ERR_OK && line == NULL)
        rc = issue(c, &certificate, &copies, eb);
    if (rc == ERR_OK)
        *out_has_copies = copies.found.len > 0;
    base_buf_fini(&copies.found);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

enum err ten_certificates_reissue(struct ten_certificates *c,
                                  const struct ten_certificates_lost *lost, struct errbuf *eb)
{
    struct copies copies;
    struct ten_certificate certificate = {.job = lost->job,
                                          .tenant = lost->tenant,
                                          .job_id = lost->job_id,
                                          .purged_us = lost->purged_us,
                                          .reissued_us = base_wall_us(),
                                          .audit_days = lost->audit_days,
                                          .range_begin = lost->range_begin,
                                          .range_end = lost->range_end};
    pthread_mutex_lock(&c->lock);
    enum err rc = copies_before(c, base_slice_text(lost->tenant), lost->purged_us, &copies, eb);
    if (rc == ERR_OK)
        rc = issue(c, &certificate, &copies, eb);
    base_buf_fini(&copies.found);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

bool ten_certificates_next(struct ten_certificates *c, size_t *place, struct ten_erasure *out)
{
    pthread_mutex_lock(&c->lock);
    bool found = *place < c->count;
    if (found)
        *out = c->lines[(*place)++].erasure;
    pthread_mutex_unlock(&c->lock);
    return found;
}

const char *ten_certificates_path(const struct ten_certificates *c)
{
    return c->path;
}

bool ten_certificates_next_with_copies(struct ten_certificates *c, size_t *place,
                                       char out_tenant[LIM_TENANT_ID + 1])
{
    bool found = false;
    pthread_mutex_lock(&c->lock);
    while (!found && *place < c->count) {
        const struct line *line = &c->lines[(*place)++];
        found = line->has_copies;
        if (found)
            memcpy(out_tenant, line->erasure.tenant, LIM_TENANT_ID + 1);
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

static enum err expire(struct ten_certificates *c, const struct ten_erasure *erasure,
                       int64_t expired_us, struct errbuf *eb)
{
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    enum err rc = ten_certificate_write_expired(erasure, ten_erasure_ledger_head(c->ledger),
                                                expired_us, c->key, &line, eb);
    if (rc == ERR_OK)
        rc = append(c, base_buf_slice(&line), eb);
    base_buf_fini(&line);
    return rc;
}

enum err ten_certificates_reissue_expired(struct ten_certificates *c, struct slice tenant,
                                          int64_t expired_us, struct errbuf *eb)
{
    pthread_mutex_lock(&c->lock);
    const struct line *first = find(c, tenant, false);
    struct ten_erasure erasure = {.is_expired = false};
    if (first != NULL)
        erasure = first->erasure; /* the index may move */
    enum err rc = first != NULL ? expire(c, &erasure, expired_us, eb)
                                : base_fail(eb, ERR_NOT_FOUND, "the tenant has no certificate");
    pthread_mutex_unlock(&c->lock);
    return rc;
}

enum err ten_certificates_expire(struct ten_certificates *c, struct slice tenant, bool *out_done,
                                 struct errbuf *eb)
{
    struct copies copies;
    enum err rc = ERR_OK;
    pthread_mutex_lock(&c->lock);
    bool done = find(c, tenant, true) != NULL;
    const struct line *first = find(c, tenant, false);
    if (!done && first == NULL)
        rc = base_fail(eb, ERR_NOT_FOUND, "the tenant has no certificate");
    if (!done && rc == ERR_OK) {
        struct ten_erasure erasure = first->erasure; /* the index may move */
        rc = copies_before(c, tenant, erasure.purged_us, &copies, eb);
        done = rc == ERR_OK && copies.found.len == 0;
        base_buf_fini(&copies.found);
        if (done)
            rc = expire(c, &erasure, base_wall_us(), eb);
    }
    pthread_mutex_unlock(&c->lock);
    if (rc == ERR_OK)
        *out_done = done;
    return rc;
}
