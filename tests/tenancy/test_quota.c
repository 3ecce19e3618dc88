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
    struct ten_quota q;
    ten_quota_default(&q);
    GIVE(&q, stored_bytes, 1000);
    GIVE(&q, rows, 5);
    GIVE(&q, read_ops_per_s, 10);
    GIVE(&q, write_ops_per_s, 20);
    for (size_t i = 0; i < STO_LIMIT_COUNT; i++)
        GIVE_LIMIT(&q, i, 30 + i);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_uint_eq(atomic_load(&t->account.bytes_max), 1000);
        ck_assert_uint_eq(atomic_load(&t->account.rows_max), 5);
        for (enum sto_limit i = 0; i < STO_LIMIT_COUNT; i++)
            ck_assert_uint_eq(sto_account_limit(&t->account, i), 30 + i);
        ck_assert_uint_eq(atomic_load(&t->rates.read_ops.per_second), 10);
        ck_assert_uint_eq(atomic_load(&t->rates.write_ops.per_second), 20);
        ck_assert_int_eq(memcmp(&ten_tenant_details(t)->quota, &q, sizeof q), 0);
        tent_reopen(&tent);
        t = tent_find(&tent, "altostrat");
    }
    struct ten_quota none;
    ten_quota_default(&none);
    ck_assert_int_eq(tent_set_quota(&tent, t, &none), ERR_OK);
    ck_assert_uint_eq(atomic_load(&t->account.bytes_max), STO_NO_CEILING);
    ck_assert_uint_eq(atomic_load(&t->rates.read_ops.per_second), 0);
    for (int round = 0; round < 2; round++) {
        for (enum sto_limit i = 0; i < STO_LIMIT_COUNT; i++) {
            ck_assert_uint_eq(sto_account_limit(&t->account, i), sto_limit_info(i)->standard);
            ck_assert_uint_eq(ten_tenant_details(t)->quota.limits[i], sto_limit_info(i)->standard);
        }
        tent_reopen(&tent);
        t = tent_find(&tent, "altostrat");
    }
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
        GIVE(&q, read_ops_per_s, BAD_RATES[i]);
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(tent.eb.text, "read_ops_per_s"));
        q = good;
        GIVE(&q, write_ops_per_s, BAD_RATES[i]);
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_INVALID);
        q = good;
        GIVE(&q, read_ops_per_s, GOOD_RATES[i]);
        GIVE(&q, write_ops_per_s, GOOD_RATES[i]);
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    }
    struct ten_quota q = good;
    GIVE(&q, stored_bytes, 0);
    GIVE(&q, rows, 0);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    GIVE(&q, stored_bytes, UINT64_MAX - 1);
    GIVE(&q, rows, UINT64_MAX - 1);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
}
END_TEST

START_TEST(limits_of_the_data_model_go_from_1_to_the_hard_limit)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_tenant *other = tent_create(&tent, "other");
    const struct sto_limit_info *info = sto_limit_info((enum sto_limit)_i);
    struct ten_quota good;
    ten_quota_default(&good);
    const uint64_t GOOD[] = {1, 2, info->hard - 1, info->hard};
    const uint64_t BAD[] = {0, info->hard + 1, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        struct ten_quota q = good;
        GIVE_LIMIT(&q, _i, GOOD[i]);
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
        for (size_t k = 0; k < 4; k++) {
            GIVE_LIMIT(&q, _i, BAD[k]);
            ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_INVALID);
            ck_assert_int_eq(strncmp(tent.eb.text, info->name, strlen(info->name)), 0);
            ck_assert_ptr_nonnull(strstr(tent.eb.text, "must be 1 to"));
        }
        ck_assert_uint_eq(sto_account_limit(&t->account, (enum sto_limit)_i), GOOD[i]);
    }
    ck_assert_uint_eq(sto_account_limit(&other->account, (enum sto_limit)_i), info->standard);
}
END_TEST

