/*
 * tests/storage/test_engine_catalogue.c - tables list their tenants, and a search rests on that.
 */
#include "damaged.h"

#include "storage/rocksdb/catalogue.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/tenant_collector.h"

#include "base/banned.h"

Suite *suite_storage_engine_catalogue(void);

enum { NEIGHBOURS = 3000, OURS = 10, VALUE = 500, CROWD = 100000, FEW_OF_CROWD = 60000 };

/* --- what is stored --------------------------------------------------------------------------- */

static void write_batch(rocksdb_writebatch_t *batch)
{
    ck_assert_int_eq(sto_rdb_write(sto_rdb_engine(fix.engine), batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
}

static void put(rocksdb_writebatch_t *batch, rocksdb_column_family_handle_t *family,
                const char *key, size_t value_len)
{
    static uint64_t chance = 88172645463325252;
    uint64_t value[VALUE / 8 + 1];
    for (size_t i = 0; i < VALUE / 8 + 1; i++) { /* does not compress */
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        value[i] = chance;
    }
    rocksdb_writebatch_put_cf(batch, family, key, strlen(key), (const char *)value, value_len);
}

static void put_rows(const char *tenant, int count)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (int i = 0; i < count; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s#t#row-%06d", tenant, i);
        put(batch, sto_rdb_engine(fix.engine)->db.cells, key, VALUE);
    }
    write_batch(batch);
}

static void flush(void)
{
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
}

/* A neighbour of many tables, and a tenant of one. */
static void fill(void)
{
    for (int i = 0; i < 4; i++) {
        put_rows("b-0", NEIGHBOURS);
        flush();
    }
    sto_rdb_range_compact(sto_rdb_engine(fix.engine), RDB_CF_CELLS, SLICE_LIT("b-0#"),
                          SLICE_LIT("b-0$"));
    put_rows("ab", OURS);
    flush();
}

static struct sto_search search(size_t tenant, bool deep)
{
    struct sto_search_target target = {.scope = &fix.tenants[tenant]};
    const struct sto_search_spec spec = {.deep = deep};
    struct errbuf eb = {{0}};
    enum err rc = sto_search_files(fix.engine, &target, 1, &spec, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return target.found;
}

static void setup(void)
{
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
    sto_rdb_test_scrub_by_hand(true);
    fix_prepare_alone(); /* files with and without lists are counted */
    fix.options.scrub_bytes_per_s = MIB;
    fix_open();
}

/* --- the search ------------------------------------------------------------------------------- */

START_TEST(a_search_reads_the_tables_that_list_the_tenant)
{
    fill();
    struct sto_search quick = search(0, false);
    struct sto_search deep = search(0, true);
    ck_assert_uint_ge(quick.keys, OURS); /* and keys of indexes */
    ck_assert_uint_eq(quick.keys, deep.keys);
    ck_assert_uint_gt(quick.listed_files, 10);
    ck_assert_uint_eq(quick.listed_files + quick.files, deep.files);
    ck_assert_uint_gt(quick.listed_bytes, NEIGHBOURS * VALUE);
    ck_assert_uint_lt(quick.bytes, deep.bytes / 4);
    ck_assert_uint_eq(deep.listed_files, 0);
    ck_assert_uint_eq(deep.listed_bytes, 0);
    ck_assert(deep.deep && !quick.deep);
}
END_TEST

/* Of an earlier version; damaged. */
START_TEST(a_table_without_a_valid_list_is_read)
{
    sto_rdb_test_catalogue(_i == 0 ? RDB_CATALOGUE_NONE : RDB_CATALOGUE_BROKEN);
    fill();
    struct sto_search quick = search(0, false);
    struct sto_search deep = search(0, true);
    ck_assert_uint_ge(quick.keys, OURS);
    ck_assert_uint_eq(quick.listed_files, 0);
    ck_assert_uint_eq(quick.files, deep.files);
    ck_assert_uint_ge(quick.bytes, deep.bytes);
}
END_TEST

/* A tenant between two others, all of them in one table. */
static void fill_together(enum rdb_catalogue_test what)
{
    sto_rdb_test_catalogue(what);
    put_rows("ab", OURS);
    put_rows("abc", OURS);
    put_rows("b-0", OURS);
    flush();
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
}

START_TEST(a_deep_search_does_not_believe_lists)
{
    fill_together(RDB_CATALOGUE_ENDS);
    ck_assert_uint_eq(search(1, false).keys, 0); /* else this test tests nothing */
    ck_assert_uint_ge(search(1, true).keys, OURS);
}
END_TEST

static struct sto_scrub scrubbed(void)
{
    struct sto_scrub seen;
    sto_rdb_scrub_get(&sto_rdb_engine(fix.engine)->scrub, &seen);
    return seen;
}

/* RocksDB knows the table's first and last key without it. */
START_TEST(a_list_without_the_tenants_of_both_ends_is_not_believed)
{
    fill_together(RDB_CATALOGUE_EMPTY);
    ck_assert_uint_ge(search(1, false).keys, OURS);
    ck_assert_uint_eq(scrubbed().findings[STO_SCRUB_LIST], 1);
    ck_assert_uint_ge(search(1, false).keys, OURS); /* by the list that the first one made */
    ck_assert_uint_eq(search(1, false).listed_files, search(2, false).listed_files);
    ck_assert_uint_eq(scrubbed().findings[STO_SCRUB_LIST], 1);
}
END_TEST

static void scrub_all(void)
{
    sto_rdb_test_scrub(sto_rdb_engine(fix.engine), UINT64_MAX);
}

/* Also after a restart. */
START_TEST(a_list_that_the_scrub_found_wrong_is_not_believed)
{
    fill_together(RDB_CATALOGUE_ENDS);
    ck_assert_uint_eq(search(1, false).keys, 0);
    scrub_all();
    ck_assert_uint_ge(scrubbed().findings[STO_SCRUB_LIST], 1);
    ck_assert_uint_ge(search(1, false).keys, OURS);
    fix_reopen();
    ck_assert_uint_ge(search(1, false).keys, OURS);
}
END_TEST

/* _i: of an earlier version, damaged. The search that reads it, or a scrub before, makes a list. */
START_TEST(a_table_without_a_valid_list_is_read_once)
{
    sto_rdb_test_catalogue(_i == 0 ? RDB_CATALOGUE_NONE : RDB_CATALOGUE_BROKEN);
    fill();
    struct sto_search first = search(0, false);
    struct sto_search second = search(0, false);
    ck_assert_uint_eq(first.listed_files, 0);
    ck_assert_uint_gt(second.listed_files, 10);
    ck_assert_uint_lt(second.bytes, first.bytes / 4);
    ck_assert_uint_eq(second.keys, first.keys);
    ck_assert_uint_ge(search(2, false).keys, NEIGHBOURS);
    fix_reopen();
    ck_assert_uint_eq(search(0, false).listed_files, 0);
    fix_reopen();
    scrub_all();
    ck_assert_uint_ge(search(0, false).listed_files, second.listed_files);
    ck_assert_uint_eq(search(0, false).keys, first.keys);
}
END_TEST

/* Of files that are no more nothing is kept. */
START_TEST(lists_in_memory_go_with_their_files)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    sto_rdb_test_catalogue(RDB_CATALOGUE_NONE);
    fill();
    (void)search(0, false);
    size_t count = e->file_lists.count;
    ck_assert_uint_gt(count, 10);
    ck_assert_uint_gt(e->file_lists.bytes, 10 * count);
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
    sto_rdb_range_compact(e, RDB_CF_CELLS, SLICE_LIT("a"), SLICE_LIT("c"));
    (void)search(0, false);
    ck_assert_uint_lt(e->file_lists.count, count / 2);
    ck_assert_uint_lt(e->file_lists.bytes, 200 * (e->file_lists.count + 1));
}
END_TEST

/* What does not match its checksum proves nothing. It is examined and rewritten, as if a read had
 * met it, and the next search ends. */
START_TEST(a_search_that_meets_damage_fails_once)
{
    struct sto_search_target target = {.scope = &fix.tenants[2]};
    const struct sto_search_spec spec = {.deep = true};
    damaged_put(0, 0, 300, 1);
    fix_flush();
    fix_close();
    damaged_flip(0, 100, 1);
    fix_open();
    ck_assert_int_eq(sto_search_files(fix.engine, &target, 1, &spec, NULL), ERR_CORRUPT);
    damaged_await_rewritten();
    ck_assert_int_eq(sto_search_files(fix.engine, &target, 1, &spec, NULL), ERR_OK);
}
END_TEST

START_TEST(tombstones_changes_and_documents_are_listed)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    const struct sto_range range = sto_range_of_tenant(&fix.tenants[1]);
    fill();
    uint64_t before = search(1, false).keys;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    if (_i == 0)
        sto_rdb_range_delete(e, batch, RDB_CF_CELLS, sto_span_of(&range), NULL);
    else if (_i == 1)
        put(batch, e->db.changes, "abc#t#12345678", VALUE);
    else if (_i == 2)
        put(batch, e->db.meta, "v/abc/table/view", VALUE);
    else
        rocksdb_writebatch_delete_cf(batch, e->db.cells, "abc#t#gone", 10);
    write_batch(batch);
    flush();
    ck_assert_uint_gt(search(1, false).keys, before);
    ck_assert_uint_eq(search(1, false).keys, search(1, true).keys);
}
END_TEST

