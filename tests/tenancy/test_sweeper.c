/*
 * tests/tenancy/test_sweeper.c - garbage goes by itself, and only garbage.
 */
#include "tests/tenancy/sweep.h"

#include "tests/support/wall.h"

#include "base/banned.h"

Suite *suite_tenancy_sweeper(void);

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
    reopen();
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
    wait_until_idle();
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
        wait_until_idle();
        ck_assert_uint_ge(cells(), 900);
        wait_for_cells(900);
    }
    assert_no_drift();
}
END_TEST

START_TEST(a_table_made_anew_is_not_touched_by_an_older_sweep)
{
    tables_make("altostrat", "devices", &ONE);
    for (int round = 0; round < 5; round++) {
        fill("devices", 2000, 3, 9000000);
        table_delete("devices");
        ck_assert_uint_eq(cells(), 0);
        tent_control(&tent, put_table, &(struct table){"devices", NULL});
        fill("devices", 50, 3, 9000000);
        wait_until_idle();
        ck_assert_uint_eq(cells(), 150);
        tent_control(&tent, put_table, &(struct table){"devices", &ONE});
        wait_for_cells(50);
    }
}
END_TEST

/* Each filling leaves five cells of a row that the next makes garbage. */
START_TEST(what_is_not_removed_yet_is_estimated)
{
    enum { ROWS = 200, VERSIONS = 5 };
    tables_make("altostrat2", "devices", &THREE);
    tables_make("altostrat", "devices", &THREE);
    wait_until_idle();
    for (int round = 1; round <= 3; round++) {
        ten_sweeper_test_hold_at(tent.registry->sweeper, 0); /* one pass looks at all of it */
        fill("devices", ROWS, VERSIONS, round * 1000000);
        ten_sweeper_test_hold_at(tent.registry->sweeper, UINT64_MAX);
        wait_until_idle();
        ck_assert_uint_eq(ten_tenant_uncollected(tenant), 0);
        ck_assert_uint_eq(swept().uncollected_bytes, 0);
    }
    reopen();
    wait_until_idle();
    uint64_t live = sto_counters_read(&tenant->account.total).bytes;
    ten_sweeper_test_hold_at(tent.registry->sweeper, 0);
    fill("devices", ROWS, VERSIONS, 4000000);
    uint64_t garbage = sto_counters_read(&tenant->account.total).bytes - live;
    ck_assert_uint_le(ten_tenant_uncollected(tenant), garbage);
    ck_assert_uint_ge(ten_tenant_uncollected(tenant), garbage / 4 * 3);
    struct ten_tenant *other = ten_tenant_find(tent.registry, SLICE_LIT("altostrat2"));
    ck_assert_uint_eq(ten_tenant_uncollected(other), 0);
    ten_sweeper_test_hold_at(tent.registry->sweeper, UINT64_MAX);
    wait_until_idle();
    ck_assert_uint_eq(ten_tenant_uncollected(tenant), 0);
    ck_assert_uint_ge(swept().bytes, garbage);
    assert_no_drift();
}
END_TEST

/* 100 rows under THREE, of which passes have removed garbage; none is left. */
static void swept_with_garbage(void)
{
    tables_make("altostrat", "devices", &THREE);
    for (int round = 1; round <= 2; round++) {
        wait_until_idle();
        fill("devices", 100, 5, round * 1000000);
    }
    wait_until_idle();
}

/* What keys are charged follows the processor's speed, so it is compared with a pass in which there
 * was nothing to remove. Where there was: a row's header and six cells, of which three stay. */
START_TEST(a_table_with_much_garbage_is_swept_faster)
{
    enum { ROWS = 5000, VERSIONS = 3 };
    uint64_t keys[2], charged[2];
    tables_make("altostrat", "devices", &THREE);
    wait_until_idle();
    ten_sweeper_test_slow_at(tent.registry->sweeper, INT64_MAX); /* nothing waits here */
    for (int round = 0; round < 2; round++) {
        struct ten_sweep_stats before = swept();
        ten_sweeper_test_hold_at(tent.registry->sweeper, 0);
        fill("devices", ROWS, VERSIONS, (round + 1) * 1000000);
        ten_sweeper_test_hold_at(tent.registry->sweeper, UINT64_MAX);
        wait_until_idle();
        keys[round] = swept().keys - before.keys;
        charged[round] = swept().charged - before.charged;
    }
    ck_assert_uint_eq(keys[0], ROWS * (1 + VERSIONS));
    ck_assert_uint_eq(keys[1], ROWS * (1 + 2 * VERSIONS));
    ck_assert_uint_ge(charged[0], keys[0]);
    ck_assert_uint_lt(4 * charged[1] * keys[0], 3 * charged[0] * keys[1]);
    ck_assert_uint_gt(5 * charged[1] * keys[0], charged[0] * keys[1]);
}
END_TEST

/* Cells that are too old as they are written, and a table that was swept a second ago. */
START_TEST(a_short_age_is_looked_at_often)
{
    static const struct sto_gc_node SECONDS = {.kind = STO_GC_MAX_AGE, .max_age_us = 4000000};
    tables_make("altostrat", "devices", &SECONDS);
    for (int round = 1; round <= 2; round++) {
        ten_sweeper_test_hold_at(tent.registry->sweeper, 0); /* no pass ends after that second */
        fill("devices", 50, 1, 1000000);
        wall_pass_s(1);
        ten_sweeper_test_hold_at(tent.registry->sweeper, UINT64_MAX);
        wait_until_idle();
        ck_assert_uint_eq(cells(), 0);
    }
    tent_control(&tent, put_table, &(struct table){"devices", &HOUR});
    wait_until_idle();
    fill("devices", 50, 1, 1000000);
    wall_pass_s(1);
    wait_until_idle();
    ck_assert_uint_eq(cells(), 50);
}
END_TEST

START_TEST(new_rules_begin_the_estimate_anew)
{
    swept_with_garbage();
    tent_control(&tent, put_table, &(struct table){"devices", &ONE});
    wait_for_cells(100);
    wait_until_idle();
    ten_sweeper_test_hold_at(tent.registry->sweeper, 0);
    fill_from("devices", 100, 1, 1, 3000000); /* what the last pass removed came of older rules */
    ck_assert_uint_eq(ten_tenant_uncollected(tenant), 0);
}
END_TEST

START_TEST(without_rules_nothing_is_garbage)
{
    swept_with_garbage();
    ten_sweeper_test_hold_at(tent.registry->sweeper, 0);
    fill("devices", 100, 5, 4000000);
    ck_assert_uint_gt(ten_tenant_uncollected(tenant), 0);
    tent_control(&tent, put_table, &(struct table){"devices", NULL});
    ck_assert_uint_eq(ten_tenant_uncollected(tenant), 0);
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
    tcase_add_test(tc, what_is_not_removed_yet_is_estimated);
    tcase_add_test(tc, a_table_with_much_garbage_is_swept_faster);
    tcase_add_test(tc, a_short_age_is_looked_at_often);
    tcase_add_test(tc, new_rules_begin_the_estimate_anew);
    tcase_add_test(tc, without_rules_nothing_is_garbage);
    suite_add_tcase(s, tc);
    return s;
}