START_TEST(every_field_of_a_quota_has_a_name_and_a_tag_of_its_own)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        struct ten_quota_field f = ten_quota_field(i);
        ck_assert_uint_ne(f.tag, 0);
        ck_assert(f.standard == UINT64_MAX || (f.standard >= f.min && f.standard <= f.max));
        for (size_t k = 0; k < i; k++) {
            ck_assert_uint_ne(ten_quota_field(k).tag, f.tag);
            ck_assert_str_ne(ten_quota_field(k).name, f.name);
        }
    }
}
END_TEST

START_TEST(storage_enforces_bytes_rows_and_cell_size)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    tent_table(&tent, t, "devices");
    /* one cell of row "r1", family "f", qualifier "q": 2 + 1 + 1 + value + 8 */
    struct ten_quota q;
    ten_quota_default(&q);
    GIVE(&q, stored_bytes, 2 * (12 + 10));
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    tent_write(&tent, t, "devices", "r1", "0123456789");
    tent_write(&tent, t, "devices", "r2", "012345678");
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("")), ERR_QUOTA);
    GIVE(&q, stored_bytes, UINT64_MAX);
    GIVE(&q, rows, 2);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("")), ERR_QUOTA);
    tent_write(&tent, t, "devices", "r1", "more of the same row");
    GIVE(&q, rows, 1); /* below what is there: legal, stops growth */
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("")), ERR_QUOTA);
    GIVE(&q, rows, UINT64_MAX);
    GIVE_LIMIT(&q, STO_LIMIT_CELL, 5);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("123456")), ERR_TOO_BIG);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r3", SLICE_LIT("12345")), ERR_OK);
    GIVE_LIMIT(&q, STO_LIMIT_ROW_KEY, 2);
    GIVE_LIMIT(&q, STO_LIMIT_ROW, 2 + 1 + 1 + 8 + 4);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r33", SLICE_LIT("")), ERR_TOO_BIG);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r4", SLICE_LIT("12345")), ERR_TOO_BIG);
    ck_assert_int_eq(tent_try_write(&tent, t, "devices", "r4", SLICE_LIT("1234")), ERR_OK);
    struct sto_usage there = tent_recount(&tent, t);
    ck_assert_uint_eq(there.rows, 4);
}
END_TEST

START_TEST(quota_change_keeps_debt_of_unchanged_rates)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_quota q;
    ten_quota_default(&q);
    GIVE(&q, write_ops_per_s, 1);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    uint64_t retry_ns = 0;
    ck_assert_int_eq(tent_admit(&tent, t, TEN_WRITE, 100, &retry_ns), ERR_OK);
    GIVE(&q, rows, 77);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_admit(&tent, t, TEN_WRITE, 1, &retry_ns), ERR_RATE_LIMITED);
    GIVE(&q, write_ops_per_s, 2);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(tent_admit(&tent, t, TEN_WRITE, 1, &retry_ns), ERR_OK);
}
END_TEST

/* --- families and tables ---------------------------------------------------------------------- */

static enum err put_table(struct ten_tenant *t, const char *id, size_t family_count)
{
    static const char *const NAMES[] = {"a", "b", "c", "d"};
    struct sto_family_spec families[4] = {{.name = SLICE_EMPTY}};
    for (size_t i = 0; i < family_count; i++)
        families[i].name = base_slice_text(NAMES[i]);
    return tent_try_table(&tent, t, id, families, family_count, NULL);
}

static void set_limit(struct ten_tenant *t, enum sto_limit limit, uint64_t value)
{
    struct ten_quota q = ten_tenant_details(t)->quota;
    if (value == UINT64_MAX)
        q.given &= ~(1ULL << (TEN_QUOTA_CEILINGS + limit));
    else
        GIVE_LIMIT(&q, limit, value);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
}

