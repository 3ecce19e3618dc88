/*
 * tenancy/erasure_ledger.c - two files of lines that never differ for longer than an append.
 *
 *   state that open finds                          result
 *   bytes after the last line feed                 cut off: a crash ended an append
 *   a malformed whole line, or a broken chain      ERR_CORRUPT, wherever it is
 *   one file is a prefix of the other              the shorter one gets the rest
 *   both differ                                    ERR_CORRUPT
 *
 * 1. An append that failed is undone; if that fails too, the ledger accepts no more lines (dead).
 * 2. A line is on disk before the chain's head advances.
 */
#define _GNU_SOURCE

#include "tenancy/erasure_ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/sealed_line.h"
#include "base/text.h"
#include "tenancy/job_doc.h"

#include "base/banned.h"

#define READ_BYTES (64 * KIB)
#define FILES      2

struct ledger_file {
    char path[BASE_PATH_BYTES];
    int fd; /* -1: none */
    uint64_t bytes;
};

struct ten_erasure_ledger {
    struct ledger_file files[FILES]; /* the ledger, and the copy */
    struct base_audit_hash head;
    char head_hex[BASE_AUDIT_HEX + 1];
    bool dead;
};

static enum err fail_file(struct errbuf *eb, const char *verb, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", verb, path,
                     strerrordesc_np(error));
}

/* --- one line --------------------------------------------------------------------------------- */

static bool take_text(const json_t *object, const char *name, char *out, size_t size)
{
    const json_t *member = json_object_get(object, name);
    size_t len = json_string_length(member);
    if (!json_is_string(member) || len == 0 || len >= size)
        return false;
    memcpy(out, json_string_value(member), len + 1);
    return strlen(out) == len;
}

static bool take(const json_t *object, struct ten_erasure *out)
{
    uint64_t wall_ms;
    char event[16];
    char purged[64];
    if (!take_text(object, "tenant", out->tenant, sizeof out->tenant) ||
        sto_tenant_id_check(base_slice_text(out->tenant), NULL) != ERR_OK ||
        !take_text(object, "job", out->job, sizeof out->job) ||
        ten_job_id_parse(base_slice_text(out->job), &wall_ms) != ERR_OK ||
        !take_text(object, "purged", purged, sizeof purged) ||
        base_parse_time(base_slice_text(purged), &out->purged_us) != ERR_OK ||
        !take_text(object, "event", event, sizeof event))
        return false;
    out->is_expired = strcmp(event, "expired") == 0;
    return out->is_expired || strcmp(event, "purged") == 0;
}

