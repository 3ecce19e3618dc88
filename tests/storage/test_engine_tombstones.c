/*
 * tests/storage/test_engine_tombstones.c - reads that must not wait, beside range tombstones: what
 * they give is whole, and they are made on the caller again when no file has one.
 */
#include "fixture.h"

#include "storage/rocksdb/compat.h"
#include "storage/rocksdb/ranges.h"
#include "tests/storage/drops.h"

#include "base/banned.h"

Suite *suite_storage_engine_tombstones(void);

#define T (&fix.tables[0][0])

static const struct sto_read_spec EVERYTHING = {0};
static const struct sto_read_spec BACKWARDS = {.reversed = true};

static void set_up(void)
{
    fix_setup_in_memory();
    engine()->options.drop_range_cells = 0; /* everything goes as a range */
    wait_until_idle();
}

static void flush(void)
{
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
}

static void drop_prefix_b(void)
{
    const struct sto_row_range range = {.start = SLICE_LIT("b"), .end = SLICE_LIT("c")};
    ck_assert_int_eq(fix_drop(T, range, 0, NULL), ERR_OK);
}

/* What a slice gave that was tried on the caller; how many were answered there. */
static void read_tried(const struct sto_table_scope *scope, const struct sto_read_spec *spec,
                       const char *wanted, size_t answered_at_once)
{
    struct fix_sink s;
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(scope, spec, &s, true), ERR_OK);
    ck_assert_str_eq((const char *)s.text.ptr, wanted);
    ck_assert_uint_eq(s.inline_slices, answered_at_once);
    base_buf_fini(&s.text);
}

/* How many of one read are answered at once beside a range tombstone, though all is in memory. */
static size_t at_once_beside(void)
{
    return sto_rdb_tombstones_hide_errors() ? 0 : 1;
}

/* An old file whose rows are in memory, and a newer one, which is not, with another row and the
 * range tombstone that covers the old file's. */
static const rocksdb_snapshot_t *stand_in_files(const char *row)
{
    ck_assert_int_eq(fix_put(T, "b1", "old"), ERR_OK);
    flush();
    read_tried(T, &(struct sto_read_spec){.row_key = SLICE_LIT("b1")}, "b1{f:q@1000=old,}", 0);
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(fix_put(T, row, "new"), ERR_OK);
    drop_prefix_b();
    flush();
    return held;
}

START_TEST(rows_behind_a_range_are_not_missing)
{
    const rocksdb_snapshot_t *held = stand_in_files("c");
    read_tried(T, &EVERYTHING, "c{f:q@1000=new,}", 0);
    let_bytes_go(held);
}
END_TEST

START_TEST(rows_in_front_of_a_range_are_not_missing_backwards)
{
    const rocksdb_snapshot_t *held = stand_in_files("a");
    read_tried(T, &BACKWARDS, "a{f:q@1000=new,}", 0);
    let_bytes_go(held);
}
END_TEST

START_TEST(reads_are_answered_at_once_again_behind_a_drop)
{
    const rocksdb_snapshot_t *held = stand_in_files("c");
    read_tried(T, &EVERYTHING, "c{f:q@1000=new,}", 0);
    read_tried(T, &EVERYTHING, "c{f:q@1000=new,}", at_once_beside());
    let_bytes_go(held);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle();
    read_tried(T, &EVERYTHING, "c{f:q@1000=new,}", 0); /* from the files made anew */
    read_tried(T, &EVERYTHING, "c{f:q@1000=new,}", 1);
}
END_TEST

/* Nobody's reads are about a range tombstone of another tenant, wherever it is. */
START_TEST(reads_of_neighbours_do_not_notice_a_drop)
{
    const struct sto_table_scope *neighbour = &fix.tables[1][0];
    ck_assert_int_eq(fix_put(neighbour, "row", "value"), ERR_OK);
    const rocksdb_snapshot_t *held = stand_in_files("c");
    ck_assert_uint_eq(sto_rdb_tombstones_mark(&engine()->tombstones, NULL), 0);
    read_tried(T, &EVERYTHING, "c{f:q@1000=new,}", 0);
    read_tried(T, &EVERYTHING, "c{f:q@1000=new,}", at_once_beside());
    read_tried(neighbour, &EVERYTHING, "row{f:q@1000=value,}", 1);
    let_bytes_go(held);
}
END_TEST

