/*
 * storage/rocksdb/salvage.c - opens the copy; records, fills and counts the missing parts.
 *
 *   files    salvage_files.c; after that the copy is a sound database
 *   open     files that RocksDB still does not open are left out as well, and the open is retried
 *   record   the keys of each piece that was left out become lost ranges
 *   orphans  a piece may have held the deletion of a table: rows without a table are removed again
 *
 * 1. Nothing else uses the copy: neither committers nor readers are involved.
 * 2. Rows in lost ranges are not counted, because they cannot be read. So counters and a recount
 *    that leaves them out agree (sto_recount_op.skip_lost).
 */
#include "storage/rocksdb/salvage.h"

#include "base/alloc.h"
#include "base/file.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/row_sum.h"
#include "storage/rocksdb/witness.h"

#include "base/banned.h"

#define BATCH_BYTES  (4 * MIB)
#define PLACE_BYTES  17 /* at the end of a record's key: family, file, offset (lost.c) */
#define COUNTER_HEAD 2  /* "u/" */
#define COUNTER_MAX  (COUNTER_HEAD + LIM_TENANT_ID + 1 + LIM_TABLE_ID)

static struct rdb_engine *engine_of(const struct sto_salvage *s)
{
    return sto_rdb_engine(s->engine);
}

static enum err read_failed(struct rdb_engine *e, char *error, struct errbuf *eb)
{
    return base_fail(eb, sto_rdb_read_failed(e, error), "the copy cannot be read");
}

/* --- open ------------------------------------------------------------------------------------- */

/* Leaves the file out that the error names. */
static enum err unopened_drop(struct sto_salvage *s, const char *to_db, struct errbuf *eb)
{
    struct sto_damaged_file at;
    struct errbuf detail = {{0}};
    if (!sto_rdb_damage_parse(eb->text, &at))
        return ERR_CORRUPT;
    enum err rc = sto_rdb_salvage_drop(s, to_db, at.number, &detail);
    if (rc != ERR_OK && detail.text[0] != '\0')
        return base_fail(eb, rc, "%s", detail.text);
    return rc == ERR_OK ? rc : ERR_CORRUPT;
}

static enum err copy_open(struct sto_salvage *s, const char *to, const char *to_db,
                          const struct sto_rocksdb_options *options, struct errbuf *eb)
{
    struct sto_rocksdb_options own = *options;
    own.dir = to;
    enum err rc = sto_rocksdb_adopt(to, eb);
    while (rc == ERR_OK) {
        rc = sto_rocksdb_open(&own, &s->engine, eb);
        if (rc != ERR_CORRUPT)
            break;
        rc = unopened_drop(s, to_db, eb); /* one file less each time */
    }
    if (rc == ERR_OK)
        eb->text[0] = '\0';
    return rc;
}

/* --- orphans ---------------------------------------------------------------------------------- */

/* Returns the length of "tenant#table#" at the start of a key; 0: not a key of a table. */
static size_t table_prefix_len(struct slice key)
{
    const uint8_t *tenant = key.len == 0 ? NULL : memchr(key.ptr, '#', key.len);
    if (tenant == NULL)
        return 0;
    struct slice rest = base_slice_skip(key, (size_t)(tenant - key.ptr) + 1);
    const uint8_t *table = rest.len == 0 ? NULL : memchr(rest.ptr, '#', rest.len);
    return table == NULL ? 0 : (size_t)(table - key.ptr) + 1;
}

