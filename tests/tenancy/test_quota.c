/*
 * tests/tenancy/test_quota.c - quotas set, kept over a restart, and enforced by storage.
 */
#include "tests/tenancy/tent_rows.h"

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

START_TEST(quota_takes_effect_at_once_and_lasts)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_quota q = {1000, 5, 10, 20, 30};
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_uint_eq(atomic_load(&t->account.bytes_max), 1000);
        ck_assert_uint_eq(atomic_load(&t->account.rows_max), 5);
        ck_assert_uint_eq(atomic_load(&t->account.cell_bytes_max), 30);
        ck_assert_uint_eq(atomic_load(&t->read_ops.per_second), 10);
        ck_assert_uint_eq(atomic_load(&t->write_ops.per_second), 20);
        ck_assert_int_eq(memcmp(&ten_tenant_details(t)->quota, &q, sizeof q), 0);
        tent_reopen(&tent);
        t = tent_find(&tent, "altostrat");
    }
    struct ten_quota none;
    ten_quota_default(&none);
    none.cell_bytes = UINT64_MAX; /* stands for the default */
    ck_assert_int_eq(tent_set_quota(&tent, t, &none), ERR_OK);
    ck_assert_uint_eq(atomic_load(&t->account.bytes_max), STO_NO_CEILING);
    ck_assert_uint_eq(atomic_load(&t->read_ops.per_second), 0);
    ck_assert_uint_eq(atomic_load(&t->account.cell_bytes_max), LIM_CELL_BYTES);
    ck_assert_uint_eq(ten_tenant_details(t)->quota.cell_bytes, LIM_CELL_BYTES);
}
END_TEST

START_TEST(quota_values_are_checked_at_every_edge)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_quota good;
    ten_quota_default(&good);
    static const uint64_t BAD_RATES[] = {0, 1000000001, UINT64_MAX - 1};
    static const uint64_t GOOD_RATES[] = {1, 1000000000, UINT64_MAX};
    for (size_t i = 0; i < 3; i++) {
        struct ten_quota q = good;
        q.read_ops_per_s = BAD_RATES[i];
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(tent.eb.text, "read_ops_per_s"));
        q = good;
        q.write_ops_per_s = BAD_RATES[i];
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_INVALID);
        q = good;
        q.read_ops_per_s = q.write_ops_per_s = GOOD_RATES[i];
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    }
    struct ten_quota q = good;
    q.cell_bytes = 0;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_INVALID);
    q.cell_bytes = LIM_CELL_BYTES_HARD + 1;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_INVALID);
    q.cell_bytes = LIM_CELL_BYTES_HARD;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    q.cell_bytes = 1;
    q.stored_bytes = 0;
    q.rows = 0;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
}
END_TEST

START_TEST(storage_enforces_bytes_rows_and_cell_size)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    tent_table(&tent, t, "devices");
    /* one cell of row "r1", family "f", qualifier "q": 2 + 1 + 1 + value + 8 */
    struct ten_quota q;
    ten_quota_default(&q);
    q.stored_bytes = 2 * (12 + 10);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    tent_write(&tent, t, "devices", "r1", "0123456789");
    tent_write(&tent, t, "devices", "r2", "012345678");
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("")), ERR_QUOTA);
    q.stored_bytes = UINT64_MAX;
    q.rows = 2;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("")), ERR_QUOTA);
    tent_write(&tent, t, "devices", "r1", "more of the same row");
    q.rows = 1; /* below what is there: legal, stops growth */
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("")), ERR_QUOTA);
    q.rows = UINT64_MAX;
    q.cell_bytes = 5;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("123456")), ERR_TOO_BIG);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("12345")), ERR_OK);
    struct sto_usage there = tent_recount(&tent, t);
    ck_assert_uint_eq(there.rows, 3);
}
END_TEST

START_TEST(quota_change_keeps_debt_of_unchanged_rates)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_quota q;
    ten_quota_default(&q);
    q.write_ops_per_s = 1;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    uint64_t retry_ns = 0;
    ck_assert_int_eq(ten_admit(t, TEN_WRITE, 100, &retry_ns, &tent.eb), ERR_OK);
    q.rows = 77;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(ten_admit(t, TEN_WRITE, 1, &retry_ns, &tent.eb), ERR_RATE_LIMITED);
    q.write_ops_per_s = 2;
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(ten_admit(t, TEN_WRITE, 1, &retry_ns, &tent.eb), ERR_OK);
}
END_TEST

Suite *suite_tenancy_quota(void);
Suite *suite_tenancy_quota(void)
{
    Suite *s = suite_create("tenancy/quota");
    TCase *c = tcase_create("quota");
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, quota_takes_effect_at_once_and_lasts);
    tcase_add_test(c, quota_values_are_checked_at_every_edge);
    tcase_add_test(c, storage_enforces_bytes_rows_and_cell_size);
    tcase_add_test(c, quota_change_keeps_debt_of_unchanged_rates);
    suite_add_tcase(s, c);
    return s;
}