START_TEST(reads_of_neighbours_do_not_notice_a_purge)
{
    const struct sto_table_scope *neighbour = &fix.tables[1][0];
    ck_assert_int_eq(fix_put(T, "row", "of the one who leaves"), ERR_OK);
    ck_assert_int_eq(fix_put(neighbour, "row", "value"), ERR_OK);
    read_tried(neighbour, &EVERYTHING, "row{f:q@1000=value,}", 1);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    purge(STO_PURGE_FENCE, STO_PURGE_FLUSH);
    read_tried(neighbour, &EVERYTHING, "row{f:q@1000=value,}", 1);
    purge(STO_PURGE_FLUSH, STO_PURGE_COMPACT);
    read_tried(neighbour, &EVERYTHING, "row{f:q@1000=value,}", 0); /* from the file */
    read_tried(neighbour, &EVERYTHING, "row{f:q@1000=value,}", 1);
    ck_assert_uint_ne(sto_rdb_tombstones_mark(&engine()->tombstones, NULL), 0);
    purge(STO_PURGE_COMPACT, STO_PURGE_STEP_COUNT);
    fix_assert_rows(neighbour, &EVERYTHING, "row{f:q@1000=value,}"); /* perhaps from a new file */
    read_tried(neighbour, &EVERYTHING, "row{f:q@1000=value,}", 1);
}
END_TEST

/* However many tenants have range tombstones, reads of the others do not notice. */
START_TEST(any_number_of_tenants_have_their_own)
{
    enum { OWNERS = 200 };
    static struct sto_account accounts[OWNERS + 1];
    static struct sto_tenant_scope tenants[OWNERS + 1];
    struct rdb_tombstones *t = &engine()->tombstones;
    for (size_t i = 0; i <= OWNERS; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "tenant-%zu", i);
        ck_assert_int_eq(sto_scope_open(base_slice_text(id), &accounts[i], &tenants[i]), ERR_OK);
    }
    for (size_t i = 0; i < OWNERS; i++) {
        ck_assert(!sto_rdb_tombstones_cover(t, &tenants[i]));
        sto_rdb_tombstones_begin(t, &accounts[i]);
        ck_assert_uint_eq(sto_rdb_tombstones_mark(t, &tenants[i]), 0);
        ck_assert_uint_ne(sto_rdb_tombstones_mark(t, &tenants[OWNERS]), 0);
    }
    ck_assert_uint_eq(sto_rdb_tombstones_mark(t, NULL), 0);
    sto_rdb_tombstones_begin(t, NULL);
    ck_assert_uint_eq(sto_rdb_tombstones_mark(t, &tenants[OWNERS]), 0);
}
END_TEST

static bool files_have_tombstones(void)
{
    char *text = rocksdb_property_value_cf(engine()->db.handle, engine()->db.cells,
                                           "rocksdb.aggregated-table-properties");
    bool have = strstr(text, "# range deletions=0;") == NULL;
    rocksdb_free(text);
    return have;
}

/* A range tombstone that nobody wrote down anywhere else: only the files tell of it. */
START_TEST(what_an_earlier_run_left_is_found)
{
    const struct sto_range range = sto_range_of_table(T);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    ck_assert_int_eq(fix_put(T, "row", "value"), ERR_OK);
    const rocksdb_snapshot_t *held = hold_bytes();
    sto_rdb_range_delete(engine(), batch, RDB_CF_CELLS, sto_span_of(&range), T->tenant.account);
    ck_assert_int_eq(sto_rdb_write(engine(), batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
    let_bytes_go(held);
    fix_close(); /* which flushes */
    fix_open();
    fix_wait_for_memory();
    ck_assert(!files_have_tombstones());
}
END_TEST

/* As after an open, but the reclaim thread does not run. */
static void open_again(void)
{
    sto_rdb_tombstones_fini(&engine()->tombstones);
    sto_rdb_tombstones_init(&engine()->tombstones);
}

static bool is_covered(size_t tenant)
{
    return sto_rdb_tombstones_mark(&engine()->tombstones, &fix.tenants[tenant]) == 0;
}

/* Others drop rows meanwhile, and do not stop: that is no reason for a third one to wait. */
START_TEST(files_tell_whose_those_of_an_earlier_run_are)
{
    for (size_t n = 0; n < FIX_TENANTS; n++)
        ck_assert_int_eq(fix_put(&fix.tables[n][0], "b1", "value"), ERR_OK);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_FLUSHED);
    drop_prefix_b();
    fix_await_held();
    ck_assert(files_have_tombstones());
    open_again();
    sto_rdb_tombstones_begin(&engine()->tombstones, &fix.accounts[1]);
    for (size_t n = 0; n < FIX_TENANTS; n++)
        ck_assert(is_covered(n)); /* nobody asked the files yet */
    ck_assert(sto_rdb_tombstones_load(engine()));
    for (int drops = 0; drops < 3; drops++) {
        sto_rdb_tombstones_begin(&engine()->tombstones, &fix.accounts[1]);
        ck_assert(is_covered(0));
        ck_assert(is_covered(1));
        ck_assert(!is_covered(2));
    }
    read_tried(&fix.tables[2][0], &EVERYTHING, "b1{f:q@1000=value,}", 0); /* from the file */
    read_tried(&fix.tables[2][0], &EVERYTHING, "b1{f:q@1000=value,}", 1);
    fix_assert_rows(T, &EVERYTHING, "");
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    wait_until_idle();
    for (size_t n = 0; n < FIX_TENANTS; n++)
        ck_assert(!is_covered(n));
}
END_TEST

/* Nobody knows whose a range tombstone over several tenants is. */
START_TEST(one_that_covers_several_tenants_is_everybodys)
{
    const struct sto_span span = {.begin = SLICE_LIT("ab#t#"), .end = SLICE_LIT("abc#t#b2")};
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t n = 0; n < FIX_TENANTS; n++)
        ck_assert_int_eq(fix_put(&fix.tables[n][0], "b1", "value"), ERR_OK);
    pthread_mutex_lock(&engine()->docs_lock);
    sto_rdb_range_delete(engine(), batch, RDB_CF_CELLS, span, NULL);
    ck_assert_int_eq(sto_rdb_write(engine(), batch), ERR_OK);
    pthread_mutex_unlock(&engine()->docs_lock);
    rocksdb_writebatch_destroy(batch);
    flush();
    open_again();
    ck_assert(sto_rdb_tombstones_load(engine()));
    for (size_t n = 0; n < FIX_TENANTS; n++)
        ck_assert(is_covered(n));
}
END_TEST

