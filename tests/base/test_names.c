/*
 * tests/base/test_names.c - IDs and names below, at and above their limits.
 */
#include <check.h>
#include <string.h>

#include "base/limits.h"
#include "base/names.h"

#include "base/banned.h"

typedef enum err(check_function)(struct slice name, struct errbuf *eb);

static void expect(check_function *check, const char *name, size_t len, enum err wanted)
{
    struct errbuf eb = {{0}};
    ck_assert_msg(check(base_slice(name, len), &eb) == wanted, "\"%.*s\"", (int)len, name);
    ck_assert_int_eq(eb.text[0] != '\0', wanted != ERR_OK);
}

static void expect_text(check_function *check, const char *name, enum err wanted)
{
    expect(check, name, strlen(name), wanted);
}

START_TEST(tenant_ids_are_2_to_63_of_a_to_z_0_to_9_and_dashes)
{
    char longest[LIM_TENANT_ID + 1];
    memset(longest, 'a', sizeof longest);
    expect(base_tenant_id_check, longest, LIM_TENANT_ID, ERR_OK);
    expect(base_tenant_id_check, longest, LIM_TENANT_ID + 1, ERR_INVALID);
    expect_text(base_tenant_id_check, "a0", ERR_OK);
    expect_text(base_tenant_id_check, "0-", ERR_OK);
    expect_text(base_tenant_id_check, "a", ERR_INVALID);
    expect_text(base_tenant_id_check, "-a", ERR_INVALID);
    expect_text(base_tenant_id_check, "Aa", ERR_INVALID);
    expect_text(base_tenant_id_check, "a#", ERR_INVALID);
    expect_text(base_tenant_id_check, "a_b", ERR_INVALID);
}
END_TEST

START_TEST(ids_that_look_like_the_service_are_reserved)
{
    ck_assert(base_tenant_id_is_reserved(SLICE_LIT("admin")));
    ck_assert(base_tenant_id_is_reserved(SLICE_LIT("system")));
    ck_assert(!base_tenant_id_is_reserved(SLICE_LIT("admins")));
    ck_assert(!base_tenant_id_is_reserved(SLICE_LIT("admi")));
}
END_TEST

START_TEST(table_ids_are_1_to_50_and_begin_with_no_dash_or_dot)
{
    char longest[LIM_TABLE_ID + 1];
    memset(longest, 'T', sizeof longest);
    expect(base_table_id_check, longest, LIM_TABLE_ID, ERR_OK);
    expect(base_table_id_check, longest, LIM_TABLE_ID + 1, ERR_INVALID);
    expect_text(base_table_id_check, "_.-", ERR_OK);
    expect_text(base_table_id_check, "", ERR_INVALID);
    expect_text(base_table_id_check, ".a", ERR_INVALID);
    expect_text(base_table_id_check, "-a", ERR_INVALID);
    expect_text(base_table_id_check, "a/b", ERR_INVALID);
}
END_TEST

START_TEST(family_names_are_1_to_64_and_begin_with_anything)
{
    char longest[LIM_FAMILY_NAME + 1];
    memset(longest, 'f', sizeof longest);
    expect(base_family_name_check, longest, LIM_FAMILY_NAME, ERR_OK);
    expect(base_family_name_check, longest, LIM_FAMILY_NAME + 1, ERR_INVALID);
    expect_text(base_family_name_check, "-.x", ERR_OK);
    expect_text(base_family_name_check, "", ERR_INVALID);
    expect_text(base_family_name_check, "a:b", ERR_INVALID);
}
END_TEST

Suite *suite_base_names(void);
Suite *suite_base_names(void)
{
    Suite *s = suite_create("base_names");
    TCase *t = tcase_create("names");
    tcase_add_test(t, tenant_ids_are_2_to_63_of_a_to_z_0_to_9_and_dashes);
    tcase_add_test(t, ids_that_look_like_the_service_are_reserved);
    tcase_add_test(t, table_ids_are_1_to_50_and_begin_with_no_dash_or_dot);
    tcase_add_test(t, family_names_are_1_to_64_and_begin_with_anything);
    suite_add_tcase(s, t);
    return s;
}
