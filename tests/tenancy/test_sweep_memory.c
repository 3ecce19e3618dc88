/*
 * tests/tenancy/test_sweep_memory.c - what the sweeper knows of a table survives a restart, and
 * nothing else.
 */
#include "tests/tenancy/sweep.h"

#include <sys/wait.h>

#include "tenancy/sweep_doc.h"
#include "tenancy/sweep_memory.h"
#include "tests/support/wall.h"

#include "base/banned.h"

Suite *suite_tenancy_sweep_memory(void);

enum {
    LARGE_ROWS = 30000, /* with a header and three cells each */
    LARGE_KEYS = 4 * LARGE_ROWS,
    SAVED_ROWS = 12750, /* the save that is due comes with the end of their pass */
    SAVED_KEYS = 4 * SAVED_ROWS,
};

static enum err count_doc(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    (void)key;
    (void)version;
    (void)body;
    ++*(size_t *)ctx;
    return ERR_OK;
}

static size_t docs_under(const char *prefix)
{
    size_t count = 0;
    ck_assert_int_eq(
        sto_docs_scan(tent.engine, base_slice_text(prefix), count_doc, &count, &tent.eb), ERR_OK);
    return count;
}

static void put_rule(const struct sto_gc_node *rule)
{
    tent_control(&tent, put_table, &(struct table){"devices", rule});
}

/* A table whose first pass begins now. */
static void filled(size_t rows, const struct sto_gc_node *rule, int64_t newest_us)
{
    tables_make("altostrat", "devices", NULL);
    fill("devices", rows, 3, newest_us);
    put_rule(rule);
}

/* The same, and the pass stands still after `keys` keys, until the sweeper is started again. */
static void filled_and_held(const struct sto_gc_node *rule, uint64_t keys)
{
    ten_sweeper_test_hold_at(tent.registry->sweeper, keys);
    filled(LARGE_ROWS, rule, 9000000);
    wait_for_keys(keys);
}

/* --- what was swept -----------------------------------------------------------------------------
 */

START_TEST(a_swept_table_is_not_read_again)
{
    filled(100, &ONE, 9000000);
    wait_for_cells(100);
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 400); /* what a sweep itself removes is no reason for another */
    reopen();
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
    reopen(); /* nothing was looked at, nothing was forgotten */
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
    fill("devices", 100, 2, 10000000);
    wait_for_cells(100);
    assert_no_drift();
}
END_TEST

START_TEST(a_table_with_ages_is_read_when_a_cell_is_too_old)
{
    filled(100, &HOUR, base_wall_us() / 1000 * 1000);
    wait_for_keys(400);
    reopen();
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
    ck_assert_uint_eq(cells(), 300);
    wall_set_ahead(3601);
    wait_for_cells(0);
    wait_for_keys(400); /* they are counted behind the commit */
    ck_assert_uint_eq(swept().keys, 400);
    assert_no_drift();
}
END_TEST

START_TEST(cells_added_since_are_swept_after_a_restart)
{
    int64_t now = base_wall_us() / 1000 * 1000;
    filled(50, &HOUR, now);
    wait_until_idle();
    fill_from("devices", 50, 60, 3, now - 2 * 3600 * 1000000LL); /* for a minute nobody looks */
    ck_assert_uint_eq(cells(), 150 + 180);
    reopen();
    wait_for_cells(150);
    assert_no_drift();
}
END_TEST

START_TEST(an_addition_that_changes_no_count_is_one)
{
    filled(1, &ONE, 9000000);
    wait_for_cells(1);
    wait_until_idle();
    uint64_t keys = swept().keys;
    struct sto_table_scope scope;
    ck_assert_int_eq(ten_scope_table(tenant, SLICE_LIT("devices"), &scope, NULL), ERR_OK);
    struct sto_mutation m[] = {
        {.kind = STO_DELETE_FROM_ROW},
        {.kind = STO_SET_CELL,
         .family = 1,
         .qualifier = SLICE_LIT("q"),
         .timestamp_us = 9000000,
         .value = SLICE_LIT("value")},
    };
    struct sto_mutate_op op = {.scope = scope,
                               .row_key = SLICE_LIT("row000000"),
                               .mutations = m,
                               .mutation_count = 2,
                               .reply_to = &tent.mail,
                               .done = mutate_done};
    outstanding++;
    sto_mutate_row(tent.engine, &op);
    wait_all();
    sto_table_scope_release(&scope);
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, keys + 2);
}
END_TEST

