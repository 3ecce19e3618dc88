/*
 * tests/storage/test_limit.c - each limit of the data model: default, a tenant's own, refusals.
 */
#include <check.h>
#include <string.h>

#include "base/limits.h"
#include "storage/account.h"

#include "base/banned.h"

static struct sto_account account, other;

static void setup(void)
{
    sto_account_init(&account, 0);
    sto_account_init(&other, 0);
}

static const struct {
    const char *name;
    uint64_t standard;
    uint64_t hard;
    const char *refusal; /* of 8 under a limit of 7 */
} WANTED[STO_LIMIT_COUNT] = {
    [STO_LIMIT_ROW_KEY] = {"row_key_bytes", 4096, 4096,
                           "row key has 8 bytes; the limit is 7 (this tenant's row_key_bytes)"},
    [STO_LIMIT_QUALIFIER] = {"qualifier_bytes", 16384, 16384,
                             "column qualifier has 8 bytes; the limit is 7 "
                             "(this tenant's qualifier_bytes)"},
    [STO_LIMIT_CELL] = {"cell_bytes", 10485760, 104857600,
                        "cell value has 8 bytes; the limit is 7 (this tenant's cell_bytes)"},
    [STO_LIMIT_ROW] = {"row_bytes", 268435456, 268435456,
                       "the row would hold 8 bytes; the limit is 7 (this tenant's row_bytes)"},
    [STO_LIMIT_MUTATIONS] = {"mutations_per_row", 100000, 100000,
                             "the change of the row has 8 mutations; the limit is 7 "
                             "(this tenant's mutations_per_row)"},
    [STO_LIMIT_FAMILIES] = {"families", 100, 100,
                            "the table would have 8 column families; the limit is 7 "
                            "(this tenant's families)"},
    [STO_LIMIT_TABLES] = {"tables", 1000, 1000,
                          "the tenant would have 8 tables; the limit is 7 (this tenant's tables)"},
};

START_TEST(names_defaults_and_hard_limits_are_as_documented)
{
    const struct sto_limit_info *info = sto_limit_info((enum sto_limit)_i);
    ck_assert_str_eq(info->name, WANTED[_i].name);
    ck_assert_uint_eq(info->standard, WANTED[_i].standard);
    ck_assert_uint_eq(info->hard, WANTED[_i].hard);
    ck_assert(info->standard >= 1 && info->standard <= info->hard);
}
END_TEST

START_TEST(an_account_starts_with_the_default)
{
    enum sto_limit limit = (enum sto_limit)_i;
    struct errbuf eb = {{0}};
    uint64_t max = WANTED[_i].standard;
    ck_assert_uint_eq(sto_account_limit(&account, limit), max);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, max - 1, &eb), ERR_OK);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, max, &eb), ERR_OK);
    ck_assert_str_eq(eb.text, "");
    ck_assert_int_eq(sto_account_limit_check(&account, limit, max + 1, &eb), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, WANTED[_i].name));
    ck_assert_ptr_null(strstr(eb.text, "tenant's"));
}
END_TEST

START_TEST(a_tenants_own_limit_is_named_as_its_own)
{
    enum sto_limit limit = (enum sto_limit)_i;
    struct errbuf eb = {{0}};
    sto_account_limit_set(&account, limit, 7);
    ck_assert_uint_eq(sto_account_limit(&account, limit), 7);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, 6, &eb), ERR_OK);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, 7, &eb), ERR_OK);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, 8, &eb), ERR_TOO_BIG);
    ck_assert_str_eq(eb.text, WANTED[_i].refusal);
    /* neither another limit nor another account changed */
    for (enum sto_limit i = 0; i < STO_LIMIT_COUNT; i++) {
        ck_assert_uint_eq(sto_account_limit(&other, i), WANTED[i].standard);
        if (i != limit)
            ck_assert_uint_eq(sto_account_limit(&account, i), WANTED[i].standard);
    }
}
END_TEST

START_TEST(limits_reach_from_1_to_the_hard_one_and_back)
{
    enum sto_limit limit = (enum sto_limit)_i;
    uint64_t hard = WANTED[_i].hard;
    sto_account_limit_set(&account, limit, hard);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, hard, NULL), ERR_OK);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, hard + 1, NULL), ERR_TOO_BIG);
    sto_account_limit_set(&account, limit, 1);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, 1, NULL), ERR_OK);
    ck_assert_int_eq(sto_account_limit_check(&account, limit, 2, NULL), ERR_TOO_BIG);
    sto_account_limit_set(&account, limit, UINT64_MAX);
    ck_assert_uint_eq(sto_account_limit(&account, limit), WANTED[_i].standard);
}
END_TEST

START_TEST(without_an_account_the_hard_limit_holds)
{
    enum sto_limit limit = (enum sto_limit)_i;
    ck_assert_int_eq(sto_account_limit_check(NULL, limit, WANTED[_i].hard, NULL), ERR_OK);
    ck_assert_int_eq(sto_account_limit_check(NULL, limit, WANTED[_i].hard + 1, NULL), ERR_TOO_BIG);
}
END_TEST

Suite *suite_storage_limit(void);
Suite *suite_storage_limit(void)
{
    Suite *s = suite_create("storage_limit");
    TCase *t = tcase_create("limit");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_loop_test(t, names_defaults_and_hard_limits_are_as_documented, 0, STO_LIMIT_COUNT);
    tcase_add_loop_test(t, an_account_starts_with_the_default, 0, STO_LIMIT_COUNT);
    tcase_add_loop_test(t, a_tenants_own_limit_is_named_as_its_own, 0, STO_LIMIT_COUNT);
    tcase_add_loop_test(t, limits_reach_from_1_to_the_hard_one_and_back, 0, STO_LIMIT_COUNT);
    tcase_add_loop_test(t, without_an_account_the_hard_limit_holds, 0, STO_LIMIT_COUNT);
    suite_add_tcase(s, t);
    return s;
}
