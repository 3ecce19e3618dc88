/*
 * tests/auth/test_scopes.c - names and bits of scopes.
 */
#include <check.h>

#include "auth/scopes.h"

#include "base/banned.h"

static const struct {
    const char *name;
    uint64_t bit;
} STORED[] = {
    {"data.read", 1},  {"data.write", 2},   {"table.admin", 4},
    {"admin.read", 8}, {"admin.write", 16}, {"ops.read", 32},
};

#define STORED_COUNT (sizeof STORED / sizeof STORED[0])

START_TEST(stored_bits_never_change)
{
    for (unsigned i = 0; i < STORED_COUNT; i++) {
        uint64_t bit = 0;
        ck_assert_str_eq(auth_scope_name(i), STORED[i].name);
        ck_assert_int_eq(auth_scope_parse(base_slice_text(STORED[i].name), &bit), ERR_OK);
        ck_assert_uint_eq(bit, STORED[i].bit);
    }
    ck_assert_ptr_null(auth_scope_name(STORED_COUNT));
    ck_assert_ptr_null(auth_scope_name(64));
}
END_TEST

START_TEST(kinds_share_no_scope)
{
    ck_assert_uint_eq(AUTH_SCOPES_TENANT & AUTH_SCOPES_OPERATOR, 0);
    ck_assert_uint_eq(AUTH_SCOPES_TENANT | AUTH_SCOPES_OPERATOR, 63);
}
END_TEST

START_TEST(unknown_names_are_refused)
{
    static const char *const BAD[] = {"", "data", "data.read ", "Data.read", "data.reads", "*"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        uint64_t bit = 99;
        ck_assert_int_eq(auth_scope_parse(base_slice_text(BAD[i]), &bit), ERR_INVALID);
        ck_assert_uint_eq(bit, 99);
    }
    uint64_t bit = 0;
    ck_assert_int_eq(auth_scope_parse(base_slice("data.read\0", 10), &bit), ERR_INVALID);
}
END_TEST

Suite *suite_auth_scopes(void);
Suite *suite_auth_scopes(void)
{
    Suite *s = suite_create("auth_scopes");
    TCase *c = tcase_create("names");
    tcase_add_test(c, stored_bits_never_change);
    tcase_add_test(c, kinds_share_no_scope);
    tcase_add_test(c, unknown_names_are_refused);
    suite_add_tcase(s, c);
    return s;
}
