/*
 * tests/tenancy/test_sweeper.c - garbage goes by itself, and only garbage.
 */
#include "tent.h"

#include "base/clock.h"
#include "tenancy/scope.h"
#include "tenancy/sweeper.h"

#include "base/banned.h"

Suite *suite_tenancy_sweeper(void);

static struct tent tent;
static struct ten_tenant *tenant;

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static const struct sto_gc_node ONE = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
static const struct sto_gc_node THREE = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 3};
static const struct sto_gc_node HOUR = {.kind = STO_GC_MAX_AGE, .max_age_us = 3600ULL * 1000000};

struct table {
    const char *id;
    const struct sto_gc_node *rule; /* of family f; NULL: none */
};

static void make_tenant(struct tent *t, void *ctx)
{
    enum err rc =
        ten_tenant_create(t->registry, base_slice_text(ctx), SLICE_EMPTY, &tenant, &t->eb);
    ck_assert_msg(rc == ERR_OK, "%s", t->eb.text);
}

static void put_table(struct tent *t, void *ctx)
{
    const struct table *table = ctx;
    struct sto_family_spec family = {
        .name = SLICE_LIT("f"), .gc_nodes = table->rule, .gc_node_count = table->rule != NULL};
    struct ten_table_wanted wanted = {.families = &family, .family_count = 1};
    bool created;
    enum err rc =
        ten_table_put(t->registry, tenant, base_slice_text(table->id), &wanted, &created, &t->eb);
    ck_assert_msg(rc == ERR_OK, "%s", t->eb.text);
}

static void tables_make(const char *tenant_id, const char *table, const struct sto_gc_node *rule)
{
    char id[64];
    (void)snprintf(id, sizeof id, "%s", tenant_id);
    tent_control(&tent, make_tenant, id);
    tent_control(&tent, put_table, &(struct table){table, rule});
}

static size_t outstanding;

static void mutate_done(struct sto_mutate_op *op)
{
    ck_assert_int_eq(op->result, ERR_OK);
    outstanding--;
}

static void wait_all(void)
{
    while (outstanding > 0) {
        base_mailbox_wait(&tent.mail, 1000);
        (void)base_mailbox_run(&tent.mail);
    }
}

/* versions cells in f:q of each of rows rows, newest at newest_us, one millisecond apart. */
static void fill(const char *table, size_t rows, size_t versions, int64_t newest_us)
{
    struct sto_table_scope scope;
    ck_assert_int_eq(ten_scope_table(tenant, base_slice_text(table), &scope, NULL), ERR_OK);
    struct sto_mutate_op *ops = base_new_array(rows, sizeof *ops);
    struct sto_mutation *m = base_new_array(versions, sizeof *m);
    char(*keys)[24] = base_new_array(rows, sizeof *keys);
    for (size_t i = 0; i < versions; i++)
        m[i] = (struct sto_mutation){.kind = STO_SET_CELL,
                                     .family = 1,
                                     .qualifier = SLICE_LIT("q"),
                                     .timestamp_us = newest_us - (int64_t)i * 1000,
                                     .value = SLICE_LIT("value")};
    for (size_t i = 0; i < rows; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "row%06zu", i);
        ops[i] = (struct sto_mutate_op){.scope = scope,
                                        .row_key = base_slice_text(keys[i]),
                                        .mutations = m,
                                        .mutation_count = versions,
                                        .reply_to = &tent.mail,
                                        .done = mutate_done};
        outstanding++;
        sto_mutate_row(tent.engine, &ops[i]);
    }
    wait_all();
    base_free(keys);
    base_free(m);
    base_free(ops);
    sto_table_scope_release(&scope);
}

static uint64_t cells(void)
{
    return sto_counters_read(&tenant->account.total).cells;
}

static void wait_for_cells(uint64_t wanted)
{
    for (int i = 0; i < 600 && cells() != wanted; i++)
        tent_pause_ms(50);
    ck_assert_uint_eq(cells(), wanted);
}

static void recount_done(struct sto_recount_op *op)
{
    (void)op;
    outstanding--;
}

static void assert_no_drift(void)
{
    struct sto_recount_op op = {
        .scope = ten_scope_tenant(tenant), .reply_to = &tent.mail, .done = recount_done};
    outstanding++;
    sto_recount(tent.engine, &op);
    wait_all();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.counted.cells, op.recorded.cells);
    ck_assert_uint_eq(op.counted.bytes, op.recorded.bytes);
    ck_assert_uint_eq(op.counted.rows, op.recorded.rows);
}

