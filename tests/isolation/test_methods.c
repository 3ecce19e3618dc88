/*
 * tests/isolation/test_methods.c - every gRPC method, asked with every kind of key, in every way to
 * name a neighbour.
 *
 * As test_routes.c, of the method table: unary and streaming methods, those that need no
 * credential, and those that are not there. Those of rows are in test_methods_data.c, those of
 * tables in test_methods_tables.c, all others here.
 */
#include <check.h>
#include <string.h>

#include "tests/isolation/method_walk.h"

#include "base/banned.h"

static bool takes(const struct gw_method *m)
{
    return strcmp(m->service, "google.bigtable.v2.Bigtable") != 0 &&
           strcmp(m->service, "google.bigtable.admin.v2.BigtableTableAdmin") != 0;
}

START_TEST(no_method_tells_theirs_from_nobodys)
{
    method_walk((size_t)_i, takes);
}
END_TEST

Suite *suite_isolation_methods(void);
Suite *suite_isolation_methods(void)
{
    Suite *s = suite_create("isolation_methods");
    TCase *tc = tcase_create("methods");
    tcase_set_timeout(tc, 1200);
    tcase_add_checked_fixture(tc, method_walk_set_up, method_walk_tear_down);
    tcase_add_loop_test(tc, no_method_tells_theirs_from_nobodys, 0, METHOD_PARTS);
    suite_add_tcase(s, tc);
    return s;
}
