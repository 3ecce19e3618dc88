/*
 * storage/rocksdb/docs.c - key -> 8 bytes version, body.
 *
 * 1. Kinds that the engine writes (storage/places.h) and "!layout", the format of the database, are
 *    not documents: callers can use neither their letters nor a letter without a kind.
 * 2. A table is forgotten on its committer, where no write of its rows can be in progress, and only
 *    when its counters are 0; afterwards the committer refuses writes that still refer to it. It
 *    has no changes any more: the drop that removed it removed them (change_drop.c).
 */
#define _GNU_SOURCE /* qsort_r */
#include "storage/rocksdb/docs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "storage/keycodec.h"
#include "storage/places.h"
#include "storage/rocksdb/lost.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/reclaim_note.h"
#include "storage/rocksdb/token.h"

#include "base/banned.h"

#define VERSION_BYTES 8

/* Returns whether the letter is that of a kind of documents. */
static bool is_document_letter(uint8_t letter)
{
    const struct sto_doc_place *place = sto_doc_place_of(letter);
    return place != NULL && place->writer == STO_PLACE_ROOMS;
}

static enum err key_check(struct slice key, struct errbuf *eb)
{
    if (key.len < 3 || key.len > STO_DOC_KEY_MAX)
        return base_fail(eb, ERR_INVALID, "a document's key has 3 to %d bytes, not %zu",
                         STO_DOC_KEY_MAX, key.len);
    if (!is_document_letter(key.ptr[0]) || key.ptr[1] != '/')
        return base_fail(eb, ERR_INVALID,
                         "a document's key begins with the letter of a kind in storage/places.h "
                         "that rooms write, and '/'");
    return ERR_OK;
}

/* --- reading -------------------------------------------------------------------------------- */

enum err sto_rdb_doc_parse(struct slice stored, uint64_t *out_version, struct slice *out_body)
{
    if (stored.len < VERSION_BYTES)
        return ERR_CORRUPT;
    *out_version = sto_get_be64(stored.ptr);
    *out_body = base_slice_skip(stored, VERSION_BYTES);
    return ERR_OK;
}

struct stored {
    rocksdb_pinnableslice_t *pinned; /* NULL: there is no such key */
    struct slice bytes;
};

static enum err meta_get(struct rdb_engine *e, struct slice key, struct stored *out,
                         struct errbuf *eb)
{
    char *error = NULL;
    out->bytes = SLICE_EMPTY;
    out->pinned = rocksdb_get_pinned_cf(e->db.handle, e->db.point, e->db.meta,
                                        (const char *)key.ptr, key.len, &error);
    if (error != NULL)
        return base_fail(eb, sto_rdb_read_failed(e, error), "a document cannot be read");
    if (out->pinned != NULL)
        out->bytes.ptr = (const uint8_t *)rocksdb_pinnableslice_value(out->pinned, &out->bytes.len);
    return ERR_OK;
}

static void stored_drop(struct stored *s)
{
    if (s->pinned != NULL)
        rocksdb_pinnableslice_destroy(s->pinned);
    s->pinned = NULL;
}

/* Returns the version; STO_DOC_ABSENT if there is no such document. */
static enum err version_get(struct rdb_engine *e, struct slice key, uint64_t *out,
                            struct errbuf *eb)
{
    struct stored s;
    enum err rc = meta_get(e, key, &s, eb);
    if (rc != ERR_OK)
        return rc;
    *out = STO_DOC_ABSENT;
    if (s.pinned != NULL && s.bytes.len < VERSION_BYTES)
        rc = base_fail(eb, ERR_CORRUPT, "a stored document is damaged");
    else if (s.pinned != NULL)
        *out = sto_get_be64(s.bytes.ptr);
    stored_drop(&s);
    return rc;
}