START_TEST(newer_rules_are_swept_by_from_the_front)
{
    filled(100, &THREE, 9000000);
    wait_until_idle();
    reopen();
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
    put_rule(&ONE);
    wait_for_cells(100);
    reopen();
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
}
END_TEST

START_TEST(an_idle_table_is_not_written)
{
    struct sto_health before, after;
    filled(100, &HOUR, base_wall_us() / 1000 * 1000);
    wait_until_idle();
    reopen();
    wait_until_idle();
    sto_health_get(tent.engine, &before);
    wait_until_idle();
    sto_health_get(tent.engine, &after);
    ck_assert_uint_eq(after.sequence, before.sequence);
    ck_assert_uint_eq(swept().saves, 0);
    ck_assert_uint_eq(docs_under("w/"), 1);
}
END_TEST

/* --- where a pass is ----------------------------------------------------------------------------
 */

START_TEST(a_pass_goes_on_where_it_was)
{
    filled_and_held(&ONE, TEN_SWEEP_PORTION);
    uint64_t seen = swept().keys;
    ck_assert_uint_lt(seen, 2 * TEN_SWEEP_PORTION);
    reopen();
    wait_for_cells(LARGE_ROWS);
    wait_until_idle();
    ck_assert_uint_gt(swept().keys, 0);
    ck_assert_uint_le(swept().keys, LARGE_KEYS - seen);
    ck_assert_uint_le(swept().saves, 1 + LARGE_KEYS / TEN_SWEEP_SAVE_KEYS);
    assert_no_drift();
    reopen();
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
}
END_TEST

START_TEST(rows_written_behind_the_place_are_swept_in_the_next_pass)
{
    filled_and_held(&ONE, 2 * TEN_SWEEP_PORTION);
    fill("devices", 10, 2, 10000000); /* at the front */
    reopen();
    wait_for_cells(LARGE_ROWS);
    wait_until_idle();
    reopen();
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
    assert_no_drift();
}
END_TEST

START_TEST(a_place_under_older_rules_is_left)
{
    filled_and_held(&THREE, TEN_SWEEP_PORTION);
    reopen();
    put_rule(&ONE);
    wait_for_cells(LARGE_ROWS);
    assert_no_drift();
}
END_TEST

/* --- kill -9 ------------------------------------------------------------------------------------
 */

/* In a child that ends without a word; what it saved by then is what the parent finds. */
static void run_and_die(void (*fn)(void))
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        tent_open(&tent);
        fn();
        _exit(137);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
    tent_open(&tent);
    tenant = ten_tenant_find(tent.registry, SLICE_LIT("altostrat"));
}

static bool is_saved(void *arg)
{
    (void)arg;
    return swept().saves > 0;
}

static void wait_for_save(void)
{
    process_await(is_saved, NULL, "a save of the sweeper");
}

static void die_in_a_pass(void)
{
    filled_and_held(&ONE, TEN_SWEEP_SAVE_KEYS);
    wait_for_save();
    ck_assert_uint_lt(swept().keys, LARGE_KEYS);
}

START_TEST(killed_a_pass_goes_on_where_it_was_saved)
{
    run_and_die(die_in_a_pass);
    wait_for_cells(LARGE_ROWS);
    wait_until_idle();
    ck_assert_uint_gt(swept().keys, 0);
    ck_assert_uint_le(swept().keys, LARGE_KEYS - TEN_SWEEP_SAVE_KEYS);
    assert_no_drift();
}
END_TEST

static void die_swept(void)
{
    filled(SAVED_ROWS, &HOUR, base_wall_us() / 1000 * 1000);
    wait_for_save();
    ck_assert_uint_eq(swept().keys, SAVED_KEYS);
}

START_TEST(killed_it_knows_what_was_swept)
{
    run_and_die(die_swept);
    wait_until_idle();
    ck_assert_uint_eq(swept().keys, 0);
}
END_TEST

static void die_with_additions(void)
{
    die_swept();
    fill_from("devices", SAVED_ROWS, 1, 1, 1000000);
}

START_TEST(killed_it_knows_that_a_cell_was_added_since)
{
    run_and_die(die_with_additions);
    wait_for_cells(3 * SAVED_ROWS);
    assert_no_drift();
}
END_TEST

/* --- whose it is ----------------------------------------------------------------------------- */