START_TEST(tables_over_a_lowered_limit_stay_and_no_more_are_made)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    (void)tent_create(&tent, "other");
    set_limit(t, STO_LIMIT_TABLES, 2);
    ck_assert_int_eq(put_table(t, "one", 1), ERR_OK);
    ck_assert_int_eq(put_table(t, "two", 1), ERR_OK);
    ck_assert_int_eq(put_table(t, "three", 1), ERR_QUOTA);
    ck_assert_str_eq(tent.eb.text, "tables quota: 2 used, 1 would be added, limit 2");
    set_limit(t, STO_LIMIT_TABLES, 1);
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    struct ten_tenant *other = tent_find(&tent, "other");
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 2);
    ck_assert_int_eq(put_table(t, "two", 2), ERR_OK); /* changing one is no growth */
    tent_write(&tent, t, "two", "r", "v");
    ck_assert_int_eq(put_table(t, "three", 1), ERR_QUOTA);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put_table(other, i == 0 ? "x" : i == 1 ? "y" : "z", 1), ERR_OK);
    set_limit(t, STO_LIMIT_TABLES, UINT64_MAX);
    ck_assert_int_eq(put_table(t, "three", 1), ERR_OK);
}
END_TEST

static enum err change_families(struct ten_tenant *t, const char *create, const char *drop)
{
    struct sto_family_spec family = {.name = base_slice_text(create)};
    struct slice name = base_slice_text(drop);
    struct ten_families_change change = {.create = &family,
                                         .create_count = create[0] != '\0',
                                         .drop = &name,
                                         .drop_count = drop[0] != '\0'};
    return tent_change_families(&tent, t, "devices", &change);
}

START_TEST(families_over_a_lowered_limit_stay_and_no_more_are_added)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    set_limit(t, STO_LIMIT_FAMILIES, 3);
    ck_assert_int_eq(put_table(t, "devices", 4), ERR_TOO_BIG);
    ck_assert_str_eq(tent.eb.text, "the table would have 4 column families; the limit is 3 (this "
                                   "tenant's families)");
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 0);
    ck_assert_int_eq(put_table(t, "devices", 3), ERR_OK);
    ck_assert_int_eq(put_table(t, "devices", 4), ERR_TOO_BIG);
    ck_assert_int_eq(change_families(t, "d", ""), ERR_TOO_BIG);
    set_limit(t, STO_LIMIT_FAMILIES, 1);
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    ck_assert_uint_eq(ten_tenant_tables(t)->schemas[0]->family_count, 3);
    ck_assert_int_eq(put_table(t, "devices", 3), ERR_OK);
    tent_write(&tent, t, "devices", "r", "v");
    ck_assert_int_eq(change_families(t, "d", ""), ERR_TOO_BIG);
    ck_assert_int_eq(change_families(t, "d", "c"), ERR_OK); /* not more than before */
    ck_assert_int_eq(change_families(t, "", "d"), ERR_OK);
    ck_assert_int_eq(change_families(t, "e", ""), ERR_TOO_BIG);
    ck_assert_int_eq(put_table(t, "small", 2), ERR_TOO_BIG);
    ck_assert_int_eq(put_table(t, "small", 1), ERR_OK);
}
END_TEST

Suite *suite_tenancy_quota(void);
Suite *suite_tenancy_quota(void)
{
    Suite *s = suite_create("tenancy_quota");
    TCase *c = tcase_create("quota");
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, quota_takes_effect_at_once_and_lasts);
    tcase_add_test(c, quota_values_are_checked_at_every_edge);
    tcase_add_loop_test(c, limits_of_the_data_model_go_from_1_to_the_hard_limit, 0,
                        STO_LIMIT_COUNT);
    tcase_add_test(c, every_field_of_a_quota_has_a_name_and_a_tag_of_its_own);
    tcase_add_test(c, tables_over_a_lowered_limit_stay_and_no_more_are_made);
    tcase_add_test(c, families_over_a_lowered_limit_stay_and_no_more_are_added);
    tcase_add_test(c, storage_enforces_bytes_rows_and_cell_size);
    tcase_add_test(c, quota_change_keeps_debt_of_unchanged_rates);
    suite_add_tcase(s, c);
    return s;
}