enum err sto_rdb_doc_get(struct sto_engine *engine, struct slice key, uint64_t *out_version,
                         struct buf *out, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    enum err rc = key_check(key, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_usable(e, eb);
    struct stored s = {0};
    if (rc == ERR_OK)
        rc = meta_get(e, key, &s, eb);
    if (rc != ERR_OK)
        return rc;
    if (s.pinned == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such document");
    if (s.bytes.len < VERSION_BYTES)
        rc = base_fail(eb, ERR_CORRUPT, "a stored document is damaged");
    if (rc == ERR_OK)
        rc = base_buf_append(out, base_slice_skip(s.bytes, VERSION_BYTES));
    if (rc == ERR_OK)
        *out_version = sto_get_be64(s.bytes.ptr);
    stored_drop(&s);
    return rc;
}

/* Moves to the first document of the page. */
static void seek(rocksdb_iterator_t *it, const struct sto_docs_page *page)
{
    const char *from = (const char *)page->from.ptr;
    if (page->from.len > 0 && page->backwards)
        rocksdb_iter_seek_for_prev(it, from, page->from.len);
    else if (page->from.len > 0)
        rocksdb_iter_seek(it, from, page->from.len);
    else if (page->backwards)
        rocksdb_iter_seek_to_last(it);
    else
        rocksdb_iter_seek_to_first(it);
}

static enum err give(rocksdb_iterator_t *it,
                     enum err (*visit)(void *ctx, struct slice key, uint64_t version,
                                       struct slice body),
                     void *ctx, struct errbuf *eb)
{
    struct slice key, value;
    key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
    value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
    uint64_t version;
    struct slice body;
    if (sto_rdb_doc_parse(value, &version, &body) != ERR_OK)
        return base_fail(eb, ERR_CORRUPT, "a stored document is damaged");
    return visit(ctx, key, version, body);
}

static enum err page_check(const struct sto_docs_page *page, struct errbuf *eb)
{
    struct slice prefix = page->prefix;
    if (prefix.len < 2 || prefix.len > STO_DOC_KEY_MAX || prefix.ptr[1] != '/' ||
        !is_document_letter(prefix.ptr[0]))
        return base_fail(eb, ERR_INVALID,
                         "documents are scanned by the letter of a kind in storage/places.h that "
                         "rooms write, and '/'");
    if (page->from.len > 0 && !base_slice_starts_with(page->from, prefix))
        return base_fail(eb, ERR_INVALID, "a page of documents begins at a key with its prefix");
    return ERR_OK;
}

enum err sto_rdb_docs_read(struct sto_engine *engine, const struct sto_docs_page *page,
                           enum err (*visit)(void *ctx, struct slice key, uint64_t version,
                                             struct slice body),
                           void *ctx, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc == ERR_OK)
        rc = page_check(page, eb);
    if (rc != ERR_OK)
        return rc;
    uint8_t end[STO_DOC_KEY_MAX];
    struct sto_row_range range = sto_range_of_prefix(page->prefix, end);
    rocksdb_readoptions_t *options = sto_rdb_scan_options(range.start, range.end);
    rocksdb_readoptions_set_ignore_range_deletions(options, 1); /* meta has none */
    /* a full scan reads each once */
    rocksdb_readoptions_set_fill_cache(options, page->limit != SIZE_MAX);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.meta);
    seek(it, page);
    for (size_t n = 0; rc == ERR_OK && n < page->limit && rocksdb_iter_valid(it); n++) {
        rc = give(it, visit, ctx, eb);
        if (page->backwards)
            rocksdb_iter_prev(it);
        else
            rocksdb_iter_next(it);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        rc = base_fail(eb, sto_rdb_read_failed(e, error), "documents cannot be read");
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return rc;
}

/* --- changing ------------------------------------------------------------------------------- */

static enum err change_check(const struct sto_doc_change *change, struct errbuf *eb)
{
    enum err rc = key_check(change->key, eb);
    if (rc != ERR_OK)
        return rc;
    if (change->body.ptr != NULL && change->body.len > STO_DOC_BODY_MAX)
        return base_fail(eb, ERR_TOO_BIG, "a document has at most %d bytes, not %zu",
                         STO_DOC_BODY_MAX, change->body.len);
    return ERR_OK;
}

static int key_compare(const void *a, const void *b, void *compared)
{
    const struct slice *left = a;
    const struct slice *right = b;
    ++*(uint64_t *)compared;
    return base_slice_compare(*left, *right);
}

/* Returns true if two of the keys are equal. */
static bool keys_repeat(const struct sto_doc_change *changes, size_t count, uint64_t *compared)
{
    struct slice *keys = base_new_array(count, sizeof keys[0]);
    for (size_t i = 0; i < count; i++)
        keys[i] = changes[i].key;
    qsort_r(keys, count, sizeof keys[0], key_compare, compared);
    bool repeat = false;
    for (size_t i = 1; !repeat && i < count; i++)
        repeat = key_compare(&keys[i - 1], &keys[i], compared) == 0;
    base_free(keys);
    return repeat;
}

enum err sto_rdb_docs_check(const struct sto_doc_change *changes, size_t count,
                            uint64_t *out_compared, struct errbuf *eb)
{
    bool is_sorted = true; /* as scanned documents are: no sorting, no memory */
    uint64_t compared = 0;
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        rc = change_check(&changes[i], eb);
        if (i > 0 && is_sorted)
            is_sorted = key_compare(&changes[i - 1].key, &changes[i].key, &compared) < 0;
    }
    if (rc == ERR_OK && !is_sorted && keys_repeat(changes, count, &compared))
        rc = base_fail(eb, ERR_INVALID, "a document is changed twice in one commit");
    if (out_compared != NULL)
        *out_compared = compared;
    return rc;
}

