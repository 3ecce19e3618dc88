/*
 * tests/storage/test_engine_purge_levels.c - tenants are purged beside neighbours with files in
 * several levels, above and below theirs.
 */
#include "fixture.h"

#include "tests/storage/levels.h"

#include "base/banned.h"

Suite *suite_storage_engine_purge_levels(void);

static struct sto_audit audit_of(size_t tenant)
{
    struct sto_audit a;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[tenant], &a, NULL), ERR_OK);
    return a;
}

static struct sto_search search_for(size_t tenant)
{
    struct sto_search_target target = {.scope = &fix.tenants[tenant]};
    struct sto_search_spec spec = {0};
    struct errbuf eb = {{0}};
    enum err rc = sto_search_files(fix.engine, &target, 1, &spec, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return target.found;
}

static void purge_of(size_t tenant)
{
    atomic_store(&fix.accounts[tenant].gate, STO_GATE_GONE);
    for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_STEP_COUNT; s++) {
        struct errbuf eb = {{0}};
        enum err rc = sto_purge_run(fix.engine, &fix.tenants[tenant], s, NULL, 0, &eb);
        ck_assert_msg(rc == ERR_OK, "%s: %s", sto_purge_step_name(s), eb.text);
    }
}

static void assert_nothing_of(size_t tenant)
{
    struct sto_search found = search_for(tenant);
    ck_assert_uint_eq(found.keys, 0);
    ck_assert_uint_eq(found.obsolete, 0);
    ck_assert_uint_eq(audit_of(tenant).physical_keys, 0);
    ck_assert_uint_eq(audit_of(tenant).live_files_inside, 0);
    for (size_t n = 0; n < FIX_TENANTS; n++)
        if (n != tenant)
            fix_assert_no_drift(n);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, MANY_ROWS);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[2].total).rows, MANY_ROWS);
}

/* A range tombstone stayed in a file with rows of its neighbours, above the last level. */
START_TEST(a_small_tenant_between_large_ones_is_gone)
{
    fill_levels();
    for (int i = 0; i < 10; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "row-%d", i);
        ck_assert_int_eq(fix_put(&fix.tables[1][0], row, "value"), ERR_OK);
    }
    ck_assert_int_eq(fix_delete_row(&fix.tables[1][0], "row-3"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "row-000001", "value"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[2][0], "row-000001", "value"), ERR_OK);
    purge_of(1);
    assert_nothing_of(1);
}
END_TEST

/* Its rows are in all levels; its own drops left range tombstones, some in neighbours' files. */
START_TEST(a_large_tenant_between_large_ones_is_gone)
{
    sto_rdb_engine(fix.engine)->options.drop_range_cells = 100;
    fill_many(1, 0, 2);
    fill_levels();
    fill_many(1, 0, 11);
    for (int i = 0; i < 5; i++) {
        char start[16], end[16];
        (void)snprintf(start, sizeof start, "row-%03d", 3 * i);
        (void)snprintf(end, sizeof end, "row-%03d", 3 * i + 2);
        const struct sto_row_range range = {.start = base_slice_text(start),
                                            .end = base_slice_text(end)};
        ck_assert_int_eq(fix_drop(&fix.tables[1][0], range, 0, NULL), ERR_OK);
    }
    fill_many(0, 5, 7);
    purge_of(1);
    assert_nothing_of(1);
}
END_TEST

/* What the others read and write meanwhile keeps RocksDB's own compactions going. */
START_TEST(tenants_are_gone_while_others_write)
{
    fill_levels();
    fill_many(1, 0, 3);
    for (int i = 0; i < 3; i++) { /* in flight, not waited for */
        fill_many(0, i, 5);
        fill_many(2, i, 5);
    }
    purge_of(1);
    assert_nothing_of(1);
}
END_TEST

START_TEST(tenants_are_purged_together)
{
    fill_many(0, 0, 1);
    fill_many(1, 0, 3);
    fill_many(2, 0, 5);
    fill_many(0, 0, 7);
    const struct sto_tenant_scope *both[2] = {&fix.tenants[2], &fix.tenants[1]};
    for (size_t n = 1; n < 3; n++) {
        atomic_store(&fix.accounts[n].gate, STO_GATE_GONE);
        for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_FLUSH; s++)
            ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[n], s, NULL, 0, NULL), ERR_OK);
    }
    struct errbuf eb = {{0}};
    ck_assert_int_eq(sto_purge_run_all(fix.engine, both, 2, STO_PURGE_FENCE, &eb), ERR_INVALID);
    for (size_t n = 1; n < 3; n++)
        ck_assert_int_eq(
            sto_purge_run(fix.engine, &fix.tenants[n], STO_PURGE_DELETE_RANGE, NULL, 0, NULL),
            ERR_OK);
    for (enum sto_purge_step s = STO_PURGE_FLUSH; s < STO_PURGE_STEP_COUNT; s++) {
        enum err rc = sto_purge_run_all(fix.engine, both, 2, s, &eb);
        ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    }
    for (size_t n = 1; n < 3; n++) {
        ck_assert_uint_eq(search_for(n).keys, 0);
        ck_assert_uint_eq(audit_of(n).physical_keys, 0);
    }
    fix_assert_no_drift(0);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, MANY_ROWS);
}
END_TEST

Suite *suite_storage_engine_purge_levels(void)
{
    Suite *s = suite_create("storage_engine_purge_levels");
    TCase *t = tcase_create("levels");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, a_small_tenant_between_large_ones_is_gone);
    tcase_add_test(t, a_large_tenant_between_large_ones_is_gone);
    tcase_add_test(t, tenants_are_gone_while_others_write);
    tcase_add_test(t, tenants_are_purged_together);
    suite_add_tcase(s, t);
    return s;
}
