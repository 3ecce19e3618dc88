/*
 * tests/tenancy/test_scope.c - who gets in, why not, and that a scope reaches its own keys only.
 */
#include "tests/tenancy/tent_rows.h"

#include "base/clock.h"

#include "base/banned.h"

static struct tent tent;

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

/* --- state ------------------------------------------------------------------------------------ */

START_TEST(active_tenant_may_read_and_write)
{
    const struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_OK);
    ck_assert_int_eq(ten_access_check(t, TEN_WRITE, &tent.eb), ERR_OK);
}
END_TEST

START_TEST(suspended_tenant_learns_the_reason)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    tent_table(&tent, t, "devices");
    ck_assert_int_eq(tent_suspend(&tent, t, "invoice 17 is unpaid"), ERR_OK);
    uint64_t retry_ns = 0;
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_SUSPENDED);
    ck_assert_str_eq(tent.eb.text, "the tenant is suspended: invoice 17 is unpaid");
    ck_assert_int_eq(ten_access_check(t, TEN_WRITE, &tent.eb), ERR_SUSPENDED);
    ck_assert_int_eq(tent_admit(&tent, t, TEN_READ, 1, &retry_ns), ERR_SUSPENDED);
    ck_assert_int_eq(tent_suspend(&tent, t, ""), ERR_OK);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_SUSPENDED);
    ck_assert_str_eq(tent.eb.text, "the tenant is suspended");
}
END_TEST

START_TEST(suspension_reaches_scopes_opened_before)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct sto_table_scope held;
    tent_table(&tent, t, "devices");
    ck_assert_int_eq(ten_scope_table(t, SLICE_LIT("devices"), &held, &tent.eb), ERR_OK);
    ck_assert_int_eq(tent_suspend(&tent, t, "unpaid"), ERR_OK);
    ck_assert_int_eq(tent_write_scope(&tent, &held, "r1", SLICE_LIT("v")), ERR_SUSPENDED);
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    ck_assert_int_eq(tent_write_scope(&tent, &held, "r1", SLICE_LIT("v")), ERR_OK);
    sto_table_scope_release(&held);
}
END_TEST

START_TEST(leaving_tenant_is_gone)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct sto_table_scope scope;
    struct sto_table_scope held;
    struct ten_job job;
    char id[TEN_JOB_ID + 1];
    uint64_t retry_ns = 0;
    tent_table(&tent, t, "devices");
    ck_assert_int_eq(ten_scope_table(t, SLICE_LIT("devices"), &held, &tent.eb), ERR_OK);
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    ck_assert_int_eq(tent_write_scope(&tent, &held, "r1", SLICE_LIT("v")), ERR_GONE);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    ck_assert_int_eq(tent_admit(&tent, t, TEN_WRITE, 1, &retry_ns), ERR_GONE);
    ck_assert_int_eq(ten_scope_table(t, SLICE_LIT("devices"), &scope, &tent.eb), ERR_GONE);
    tent_await_job(&tent, id, &job);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    ck_assert_str_eq(tent.eb.text, "the tenant was deleted");
    ck_assert_int_eq(ten_scope_table(t, SLICE_LIT("devices"), &scope, &tent.eb), ERR_GONE);
    ck_assert_int_eq(tent_write_scope(&tent, &held, "r1", SLICE_LIT("v")), ERR_GONE);
    sto_table_scope_release(&held);
}
END_TEST

START_TEST(unknown_table_is_not_found)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct sto_table_scope scope;
    tent_table(&tent, t, "devices");
    static const char *const BAD[] = {"", "device", "devicess", "DEVICES", "a#b", "devices#x"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        ck_assert_int_eq(ten_scope_table(t, base_slice_text(BAD[i]), &scope, &tent.eb),
                         ERR_NOT_FOUND);
    ck_assert_int_eq(ten_scope_table(t, base_slice("devices\0", 8), &scope, &tent.eb),
                     ERR_NOT_FOUND);
}
END_TEST

/* --- isolation -------------------------------------------------------------------------------- */

static const char *const NEIGHBOURS[] = {"ab", "abc", "ab-", "ab-c", "a0", "ab0", "abb"};