static enum err change_stage(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                             const struct sto_doc_change *change, struct errbuf *eb)
{
    uint64_t version = 0;
    enum err rc = version_get(e, change->key, &version, eb);
    if (rc != ERR_OK)
        return rc;
    if (change->expect != STO_DOC_ANY && change->expect != version)
        return base_fail(eb, ERR_CONFLICT,
                         "document \"%.*s\" has version %" PRIu64 ", not the expected %" PRIu64,
                         SLICE_ARGS(change->key), version, change->expect);
    const char *key = (const char *)change->key.ptr;
    if (change->body.ptr == NULL) {
        if (version != STO_DOC_ABSENT)
            rocksdb_writebatch_delete_cf(batch, e->db.meta, key, change->key.len);
        return ERR_OK;
    }
    uint8_t head[VERSION_BYTES];
    sto_put_be64(head, version + 1);
    const char *parts[2] = {(const char *)head, (const char *)change->body.ptr};
    size_t lengths[2] = {VERSION_BYTES, change->body.len};
    rocksdb_writebatch_putv_cf(batch, e->db.meta, 1, &key, &change->key.len, 2, parts, lengths);
    return ERR_OK;
}

enum err sto_rdb_docs_stage(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                            const struct sto_doc_change *changes, size_t count, struct errbuf *eb)
{
    enum err rc = sto_rdb_docs_check(changes, count, NULL, eb);
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        rc = change_stage(e, batch, &changes[i], eb);
    return rc;
}

static enum err write_batch(struct rdb_engine *e, rocksdb_writebatch_t *batch, struct errbuf *eb)
{
    if (rocksdb_writebatch_count(batch) == 0)
        return ERR_OK;
    enum err rc = sto_rdb_write(e, batch);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the change could not be made durable");
}

enum err sto_rdb_docs_commit(struct sto_engine *engine, const struct sto_doc_change *changes,
                             size_t count, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc != ERR_OK)
        return rc;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    pthread_mutex_lock(&e->docs_lock);
    rc = sto_rdb_docs_stage(e, batch, changes, count, eb);
    if (rc == ERR_OK)
        rc = write_batch(e, batch, eb);
    pthread_mutex_unlock(&e->docs_lock);
    rocksdb_writebatch_destroy(batch);
    return rc;
}

/* --- counters ------------------------------------------------------------------------------- */