START_TEST(a_deleted_table_takes_it_along)
{
    filled(100, &ONE, 9000000);
    wait_for_cells(100);
    reopen();
    ck_assert_uint_eq(docs_under("w/altostrat/"), 1);
    table_delete("devices");
    ck_assert_uint_eq(docs_under("w/altostrat/"), 0);
    reopen();
    ck_assert_uint_eq(docs_under("w/altostrat/"), 0);
    put_rule(&ONE);
    fill("devices", 100, 3, 9000000);
    wait_for_cells(100);
    assert_no_drift();
}
END_TEST

START_TEST(a_purge_takes_it_along_and_the_audit_counts_it)
{
    filled(LARGE_ROWS, &ONE, 9000000);
    struct ten_tenant *leaving = tenant;
    tables_make("altostrat2", "devices", &ONE);
    fill("devices", 100, 3, 9000000);
    wait_for_cells(100);
    reopen();
    leaving = tenant;
    ck_assert_uint_eq(docs_under("w/altostrat/"), 1);
    ck_assert_uint_eq(docs_under("w/altostrat2/"), 1);
    struct sto_tenant_scope scope = ten_scope_tenant(leaving);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(tent.engine, &scope, &audit, NULL), ERR_OK);
    ck_assert_uint_eq(audit.counters, 3); /* with counters and schema */
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    ck_assert_int_eq(tent_offboard(&tent, leaving, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    ck_assert_uint_ge(job.audit_before.counters, 3);
    ck_assert_uint_eq(job.audit_after.counters, 0);
    ck_assert_uint_eq(docs_under("w/altostrat/"), 0);
    reopen();
    wait_until_idle();
    ck_assert_uint_eq(docs_under("w/altostrat/"), 0);
    ck_assert_uint_eq(docs_under("w/altostrat2/"), 1);
    ck_assert_uint_eq(swept().keys, 0);
}
END_TEST

/* --- stored form --------------------------------------------------------------------------------
 */

static void plant(struct slice body)
{
    struct sto_doc_change change = {
        .key = SLICE_LIT("w/altostrat/devices"), .body = body, .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
}

START_TEST(a_damaged_document_is_refused)
{
    filled(1, &ONE, 9000000);
    tent_close(&tent);
    ck_assert_int_eq(tent_open_engine(&tent), ERR_OK);
    plant(SLICE_LIT("\xff"));
    ck_assert_int_eq(tent_open_registry(&tent), ERR_CORRUPT);
    plant(SLICE_EMPTY);
    ck_assert_int_eq(tent_open_registry(&tent), ERR_OK);
}
END_TEST

static void assert_pass(const struct sto_sweep_pass *a, const struct sto_sweep_pass *b)
{
    ck_assert_uint_eq(a->version, b->version);
    ck_assert_uint_eq(a->additions, b->additions);
    ck_assert_int_eq(a->expires_us, b->expires_us);
}

START_TEST(documents_come_back_as_they_were)
{
    static const struct sto_sweep_pass PASSES[] = {{0},
                                                   {1, 0, STO_GC_NEVER, 0},
                                                   {UINT64_MAX, UINT64_MAX, -1, UINT64_MAX},
                                                   {7, 9, 1790000000000000, 1}};
    static const uint64_t AMOUNTS[] = {0, 1, 1000000, UINT64_MAX};
    static uint8_t row[LIM_ROW_KEY + 1];
    memset(row, 0xff, sizeof row);
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 4; k++) {
            struct ten_sweep_doc doc = {PASSES[i], PASSES[k],
                                        base_slice(row, k == 0 ? 0 : LIM_ROW_KEY), AMOUNTS[i],
                                        AMOUNTS[k]};
            struct ten_sweep_doc again;
            struct buf body;
            base_buf_init(&body, LIM_ROW_KEY + TEN_SWEEP_DOC_MAX);
            ck_assert_int_eq(ten_sweep_encode(&doc, &body), ERR_OK);
            ck_assert_int_eq(ten_sweep_decode(base_buf_slice(&body), &again), ERR_OK);
            assert_pass(&again.swept, &doc.swept);
            assert_pass(&again.sweeping, &doc.sweeping);
            ck_assert_uint_eq(again.sweeping.removed_bytes, doc.sweeping.removed_bytes);
            ck_assert_uint_eq(again.garbage_bytes, AMOUNTS[i]);
            ck_assert_uint_eq(again.garbage_made_by, AMOUNTS[k]);
            ck_assert(base_slice_equal(again.row, doc.row));
            base_buf_fini(&body);
        }
    }
}
END_TEST