/* --- a crowd in one table --------------------------------------------------------------------- */

static void setup_large(void)
{
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
    fix_prepare_alone(); /* the same */
    fix.options.memtable_bytes = 64 * MIB;
    fix.options.file_bytes = 64 * MIB;
    fix_open();
}

static void put_crowd(int count, bool with_ours)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (int i = 0; i < count; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "tenant-%06d#t#r", i);
        put(batch, sto_rdb_engine(fix.engine)->db.cells, key, 8);
    }
    if (with_ours)
        put(batch, sto_rdb_engine(fix.engine)->db.cells, "abc#t#r", 8);
    write_batch(batch);
    flush();
}

START_TEST(a_crowd_is_listed)
{
    put_crowd(FEW_OF_CROWD, _i == 1);
    struct sto_search found = search(1, false);
    ck_assert_uint_eq(found.keys > 0, _i == 1);
    ck_assert_uint_eq(found.listed_bytes > FEW_OF_CROWD * 8, _i == 0);
}
END_TEST

START_TEST(too_large_a_crowd_is_read)
{
    put_crowd(CROWD, _i == 1);
    struct sto_search found = search(1, false);
    ck_assert_uint_eq(found.keys > 0, _i == 1);
    ck_assert_uint_lt(found.listed_bytes, CROWD);
    ck_assert_uint_gt(found.bytes, CROWD * 8);
}
END_TEST