/* Reads a table's counters. name: "tenant/table". */
static enum err counters_get(struct rdb_engine *e, struct slice name, bool *out_is_there,
                             struct sto_stored_counters *out, struct errbuf *eb)
{
    uint8_t key[COUNTER_MAX] = {STO_DOC_COUNTERS, '/'};
    char *error = NULL;
    enum err rc = ERR_OK;
    *out_is_there = false;
    if (name.len > sizeof key - COUNTER_HEAD)
        return ERR_OK;
    memcpy(key + COUNTER_HEAD, name.ptr, name.len);
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(
        e->db.handle, e->db.point, e->db.meta, (const char *)key, COUNTER_HEAD + name.len, &error);
    if (error != NULL)
        return read_failed(e, error, eb);
    if (pinned == NULL)
        return ERR_OK;
    struct slice value;
    value.ptr = (const uint8_t *)rocksdb_pinnableslice_value(pinned, &value.len);
    rc = sto_counters_decode(value, out);
    rocksdb_pinnableslice_destroy(pinned);
    *out_is_there = true;
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the counters of a table are damaged");
}

static enum err range_remove(struct rdb_engine *e, int family, struct sto_span span,
                             rocksdb_writebatch_t *batch, struct errbuf *eb)
{
    pthread_mutex_lock(&e->docs_lock);
    sto_rdb_range_delete(e, batch, family, span, NULL);
    enum err rc = sto_rdb_write(e, batch);
    pthread_mutex_unlock(&e->docs_lock);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the copy cannot be written: %s", e->reason);
}

/* Finds the key's table, and removes all of it if it has no counters. */
static enum err table_settle(struct rdb_engine *e, int family, struct slice key,
                             struct sto_range *out, struct errbuf *eb)
{
    uint8_t name[COUNTER_MAX];
    struct sto_stored_counters counters;
    bool is_there = false;
    size_t len = table_prefix_len(key);
    if (len == 0 || len > sizeof name)
        return ERR_NOT_FOUND;
    memcpy(name, key.ptr, len - 1);
    *(uint8_t *)memchr(name, '#', len - 1) = '/';
    struct slice table = base_slice(name, len - 1);
    if (sto_range_of_table_named(table, out, NULL) != ERR_OK)
        return ERR_NOT_FOUND;
    enum err rc = counters_get(e, table, &is_there, &counters, eb);
    if (rc != ERR_OK || is_there)
        return rc;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rc = range_remove(e, family, sto_span_of(out), batch, eb);
    rocksdb_writebatch_destroy(batch);
    return rc;
}

/* Removes orphans among the keys whose deletion the piece may have held. */
static enum err orphans_remove(struct sto_salvage *s, const struct sto_salvage_piece *piece,
                               struct errbuf *eb)
{
    struct rdb_engine *e = engine_of(s);
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(e->db.handle, options, e->db.cf[piece->family]);
    enum err rc = ERR_OK;
    rocksdb_iter_seek(it, (const char *)piece->from.ptr, piece->from.len);
    while (rc == ERR_OK && rocksdb_iter_valid(it)) {
        struct sto_range table;
        struct slice key;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        if (base_slice_compare(key, piece->to) > 0)
            break;
        rc = table_settle(e, piece->family, key, &table, eb);
        if (rc == ERR_NOT_FOUND) { /* a canary, or a key without an owner: kept */
            rocksdb_iter_next(it);
            rc = ERR_OK;
        } else if (rc == ERR_OK) {
            rocksdb_iter_seek(it, (const char *)table.end, table.end_len);
        }
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (error == NULL)
        return rc;
    enum err failed = read_failed(e, error, eb);
    return rc == ERR_OK ? failed : rc;
}

/* --- record ----------------------------------------------------------------------------------- */

static enum err pieces_record(struct sto_salvage *s, struct errbuf *eb)
{
    struct rdb_engine *e = engine_of(s);
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < s->piece_count; i++) {
        const struct sto_salvage_piece *piece = &s->pieces[i];
        const struct rdb_lost_block lost = {.family = piece->family,
                                            .file = piece->file,
                                            .offset = piece->offset,
                                            .from = piece->from,
                                            .to = piece->to};
        rc = orphans_remove(s, piece, eb);
        if (rc != ERR_OK)
            return rc;
        rc = sto_rdb_lost_add(e, &lost);
        if (rc != ERR_OK)
            return base_fail(eb, rc, "what is lost cannot be recorded: %s", e->reason);
    }
    return rc;
}