/* --- numbers ---------------------------------------------------------------------------------- */

START_TEST(a_mark_holds_until_the_next_one_is_begun)
{
    struct rdb_tombstones t;
    sto_rdb_tombstones_init(&t);
    ck_assert_uint_eq(sto_rdb_tombstones_mark(&t, NULL), 0); /* it was not looked */
    atomic_store(&t.gone, 1);
    uint64_t mark = sto_rdb_tombstones_mark(&t, NULL);
    ck_assert_uint_eq(mark, 1);
    ck_assert(sto_rdb_tombstones_still(&t, mark));
    sto_rdb_tombstones_begin(&t, NULL);
    ck_assert(!sto_rdb_tombstones_still(&t, mark));
    ck_assert_uint_eq(sto_rdb_tombstones_mark(&t, NULL), 0);
    atomic_store(&t.gone, 2);
    ck_assert(!sto_rdb_tombstones_still(&t, mark)); /* it came and went meanwhile */
    ck_assert_uint_eq(sto_rdb_tombstones_mark(&t, NULL), 2);
}
END_TEST

START_TEST(what_is_begun_behind_a_flush_is_not_in_files)
{
    struct rdb_tombstones *t = &engine()->tombstones;
    uint64_t before = sto_rdb_tombstones_before_flush(engine());
    sto_rdb_tombstones_begin(t, NULL);
    sto_rdb_tombstones_flushed(t, before);
    ck_assert_uint_eq(atomic_load(&t->flushed), before);
    flush();
    ck_assert_uint_eq(atomic_load(&t->flushed), before + 1);
    sto_rdb_tombstones_flushed(t, before); /* a flush that began earlier ends later */
    ck_assert_uint_eq(atomic_load(&t->flushed), before + 1);
}
END_TEST

Suite *suite_storage_engine_tombstones(void)
{
    Suite *s = suite_create("storage_engine_tombstones");
    TCase *t = tcase_create("reads");
    tcase_add_checked_fixture(t, set_up, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rows_behind_a_range_are_not_missing);
    tcase_add_test(t, rows_in_front_of_a_range_are_not_missing_backwards);
    tcase_add_test(t, reads_are_answered_at_once_again_behind_a_drop);
    tcase_add_test(t, reads_of_neighbours_do_not_notice_a_drop);
    tcase_add_test(t, reads_of_neighbours_do_not_notice_a_purge);
    tcase_add_test(t, any_number_of_tenants_have_their_own);
    tcase_add_test(t, files_tell_whose_those_of_an_earlier_run_are);
    tcase_add_test(t, one_that_covers_several_tenants_is_everybodys);
    tcase_add_test(t, what_an_earlier_run_left_is_found);
    suite_add_tcase(s, t);
    t = tcase_create("numbers");
    tcase_add_checked_fixture(t, set_up, fix_teardown);
    tcase_add_test(t, a_mark_holds_until_the_next_one_is_begun);
    tcase_add_test(t, what_is_begun_behind_a_flush_is_not_in_files);
    suite_add_tcase(s, t);
    return s;
}