/* --- the list's form -------------------------------------------------------------------------- */

static enum err expect_next(void *ctx, struct slice id, uint64_t entries)
{
    int *at = ctx;
    char text[16];
    (void)snprintf(text, sizeof text, "t-%05d", *at);
    ck_assert(base_slice_is(id, text));
    ck_assert_uint_eq(entries, (uint64_t)*at * 1000);
    ++*at;
    return ERR_OK;
}

static struct buf make_list(int count)
{
    static char ids[300][16];
    struct rdb_catalogue_maker m;
    sto_rdb_catalogue_begin(&m, false, 7);
    for (int i = 0; i < count; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "t-%05d", i);
        sto_rdb_catalogue_add(&m, base_slice_text(ids[i]), (uint64_t)i * 1000);
    }
    ck_assert_int_eq(sto_rdb_catalogue_end(&m), ERR_OK);
    return m.bytes;
}

START_TEST(a_list_is_read_as_it_was_made)
{
    struct rdb_catalogue c;
    struct buf bytes = make_list(300);
    int at = 0;
    ck_assert_int_eq(sto_rdb_catalogue_decode(base_buf_slice(&bytes), &c), ERR_OK);
    ck_assert(!c.too_many);
    ck_assert_uint_eq(c.entries, 7);
    ck_assert_int_eq(sto_rdb_catalogue_each(&c, expect_next, &at), ERR_OK);
    ck_assert_int_eq(at, 300);
    base_buf_fini(&bytes);
}
END_TEST

