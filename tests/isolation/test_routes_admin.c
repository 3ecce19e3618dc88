/*
 * tests/isolation/test_routes_admin.c - the routes of administration, as in test_routes.c.
 */
#include <check.h>
#include <string.h>

#include "tests/isolation/route_walk.h"

#include "base/banned.h"

static bool takes(const struct gw_route *r)
{
    return strncmp(r->pattern, "/v1/admin/", strlen("/v1/admin/")) == 0;
}

START_TEST(no_route_tells_theirs_from_nobodys)
{
    route_walk((size_t)_i, takes);
}
END_TEST

Suite *suite_isolation_routes_admin(void);
Suite *suite_isolation_routes_admin(void)
{
    Suite *s = suite_create("isolation_routes_admin");
    TCase *tc = tcase_create("routes");
    tcase_set_timeout(tc, 1200);
    tcase_add_checked_fixture(tc, route_walk_set_up, route_walk_tear_down);
    tcase_add_loop_test(tc, no_route_tells_theirs_from_nobodys, 0, ROUTE_PARTS);
    suite_add_tcase(s, tc);
    return s;
}
