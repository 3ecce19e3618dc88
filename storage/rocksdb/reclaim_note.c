/*
 * storage/rocksdb/reclaim_note.c - a sequence number, and bounds where it is not the whole table.
 *
 *   value   sequence (8, BE)                                          all rows of the table
 *           sequence (8, BE) | length (2, BE) of lower | lower | upper
 *   lower, upper: stored bounds of rows behind the table's prefix; empty: the table's own
 *
 * 1. The sequence number is the database's before the note's batch: two of one table are never the
 *    same.
 * 2. A note is compared and deleted under docs_lock, which whoever writes one holds, too; a purge
 *    that took it away meanwhile leaves nothing to delete, so no trace of the tenant is written
 *    behind its purge.
 * 3. The prefix is in the key already: no stored key of the family of rows stands in a value.
 */
#include "storage/rocksdb/reclaim_note.h"

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define SEQUENCE_BYTES 8
#define LENGTH_BYTES   2
#define SUFFIX_MAX     (2 * LIM_ROW_KEY + 2)
#define VALUE_MAX      (SEQUENCE_BYTES + LENGTH_BYTES + 2 * SUFFIX_MAX)

/* --- values ----------------------------------------------------------------------------------- */

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

struct sto_span sto_rdb_note_span(const struct rdb_note *note)
{
    return sto_span_of_rows(&note->table, lower_of(&note->bounds), upper_of(&note->bounds));
}

static size_t value_encode(const struct rdb_note *note, uint8_t out[VALUE_MAX])
{
    size_t prefix = note->table.begin_len;
    struct slice lower = base_slice_skip(lower_of(&note->bounds), prefix);
    struct slice upper = SLICE_EMPTY;
    if (!base_slice_equal(upper_of(&note->bounds), sto_range_end(&note->table)))
        upper = base_slice_skip(upper_of(&note->bounds), prefix);
    INVARIANT(lower.len <= SUFFIX_MAX && upper.len <= SUFFIX_MAX);
    sto_put_be64(out, note->sequence);
    if (lower.len == 0 && upper.len == 0)
        return SEQUENCE_BYTES;
    size_t n = SEQUENCE_BYTES;
    out[n++] = (uint8_t)(lower.len >> 8);
    out[n++] = (uint8_t)(lower.len & 0xff);
    if (lower.len > 0)
        memcpy(out + n, lower.ptr, lower.len);
    n += lower.len;
    if (upper.len > 0)
        memcpy(out + n, upper.ptr, upper.len);
    return n + upper.len;
}

static bool value_decode(struct slice value, struct rdb_note *out)
{
    if (value.len < SEQUENCE_BYTES)
        return false;
    out->sequence = sto_get_be64(value.ptr);
    out->bounds = bounds_of_table(&out->table);
    if (value.len == SEQUENCE_BYTES)
        return true;
    struct slice rest = base_slice_skip(value, SEQUENCE_BYTES);
    if (rest.len < LENGTH_BYTES)
        return false;
    size_t lower_len = (size_t)rest.ptr[0] << 8 | rest.ptr[1];
    rest = base_slice_skip(rest, LENGTH_BYTES);
    if (lower_len > SUFFIX_MAX || lower_len > rest.len || rest.len - lower_len > SUFFIX_MAX)
        return false;
    struct slice upper = base_slice_skip(rest, lower_len);
    size_t prefix = out->table.begin_len;
    if (lower_len > 0)
        memcpy(out->bounds.lower + prefix, rest.ptr, lower_len);
    out->bounds.lower_len = prefix + lower_len;
    if (upper.len > 0) {
        memcpy(out->bounds.upper, out->table.begin, prefix);
        memcpy(out->bounds.upper + prefix, upper.ptr, upper.len);
        out->bounds.upper_len = prefix + upper.len;
    }
    return base_slice_compare(lower_of(&out->bounds), upper_of(&out->bounds)) < 0;
}