START_TEST(half_a_pass_is_no_pass)
{
    static uint8_t row[LIM_ROW_KEY + 1];
    struct ten_sweep_doc doc = {.sweeping = {1, 2, 3, 4}, .row = base_slice(row, sizeof row)};
    struct ten_sweep_doc again;
    struct buf body;
    base_buf_init(&body, 2 * LIM_ROW_KEY);
    ck_assert_int_eq(ten_sweep_encode(&doc, &body), ERR_OK);
    ck_assert_int_eq(ten_sweep_decode(base_buf_slice(&body), &again), ERR_CORRUPT); /* too long */
    base_buf_truncate(&body, 0);
    doc.sweeping.version = 0;
    doc.row.len = 5;
    ck_assert_int_eq(ten_sweep_encode(&doc, &body), ERR_OK);
    ck_assert_int_eq(ten_sweep_decode(base_buf_slice(&body), &again), ERR_CORRUPT); /* only a row */
    base_buf_truncate(&body, 0);
    doc.sweeping.version = 1;
    doc.row.len = 0;
    ck_assert_int_eq(ten_sweep_encode(&doc, &body), ERR_OK);
    ck_assert_uint_eq(body.len, 0); /* a pass that has got nowhere is not worth a word */
    base_buf_fini(&body);
}
END_TEST

START_TEST(a_save_is_due_after_so_many_keys_or_tables)
{
    static struct ten_sweep_memory m;
    static struct ten_tenant first, second;
    char name[16];
    ten_sweep_note(&m, &first, SLICE_LIT("devices"), TEN_SWEEP_SAVE_KEYS - 1);
    ck_assert(!ten_sweep_save_is_due(&m));
    ten_sweep_note(&m, &first, SLICE_LIT("devices"), 1);
    ck_assert(ten_sweep_save_is_due(&m));
    ck_assert_uint_eq(m.count, 1);
    m.count = 0;
    m.keys = 0;
    for (int i = 0; i < TEN_SWEEP_UNSAVED_MAX; i++) {
        ck_assert(!ten_sweep_save_is_due(&m));
        (void)snprintf(name, sizeof name, "t%d", i / 2);
        ten_sweep_note(&m, i % 2 == 0 ? &first : &second, base_slice_text(name), 0);
        ck_assert_uint_eq(m.count, (size_t)i + 1);
    }
    ck_assert(ten_sweep_save_is_due(&m));
}
END_TEST

Suite *suite_tenancy_sweep_memory(void)
{
    Suite *s = suite_create("tenancy_sweep_memory");
    TCase *tc = tcase_create("restart");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_swept_table_is_not_read_again);
    tcase_add_test(tc, a_table_with_ages_is_read_when_a_cell_is_too_old);
    tcase_add_test(tc, cells_added_since_are_swept_after_a_restart);
    tcase_add_test(tc, an_addition_that_changes_no_count_is_one);
    tcase_add_test(tc, newer_rules_are_swept_by_from_the_front);
    tcase_add_test(tc, an_idle_table_is_not_written);
    tcase_add_test(tc, a_pass_goes_on_where_it_was);
    tcase_add_test(tc, rows_written_behind_the_place_are_swept_in_the_next_pass);
    tcase_add_test(tc, a_place_under_older_rules_is_left);
    tcase_add_test(tc, a_deleted_table_takes_it_along);
    tcase_add_test(tc, a_purge_takes_it_along_and_the_audit_counts_it);
    tcase_add_test(tc, a_damaged_document_is_refused);
    suite_add_tcase(s, tc);
    tc = tcase_create("killed");
    tcase_add_checked_fixture(tc, setup_closed, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, killed_a_pass_goes_on_where_it_was_saved);
    tcase_add_test(tc, killed_it_knows_what_was_swept);
    tcase_add_test(tc, killed_it_knows_that_a_cell_was_added_since);
    suite_add_tcase(s, tc);
    tc = tcase_create("documents");
    tcase_add_test(tc, documents_come_back_as_they_were);
    tcase_add_test(tc, half_a_pass_is_no_pass);
    tcase_add_test(tc, a_save_is_due_after_so_many_keys_or_tables);
    suite_add_tcase(s, tc);
    return s;
}
