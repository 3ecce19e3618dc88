/*
 * tests/storage/test_engine_purge.c - a tenant leaves, its neighbours do not notice.
 */
#include "fixture.h"

#include <time.h>

#include "storage/range.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "tests/storage/files_hold.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_engine_purge(void);

enum { ROWS = 400, NOISE_ROWS = 48 };
#define CANARY_TEXT "canary-5d1c7e-of-ab"
static const char CANARY[] = CANARY_TEXT;

/* Rows of all tenants in two flushes, so that files hold neighbours together. */
static void fill(void)
{
    static struct fill_op {
        struct sto_mutate_op op;
        struct sto_mutation m;
        char row[64];
    } ops[ROWS][FIX_TENANTS];
    for (int i = 0; i < ROWS; i++) {
        for (size_t n = 0; n < FIX_TENANTS; n++) {
            struct fill_op *f = &ops[i][n];
            (void)snprintf(f->row, sizeof(f->row), "%s-%04d", n == 0 ? CANARY : "row", i);
            f->m = fix_set(1, "q", 1000, base_slice_text(n == 0 ? CANARY : "v"));
            f->op = (struct sto_mutate_op){.scope = fix.tables[n][(size_t)i % 2],
                                           .row_key = base_slice_text(f->row),
                                           .mutations = &f->m,
                                           .mutation_count = 1};
            fix_submit(&f->op);
        }
        if (i == ROWS / 2) {
            fix_wait();
            ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
        }
    }
    fix_wait();
    struct sto_doc_change docs[3] = {
        {.key = SLICE_LIT("s/ab/t"), .body = SLICE_LIT("schema"), .expect = STO_DOC_ABSENT},
        {.key = SLICE_LIT("w/ab/t"), .body = SLICE_LIT(CANARY_TEXT), .expect = STO_DOC_ABSENT},
        {.key = SLICE_LIT("s/abc/t"), .body = SLICE_LIT("schema"), .expect = STO_DOC_ABSENT}};
    ck_assert_int_eq(sto_docs_commit(fix.engine, docs, 3, NULL), ERR_OK);
}

static enum err step(enum sto_purge_step s)
{
    struct sto_doc_change changes[3] = {
        {.key = SLICE_LIT("s/ab/t"), .expect = STO_DOC_ANY},
        {.key = SLICE_LIT("w/ab/t"), .expect = STO_DOC_ANY},
        {.key = SLICE_LIT("p/purged"), .body = SLICE_LIT("ab"), .expect = STO_DOC_ANY}};
    struct errbuf eb = {{0}};
    enum err rc = sto_purge_run(fix.engine, &fix.tenants[0], s, changes, 3, &eb);
    ck_assert_int_eq(rc == ERR_OK, eb.text[0] == '\0');
    return rc;
}

static struct sto_audit audit(size_t tenant)
{
    struct sto_audit a;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[tenant], &a, NULL), ERR_OK);
    return a;
}

static void assert_gone(void)
{
    struct sto_audit a = audit(0);
    ck_assert_uint_eq(a.physical_keys, 0);
    ck_assert_uint_eq(a.live_files_inside, 0);
    ck_assert_uint_eq(a.counters, 0);
    ck_assert_uint_gt(a.sequence, 0);
    fix_assert_usage(0, 0, 0, 0);
}

static void assert_neighbours_untouched(void)
{
    for (size_t n = 1; n < FIX_TENANTS; n++) {
        ck_assert_uint_eq(sto_counters_read(&fix.accounts[n].total).rows, ROWS);
        fix_assert_no_drift(n);
    }
    ck_assert_uint_eq(audit(1).physical_keys, 2 * ROWS);
    ck_assert_uint_eq(audit(1).counters, 3);
}

static void close_gate(void)
{
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
}