START_TEST(a_changed_list_is_no_list)
{
    struct rdb_catalogue c;
    struct buf bytes = make_list(20);
    for (size_t i = 0; i < bytes.len; i++) {
        ck_assert_int_eq(sto_rdb_catalogue_decode(base_slice(bytes.ptr, i), &c), ERR_CORRUPT);
        bytes.ptr[i] ^= 0x40;
        ck_assert_int_eq(sto_rdb_catalogue_decode(base_buf_slice(&bytes), &c), ERR_CORRUPT);
        bytes.ptr[i] ^= 0x40;
    }
    ck_assert_int_eq(sto_rdb_catalogue_decode(base_buf_slice(&bytes), &c), ERR_OK);
    base_buf_fini(&bytes);
}
END_TEST

START_TEST(keys_name_their_tenants)
{
    struct rdb_key_tenants row = sto_rdb_key_tenants(SLICE_LIT("ab#t#row/with/slashes"));
    struct rdb_key_tenants document = sto_rdb_key_tenants(SLICE_LIT("s/ab/t"));
    struct rdb_key_tenants nobody = sto_rdb_key_tenants(SLICE_LIT("layout"));
    ck_assert(base_slice_is(row.of_row, "ab") && row.of_document.len == 0);
    ck_assert(base_slice_is(document.of_document, "ab") && document.of_row.len == 0);
    ck_assert(nobody.of_row.len == 0 && nobody.of_document.len == 0);
}
END_TEST

Suite *suite_storage_engine_catalogue(void)
{
    Suite *s = suite_create("storage_engine_catalogue");
    TCase *form = tcase_create("form");
    tcase_add_test(form, a_list_is_read_as_it_was_made);
    tcase_add_test(form, a_changed_list_is_no_list);
    tcase_add_test(form, keys_name_their_tenants);
    suite_add_tcase(s, form);
    TCase *t = tcase_create("search");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_search_reads_the_tables_that_list_the_tenant);
    tcase_add_loop_test(t, a_table_without_a_valid_list_is_read, 0, 2);
    tcase_add_test(t, a_deep_search_does_not_believe_lists);
    tcase_add_test(t, a_list_without_the_tenants_of_both_ends_is_not_believed);
    tcase_add_test(t, a_list_that_the_scrub_found_wrong_is_not_believed);
    tcase_add_loop_test(t, a_table_without_a_valid_list_is_read_once, 0, 2);
    tcase_add_test(t, lists_in_memory_go_with_their_files);
    tcase_add_test(t, a_search_that_meets_damage_fails_once);
    tcase_add_loop_test(t, tombstones_changes_and_documents_are_listed, 0, 4);
    suite_add_tcase(s, t);
    TCase *large = tcase_create("crowd");
    tcase_add_checked_fixture(large, setup_large, fix_teardown);
    tcase_set_timeout(large, 120);
    tcase_add_loop_test(large, a_crowd_is_listed, 0, 2);
    tcase_add_loop_test(large, too_large_a_crowd_is_read, 0, 2);
    suite_add_tcase(s, large);
    return s;
}