/* Returns the number of acknowledged changes: if the copy has fewer, this is reported. */
static uint64_t witness_read(const char *dir)
{
    struct rdb_witness witness;
    return sto_rdb_witness_read(dir, &witness, NULL) == ERR_OK && !witness.adopting
               ? witness.sequence
               : 0;
}

enum err sto_salvage_open(const char *from, const char *to,
                          const struct sto_rocksdb_options *options, struct sto_salvage *out,
                          struct errbuf *eb)
{
    char from_db[BASE_PATH_BYTES], to_db[BASE_PATH_BYTES];
    *out = (struct sto_salvage){.witnessed = witness_read(from)};
    enum err rc = base_path_join(from_db, from, "db", eb);
    if (rc == ERR_OK)
        rc = base_path_join(to_db, to, "db", eb);
    if (rc == ERR_OK)
        rc = base_dir_make(to_db, 0700, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_salvage_files(out, from_db, to_db, eb);
    if (rc == ERR_OK)
        rc = copy_open(out, to, to_db, options, eb);
    if (rc == ERR_OK) {
        out->sequence = rocksdb_get_latest_sequence_number(engine_of(out)->db.handle);
        rc = pieces_record(out, eb);
    }
    if (rc != ERR_OK)
        sto_salvage_close(out);
    return rc;
}

void sto_salvage_close(struct sto_salvage *s)
{
    if (s->engine != NULL)
        sto_engine_close(s->engine);
    for (size_t i = 0; i < s->piece_count; i++) {
        base_free((void *)(uintptr_t)s->pieces[i].from.ptr);
        base_free((void *)(uintptr_t)s->pieces[i].to.ptr);
    }
    base_free(s->pieces);
    *s = (struct sto_salvage){.engine = NULL};
}

/* --- lost ranges ------------------------------------------------------------------------------ */

static const struct sto_salvage_piece *piece_find(const struct sto_salvage *s, int family,
                                                  uint64_t file, uint64_t offset)
{
    for (size_t i = 0; i < s->piece_count; i++) {
        const struct sto_salvage_piece *p = &s->pieces[i];
        if (p->family == family && p->file == file && p->offset == offset)
            return p;
    }
    return NULL;
}

static enum err lost_decode(const struct sto_salvage *s, struct slice key, struct slice value,
                            struct sto_salvage_lost *out)
{
    int family;
    enum err rc = sto_rdb_lost_decode(value, &family, &out->span);
    if (rc != ERR_OK || key.len < 2 + PLACE_BYTES + 1)
        return ERR_CORRUPT;
    struct slice name = base_slice(key.ptr + 2, key.len - 2 - PLACE_BYTES - 1);
    const uint8_t *slash = name.len == 0 ? NULL : memchr(name.ptr, '/', name.len);
    if (slash == NULL)
        return ERR_CORRUPT;
    out->record = key;
    out->tenant = base_slice(name.ptr, (size_t)(slash - name.ptr));
    out->table = base_slice_skip(name, out->tenant.len + 1);
    out->is_rows = family == RDB_CF_CELLS;
    out->file = sto_get_be64(key.ptr + key.len - 16);
    out->offset = sto_get_be64(key.ptr + key.len - 8);
    out->piece = piece_find(s, family, out->file, out->offset);
    return ERR_OK;
}

enum err sto_salvage_visit_lost(struct sto_salvage *s, sto_salvage_visit *visit, void *ctx,
                                struct errbuf *eb)
{
    struct rdb_engine *e = engine_of(s);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_doc_prefix(STO_DOC_LOST), sto_doc_prefix_end(STO_DOC_LOST));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.meta);
    enum err rc = ERR_OK;
    for (rocksdb_iter_seek_to_first(it); rc == ERR_OK && rocksdb_iter_valid(it);
         rocksdb_iter_next(it)) {
        struct sto_salvage_lost lost;
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = lost_decode(s, key, value, &lost);
        rc = rc == ERR_OK ? visit(ctx, &lost)
                          : base_fail(eb, rc, "a record of lost rows is damaged");
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (error == NULL)
        return rc;
    enum err failed = read_failed(e, error, eb);
    return rc == ERR_OK ? failed : rc;
}