static enum err note_decode(struct rdb_engine *e, struct slice key, struct slice value,
                            struct rdb_note *out)
{
    struct errbuf eb = {{0}};
    enum err rc = key.len > sizeof out->key || key.len < 2
                      ? base_fail(&eb, ERR_CORRUPT, "a note of dropped rows is damaged")
                      : sto_range_of_table_named(base_slice_skip(key, 2), &out->table, &eb);
    if (rc == ERR_OK && !value_decode(value, out))
        rc = base_fail(&eb, ERR_CORRUPT, "a note of dropped rows is damaged");
    if (rc != ERR_OK) {
        sto_rdb_fail_text(e, eb.text);
        return rc;
    }
    memcpy(out->key, key.ptr, key.len);
    out->key_len = key.len;
    return ERR_OK;
}

/* --- one -------------------------------------------------------------------------------------- */

/* out_found false: there is none of that key. */
static enum err note_get(struct rdb_engine *e, struct slice key, struct rdb_note *out,
                         bool *out_found)
{
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(e->db.handle, e->db.point, e->db.meta,
                                                            (const char *)key.ptr, key.len, &error);
    if (error != NULL)
        return sto_rdb_fail(e, "read", error);
    *out_found = pinned != NULL;
    if (pinned == NULL)
        return ERR_OK;
    struct slice value;
    value.ptr = (const uint8_t *)rocksdb_pinnableslice_value(pinned, &value.len);
    enum err rc = note_decode(e, key, value, out);
    rocksdb_pinnableslice_destroy(pinned);
    return rc;
}

static void bounds_unite(struct sto_key_bounds *b, const struct sto_key_bounds *with)
{
    if (base_slice_compare(lower_of(with), lower_of(b)) < 0) {
        memcpy(b->lower, with->lower, with->lower_len);
        b->lower_len = with->lower_len;
    }
    if (base_slice_compare(upper_of(with), upper_of(b)) > 0) {
        memcpy(b->upper, with->upper, with->upper_len);
        b->upper_len = with->upper_len;
    }
}

enum err sto_rdb_note_write(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                            const struct sto_table_scope *scope,
                            const struct sto_key_bounds *bounds)
{
    struct rdb_note note = {.table = sto_range_of_table(scope)};
    struct rdb_note older;
    bool has_older = false;
    uint8_t value[VALUE_MAX];
    note.key_len = sto_rdb_counter_key(&scope->tenant, scope->schema->table, note.key);
    note.key[0] = RDB_RECLAIM_LETTER;
    enum err rc = note_get(e, base_slice(note.key, note.key_len), &older, &has_older);
    if (rc != ERR_OK)
        return rc;
    note.bounds = bounds != NULL ? *bounds : bounds_of_table(&note.table);
    if (has_older)
        bounds_unite(&note.bounds, &older.bounds);
    note.sequence = rocksdb_get_latest_sequence_number(e->db.handle);
    size_t len = value_encode(&note, value);
    rocksdb_writebatch_put_cf(batch, e->db.meta, (const char *)note.key, note.key_len,
                              (const char *)value, len);
    return ERR_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

enum err sto_rdb_notes_read(struct rdb_engine *e, struct rdb_note *out, size_t max,
                            size_t *out_count)
{
    static const uint8_t begin[] = {RDB_RECLAIM_LETTER, '/'};
    static const uint8_t end[] = {RDB_RECLAIM_LETTER, '/' + 1};
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(begin, sizeof begin), base_slice(end, sizeof end));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.meta);
    enum err rc = ERR_OK;
    size_t count = 0;
    rocksdb_iter_seek_to_first(it);
    for (; rc == ERR_OK && count < max && rocksdb_iter_valid(it); count++) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = note_decode(e, key, value, &out[count]);
        rocksdb_iter_next(it);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        rc = sto_rdb_fail(e, "read", error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    *out_count = count;
    return rc;
}

enum err sto_rdb_notes_forget(struct rdb_engine *e, const struct rdb_note *notes, size_t count)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    enum err rc = ERR_OK;
    pthread_mutex_lock(&e->docs_lock);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        struct rdb_note now;
        bool is_there = false;
        rc = note_get(e, base_slice(notes[i].key, notes[i].key_len), &now, &is_there);
        if (rc == ERR_OK && is_there && now.sequence == notes[i].sequence)
            rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)notes[i].key,
                                         notes[i].key_len);
    }
    if (rc == ERR_OK && rocksdb_writebatch_count(batch) > 0)
        rc = sto_rdb_write(e, batch);
    pthread_mutex_unlock(&e->docs_lock);
    rocksdb_writebatch_destroy(batch);
    return rc;
}
