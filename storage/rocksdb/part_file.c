/*
 * storage/rocksdb/part_file.c - RocksDB writes the file, storage/rocksdb/table_file.c reads it.
 *
 * A part ends after a key whose hash, of its bytes alone, modulo mean_bytes is below the size of
 * its entry: one end in mean_bytes bytes on average, at any position. A row that is added moves
 * only the end of its own part, and no later one.
 */
#include "storage/rocksdb/part_file.h"

#include <openssl/evp.h>

#include "base/alloc.h"
#include "base/text.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"

#include "base/banned.h"

#define PART_BLOCK_BYTES (16 * KIB)
#define PART_FORMAT      5 /* table_file.c reads no other */
#define FNV_OFFSET       0xcbf29ce484222325ULL
#define FNV_PRIME        0x100000001b3ULL
#define SHA256_BYTES     32

struct sto_part_writer {
    struct sto_part_sizes sizes;
    rocksdb_options_t *options;
    rocksdb_envoptions_t *env;
    rocksdb_sstfilewriter_t *file;
    EVP_MD_CTX *hash;
    uint64_t keys;
    uint64_t bytes;
    bool is_full;
};

/* --- writing ---------------------------------------------------------------------------------- */

static enum err write_failed(char *error, struct errbuf *eb)
{
    enum err rc = strstr(error, "No space") != NULL ? ERR_STORAGE_FULL : sto_rdb_error_class(error);
    (void)base_fail(eb, rc, "a part of the backup cannot be written: %s", error);
    rocksdb_free(error);
    return rc;
}

static rocksdb_options_t *part_options(void)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_no_block_cache(t, 1);
    rocksdb_block_based_options_set_block_size(t, PART_BLOCK_BYTES);
    rocksdb_block_based_options_set_format_version(t, PART_FORMAT);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
    rocksdb_options_set_compression(o, rocksdb_lz4_compression);
    return o;
}

enum err sto_part_create(const char *path, const struct sto_part_sizes *sizes,
                         struct sto_part_writer **out, struct errbuf *eb)
{
    struct sto_part_writer *w = base_new(sizeof *w);
    char *error = NULL;
    w->sizes = *sizes;
    w->options = part_options();
    w->env = rocksdb_envoptions_create();
    w->file = rocksdb_sstfilewriter_create(w->env, w->options);
    w->hash = EVP_MD_CTX_new();
    INVARIANT(w->hash != NULL && EVP_DigestInit_ex(w->hash, EVP_sha256(), NULL) == 1);
    rocksdb_sstfilewriter_open(w->file, path, &error);
    if (error != NULL) {
        sto_part_abandon(w);
        return write_failed(error, eb);
    }
    *out = w;
    return ERR_OK;
}

void sto_part_abandon(struct sto_part_writer *w)
{
    if (w == NULL)
        return;
    rocksdb_sstfilewriter_destroy(w->file);
    rocksdb_envoptions_destroy(w->env);
    rocksdb_options_destroy(w->options);
    EVP_MD_CTX_free(w->hash);
    base_free(w);
}

/* Hashes bytes after their length, so that no two lists of keys and values give the same bytes. */
static void hash_one(struct sto_part_writer *w, struct slice bytes)
{
    uint8_t len[8];
    sto_put_be64(len, bytes.len);
    INVARIANT(EVP_DigestUpdate(w->hash, len, sizeof len) == 1);
    INVARIANT(EVP_DigestUpdate(w->hash, bytes.ptr, bytes.len) == 1);
}

/* FNV-1a: the same on every machine and in every release. */
static uint64_t number_of(struct slice key)
{
    uint64_t number = FNV_OFFSET;
    for (size_t i = 0; i < key.len; i++)
        number = (number ^ key.ptr[i]) * FNV_PRIME;
    return number;
}

static bool ends_behind(const struct sto_part_writer *w, struct slice key, uint64_t entry_bytes)
{
    if (w->bytes < w->sizes.min_bytes)
        return false;
    return w->bytes >= w->sizes.max_bytes || number_of(key) % w->sizes.mean_bytes < entry_bytes;
}

enum err sto_part_add(struct sto_part_writer *w, struct slice key, struct slice value,
                      struct errbuf *eb)
{
    char *error = NULL;
    rocksdb_sstfilewriter_put(w->file, (const char *)key.ptr, key.len, (const char *)value.ptr,
                              value.len, &error);
    if (error != NULL)
        return write_failed(error, eb);
    hash_one(w, key);
    hash_one(w, value);
    w->keys++;
    w->bytes += key.len + value.len;
    w->is_full = ends_behind(w, key, key.len + value.len);
    return ERR_OK;
}

bool sto_part_is_full(const struct sto_part_writer *w)
{
    return w->is_full;
}

static void put_hash(struct sto_part_writer *w, struct sto_part *out)
{
    uint8_t digest[SHA256_BYTES];
    unsigned len = sizeof digest;
    struct buf text;
    INVARIANT(EVP_DigestFinal_ex(w->hash, digest, &len) == 1 && len == sizeof digest);
    base_buf_init(&text, STO_PART_HASH);
    enum err rc = base_hex_encode(base_slice(digest, sizeof digest), &text);
    INVARIANT(rc == ERR_OK); /* it fits */
    memcpy(out->sha256, text.ptr, STO_PART_HASH);
    out->sha256[STO_PART_HASH] = '\0';
    base_buf_fini(&text);
}

enum err sto_part_finish(struct sto_part_writer *w, struct sto_part *out, struct errbuf *eb)
{
    char *error = NULL;
    INVARIANT(w->keys > 0); /* RocksDB creates no empty one */
    rocksdb_sstfilewriter_finish(w->file, &error);
    if (error == NULL) {
        out->keys = w->keys;
        put_hash(w, out);
    }
    sto_part_abandon(w);
    return error == NULL ? ERR_OK : write_failed(error, eb);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
    sto_stored_visit *visit;
    void *ctx;
};

static enum err visit_entry(void *ctx, enum rdb_entry_kind kind, struct slice key,
                            struct slice value)
{
    const struct reading *r = ctx;
    if (kind == RDB_ENTRY_RANGE)
        return ERR_CORRUPT; /* a part has none */
    return kind == RDB_ENTRY_DATA ? r->visit(r->ctx, key, value) : ERR_OK;
}

enum err sto_part_visit(const char *path, sto_stored_visit *visit, void *ctx, struct errbuf *eb)
{
    struct reading r = {.visit = visit, .ctx = ctx};
    struct errbuf detail = {{0}};
    uint64_t bytes;
    enum err rc = sto_rdb_table_visit(path, visit_entry, &r, &bytes, &detail);
    if (rc != ERR_OK && (eb == NULL || eb->text[0] == '\0'))
        return base_fail(eb, rc, "%s", detail.text);
    return rc; /* the visit has set the text */
}
