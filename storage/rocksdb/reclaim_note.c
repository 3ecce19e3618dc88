/*
 * storage/rocksdb/reclaim_note.c - where rows were dropped, and when their space is to be
 * reclaimed.
 *
 *   key     d/tenant/table/lower
 *   value   sequence (8, BE) | due (8, BE) | upper
 *   lower, upper: stored bounds of rows without the table's prefix; empty: the table's own
 *   due: microseconds of the epoch; 0: now
 *
 *   earlier programs: r/tenant/table
 *                     sequence (8, BE) [ | length (2, BE) of lower | lower | upper ]
 *
 * 1. The sequence number is the database's before the record's batch: two records of one key never
 *    have the same.
 * 2. A record is compared and deleted under docs_lock, which is also held while one is written. If
 *    a purge deleted the record before, nothing is left to delete, so no trace of the tenant is
 *    written after its purge.
 * 3. The prefix is in the key already: no value contains a stored key of the family of rows.
 * 4. A clock that was set back makes records due early, never late: none is due later than a record
 *    that is written now.
 */
#include "storage/rocksdb/reclaim_note.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define SEQUENCE_BYTES 8
#define DUE_BYTES      8
#define LENGTH_BYTES   2
#define HEAD_BYTES     17 /* in struct rdb_notes: both lengths, and whether the record is kept */
#define SUFFIX_MAX     (2 * LIM_ROW_KEY + 2)
#define KEY_MAX        (RDB_COUNTER_KEY_MAX + 1 + SUFFIX_MAX)
#define VALUE_MAX      (SEQUENCE_BYTES + DUE_BYTES + SUFFIX_MAX)
#define US_PER_S       1000000

static const enum sto_doc_kind KINDS[] = {STO_DOC_RECLAIM, STO_DOC_RECLAIM_OLD};

/* --- bounds ----------------------------------------------------------------------------------- */

static struct slice lower_of(const struct sto_key_bounds *b)
{
    return base_slice(b->lower, b->lower_len);
}

static struct slice upper_of(const struct sto_key_bounds *b)
{
    return base_slice(b->upper, b->upper_len);
}

static struct sto_key_bounds bounds_of_table(const struct sto_range *table)
{
    struct sto_key_bounds b = {.lower_len = table->begin_len, .upper_len = table->end_len};
    memcpy(b.lower, table->begin, table->begin_len);
    memcpy(b.upper, table->end, table->end_len);
    return b;
}

/* Computes bounds from the parts without the table's prefix; empty parts: the table's own
 * bounds. */
static bool bounds_decode(const struct sto_range *table, struct slice lower, struct slice upper,
                          struct sto_key_bounds *out)
{
    if (lower.len > SUFFIX_MAX || upper.len > SUFFIX_MAX)
        return false;
    size_t prefix = table->begin_len;
    *out = bounds_of_table(table);
    if (lower.len > 0)
        memcpy(out->lower + prefix, lower.ptr, lower.len);
    out->lower_len = prefix + lower.len;
    if (upper.len > 0) {
        memcpy(out->upper, table->begin, prefix);
        memcpy(out->upper + prefix, upper.ptr, upper.len);
        out->upper_len = prefix + upper.len;
    }
    return base_slice_compare(lower_of(out), upper_of(out)) < 0;
}

/* --- one record ------------------------------------------------------------------------------ */

static bool old_decode(struct slice name, struct slice value, struct rdb_note *out)
{
    struct slice lower = SLICE_EMPTY;
    struct slice upper = SLICE_EMPTY;
    out->due_us = 0;
    if (sto_range_of_table_named(name, &out->table, NULL) != ERR_OK || value.len < SEQUENCE_BYTES)
        return false;
    struct slice rest = base_slice_skip(value, SEQUENCE_BYTES);
    if (rest.len > 0) {
        size_t lower_len =
            rest.len < LENGTH_BYTES ? SIZE_MAX : (size_t)rest.ptr[0] << 8 | rest.ptr[1];
        if (lower_len > rest.len - LENGTH_BYTES)
            return false;
        lower = base_slice(rest.ptr + LENGTH_BYTES, lower_len);
        upper = base_slice_skip(rest, LENGTH_BYTES + lower_len);
    }
    return bounds_decode(&out->table, lower, upper, &out->bounds);
}