START_TEST(a_purged_tenant_is_physically_gone)
{
    fill();
    ck_assert_uint_eq(audit(0).physical_keys, 2 * ROWS);
    ck_assert_uint_eq(audit(0).counters, 4);
    ck_assert(files_hold(fix.dir, CANARY));
    close_gate();
    for (int s = 0; s < STO_PURGE_STEP_COUNT; s++)
        ck_assert_int_eq(step((enum sto_purge_step)s), ERR_OK);
    assert_gone();
    assert_neighbours_untouched();
    fix_reopen();
    assert_gone();
    assert_neighbours_untouched();
    ck_assert(!files_hold(fix.dir, CANARY)); /* logs, tables, manifest */
}
END_TEST

START_TEST(a_purge_resumes_after_each_step)
{
    fill();
    close_gate();
    int stop_after = _i;
    for (int s = 0; s <= stop_after; s++)
        ck_assert_int_eq(step((enum sto_purge_step)s), ERR_OK);
    fix_reopen();
    close_gate();
    for (int s = 0; s < STO_PURGE_STEP_COUNT; s++)
        ck_assert_int_eq(step((enum sto_purge_step)s), ERR_OK);
    assert_gone();
    assert_neighbours_untouched();
    struct buf b;
    uint64_t version;
    base_buf_init(&b, 100);
    ck_assert_int_eq(sto_doc_get(fix.engine, SLICE_LIT("p/purged"), &version, &b, NULL), ERR_OK);
    base_buf_fini(&b);
}
END_TEST

START_TEST(nothing_is_purged_while_the_gate_is_open)
{
    fill();
    for (int s = 0; s < STO_PURGE_STEP_COUNT; s++)
        ck_assert_int_eq(step((enum sto_purge_step)s), ERR_CONFLICT);
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_READS | STO_GATE_NO_WRITES);
    ck_assert_int_eq(step(STO_PURGE_DELETE_RANGE), ERR_CONFLICT);
    atomic_store(&fix.accounts[0].gate, 0);
    fix_assert_no_drift(0);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, ROWS);
}
END_TEST

START_TEST(a_conflicting_document_stops_the_range_delete)
{
    fill();
    close_gate();
    struct sto_doc_change change = {.key = SLICE_LIT("s/ab/t"), .expect = 99};
    ck_assert_int_eq(
        sto_purge_run(fix.engine, &fix.tenants[0], STO_PURGE_DELETE_RANGE, &change, 1, NULL),
        ERR_CONFLICT);
    ck_assert_uint_eq(audit(0).physical_keys, 2 * ROWS);
    ck_assert_uint_eq(audit(0).counters, 4);
}
END_TEST

START_TEST(the_fence_waits_for_open_reads)
{
    sto_rdb_engine(fix.engine)->wait_seconds = 1;
    fill();
    atomic_fetch_add(&fix.accounts[0].reads_open, 1); /* a slice that runs */
    close_gate();
    ck_assert_int_eq(step(STO_PURGE_FENCE), ERR_TIMEOUT);
    atomic_fetch_sub(&fix.accounts[0].reads_open, 1);
    ck_assert_int_eq(step(STO_PURGE_FENCE), ERR_OK);
}
END_TEST

START_TEST(compaction_waits_for_files_that_neighbours_hold)
{
    fill();
    sto_rdb_engine(fix.engine)->wait_seconds = 1;
    ck_assert_int_eq(fix_put(&fix.tables[2][0], "big", "v"), ERR_OK);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    struct sto_range table = sto_range_of_table(&fix.tables[2][0]);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(&table), sto_range_end(&table));
    rocksdb_iterator_t *slice = rocksdb_create_iterator_cf(db->handle, options, db->cells);
    rocksdb_iter_seek_to_first(slice);
    ck_assert(rocksdb_iter_valid(slice));
    close_gate();
    for (int k = 0; k < STO_PURGE_COMPACT; k++)
        ck_assert_int_eq(step((enum sto_purge_step)k), ERR_OK);
    ck_assert_int_eq(step(STO_PURGE_COMPACT), ERR_TIMEOUT);
    rocksdb_iter_destroy(slice);
    rocksdb_readoptions_destroy(options);
    ck_assert_int_eq(step(STO_PURGE_COMPACT), ERR_OK);
    assert_gone();
}
END_TEST

