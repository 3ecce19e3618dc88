/*
 * tests/isolation/test_methods_tables.c - the methods of tables, as in test_methods.c.
 */
#include <check.h>
#include <string.h>

#include "tests/isolation/method_walk.h"

#include "base/banned.h"

static bool takes(const struct gw_method *m)
{
    return strcmp(m->service, "google.bigtable.admin.v2.BigtableTableAdmin") == 0;
}

START_TEST(no_method_tells_theirs_from_nobodys)
{
    method_walk((size_t)_i, takes);
}
END_TEST

Suite *suite_isolation_methods_tables(void);
Suite *suite_isolation_methods_tables(void)
{
    Suite *s = suite_create("isolation_methods_tables");
    TCase *tc = tcase_create("methods");
    tcase_set_timeout(tc, 1200);
    tcase_add_checked_fixture(tc, method_walk_set_up, method_walk_tear_down);
    tcase_add_loop_test(tc, no_method_tells_theirs_from_nobodys, 0, METHOD_PARTS);
    suite_add_tcase(s, tc);
    return s;
}
