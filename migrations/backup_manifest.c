/*
 * migrations/backup_manifest.c - {"manifest":{...},"sha256":"..."}: the hash is that of the inner
 * object, written compactly with sorted names.
 */
#include "migrations/backup_manifest.h"

#include <jansson.h>
#include <openssl/sha.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tenancy/job_doc.h"

#include "base/banned.h"

#define DUMP_FLAGS        (JSON_COMPACT | JSON_SORT_KEYS)
#define FORMAT_OF_ALL     1
#define FORMAT_OF_TENANT  2
#define FORMAT_OF_VIEWS   3                 /* of a tenant, with authorized views */
#define FORMAT_BY_ENTRIES MIG_BACKUP_FORMAT /* whole server; table files have entry counts */

void mig_backup_fini(struct mig_backup *b)
{
    base_free(b->files);
    b->files = NULL;
    b->file_count = 0;
}

bool mig_backup_id_is_valid(struct slice id)
{
    uint64_t wall_ms;
    return ten_job_id_parse(id, &wall_ms) == ERR_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int append_dump(const char *bytes, size_t len, void *out)
{
    return base_buf_append(out, base_slice(bytes, len)) == ERR_OK ? 0 : -1;
}

/* Returns the hash of the inner object, and its text in out. */
static enum err dump_inner(const json_t *inner, struct buf *out, char sha256[MIG_SHA256_TEXT + 1],
                           struct errbuf *eb)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    struct buf hex;
    if (json_dump_callback(inner, append_dump, out, DUMP_FLAGS) != 0)
        return base_fail(eb, ERR_TOO_BIG, "the backup has too many files to list");
    (void)SHA256(out->ptr, out->len, digest); /* writes digest */
    base_buf_init(&hex, MIG_SHA256_TEXT);
    enum err rc = base_hex_encode(base_slice(digest, sizeof digest), &hex);
    INVARIANT(rc == ERR_OK); /* it fits */
    memcpy(sha256, hex.ptr, MIG_SHA256_TEXT);
    sha256[MIG_SHA256_TEXT] = '\0';
    base_buf_fini(&hex);
    return ERR_OK;
}

static json_t *file_json(const struct mig_backup_file *f)
{
    json_t *file =
        json_pack("{s:s, s:i, s:I, s:s, s:I, s:I}", "path", f->path, "mode", (int)f->mode, "size",
                  (json_int_t)f->content.size, "sha256", f->content.sha256, "inode",
                  (json_int_t)f->inode, "modified_ns", (json_int_t)f->modified_ns);
    if (f->part[0] != '\0')
        (void)json_object_set_new(file, "part", json_string(f->part)); /* NULL: decode refuses it */
    if (f->part[0] != '\0' || f->keys > 0)
        (void)json_object_set_new(file, "keys", json_integer((json_int_t)f->keys));
    return file;
}

/* Returns the members that only a tenant's backup has. */
static json_t *scope_json(const struct mig_backup *b)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:I}", "tenant", b->scope.tenant, "table",
                     b->scope.table, "name", b->scope.name, "source", b->scope.source, "made_us",
                     (json_int_t)b->made_us);
}

/* Returns the lowest format whose readers interpret it correctly. */
static int format_of(const struct mig_backup *b)
{
    if (!mig_backup_is_scoped(b))
        return b->is_by_entries ? FORMAT_BY_ENTRIES : FORMAT_OF_ALL;
    for (size_t i = 0; i < b->file_count; i++)
        if (strcmp(b->files[i].path, MIG_VIEWS_NAME) == 0)
            return FORMAT_OF_VIEWS;
    return FORMAT_OF_TENANT;
}