static bool new_decode(struct slice name, struct slice value, struct rdb_note *out)
{
    const uint8_t *tenant_end = memchr(name.ptr, '/', name.len);
    if (tenant_end == NULL || value.len < SEQUENCE_BYTES + DUE_BYTES)
        return false;
    struct slice rest = base_slice_skip(name, (size_t)(tenant_end - name.ptr) + 1);
    const uint8_t *table_end = rest.len == 0 ? NULL : memchr(rest.ptr, '/', rest.len);
    if (table_end == NULL)
        return false;
    size_t named = (size_t)(table_end - name.ptr);
    if (sto_range_of_table_named(base_slice(name.ptr, named), &out->table, NULL) != ERR_OK)
        return false;
    out->due_us = (int64_t)sto_get_be64(value.ptr + SEQUENCE_BYTES);
    return out->due_us >= 0 &&
           bounds_decode(&out->table, base_slice_skip(name, named + 1),
                         base_slice_skip(value, SEQUENCE_BYTES + DUE_BYTES), &out->bounds);
}

static bool note_decode(struct slice key, struct slice value, struct rdb_note *out)
{
    if (key.len < 3 || key.ptr[1] != '/')
        return false;
    out->key = key;
    out->value = value;
    struct slice name = base_slice_skip(key, 2);
    return key.ptr[0] == STO_DOC_RECLAIM ? new_decode(name, value, out)
                                         : old_decode(name, value, out);
}

static enum err note_check(struct rdb_engine *e, struct slice key, struct slice value,
                           struct rdb_note *out)
{
    if (note_decode(key, value, out))
        return ERR_OK;
    sto_rdb_fail_text(e, "a note of dropped rows is damaged");
    return ERR_CORRUPT;
}

/* --- writing ---------------------------------------------------------------------------------- */

static enum err value_get(struct rdb_engine *e, struct slice key, rocksdb_pinnableslice_t **out,
                          struct slice *out_value)
{
    char *error = NULL;
    *out = rocksdb_get_pinned_cf(e->db.handle, e->db.point, e->db.meta, (const char *)key.ptr,
                                 key.len, &error);
    if (error != NULL)
        return sto_rdb_read_failed(e, error);
    *out_value = SLICE_EMPTY;
    if (*out != NULL)
        out_value->ptr = (const uint8_t *)rocksdb_pinnableslice_value(*out, &out_value->len);
    return ERR_OK;
}

/* Merges an existing record that starts at the same row: its farther end, and its earlier time. */
static enum err unite(struct rdb_engine *e, struct slice key, struct sto_key_bounds *bounds,
                      int64_t *due_us)
{
    struct rdb_note older;
    struct slice value;
    rocksdb_pinnableslice_t *pinned = NULL;
    enum err rc = value_get(e, key, &pinned, &value);
    if (rc != ERR_OK)
        return rc;
    if (pinned == NULL) {
        atomic_fetch_add(&e->reclaim.waiting, 1);
        return ERR_OK;
    }
    rc = note_check(e, key, value, &older);
    rocksdb_pinnableslice_destroy(pinned);
    if (rc != ERR_OK)
        return rc;
    if (base_slice_compare(upper_of(&older.bounds), upper_of(bounds)) > 0) {
        memcpy(bounds->upper, older.bounds.upper, older.bounds.upper_len);
        bounds->upper_len = older.bounds.upper_len;
    }
    if (older.due_us < *due_us)
        *due_us = older.due_us;
    return ERR_OK;
}

static size_t key_make(const struct sto_table_scope *scope, struct slice lower,
                       uint8_t out[KEY_MAX])
{
    size_t n = sto_rdb_counter_key(&scope->tenant, scope->schema->table, out);
    INVARIANT(lower.len <= SUFFIX_MAX);
    out[0] = STO_DOC_RECLAIM;
    out[n++] = '/';
    if (lower.len > 0)
        memcpy(out + n, lower.ptr, lower.len);
    return n + lower.len;
}

/* Rule 4: returns a time not later than that of a record written now. */
static int64_t due_in(const struct rdb_engine *e, uint64_t seconds)
{
    if (seconds > e->options.reclaim_after_s)
        seconds = e->options.reclaim_after_s;
    return base_wall_us() + (int64_t)seconds * US_PER_S;
}

static int64_t later(const struct rdb_engine *e)
{
    return due_in(e, e->options.reclaim_after_s);
}