/* --- filling ---------------------------------------------------------------------------------- */

struct sto_salvage_fill {
    struct rdb_engine *engine;
    rocksdb_writebatch_t *batch;
    rocksdb_writebatch_t *last; /* deletes the records */
    uint64_t rows;
    struct sto_row_head head; /* of the open row; no cells: it has none yet */
    size_t row_len;
    size_t row_key_len;
    uint8_t row[STO_KEY_HEADER_MAX];
};

static enum err batch_write(struct sto_salvage_fill *f)
{
    if (rocksdb_writebatch_count(f->batch) == 0)
        return ERR_OK;
    enum err rc = sto_rdb_write(f->engine, f->batch);
    rocksdb_writebatch_clear(f->batch);
    return rc;
}

enum err sto_salvage_fill_begin(struct sto_salvage *s, struct sto_span span,
                                struct sto_salvage_fill **out, struct errbuf *eb)
{
    struct sto_salvage_fill *f = base_new(sizeof *f);
    f->engine = engine_of(s);
    f->batch = rocksdb_writebatch_create();
    f->last = rocksdb_writebatch_create();
    enum err rc = range_remove(f->engine, RDB_CF_CELLS, span, f->batch, eb);
    rocksdb_writebatch_clear(f->batch);
    if (rc == ERR_OK) {
        *out = f;
        return rc;
    }
    uint64_t rows;
    return sto_salvage_fill_end(f, rc, &rows, eb);
}

void sto_salvage_fill_covers(struct sto_salvage_fill *f, struct slice record)
{
    rocksdb_writebatch_delete_cf(f->last, f->engine->db.meta, (const char *)record.ptr, record.len);
}

static void row_close(struct sto_salvage_fill *f)
{
    uint8_t value[STO_ROW_HEAD_MAX];
    if (f->head.cells == 0)
        return;
    size_t len = sto_key_header(f->row, f->row_len);
    size_t value_len = sto_row_head_encode(&f->head, value);
    rocksdb_writebatch_put_cf(f->batch, f->engine->db.cells, (const char *)f->row, len,
                              (const char *)value, value_len);
    f->rows++;
    f->head = (struct sto_row_head){0};
}

enum err sto_salvage_fill_take(void *ctx, struct slice key, struct slice value)
{
    struct sto_salvage_fill *f = ctx;
    struct sto_key parts;
    struct sto_stored_cell cell;
    size_t bytes = 0;
    if (sto_key_decode(key, &parts) != ERR_OK)
        return ERR_CORRUPT;
    if (!base_slice_equal(parts.row_prefix, base_slice(f->row, f->row_len))) {
        row_close(f);
        memcpy(f->row, parts.row_prefix.ptr, parts.row_prefix.len);
        f->row_len = parts.row_prefix.len;
        f->row_key_len = sto_key_unescaped_len(parts.row_escaped);
    }
    if (parts.family == 0)
        return ERR_OK; /* the header is computed from the cells */
    if (sto_cell_decode(value, &cell) != ERR_OK)
        return ERR_CORRUPT;
    f->head.cells++;
    f->head.bytes += sto_cell_bytes(f->row_key_len, cell.family_name_len,
                                    sto_key_unescaped_len(parts.qualifier_escaped), cell.bytes.len);
    rocksdb_writebatch_put_cf(f->batch, f->engine->db.cells, (const char *)key.ptr, key.len,
                              (const char *)value.ptr, value.len);
    (void)rocksdb_writebatch_data(f->batch, &bytes); /* only its size */
    return bytes < BATCH_BYTES ? ERR_OK : batch_write(f);
}