static json_t *inner_json(const struct mig_backup *b)
{
    json_t *counts = json_object();
    json_t *files = json_array();
    for (size_t i = 0; i < STO_IMAGE_FAMILIES; i++)
        (void)json_object_set_new(counts, sto_image_family_name(i), /* NULL: see below */
                                  json_integer((json_int_t)b->counts.keys[i]));
    for (size_t i = 0; i < b->file_count; i++)
        (void)json_array_append_new(files, file_json(&b->files[i])); /* counted below */
    if (json_array_size(files) != b->file_count || json_object_size(counts) != STO_IMAGE_FAMILIES) {
        json_decref(files);
        json_decref(counts);
        return NULL;
    }
    json_t *scope = mig_backup_is_scoped(b) ? scope_json(b) : NULL;
    return json_pack("{s:i, s:s, s:I, s:I, s:s, s:I, s:i, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o*}",
                     "format", format_of(b), "id", b->id, "created_us", (json_int_t)b->created_us,
                     "expires_us", (json_int_t)b->expires_us, "note", b->note, "sequence",
                     (json_int_t)b->sequence, "data_format", (int)b->data_format, "software",
                     b->software, "rocksdb", b->rocksdb, "tenants", (json_int_t)b->counts.documents,
                     "bytes", (json_int_t)b->bytes, "new_bytes", (json_int_t)b->new_bytes, "keys",
                     counts, "files", files, "scope", scope);
}