static void note_put(struct rdb_engine *e, rocksdb_writebatch_t *batch, struct slice key,
                     const struct sto_range *table, struct slice upper, int64_t due_us)
{
    uint8_t value[VALUE_MAX];
    struct slice suffix = SLICE_EMPTY;
    if (!base_slice_equal(upper, sto_range_end(table)))
        suffix = base_slice_skip(upper, table->begin_len);
    INVARIANT(suffix.len <= SUFFIX_MAX);
    sto_put_be64(value, rocksdb_get_latest_sequence_number(e->db.handle));
    sto_put_be64(value + SEQUENCE_BYTES, (uint64_t)due_us);
    if (suffix.len > 0)
        memcpy(value + SEQUENCE_BYTES + DUE_BYTES, suffix.ptr, suffix.len);
    rocksdb_writebatch_put_cf(batch, e->db.meta, (const char *)key.ptr, key.len,
                              (const char *)value, SEQUENCE_BYTES + DUE_BYTES + suffix.len);
}

enum err sto_rdb_note_write(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                            const struct sto_table_scope *scope,
                            const struct sto_key_bounds *bounds, enum rdb_note_when when)
{
    struct sto_range table = sto_range_of_table(scope);
    struct sto_key_bounds all = bounds != NULL ? *bounds : bounds_of_table(&table);
    int64_t due_us = when == RDB_NOTE_NOW ? 0 : later(e);
    uint8_t key[KEY_MAX];
    size_t key_len = key_make(scope, base_slice_skip(lower_of(&all), table.begin_len), key);
    enum err rc = unite(e, base_slice(key, key_len), &all, &due_us);
    if (rc == ERR_OK)
        note_put(e, batch, base_slice(key, key_len), &table, upper_of(&all), due_us);
    return rc;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Called for each record; false: no further one. */
typedef bool (*note_fn)(const struct rdb_note *note, void *ctx);

static enum err scan_kind(struct rdb_engine *e, enum sto_doc_kind kind, note_fn fn, void *ctx,
                          bool *inout_more)
{
    struct rdb_note *note = base_new(sizeof *note);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_doc_prefix(kind), sto_doc_prefix_end(kind));
    rocksdb_readoptions_set_ignore_range_deletions(options, 1); /* meta has none */
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.meta);
    enum err rc = ERR_OK;
    for (rocksdb_iter_seek_to_first(it); rc == ERR_OK && *inout_more && rocksdb_iter_valid(it);
         rocksdb_iter_next(it)) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = note_check(e, key, value, note);
        if (rc == ERR_OK)
            *inout_more = fn(note, ctx);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        rc = sto_rdb_read_failed(e, error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    base_free(note);
    return rc;
}

static enum err scan(struct rdb_engine *e, note_fn fn, void *ctx)
{
    enum err rc = ERR_OK;
    bool more = true;
    for (size_t i = 0; rc == ERR_OK && more && i < sizeof KINDS / sizeof KINDS[0]; i++)
        rc = scan_kind(e, KINDS[i], fn, ctx, &more);
    return rc;
}

struct looking {
    int64_t now_us;
    int64_t latest_us; /* rule 4 */
    struct rdb_notes_due *out;
};

static bool look_at(const struct rdb_note *note, void *ctx)
{
    struct looking *l = ctx;
    if (note->due_us == 0) {
        l->out->now++;
        return true;
    }
    l->out->later++;
    if (note->due_us <= l->now_us || note->due_us > l->latest_us)
        l->out->takes_all = true;
    else if ((uint64_t)(note->due_us - l->now_us) < l->out->wait_us)
        l->out->wait_us = (uint64_t)(note->due_us - l->now_us);
    return true;
}

enum err sto_rdb_notes_due(struct rdb_engine *e, struct rdb_notes_due *out)
{
    *out = (struct rdb_notes_due){.wait_us = UINT64_MAX};
    struct looking l = {.now_us = base_wall_us(), .latest_us = later(e), .out = out};
    return scan(e, look_at, &l);
}

struct reading {
    bool all;
    struct rdb_notes *out;
};

static bool take(const struct rdb_note *note, void *ctx)
{
    struct reading *r = ctx;
    struct buf *b = &r->out->stored;
    uint8_t head[HEAD_BYTES] = {0};
    size_t before = b->len;
    if (note->due_us != 0 && !r->all)
        return true;
    sto_put_be64(head, note->key.len);
    sto_put_be64(head + 8, note->value.len);
    if (base_buf_append(b, base_slice(head, sizeof head)) == ERR_OK &&
        base_buf_append(b, note->key) == ERR_OK && base_buf_append(b, note->value) == ERR_OK)
        return true;
    base_buf_truncate(b, before);
    return false;
}

