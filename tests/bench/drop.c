/*
 * tests/bench/drop.c - a prefix dropped by points or by a range tombstone: the drop, and what later
 * reads pay for crossing it.
 *
 * Areas of so many rows and one row behind them that stays. Either way the rows are read first, as
 * a drop has to count them, and each area is one synced commit. Then each area is scanned over to
 * the row that stays, and rows that stay are read, while what was dropped is in memory, in a file,
 * and compacted. Both ways take turns.
 */
#include <stdio.h>
#include <stdlib.h>

#include "storage/keycodec.h"
#include "storage/rocksdb/db.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define VALUE_BYTES 100
#define STAGES      3 /* in memory, in a file, compacted */
#define KEYS_OF_ROW 2 /* header and cell */

struct area_key {
    size_t len;
    size_t row_len;
    uint8_t bytes[STO_KEY_MAX];
};

struct way {
    const char *name;
    bool is_range;
    struct rdb_db db;
    double drop_us;
    double scan_us[STAGES];
    double get_us[STAGES];
};

static struct sto_account account;
static struct sto_table_scope scope;
static uint64_t areas;
static uint64_t rows; /* of an area */

/* row: `rows` is the one that stays. */
static void row_key(uint64_t area, uint64_t row, struct area_key *out)
{
    char text[BENCH_KEY_BYTES];
    int n = snprintf(text, sizeof text, "a%06llu#%08llu", (unsigned long long)area,
                     (unsigned long long)row);
    out->row_len = sto_key_row(&scope, base_slice(text, (size_t)n), out->bytes);
    out->len = sto_key_header(out->bytes, out->row_len);
}

static void to_cell(struct area_key *k)
{
    k->len = sto_key_column(k->bytes, k->row_len, 1, SLICE_LIT("q"));
    k->len = sto_key_version(k->bytes, k->len, 1000000);
}

static void write_batch(struct rdb_db *db, rocksdb_writebatch_t *batch)
{
    char *error = NULL;
    rocksdb_write(db->handle, db->synced, batch, &error);
    if (error != NULL)
        bench_fail("rocksdb_write: %s", error);
    rocksdb_writebatch_clear(batch);
}

static void settle(struct rdb_db *db, bool compact)
{
    char *error = NULL;
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    rocksdb_flush_cf(db->handle, options, db->cells, &error);
    rocksdb_flushoptions_destroy(options);
    if (error != NULL)
        bench_fail("rocksdb_flush: %s", error);
    if (compact)
        rocksdb_compact_range_cf(db->handle, db->cells, NULL, 0, NULL, 0);
}

static void fill(struct rdb_db *db)
{
    static char value[VALUE_BYTES];
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    bench_fill(value, sizeof value, 1);
    for (uint64_t area = 0; area < areas; area++) {
        for (uint64_t row = 0; row <= rows; row++) {
            struct area_key k;
            row_key(area, row, &k);
            rocksdb_writebatch_put_cf(batch, db->cells, (const char *)k.bytes, k.len, "\1\1", 2);
            to_cell(&k);
            rocksdb_writebatch_put_cf(batch, db->cells, (const char *)k.bytes, k.len, value,
                                      sizeof value);
            if (row % 1000 == 0)
                write_batch(db, batch);
        }
        write_batch(db, batch);
    }
    rocksdb_writebatch_destroy(batch);
    settle(db, true);
}

/* --- dropping --------------------------------------------------------------------------------- */

static void drop_area(struct way *w, uint64_t area, rocksdb_writebatch_t *batch)
{
    struct area_key begin, end;
    size_t passed = 0;
    row_key(area, 0, &begin);
    row_key(area, rows, &end);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(begin.bytes, begin.len), base_slice(end.bytes, end.len));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(w->db.handle, options, w->db.cells);
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t len = 0;
        const char *key = rocksdb_iter_key(it, &len);
        passed++;
        if (!w->is_range)
            rocksdb_writebatch_delete_cf(batch, w->db.cells, key, len);
    }
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (passed != KEYS_OF_ROW * rows)
        bench_fail("%zu keys in an area", passed);
    if (w->is_range)
        rocksdb_writebatch_delete_range_cf(batch, w->db.cells, (const char *)begin.bytes, begin.len,
                                           (const char *)end.bytes, end.len);
    write_batch(&w->db, batch);
}

static void drop_areas(struct way *w)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    double start = bench_seconds();
    for (uint64_t area = 0; area < areas; area++)
        drop_area(w, area, batch);
    w->drop_us = (bench_seconds() - start) * 1e6 / (double)areas;
    rocksdb_writebatch_destroy(batch);
}