enum err mig_backup_encode(const struct mig_backup *b, struct buf *out, struct errbuf *eb)
{
    char sha256[MIG_SHA256_TEXT + 1];
    struct buf text;
    json_t *inner = inner_json(b);
    if (inner == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "no memory to list the backup's files");
    base_buf_init(&text, LIM_BACKUP_MANIFEST_BYTES);
    enum err rc = dump_inner(inner, &text, sha256, eb);
    json_decref(inner);
    if (rc == ERR_OK) {
        (void)base_buf_append_text(out, "{\"manifest\":"); /* errors latch in out */
        (void)base_buf_append(out, base_buf_slice(&text));
        (void)base_buf_printf(out, ",\"sha256\":\"%s\"}\n", sha256);
        rc = out->error;
    }
    base_buf_fini(&text);
    return rc;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads members, each of which must exist with its type; the first that does not latches the
 * error. */
struct reader {
    const json_t *object;
    bool is_bad;
};

static uint64_t take_number(struct reader *r, const char *name)
{
    const json_t *value = json_object_get(r->object, name);
    r->is_bad = r->is_bad || !json_is_integer(value);
    return (uint64_t)json_integer_value(value);
}

static void take_text(struct reader *r, const char *name, char *out, size_t out_bytes)
{
    const json_t *value = json_object_get(r->object, name);
    size_t len = json_string_length(value);
    if (!json_is_string(value) || len >= out_bytes) {
        r->is_bad = true;
        return;
    }
    memcpy(out, json_string_value(value), len);
    out[len] = '\0';
}

static bool is_hash(const char *text)
{
    return strlen(text) == MIG_SHA256_TEXT && strspn(text, "0123456789abcdef") == MIG_SHA256_TEXT;
}

/* Returns whether path is a name, or db/ and a name, of characters that cannot lead out of the
 * directory. */
static bool is_path(const char *path)
{
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-_.";
    size_t db = strlen(MIG_BACKUP_DB);
    const char *name = strncmp(path, MIG_BACKUP_DB, db) == 0 ? path + db : path;
    return name[0] != '\0' && name[0] != '.' && strspn(name, LETTERS) == strlen(name);
}

static bool take_file(const json_t *object, struct mig_backup_file *out)
{
    struct reader r = {.object = object, .is_bad = !json_is_object(object)};
    take_text(&r, "path", out->path, sizeof out->path);
    take_text(&r, "sha256", out->content.sha256, sizeof out->content.sha256);
    out->mode = (uint32_t)(take_number(&r, "mode") & 0777);
    out->content.size = take_number(&r, "size");
    out->inode = take_number(&r, "inode");
    out->modified_ns = (int64_t)take_number(&r, "modified_ns");
    if (json_object_get(object, "part") != NULL) {
        take_text(&r, "part", out->part, sizeof out->part);
        r.is_bad = r.is_bad || !is_hash(out->part);
    }
    if (out->part[0] != '\0' || json_object_get(object, "keys") != NULL)
        out->keys = take_number(&r, "keys");
    return !r.is_bad && is_path(out->path) && is_hash(out->content.sha256);
}

/* Reads the scope; a backup of the whole server has none. */
static bool take_scope(const json_t *object, struct mig_backup *out)
{
    struct reader r = {.object = object, .is_bad = !json_is_object(object)};
    take_text(&r, "tenant", out->scope.tenant, sizeof out->scope.tenant);
    take_text(&r, "table", out->scope.table, sizeof out->scope.table);
    take_text(&r, "name", out->scope.name, sizeof out->scope.name);
    take_text(&r, "source", out->scope.source, sizeof out->scope.source);
    out->made_us = (int64_t)take_number(&r, "made_us");
    return !r.is_bad && sto_tenant_id_check(base_slice_text(out->scope.tenant), NULL) == ERR_OK;
}

static enum err take_inner(const json_t *object, struct mig_backup *out, struct errbuf *eb)
{
    struct reader r = {.object = object, .is_bad = false};
    uint64_t format = take_number(&r, "format");
    if (!r.is_bad && format > MIG_BACKUP_FORMAT)
        return base_fail(eb, ERR_UNSUPPORTED, "the backup was made by a newer bigtentd");
    take_text(&r, "id", out->id, sizeof out->id);
    take_text(&r, "note", out->note, sizeof out->note);
    take_text(&r, "software", out->software, sizeof out->software);
    take_text(&r, "rocksdb", out->rocksdb, sizeof out->rocksdb);
    out->created_us = (int64_t)take_number(&r, "created_us");
    out->expires_us = (int64_t)take_number(&r, "expires_us");
    out->sequence = take_number(&r, "sequence");
    out->data_format = (uint32_t)take_number(&r, "data_format");
    out->counts.documents = take_number(&r, "tenants");
    out->bytes = take_number(&r, "bytes");
    out->new_bytes = take_number(&r, "new_bytes");
    struct reader keys = {.object = json_object_get(object, "keys"), .is_bad = false};
    for (size_t i = 0; i < STO_IMAGE_FAMILIES; i++)
        out->counts.keys[i] = take_number(&keys, sto_image_family_name(i));
    const json_t *files = json_object_get(object, "files");
    size_t count = json_array_size(files);
    if (r.is_bad || keys.is_bad || count == 0 || count > LIM_BACKUP_FILES)
        return ERR_CORRUPT;
    out->is_by_entries = format == FORMAT_BY_ENTRIES;
    if (format > FORMAT_OF_ALL && !out->is_by_entries &&
        !take_scope(json_object_get(object, "scope"), out))
        return ERR_CORRUPT;
    out->files = base_new_array(count, sizeof out->files[0]);
    out->file_count = count;
    for (size_t i = 0; i < count; i++)
        if (!take_file(json_array_get(files, i), &out->files[i]))
            return ERR_CORRUPT;
    return mig_backup_id_is_valid(base_slice_text(out->id)) ? ERR_OK : ERR_CORRUPT;
}

static bool hash_fits(const json_t *outer, const json_t *inner)
{
    char sha256[MIG_SHA256_TEXT + 1];
    struct buf text;
    const char *said = json_string_value(json_object_get(outer, "sha256"));
    base_buf_init(&text, LIM_BACKUP_MANIFEST_BYTES);
    bool fits = said != NULL && json_is_object(inner) &&
                dump_inner(inner, &text, sha256, NULL) == ERR_OK && strcmp(said, sha256) == 0;
    base_buf_fini(&text);
    return fits;
}

enum err mig_backup_decode(struct slice text, struct mig_backup *out, struct errbuf *eb)
{
    struct mig_backup b = {.files = NULL};
    json_t *outer = json_loadb((const char *)text.ptr, text.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *inner = json_object_get(outer, "manifest");
    enum err rc = hash_fits(outer, inner) ? take_inner(inner, &b, eb) : ERR_CORRUPT;
    json_decref(outer);
    if (rc == ERR_OK) {
        *out = b;
        return ERR_OK;
    }
    mig_backup_fini(&b);
    return rc == ERR_CORRUPT ? base_fail(eb, rc, "the backup's list of files is damaged") : rc;
}