#define NEIGHBOUR_COUNT (sizeof NEIGHBOURS / sizeof NEIGHBOURS[0])

START_TEST(no_prefix_begins_with_another)
{
    for (size_t a = 0; a < NEIGHBOUR_COUNT; a++)
        for (size_t b = 0; b < NEIGHBOUR_COUNT; b++) {
            struct ten_tenant *ta = tent_find(&tent, NEIGHBOURS[a]);
            struct ten_tenant *tb = tent_find(&tent, NEIGHBOURS[b]);
            if (ta == NULL)
                ta = tent_create(&tent, NEIGHBOURS[a]);
            if (tb == NULL)
                tb = a == b ? ta : tent_create(&tent, NEIGHBOURS[b]);
            struct sto_tenant_scope sa = ten_scope_tenant(ta);
            struct sto_tenant_scope sb = ten_scope_tenant(tb);
            ck_assert(base_slice_starts_with(base_slice(sa.prefix, sa.prefix_len),
                                             base_slice(sb.prefix, sb.prefix_len)) == (a == b));
            ck_assert_ptr_eq(sa.account, &ta->account);
        }
}
END_TEST

/* The same table names and row keys everywhere, some of which look like another's stored key. */
static const char *const ROWS[] = {"#", "r", "abc#t#r", "\xff\xff", "c#t#r", "\x01"};

#define ROW_COUNT (sizeof ROWS / sizeof ROWS[0])

static void check_neighbour(struct ten_tenant *t)
{
    struct tent_sink sink;
    struct buf expected;
    tent_sink_init(&sink);
    base_buf_init(&expected, MIB);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        (void)base_buf_append(&expected, ten_tenant_id(t));
        (void)base_buf_append_byte(&expected, ',');
    }
    ck_assert_int_eq(tent_scan(&tent, t, "t", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, ROW_COUNT);
    ck_assert(base_slice_equal(base_buf_slice(&sink.values), base_buf_slice(&expected)));
    ck_assert_uint_eq(tent_recount(&tent, t).rows, ROW_COUNT);
    base_buf_fini(&expected);
    tent_sink_fini(&sink);
}

START_TEST(scans_and_counts_see_their_own_tenant_only)
{
    struct ten_tenant *all[NEIGHBOUR_COUNT];
    for (size_t i = 0; i < NEIGHBOUR_COUNT; i++) {
        all[i] = tent_create(&tent, NEIGHBOURS[i]);
        tent_table(&tent, all[i], "t");
        for (size_t k = 0; k < ROW_COUNT; k++)
            tent_write(&tent, all[i], "t", ROWS[k], NEIGHBOURS[i]);
    }
    for (size_t i = 0; i < NEIGHBOUR_COUNT; i++)
        check_neighbour(all[i]);
    /* 'ab' goes; 'abc' and the others keep every row */
    struct ten_job job;
    char id[TEN_JOB_ID + 1];
    ck_assert_int_eq(tent_offboard(&tent, all[0], id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    for (size_t i = 1; i < NEIGHBOUR_COUNT; i++)
        check_neighbour(all[i]);
    /* deleting a table of 'abc' touches no table of the same name */
    ck_assert_int_eq(tent_delete_table(&tent, all[1], "t", NULL), ERR_OK);
    for (size_t i = 2; i < NEIGHBOUR_COUNT; i++)
        check_neighbour(all[i]);
}
END_TEST

Suite *suite_tenancy_scope(void);
Suite *suite_tenancy_scope(void)
{
    Suite *s = suite_create("tenancy_scope");
    TCase *c = tcase_create("state");
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, active_tenant_may_read_and_write);
    tcase_add_test(c, suspended_tenant_learns_the_reason);
    tcase_add_test(c, suspension_reaches_scopes_opened_before);
    tcase_add_test(c, leaving_tenant_is_gone);
    tcase_add_test(c, unknown_table_is_not_found);
    suite_add_tcase(s, c);
    c = tcase_create("isolation");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, no_prefix_begins_with_another);
    tcase_add_test(c, scans_and_counts_see_their_own_tenant_only);
    suite_add_tcase(s, c);
    return s;
}