START_TEST(old_versions_go_and_usage_drops)
{
    tables_make("altostrat", "devices", &ONE);
    fill("devices", 3000, 5, 9000000);
    wait_for_cells(3000);
    assert_no_drift();
}
END_TEST

START_TEST(old_cells_go_and_their_rows_with_them)
{
    tables_make("altostrat", "devices", &HOUR);
    int64_t now = base_wall_us() / 1000 * 1000;
    fill("devices", 50, 2, now);
    wait_for_cells(100);
    fill("devices", 60, 3, now - 2 * 3600 * 1000000LL);
    /* a table with ages that was swept is due again after TEN_SWEEP_AGES_S: a restart looks at once
     */
    tent_reopen(&tent);
    tenant = ten_tenant_find(tent.registry, SLICE_LIT("altostrat"));
    wait_for_cells(100);
    ck_assert_uint_eq(sto_counters_read(&tenant->account.total).rows, 50);
    assert_no_drift();
}
END_TEST

START_TEST(tables_without_rules_and_neighbours_stay)
{
    tables_make("altostrat", "devices", NULL);
    fill("devices", 100, 3, 9000000);
    struct ten_tenant *first = tenant;
    tables_make("altostrat2", "devices", &ONE);
    fill("devices", 100, 3, 9000000);
    wait_for_cells(100);
    tent_pause_ms(300);
    ck_assert_uint_eq(sto_counters_read(&first->account.total).cells, 300);
}
END_TEST

START_TEST(what_is_written_later_is_swept_later)
{
    tables_make("altostrat", "devices", &ONE);
    for (int round = 1; round <= 4; round++) {
        fill("devices", 20, 3, round * 1000000);
        wait_for_cells(20);
    }
}
END_TEST

START_TEST(loosened_rules_keep_what_they_now_allow)
{
    /* the rule is loosened while a sweep may be under way; cells written after that are never less
     * than the new rule allows */
    tables_make("altostrat", "devices", &ONE);
    for (int round = 0; round < 10; round++) {
        tent_control(&tent, put_table, &(struct table){"devices", &ONE});
        fill("devices", 300, 2, 1000000 + round * 100000);
        tent_control(&tent, put_table, &(struct table){"devices", &THREE});
        fill("devices", 300, 3, 2000000 + round * 100000);
        tent_pause_ms(150);
        ck_assert_uint_ge(cells(), 900);
        wait_for_cells(900);
    }
    assert_no_drift();
}
END_TEST

static void delete_done(struct ten_table_delete_op *op)
{
    ck_assert_int_eq(op->result, ERR_OK);
    outstanding--;
}

START_TEST(a_table_made_anew_is_not_touched_by_an_older_sweep)
{
    tables_make("altostrat", "devices", &ONE);
    for (int round = 0; round < 5; round++) {
        fill("devices", 2000, 3, 9000000);
        struct ten_table_delete_op op = {
            .reply_to = &tent.mail, .done = delete_done, .tenant = tenant, .table_id = "devices"};
        outstanding++;
        ten_table_delete(tent.registry, &op);
        wait_all();
        ck_assert_uint_eq(cells(), 0);
        tent_control(&tent, put_table, &(struct table){"devices", NULL});
        fill("devices", 50, 3, 9000000);
        tent_pause_ms(200);
        ck_assert_uint_eq(cells(), 150);
        tent_control(&tent, put_table, &(struct table){"devices", &ONE});
        wait_for_cells(50);
    }
}
END_TEST

Suite *suite_tenancy_sweeper(void)
{
    Suite *s = suite_create("tenancy_sweeper");
    TCase *tc = tcase_create("sweeper");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, old_versions_go_and_usage_drops);
    tcase_add_test(tc, old_cells_go_and_their_rows_with_them);
    tcase_add_test(tc, tables_without_rules_and_neighbours_stay);
    tcase_add_test(tc, what_is_written_later_is_swept_later);
    tcase_add_test(tc, loosened_rules_keep_what_they_now_allow);
    tcase_add_test(tc, a_table_made_anew_is_not_touched_by_an_older_sweep);
    suite_add_tcase(s, tc);
    return s;
}