enum err sto_salvage_fill_end(struct sto_salvage_fill *f, enum err rc, uint64_t *out_rows,
                              struct errbuf *eb)
{
    struct rdb_engine *e = f->engine;
    if (rc == ERR_OK) {
        row_close(f);
        rc = batch_write(f);
        if (rc == ERR_OK)
            rc = sto_rdb_write(e, f->last);
        if (rc == ERR_OK)
            rc = sto_rdb_lost_load(e);
        if (rc != ERR_OK)
            (void)base_fail(eb, rc, "the copy cannot be written: %s", e->reason);
    }
    *out_rows = f->rows;
    rocksdb_writebatch_destroy(f->batch);
    rocksdb_writebatch_destroy(f->last);
    base_free(f);
    return rc;
}

/* --- counting --------------------------------------------------------------------------------- */

/* Counts the rows of a table; rule 2. */
static enum err rows_count(struct rdb_engine *e, struct sto_span table, struct rdb_row_sum *sum,
                           struct errbuf *eb)
{
    uint8_t end[STO_KEY_MAX + 1];
    size_t end_len;
    rocksdb_readoptions_t *options = sto_rdb_scan_options(table.begin, table.end);
    rocksdb_readoptions_set_fill_cache(options, 0);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.cells);
    enum err rc = ERR_OK;
    rocksdb_iter_seek_to_first(it);
    while (rc == ERR_OK && rocksdb_iter_valid(it)) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        if (sto_rdb_lost_end(e, RDB_CF_CELLS, key, end, sizeof end, &end_len)) {
            rocksdb_iter_seek(it, (const char *)end, end_len);
            continue;
        }
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = sto_rdb_row_sum_add(sum, key, value, eb);
        rocksdb_iter_next(it);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (error != NULL) {
        enum err failed = read_failed(e, error, eb);
        rc = rc == ERR_OK ? failed : rc;
    }
    return rc == ERR_OK ? sto_rdb_row_sum_close(sum, eb) : rc;
}

enum err sto_salvage_recount(struct sto_salvage *s, struct slice name, struct sto_usage *out_before,
                             struct sto_usage *out_now, struct errbuf *eb)
{
    struct rdb_engine *e = engine_of(s);
    struct sto_range table;
    struct sto_stored_counters counters;
    uint8_t key[COUNTER_MAX] = {STO_DOC_COUNTERS, '/'};
    uint8_t value[STO_COUNTERS_BYTES];
    bool is_there = false;
    enum err rc = sto_range_of_table_named(name, &table, eb);
    if (rc == ERR_OK)
        rc = counters_get(e, name, &is_there, &counters, eb);
    if (rc == ERR_OK && !is_there)
        rc = base_fail(eb, ERR_CORRUPT, "a table with lost rows has no counters");
    if (rc != ERR_OK)
        return rc;
    struct rdb_row_sum *sum = base_new(sizeof *sum);
    rc = rows_count(e, sto_span_of(&table), sum, eb);
    *out_before = counters.usage;
    *out_now = counters.usage = sum->usage;
    base_free(sum);
    if (rc != ERR_OK)
        return rc;
    counters.additions++; /* the sweeper scans the table again */
    if (counters.last_change_us != 0)
        counters.change_bytes = STO_CHANGES_NOT_COUNTED;
    sto_counters_encode(&counters, value);
    memcpy(key + COUNTER_HEAD, name.ptr, name.len);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_put_cf(batch, e->db.meta, (const char *)key, COUNTER_HEAD + name.len,
                              (const char *)value, sizeof value);
    rc = sto_rdb_write(e, batch);
    rocksdb_writebatch_destroy(batch);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the copy cannot be written: %s", e->reason);
}