/* The first tenant's rows are off level 0 then. */
static void compact_first(void)
{
    struct sto_range range = sto_range_of_tenant(&fix.tenants[0]);
    sto_rdb_range_compact(sto_rdb_engine(fix.engine), RDB_CF_CELLS, sto_range_begin(&range),
                          sto_range_end(&range));
}

/* RocksDB's C call is end-inclusive: with the range's end as its limit this file would go. */
START_TEST(delete_files_spares_a_key_that_equals_the_end)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "row", "v"), ERR_OK);
    char *error = NULL;
    rocksdb_put_cf(db->handle, db->synced, db->cells, "ab$", 3, "neighbour", 9, &error);
    ck_assert_ptr_null(error);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    close_gate();
    compact_first();
    ck_assert_int_eq(step(STO_PURGE_DELETE_FILES), ERR_OK);
    size_t len = 0;
    char *value = rocksdb_get_cf(db->handle, db->point, db->cells, "ab$", 3, &len, &error);
    ck_assert_ptr_nonnull(value);
    rocksdb_free(value);
}
END_TEST

/* What it sees would stay in the files; its bytes are not the tenant's, it may be anybody's. */
START_TEST(a_snapshot_is_waited_for_and_told_from_a_later_one)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "row", "v"), ERR_OK);
    const rocksdb_snapshot_t *before = rocksdb_create_snapshot(e->db.handle);
    close_gate();
    e->wait_seconds = 1;
    for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_COMPACT; s++)
        ck_assert_int_eq(step(s), ERR_OK);
    uint64_t deleted_at = rocksdb_get_latest_sequence_number(e->db.handle);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "row", "v"), ERR_OK);
    const rocksdb_snapshot_t *later = rocksdb_create_snapshot(e->db.handle);
    ck_assert_int_eq(step(STO_PURGE_COMPACT), ERR_TIMEOUT);
    struct sto_audit a = audit(0);
    ck_assert_uint_eq(a.snapshots, 2);
    ck_assert_uint_eq(sto_audit_snapshots_of(&a, deleted_at), 2);
    ck_assert_uint_gt(a.physical_keys, 0);
    rocksdb_release_snapshot(e->db.handle, before);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "row", "w"), ERR_OK);
    a = audit(0);
    ck_assert_uint_eq(a.snapshots, 1);
    ck_assert_uint_eq(sto_audit_snapshots_of(&a, deleted_at), 0);
    /* newer than the deletion, but older than the step: it is waited for, too */
    ck_assert_int_eq(step(STO_PURGE_COMPACT), ERR_TIMEOUT);
    rocksdb_release_snapshot(e->db.handle, later);
    ck_assert_int_eq(step(STO_PURGE_COMPACT), ERR_OK);
    a = audit(0);
    ck_assert_uint_eq(a.physical_keys, 0);
    ck_assert_uint_eq(a.oldest_snapshot, 0);
    ck_assert_uint_eq(a.obsolete_bytes, 0);
    ck_assert_uint_eq(sto_audit_snapshots_of(&a, deleted_at), 0);
}
END_TEST

/* The same trap one step further on: files wholly inside do go, at once. */
START_TEST(delete_files_takes_files_that_are_wholly_inside)
{
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "row", "v"), ERR_OK);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    close_gate();
    compact_first();
    ck_assert_uint_eq(audit(0).live_files_inside, 1);
    ck_assert_int_eq(step(STO_PURGE_DELETE_FILES), ERR_OK);
    struct sto_audit a = audit(0);
    ck_assert_uint_eq(a.live_files_inside, 0);
    ck_assert_uint_eq(a.physical_keys, 0);
    ck_assert_uint_eq(a.counters, 1);
}
END_TEST