enum err ten_erasure_parse(struct slice line, struct ten_erasure *out, struct errbuf *eb)
{
    struct ten_erasure erasure = {.is_expired = false};
    json_t *object =
        line.len == 0 ? NULL
                      : json_loadb((const char *)line.ptr, line.len, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(object) && take(object, &erasure);
    json_decref(object);
    if (!good)
        return base_fail(eb, ERR_CORRUPT, "the line is no certificate of an erasure");
    *out = erasure;
    return ERR_OK;
}

/* --- reading a whole file with bounded memory ------------------------------------------------- */

struct reading {
    const char *path;
    ten_erasure_visit *visit; /* NULL: none */
    void *ctx;
    struct base_audit_hash head;
    uint64_t number; /* of the last line */
    uint64_t bytes;  /* of whole lines */
};

static enum err read_line(struct reading *r, struct slice line, struct errbuf *eb)
{
    struct errbuf why = {{0}};
    struct ten_erasure erasure;
    r->number++;
    enum err rc = ten_erasure_parse(line, &erasure, &why);
    if (rc == ERR_OK)
        rc = base_line_follow(&r->head, line, &why);
    if (rc != ERR_OK)
        return base_fail(eb, ERR_CORRUPT, "%s, line %llu: %s", r->path,
                         (unsigned long long)r->number, why.text);
    r->bytes += line.len + 1;
    return r->visit == NULL ? ERR_OK : r->visit(r->ctx, &erasure, line);
}

/* Reads the whole lines of pending, which keeps the bytes after them. */
static enum err read_lines(struct reading *r, struct buf *pending, struct errbuf *eb)
{
    size_t at = 0;
    enum err rc = ERR_OK;
    while (rc == ERR_OK) {
        struct slice rest = base_slice_skip(base_buf_slice(pending), at);
        const uint8_t *end = rest.len == 0 ? NULL : memchr(rest.ptr, '\n', rest.len);
        if (end == NULL)
            break;
        size_t len = (size_t)(end - rest.ptr);
        rc = read_line(r, base_slice(rest.ptr, len), eb);
        at += len + 1;
    }
    base_buf_consume(pending, at);
    if (rc == ERR_OK && pending->len > TEN_CERTIFICATE_MAX)
        rc = base_fail(eb, ERR_CORRUPT, "%s, line %llu is over the limit of %lu bytes", r->path,
                       (unsigned long long)r->number + 1, TEN_CERTIFICATE_MAX);
    return rc;
}

static enum err read_all(struct reading *r, int fd, struct errbuf *eb)
{
    struct buf pending;
    uint8_t *chunk = base_new(READ_BYTES);
    base_buf_init(&pending, TEN_CERTIFICATE_MAX + READ_BYTES);
    enum err rc = ERR_OK;
    off_t at = 0;
    while (rc == ERR_OK) {
        ssize_t n = pread(fd, chunk, READ_BYTES, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            break;
        at += n;
        rc = n < 0 ? fail_file(eb, "read", r->path)
                   : base_buf_append(&pending, base_slice(chunk, (size_t)n));
        if (rc == ERR_OK)
            rc = read_lines(r, &pending, eb);
    }
    base_buf_fini(&pending);
    base_free(chunk);
    return rc;
}

enum err ten_erasure_ledger_read(const char *path, ten_erasure_visit *visit, void *ctx,
                                 struct errbuf *eb)
{
    struct reading r = {.path = path, .visit = visit, .ctx = ctx};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ERR_OK : fail_file(eb, "open", path);
    enum err rc = read_all(&r, fd, eb);
    (void)close(fd); /* it was only read */
    return rc;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int fsync_retry(int fd)
{
    int result;
    do {
        result = fsync(fd);
    } while (result < 0 && errno == EINTR);
    return result;
}

static enum err write_durably(struct ledger_file *f, struct slice bytes, struct errbuf *eb)
{
    off_t at = (off_t)f->bytes;
    uint64_t len = bytes.len;
    while (bytes.len > 0) {
        ssize_t n = pwrite(f->fd, bytes.ptr, bytes.len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_file(eb, "write", f->path);
        at += n;
        bytes = base_slice_skip(bytes, (size_t)n);
    }
    if (fsync_retry(f->fd) != 0)
        return fail_file(eb, "fsync", f->path);
    f->bytes += len;
    return ERR_OK;
}

static enum err cut(struct ledger_file *f, uint64_t bytes, struct errbuf *eb)
{
    if (ftruncate(f->fd, (off_t)bytes) != 0)
        return fail_file(eb, "cut", f->path);
    if (fsync_retry(f->fd) != 0)
        return fail_file(eb, "fsync", f->path);
    f->bytes = bytes;
    return ERR_OK;
}

/* --- open ------------------------------------------------------------------------------------- */

static enum err open_file(struct ledger_file *f, const char *path, struct reading *r,
                          struct errbuf *eb)
{
    struct errbuf why = {{0}};
    size_t len = strlen(path);
    if (len >= sizeof f->path)
        return base_fail(eb, ERR_TOO_BIG, "path of %zu bytes; the limit is %zu", len,
                         sizeof f->path - 1);
    memcpy(f->path, path, len + 1);
    enum err rc = base_file_create(path, SLICE_EMPTY, 0600, &why); /* and syncs its directory */
    if (rc != ERR_OK && rc != ERR_EXISTS)
        return base_fail(eb, ERR_IO, "%s", why.text);
    f->fd = open(path, O_RDWR | O_CLOEXEC);
    if (f->fd < 0)
        return fail_file(eb, "open", path);
    *r = (struct reading){.path = f->path};
    rc = read_all(r, f->fd, eb);
    return rc == ERR_OK ? cut(f, r->bytes, eb) : rc;
}

/* Reads exactly len bytes of f at offset `at`. */
static enum err read_part(const struct ledger_file *f, uint64_t at, uint8_t *out, size_t len,
                          struct errbuf *eb)
{
    while (len > 0) {
        ssize_t n = pread(f->fd, out, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail_file(eb, "read", f->path);
        out += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return ERR_OK;
}

/* Checks that both files agree up to the shorter one's length; then appends the rest to that
 * one. */
static enum err make_equal(struct ledger_file *longer, struct ledger_file *shorter,
                           struct errbuf *eb)
{
    uint8_t *bytes = base_new(2 * READ_BYTES);
    enum err rc = ERR_OK;
    for (uint64_t at = 0; rc == ERR_OK && at < longer->bytes;) {
        bool is_common = at < shorter->bytes;
        uint64_t left = (is_common ? shorter->bytes : longer->bytes) - at;
        size_t len = left < READ_BYTES ? (size_t)left : READ_BYTES;
        rc = read_part(longer, at, bytes, len, eb);
        if (rc == ERR_OK && is_common)
            rc = read_part(shorter, at, bytes + READ_BYTES, len, eb);
        if (rc == ERR_OK && is_common && memcmp(bytes, bytes + READ_BYTES, len) != 0)
            rc = base_fail(eb, ERR_CORRUPT, "%s and %s tell different stories", longer->path,
                           shorter->path);
        if (rc == ERR_OK && !is_common)
            rc = write_durably(shorter, base_slice(bytes, len), eb);
        at += len;
    }
    base_free(bytes);
    return rc;
}

static enum err open_all(struct ten_erasure_ledger *l, const char *path, const char *mirror_path,
                         struct errbuf *eb)
{
    struct reading readings[FILES];
    enum err rc = open_file(&l->files[0], path, &readings[0], eb);
    if (rc != ERR_OK)
        return rc;
    l->head = readings[0].head;
    if (mirror_path == NULL)
        return ERR_OK;
    rc = open_file(&l->files[1], mirror_path, &readings[1], eb);
    if (rc != ERR_OK)
        return rc;
    bool is_behind = readings[0].bytes < readings[1].bytes;
    if (is_behind)
        l->head = readings[1].head;
    return make_equal(&l->files[is_behind], &l->files[!is_behind], eb);
}

enum err ten_erasure_ledger_open(const char *path, const char *mirror_path,
                                 struct ten_erasure_ledger **out, struct errbuf *eb)
{
    struct ten_erasure_ledger *l = base_new(sizeof *l);
    for (size_t i = 0; i < FILES; i++)
        l->files[i].fd = -1;
    enum err rc = open_all(l, path, mirror_path, eb);
    if (rc != ERR_OK) {
        ten_erasure_ledger_close(l);
        return rc;
    }
    base_audit_hex(&l->head, l->head_hex);
    *out = l;
    return ERR_OK;
}

void ten_erasure_ledger_close(struct ten_erasure_ledger *ledger)
{
    if (ledger == NULL)
        return;
    for (size_t i = 0; i < FILES; i++)
        if (ledger->files[i].fd >= 0)
            (void)close(ledger->files[i].fd); /* all writes were synced */
    base_free(ledger);
}

const char *ten_erasure_ledger_head(const struct ten_erasure_ledger *ledger)
{
    return ledger->head_hex;
}

/* --- append ----------------------------------------------------------------------------------- */

static enum err append(struct ten_erasure_ledger *l, struct slice bytes, struct errbuf *eb)
{
    uint64_t before = l->files[0].bytes;
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < FILES; i++)
        if (l->files[i].fd >= 0)
            rc = write_durably(&l->files[i], bytes, eb);
    for (size_t i = 0; rc != ERR_OK && i < FILES; i++)
        if (l->files[i].fd >= 0 && cut(&l->files[i], before, NULL) != ERR_OK)
            l->dead = true;
    return rc;
}

enum err ten_erasure_ledger_append(struct ten_erasure_ledger *ledger, struct slice line,
                                   struct errbuf *eb)
{
    struct ten_erasure erasure;
    struct base_audit_hash head = ledger->head;
    struct buf bytes;
    if (ledger->dead)
        return base_fail(eb, ERR_IO,
                         "%s could not be mended after a failed write; "
                         "start the server again",
                         ledger->files[0].path);
    if (line.len > TEN_CERTIFICATE_MAX || (line.len > 0 && memchr(line.ptr, '\n', line.len)))
        return base_fail(eb, ERR_CORRUPT, "a certificate is one line of at most %lu bytes",
                         TEN_CERTIFICATE_MAX);
    enum err rc = ten_erasure_parse(line, &erasure, eb);
    if (rc == ERR_OK && base_line_follow(&head, line, eb) != ERR_OK)
        rc = ERR_CORRUPT;
    if (rc != ERR_OK)
        return rc;
    base_buf_init(&bytes, TEN_CERTIFICATE_MAX + 1);
    (void)base_buf_append(&bytes, line); /* errors latch */
    rc = base_buf_append_byte(&bytes, '\n');
    if (rc == ERR_OK)
        rc = append(ledger, base_buf_slice(&bytes), eb);
    base_buf_fini(&bytes);
    if (rc == ERR_OK) {
        ledger->head = head;
        base_audit_hex(&head, ledger->head_hex);
    }
    return rc;
}