/* --- reading across --------------------------------------------------------------------------- */

static double scan_areas(struct way *w)
{
    double start = bench_seconds();
    for (uint64_t area = 0; area < areas; area++) {
        struct area_key begin, end, stays;
        size_t len = 0;
        row_key(area, 0, &begin);
        row_key(area, rows, &stays);
        row_key(area, rows + 1, &end);
        rocksdb_readoptions_t *options = sto_rdb_scan_options(base_slice(begin.bytes, begin.len),
                                                              base_slice(end.bytes, end.len));
        rocksdb_iterator_t *it = rocksdb_create_iterator_cf(w->db.handle, options, w->db.cells);
        rocksdb_iter_seek_to_first(it);
        const char *key = rocksdb_iter_valid(it) ? rocksdb_iter_key(it, &len) : NULL;
        if (key == NULL ||
            !base_slice_equal(base_slice(key, len), base_slice(stays.bytes, stays.len)))
            bench_fail("what stays is not there");
        rocksdb_iter_destroy(it);
        rocksdb_readoptions_destroy(options);
    }
    return (bench_seconds() - start) * 1e6 / (double)areas;
}

static double get_rows(struct way *w)
{
    const uint64_t reads = 20000;
    double start = bench_seconds();
    for (uint64_t i = 0; i < reads; i++) {
        struct area_key k;
        char *error = NULL;
        row_key(i * 7919 % areas, rows, &k);
        rocksdb_pinnableslice_t *value = rocksdb_get_pinned_cf(
            w->db.handle, w->db.point, w->db.cells, (const char *)k.bytes, k.len, &error);
        if (error != NULL || value == NULL)
            bench_fail("what stays is not there");
        rocksdb_pinnableslice_destroy(value);
    }
    return (bench_seconds() - start) * 1e6 / (double)reads;
}

/* --- both ------------------------------------------------------------------------------------- */

static void scope_open(void)
{
    struct sto_tenant_scope tenant;
    struct sto_family_spec family = {.name = SLICE_LIT("f")};
    struct sto_table_spec spec = {.families = &family, .family_count = 1};
    struct sto_schema *schema = NULL;
    struct errbuf eb = {{0}};
    sto_account_init(&account, 0);
    if (sto_scope_open(SLICE_LIT("bench"), &account, &tenant) != ERR_OK ||
        sto_schema_make(SLICE_LIT("rows"), NULL, &spec, &schema, &eb) != ERR_OK)
        bench_fail("no table: %s", eb.text);
    scope = sto_table_scope_make(&tenant, schema);
    sto_schema_unref(schema);
}

static void measure(struct way ways[2])
{
    for (int i = 0; i < 2; i++)
        drop_areas(&ways[i]);
    for (int stage = 0; stage < STAGES; stage++)
        for (int i = 0; i < 2; i++) {
            if (stage > 0)
                settle(&ways[i].db, stage == STAGES - 1);
            (void)get_rows(&ways[i]); /* into the cache */
            ways[i].scan_us[stage] = scan_areas(&ways[i]);
            ways[i].get_us[stage] = get_rows(&ways[i]);
        }
}

int bench_drop(int argc, char **argv)
{
    if (argc != 4)
        bench_fail("usage: bench drop DIR_POINTS DIR_RANGE ROWS AREAS");
    struct way ways[2] = {{.name = "points"}, {.name = "range", .is_range = true}};
    struct sto_rocksdb_options options;
    struct errbuf eb = {{0}};
    rows = bench_number(argv[2]);
    areas = bench_number(argv[3]);
    if (rows == 0 || areas == 0)
        bench_fail("ROWS and AREAS must be 1 or more");
    scope_open();
    sto_rocksdb_options_default(&options);
    for (int i = 0; i < 2; i++) {
        if (sto_rdb_db_open(&ways[i].db, argv[i], &options, true, NULL, &eb) != ERR_OK)
            bench_fail("%s: %s", argv[i], eb.text);
        fill(&ways[i].db);
    }
    measure(ways);
    for (int i = 0; i < 2; i++) {
        const struct way *w = &ways[i];
        (void)printf(
            "%s rows %llu areas %llu drop_us %.1f scan_us %.1f %.1f %.1f get_us %.2f %.2f %.2f\n",
            w->name, (unsigned long long)rows, (unsigned long long)areas, w->drop_us, w->scan_us[0],
            w->scan_us[1], w->scan_us[2], w->get_us[0], w->get_us[1], w->get_us[2]);
        sto_rdb_db_close(&ways[i].db);
    }
    sto_table_scope_release(&scope);
    return EXIT_SUCCESS;
}