enum err sto_rdb_counters_load(struct sto_engine *engine, const struct sto_table_scope *scope,
                               struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc != ERR_OK)
        return rc;
    uint8_t key[RDB_COUNTER_KEY_MAX];
    struct sto_table *table = scope->schema->table;
    struct sto_account *account = scope->tenant.account;
    size_t key_len = sto_rdb_counter_key(&scope->tenant, table, key);
    struct stored s;
    rc = meta_get(e, base_slice(key, key_len), &s, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_stored_counters stored = {0};
    if (s.pinned != NULL && sto_counters_decode(s.bytes, &stored) != ERR_OK)
        rc = base_fail(eb, ERR_CORRUPT, "the stored counters of a table are damaged");
    stored_drop(&s);
    if (rc != ERR_OK)
        return rc;
    rc = sto_rdb_changes_load(e, scope, &stored);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the stored changes of a table cannot be counted");
    const struct sto_usage *usage = &stored.usage;
    atomic_store(&table->counters.bytes, usage->bytes);
    atomic_store(&table->counters.rows, usage->rows);
    atomic_store(&table->counters.cells, usage->cells);
    atomic_store(&table->additions, stored.additions);
    atomic_store(&table->changes.last_us, stored.last_change_us);
    atomic_store(&table->changes.bytes, stored.change_bytes);
    atomic_fetch_add(&account->total.bytes, usage->bytes);
    atomic_fetch_add(&account->total.rows, usage->rows);
    atomic_fetch_add(&account->total.cells, usage->cells);
    return ERR_OK;
}

struct forget {
    const struct sto_table_scope *scope;
    const struct sto_doc_change *docs;
    size_t doc_count;
    uint64_t changes_left; /* in bytes; 0, unless some were lost with a damaged block */
    struct errbuf *eb;
    enum err result;
};

static enum err forget_staged(struct rdb_engine *e, rocksdb_writebatch_t *batch, struct forget *f)
{
    uint8_t key[RDB_COUNTER_KEY_MAX];
    struct sto_table *table = f->scope->schema->table;
    enum err rc = sto_rdb_docs_stage(e, batch, f->docs, f->doc_count, f->eb);
    if (rc != ERR_OK)
        return rc;
    size_t key_len = sto_rdb_counter_key(&f->scope->tenant, table, key);
    rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)key, key_len);
    struct sto_range rows = sto_range_of_table(f->scope);
    uint64_t removed = 0;
    rc = sto_rdb_changes_removed(e, sto_range_begin(&rows), &removed);
    if (rc != ERR_OK)
        return base_fail(f->eb, rc, "the count of the table's changes cannot be read");
    f->changes_left = atomic_load(&table->changes.bytes) - removed;
    sto_rdb_changes_removed_delete(e, batch, sto_range_begin(&rows));
    return write_batch(e, batch, f->eb);
}

static void forget_on_committer(struct rdb_committer *c, void *ctx)
{
    struct forget *f = ctx;
    struct rdb_engine *e = c->engine;
    struct sto_table *table = f->scope->schema->table;
    struct sto_usage left = sto_counters_read(&table->counters);
    if (left.bytes != 0 || left.rows != 0 || left.cells != 0) {
        f->result = base_fail(f->eb, ERR_CONFLICT,
                              "the table still holds %" PRIu64 " rows; drop them first", left.rows);
        return;
    }
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    pthread_mutex_lock(&e->docs_lock);
    f->result = forget_staged(e, batch, f);
    pthread_mutex_unlock(&e->docs_lock);
    rocksdb_writebatch_destroy(batch);
    if (f->result != ERR_OK)
        return;
    atomic_store(&table->forgotten, true);
    if (f->changes_left > 0)
        sto_rdb_changes_give_back(e, sto_scope_tenant_id(&f->scope->tenant), f->changes_left);
}

enum err sto_rdb_table_forget(struct sto_engine *engine, const struct sto_table_scope *scope,
                              const struct sto_doc_change *docs, size_t doc_count,
                              struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc != ERR_OK)
        return rc;
    struct rdb_committer *c = sto_rdb_committer_of(e, scope->tenant.account);
    struct forget f = {.scope = scope, .docs = docs, .doc_count = doc_count, .eb = eb};
    /* The drop ran after all writes of the table, and later ones are refused: there is nothing to
     * wait for, and the control thread must not wait for a tenant's queue. */
    sto_rdb_committer_call(c, NULL, STO_PRIORITY_MEDIUM, forget_on_committer, &f);
    if (f.result != ERR_OK)
        return f.result;
    struct sto_range rows = sto_range_of_table(scope);
    rc = sto_rdb_lost_forget(e, &scope->tenant, sto_span_of(&rows));
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the records of lost rows cannot be removed");
}