START_TEST(an_audit_sees_files_around_the_tenant)
{
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "row", "v"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[2][0], "row", "v"), ERR_OK);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    ck_assert_uint_eq(audit(0).live_files_inside, 1);
    ck_assert_uint_eq(audit(1).live_files_inside, 0);
    ck_assert_uint_eq(audit(1).live_files_spanning, 1); /* 'abc' lies between 'ab' and 'b-0' */
    ck_assert_uint_eq(audit(1).physical_keys, 0);
}
END_TEST

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec used;
    ck_assert_int_eq(clock_gettime(clock, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* Which is not behind the others, as whoever counts and searches is. */
START_TEST(the_caller_neither_counts_nor_searches)
{
    fill();
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    for (int searches = 0; searches < 2; searches++) {
        uint64_t own_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
        uint64_t all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < 50; i++) {
            struct sto_search_target target = {.scope = &fix.tenants[0]};
            struct sto_search_spec spec = {0};
            if (searches == 0)
                ck_assert_uint_ge(audit(0).physical_keys, ROWS);
            else
                ck_assert_int_eq(sto_search_files(fix.engine, &target, 1, &spec, NULL), ERR_OK);
        }
        own_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
        all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns;
        ck_assert_uint_lt(own_ns, all_ns / 2);
    }
}
END_TEST

/* Bytes that do not compress, in a file of their own, off level 0. */
static void fill_with_noise(void)
{
    static uint64_t noise[MIB / sizeof(uint64_t)];
    struct random dice = {7};
    for (int i = 0; i < NOISE_ROWS; i++) {
        for (size_t n = 0; n < sizeof noise / sizeof noise[0]; n++)
            noise[n] = random_next(&dice);
        struct sto_mutation m = fix_set(1, "q", 1000, base_slice(noise, sizeof noise));
        char row[24];
        (void)snprintf(row, sizeof row, "noise-%02d", i);
        struct sto_mutate_op op = {.scope = fix.tables[0][0],
                                   .row_key = base_slice_text(row),
                                   .mutations = &m,
                                   .mutation_count = 1};
        fix_submit(&op);
        fix_wait();
    }
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    close_gate();
    compact_first();
}

/* The system's work for it goes behind those who answer. */
START_TEST(the_caller_does_not_delete_the_files)
{
    fill_with_noise();
    ck_assert_uint_ge(audit(0).live_files_inside, 1);
    uint64_t own_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    ck_assert_int_eq(step(STO_PURGE_DELETE_FILES), ERR_OK);
    own_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
    all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns;
    ck_assert_uint_eq(audit(0).live_files_inside, 0);
    ck_assert_uint_lt(own_ns, all_ns / 2);
}
END_TEST

START_TEST(steps_have_names)
{
    ck_assert_str_eq(sto_purge_step_name(STO_PURGE_FENCE), "fence");
    ck_assert_str_eq(sto_purge_step_name(STO_PURGE_COMPACT), "compact");
    ck_assert_str_eq(sto_purge_step_name(STO_PURGE_STEP_COUNT), "unknown");
}
END_TEST

Suite *suite_storage_engine_purge(void)
{
    Suite *s = suite_create("storage_engine_purge");
    TCase *t = tcase_create("purge");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_purged_tenant_is_physically_gone);
    tcase_add_loop_test(t, a_purge_resumes_after_each_step, 0, STO_PURGE_STEP_COUNT);
    tcase_add_test(t, nothing_is_purged_while_the_gate_is_open);
    tcase_add_test(t, a_conflicting_document_stops_the_range_delete);
    tcase_add_test(t, the_fence_waits_for_open_reads);
    tcase_add_test(t, compaction_waits_for_files_that_neighbours_hold);
    tcase_add_test(t, delete_files_spares_a_key_that_equals_the_end);
    tcase_add_test(t, a_snapshot_is_waited_for_and_told_from_a_later_one);
    tcase_add_test(t, the_caller_neither_counts_nor_searches);
    tcase_add_test(t, steps_have_names);
    suite_add_tcase(s, t);
    t = tcase_create("files"); /* they are counted: those of neighbours would be among them */
    tcase_add_checked_fixture(t, fix_setup_alone, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, delete_files_takes_files_that_are_wholly_inside);
    tcase_add_test(t, an_audit_sees_files_around_the_tenant);
    tcase_add_test(t, the_caller_does_not_delete_the_files);
    suite_add_tcase(s, t);
    return s;
}