enum err sto_rdb_notes_read(struct rdb_engine *e, bool all, struct rdb_notes *out)
{
    struct reading r = {.all = all, .out = out};
    base_buf_init(&out->stored, RDB_NOTES_BYTES);
    return scan(e, take, &r);
}

void sto_rdb_notes_fini(struct rdb_notes *notes)
{
    base_buf_fini(&notes->stored);
}

bool sto_rdb_notes_next(const struct rdb_notes *notes, size_t *position, struct rdb_note *out)
{
    if (*position >= notes->stored.len)
        return false;
    struct slice rest = base_slice_skip(base_buf_slice(&notes->stored), *position);
    size_t key_len = sto_get_be64(rest.ptr);
    size_t value_len = sto_get_be64(rest.ptr + 8);
    struct slice key = base_slice(rest.ptr + HEAD_BYTES, key_len);
    bool is_sound = note_decode(key, base_slice(key.ptr + key_len, value_len), out);
    INVARIANT(is_sound); /* it was sound when it was read */
    *position += HEAD_BYTES + key_len + value_len;
    return true;
}

static bool is_kept(const struct rdb_note *note)
{
    return note->key.ptr[-1] != 0;
}

void sto_rdb_notes_keep(struct rdb_notes *notes, const struct rdb_note *note)
{
    notes->stored.ptr[note->key.ptr - notes->stored.ptr - 1] = 1;
}

bool sto_rdb_notes_keep_any(const struct rdb_notes *notes)
{
    struct rdb_note *note = base_new(sizeof *note);
    size_t position = 0;
    bool is_any = false;
    while (!is_any && sto_rdb_notes_next(notes, &position, note))
        is_any = is_kept(note);
    base_free(note);
    return is_any;
}

/* --- deleting -------------------------------------------------------------------------------- */

/* Postpones a kept record. One of an earlier program has no due time, and is replaced by one that
 * has. */
static enum err postpone(struct rdb_engine *e, rocksdb_writebatch_t *batch, struct rdb_note *note,
                         int64_t due_us)
{
    enum err rc = ERR_OK;
    uint8_t key[KEY_MAX];
    struct slice at = note->key;
    if (at.ptr[0] == STO_DOC_RECLAIM_OLD) {
        struct slice lower = base_slice_skip(lower_of(&note->bounds), note->table.begin_len);
        memcpy(key, at.ptr, at.len);
        key[0] = STO_DOC_RECLAIM;
        key[at.len] = '/';
        if (lower.len > 0)
            memcpy(key + at.len + 1, lower.ptr, lower.len);
        at = base_slice(key, at.len + 1 + lower.len);
        rc = unite(e, at, &note->bounds, &due_us);
        rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)note->key.ptr, note->key.len);
    }
    if (rc == ERR_OK)
        note_put(e, batch, at, &note->table, upper_of(&note->bounds), due_us);
    return rc;
}

static enum err forget(struct rdb_engine *e, rocksdb_writebatch_t *batch, struct rdb_note *note,
                       int64_t kept_due_us)
{
    struct slice value;
    rocksdb_pinnableslice_t *pinned = NULL;
    enum err rc = value_get(e, note->key, &pinned, &value);
    if (rc != ERR_OK || pinned == NULL)
        return rc;
    bool is_same = base_slice_equal(value, note->value);
    rocksdb_pinnableslice_destroy(pinned);
    if (is_same && is_kept(note))
        return postpone(e, batch, note, kept_due_us);
    if (is_same)
        rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)note->key.ptr, note->key.len);
    return ERR_OK;
}

enum err sto_rdb_notes_forget(struct rdb_engine *e, const struct rdb_notes *notes, uint64_t kept_s)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    struct rdb_note *note = base_new(sizeof *note);
    size_t position = 0;
    enum err rc = ERR_OK;
    pthread_mutex_lock(&e->docs_lock);
    while (rc == ERR_OK && sto_rdb_notes_next(notes, &position, note))
        rc = forget(e, batch, note, due_in(e, kept_s));
    if (rc == ERR_OK && rocksdb_writebatch_count(batch) > 0)
        rc = sto_rdb_write(e, batch);
    pthread_mutex_unlock(&e->docs_lock);
    base_free(note);
    rocksdb_writebatch_destroy(batch);
    return rc;
}
